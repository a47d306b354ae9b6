// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "cluster/cluster_declarations.hpp"
#include "cluster/locality_meter.hpp"
#include "core/text.hpp"

namespace mergelane {

namespace {

constexpr std::string_view kHeading = "Clusters";

void icc_metrics(Metrics& m) {
    const double reads = m("icc.reads");
    const double table_cycles = m.cycles() * m.machine().clusters;
    m.add(kHeading, "L1 read misses merged", Metrics::percent(m("icc.merged"), reads), "%",
          fmt::format("of {}; table full for {:.1f} %", grouped(m.count("icc.reads")), Metrics::percent(m("icc.untracked_full"), reads)));
    m.add(kHeading, "merge table occupancy", Metrics::ratio(m("icc.entry_cycles"), table_cycles), "entries",
          fmt::format("all taken in {:.1f} % of cycles", Metrics::percent(m("icc.full_cycles"), table_cycles)));
    m.add(kHeading, "coalesced cache hit rate", Metrics::percent(m("cc.hits"), reads), "%",
          fmt::format("{} lines kept", grouped(m.count("cc.fills"))));
}

void locality_metrics(Metrics& m) {
    const double reads = m("locality.reads");
    for (const std::uint32_t window : LocalityMeter::kWindows) {
        const double line = m(fmt::format("locality.line_sharing_{}", window));
        const double data = m(fmt::format("locality.data_sharing_{}", window));
        m.add(kHeading, fmt::format("locality, {} cycles", window), Metrics::percent(line + data, reads), "%",
              fmt::format("{:.1f} % same line, {:.1f} % same words", Metrics::percent(line, reads), Metrics::percent(data, reads)));
    }
}

}  // namespace

void cluster_metrics(const ClusterSpec& spec, Metrics& metrics) {
    if (spec.icc.enabled) icc_metrics(metrics);
    if (spec.locality.enabled) locality_metrics(metrics);
}

}  // namespace mergelane
