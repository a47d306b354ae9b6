// SPDX-License-Identifier: MIT
#include "cluster/locality_meter.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/cluster_spec.hpp"
#include "cluster/icc_unit.hpp"

namespace mergelane {

void LocalitySpec::fields(SpecFields& f) {
    f.section("cluster.locality");
    f.boolean(
        "enabled", on,
        "measure the share of an SM cluster's L1 read misses for lines requested in the last 500 to 2000 cycles; does not affect timing");
}

void LocalitySpec::metrics(Metrics& m) const {
    const double reads = m("locality.reads");
    for (const std::uint32_t window : LocalityMeter::kWindows) {
        const double line = m(fmt::format("locality.line_sharing_{}", window));
        const double data = m(fmt::format("locality.data_sharing_{}", window));
        m.add("Clusters", fmt::format("locality, {} cycles", window), Metrics::percent(line + data, reads), "%",
              fmt::format("{:.1f} % same line, {:.1f} % same words", Metrics::percent(line, reads), Metrics::percent(data, reads)));
    }
}

std::unique_ptr<ClusterUnit> LocalitySpec::make(const ClusterContext& context) const {
    const Sections& sections = context.policies.sections();
    return std::make_unique<LocalityMeter>(context.sms, sections.get<IccSpec>().l1_bypassing_loads,
                                           sections.get<ClusterWidthSpec>().packets_per_cycle);
}

LocalityMeter::LocalityMeter(std::uint32_t sms, bool l1_bypassing_loads, std::uint32_t width)
    : l1_bypassing_loads_(l1_bypassing_loads),
      askers_(sms),
      ring_(std::size_t{kRing} * width),
      next_(ring_.size()),
      first_(ring_.size()),
      latest_(kBuckets, 0) {}

std::uint64_t& LocalityMeter::Askers::asker(const Packet& packet) {
    std::vector<std::uint64_t>& of_sm = of_sm_[packet.sm];
    if (packet.tag >= of_sm.size()) of_sm.resize(packet.tag + std::size_t{1});
    return of_sm[packet.tag];
}

bool LocalityMeter::request(Packet& packet, Cycle now) {
    if (may_merge(packet, l1_bypassing_loads_)) see(packet.address, askers_.asker(packet), packet.read.wanted, now);
    return true;
}

void LocalityMeter::see(Addr block, std::uint64_t cta, std::uint32_t words, Cycle now) {
    // Requests of a bucket are chained from newest to oldest, so the walk ends at the first one that is too old.
    constexpr Cycle kFar = kNever;
    Cycle line_age = kFar;  // since the line was last requested
    Cycle data_age = kFar;  // since another CTA requested one of these words
    std::uint64_t& latest = latest_[block * 0x9E3779B97F4A7C15ull >> 52];
    const std::uint64_t oldest = std::max(first_, next_ - ring_.size());
    for (std::uint64_t n = latest; n >= oldest && data_age == kFar;) {
        const Request& request = ring_[n % ring_.size()];
        if (now - request.at > kWindows.back()) break;
        if (request.block == block) {
            if (line_age == kFar) line_age = now - request.at;
            if (request.cta != cta && (request.words & words) != 0) data_age = now - request.at;
        }
        n = request.before;
    }
    ring_[next_ % ring_.size()] = {block, now, cta, latest, words};
    latest = next_++;
    ++reads_;
    for (std::size_t w = 0; w < kWindows.size(); ++w) {
        if (line_age > kWindows[w]) continue;
        ++(data_age <= kWindows[w] ? data_ : line_)[w];
    }
}

void LocalityMeter::stats(StatFields& f, Cycle) const {
    f.group("locality");
    f.add("reads", reads_, "requests", "global reads that missed in an L1, merged or not");
    f.add("line_sharing_500", line_[0], "requests",
          "reads of a line requested in the last 500 cycles, but of no word that another CTA requested");
    f.add("line_sharing_1000", line_[1], "requests",
          "reads of a line requested in the last 1000 cycles, but of no word that another CTA requested");
    f.add("line_sharing_1500", line_[2], "requests",
          "reads of a line requested in the last 1500 cycles, but of no word that another CTA requested");
    f.add("line_sharing_2000", line_[3], "requests",
          "reads of a line requested in the last 2000 cycles, but of no word that another CTA requested");
    f.add("data_sharing_500", data_[0], "requests", "reads of a word that another CTA requested in the last 500 cycles");
    f.add("data_sharing_1000", data_[1], "requests", "reads of a word that another CTA requested in the last 1000 cycles");
    f.add("data_sharing_1500", data_[2], "requests", "reads of a word that another CTA requested in the last 1500 cycles");
    f.add("data_sharing_2000", data_[3], "requests", "reads of a word that another CTA requested in the last 2000 cycles");
}

}  // namespace mergelane
