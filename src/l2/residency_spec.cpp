// SPDX-License-Identifier: MIT
#include "l2/residency_spec.hpp"

#include <fmt/format.h>

#include "core/l2_hint.hpp"
#include "core/result.hpp"
#include "core/text.hpp"

namespace mergelane {

void ResidencySpec::fields(SpecFields& f) {
    f.section("l2.residency");
    f.boolean("enabled", on,
              "honour the L2 eviction priorities of memory instructions (evict_first, evict_last, evict_unchanged); false: they have no "
              "effect");
    f.integer("evict_last_share", evict_last_share, 0, 100, "%",
              "share of the ways of a set that lines with evict_last may hold; beyond that, the one that is next in eviction order becomes "
              "normal");
}

void ResidencySpec::laws(LawBook& s) const {
    std::uint64_t accesses = 0, hits = 0;
    for (const std::string_view name : kL2PriorityNames) {
        accesses += s(fmt::format("residency.{}_accesses", name));
        hits += s(fmt::format("residency.{}_hits", name));
    }
    s.balance("l2.sector_accesses = sum over priorities", s("l2.sector_accesses"), accesses);
    s.balance("l2.sector_hits = sum over priorities", s("l2.sector_hits"), hits);
}

void ResidencySpec::metrics(Metrics& m) const {
    constexpr std::string_view kHeading = "L2 residency hints";
    for (const std::string_view name : kL2PriorityNames) {
        const std::string stem = fmt::format("residency.{}_", name);
        const double accesses = m(stem + "accesses");
        std::string note = fmt::format("of {} sectors", grouped(m.count(stem + "accesses")));
        if (m.has(stem + "evictions")) note += fmt::format("; {} lines evicted", grouped(m.count(stem + "evictions")));
        m.add(kHeading, fmt::format("hits, {}", name), Metrics::percent(m(stem + "hits"), accesses), "%", std::move(note));
    }
}

}  // namespace mergelane
