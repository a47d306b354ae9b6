// SPDX-License-Identifier: MIT
#include "sm/warp_pool_spec.hpp"

#include <fmt/format.h>

#include "core/bits.hpp"
#include "core/result.hpp"

namespace mergelane {

void WarpPoolSpec::fields(SpecFields& f) {
    f.section("lsu.warp_pool");
    f.belongs_to("lsu.front", {"warp_pool"});
    f.integer("instruction_queues", instruction_queues, 1, 64, "queues", "instruction queues, selected by warp");
    f.integer("queue_entries", queue_entries, 1, 64, "instructions", "entries per instruction queue");
    f.integer("coalescers", coalescers, 1, 8, "coalescers", "intra-warp coalescers; each produces one line request per cycle");
    f.integer("line_queues", line_queues, 1, 64, "queues", "inter-warp queues, selected by L1 set");
    f.integer("tags", tags, 1, 8, "lines", "lines (tags) per inter-warp queue");
    f.integer("merges", merges, 1, 8, "requests", "requests that can merge into one line");
    f.integer("map_entries", map_entries, 1, 1024, "entries", "entries of the thread map table, for requests with irregular lane mappings");
    f.integer("added_latency", added_latency, 0, 64, "cycles",
              "additional pipeline stages, beyond coalescer and inter-warp queue (two cycles)");
    f.enumeration("policy", policy, {"switching", "oldest", "warp_id"},
                  "selection policy for the L1; switching: oldest first, until the miss rate of a quantum exceeds switch_percent");
    f.integer("quantum", quantum, 100, 100000000, "cycles", "interval between evaluations of the selection policy");
    f.integer("switch_percent", switch_percent, 0, 100, "%", "miss rate of a quantum above which the policy switches");
    f.boolean("count_merged_misses", count_merged_misses, "count hits on misses as misses");
    f.integer("writeback_per_cycle", writeback_per_cycle, 0, 8, "warps", "write-back bandwidth in warps per cycle; 0: unlimited");
    f.integer("writeback_buffer", writeback_buffer, 1, 64, "accesses", "entries of the write-back buffer");
    f.integer("store_patience", store_patience, 0, 1000000, "cycles",
              "cycles after which a waiting store takes priority over loads; 0: never");
}

void WarpPoolSpec::check(const MachineFacts&, const Sections&, Problems& problems) const {
    problems.require(is_power_of_two(line_queues), {"lsu.warp_pool.line_queues"},
                     fmt::format("lsu.warp_pool.line_queues ({}) is not a power of two; use 8, 16, 32 or 64", line_queues));
}

void WarpPoolSpec::laws(LawBook& s) const {
    s.balance("warp_pool.load_requests = warp_pool.load_requests_drained + queued", s("warp_pool.load_requests"),
              s("warp_pool.load_requests_drained") + s("warp_pool.queued_requests"));
    s.balance("warp_pool.load_requests = warp_pool.lines + warp_pool.merged", s("warp_pool.load_requests"),
              s("warp_pool.lines") + s("warp_pool.merged"));
    s.balance("warp_pool.load_requests_drained = warp_pool.written_back + waiting", s("warp_pool.load_requests_drained"),
              s("warp_pool.written_back") + s("warp_pool.waiting_requests"));
}

void WarpPoolSpec::metrics(Metrics& m) const {
    constexpr std::string_view kHeading = "WarpPool";
    m.add(kHeading, "load requests per L1 access", Metrics::ratio(m("warp_pool.load_requests_drained"), m("warp_pool.lines_drained")), "",
          "requests of different instructions merged into one access");
    m.add(kHeading, "cycles with warp-ID policy", Metrics::percent(m("warp_pool.warp_id_cycles"), m.cycles() * m.machine().sms), "%",
          "of all SM cycles");
}

/// Entry widths as in the paper: 23 bits for a request's warp, number and lane mapping; a waiting line has four of these and 32 bits of
/// address. A lookup reads the tags of one queue.
void WarpPoolSpec::structures(const MachineFacts& machine, Structures& out) const {
    constexpr std::uint32_t kRequestBits = 23;
    const auto add = [&](std::string name, std::uint64_t count, std::uint32_t bits, double published_mw, std::vector<Structure::Use> uses) {
        Structure s;
        s.component = "sm";
        s.plural = s.name = std::move(name);
        s.instances = machine.sms;
        s.entries = count;
        s.data_bits = bits;
        s.per = "SM";
        s.published_mw = published_mw;
        s.uses = std::move(uses);
        out.add(std::move(s));
    };
    add("instruction queues", std::uint64_t{instruction_queues} * queue_entries, 37, 41.8,
        {{"writes", Structure::write, {"warp_pool.instructions"}}, {"reads", Structure::read, {"warp_pool.instructions"}}});
    add("intra-warp coalescers", coalescers, 2048, 24.3,
        {{"writes", Structure::write, {"warp_pool.instructions"}},
         {"reads", Structure::read, {"warp_pool.load_requests", "warp_pool.stores"}}});
    add("inter-warp queues", std::uint64_t{line_queues} * tags, 32 + merges * kRequestBits, 44.3,
        {{"reads", Structure::read, {"warp_pool.load_requests", "warp_pool.lines_drained"}},
         {"writes", Structure::write, {"warp_pool.load_requests"}}});
    add("thread map table", map_entries, 321, 9.9,
        {{"writes", Structure::write, {"warp_pool.map_table"}}, {"reads", Structure::read, {"warp_pool.map_table"}}});
    add("MSHR metadata", std::uint64_t{machine.l1_waiting} * merges, kRequestBits, 22.0,
        {{"writes", Structure::write, {"warp_pool.missed_requests"}}, {"reads", Structure::read, {"warp_pool.missed_requests"}}});
}

std::optional<Publication> WarpPoolSpec::publication() const {
    Publication paper;
    paper.mechanism = "WarpPool";
    paper.machine = "gtx480";
    paper.overrides = {"lsu.front=warp_pool"};
    paper.per = "SM";
    paper.remark = "power and area are the paper's, at 45 nm and 1.2 GHz";
    paper.published_mm2 = 0.36;
    return paper;
}

}  // namespace mergelane
