// SPDX-License-Identifier: MIT
#include "sm/warp_pool_spec.hpp"

#include <fmt/format.h>

#include "core/bits.hpp"
#include "core/result.hpp"

namespace mergelane {

void WarpPoolSpec::fields(SpecFields& f) {
    f.section("lsu.warp_pool");
    f.integer("instruction_queues", instruction_queues, 1, 64, "queues", "warp_pool: memory instructions wait in the queue of their warps");
    f.neutral("16");
    f.integer("queue_entries", queue_entries, 1, 64, "instructions", "warp_pool: places of an instruction queue");
    f.neutral("8");
    f.integer("coalescers", coalescers, 1, 8, "coalescers", "warp_pool: each turns an instruction into one line request per cycle");
    f.neutral("2");
    f.integer("line_queues", line_queues, 1, 64, "queues", "warp_pool: load requests wait in the queue of their L1 set");
    f.neutral("32");
    f.integer("tags", tags, 1, 8, "lines", "warp_pool: different lines that can wait in one queue");
    f.neutral("2");
    f.integer("merges", merges, 1, 8, "requests", "warp_pool: requests that can wait for one line");
    f.neutral("4");
    f.integer("map_entries", map_entries, 1, 1024, "entries", "warp_pool: thread map table, for requests whose lanes follow no pattern");
    f.neutral("8");
    f.integer("added_latency", added_latency, 0, 64, "cycles",
              "warp_pool: stages beyond coalescer and line queue, which add two cycles to the in-order unit");
    f.neutral("2");
    f.enumeration("policy", policy, {"switching", "oldest", "warp_id"},
                  "warp_pool: which line goes to the L1 first; switching: oldest, until a quantum misses too often");
    f.neutral("switching");
    f.integer("quantum", quantum, 100, 100000000, "cycles", "warp_pool: the policy is looked at so often");
    f.neutral("100000");
    f.integer("switch_percent", switch_percent, 0, 100, "%", "warp_pool: the policy changes after a quantum with a miss rate above this");
    f.neutral("99");
    f.boolean("count_merged_misses", count_merged_misses, "warp_pool: accesses that join a line on its way count as misses");
    f.neutral("true");
    f.integer("writeback_per_cycle", writeback_per_cycle, 0, 8, "warps",
              "warp_pool: warps whose registers are written per cycle; 0: any number");
    f.neutral("1");
    f.integer("writeback_buffer", writeback_buffer, 1, 64, "accesses", "warp_pool: accesses that can wait to be written back");
    f.neutral("2");
    f.integer("store_patience", store_patience, 0, 1000000, "cycles", "warp_pool: a store that lost to loads so long goes first; 0: never");
    f.neutral("0");
}

void WarpPoolSpec::check(const MachineFacts& machine, const Sections&, Problems& problems) const {
    if (!machine.chosen("lsu.front", "warp_pool")) return;
    problems.require(machine.chosen("sm.shared_path", "own"), {"sm.shared_path", "lsu.front"},
                     "lsu.front = \"warp_pool\" has no way for shared-memory accesses; set sm.shared_path = \"own\"");
    problems.require(is_power_of_two(line_queues), {"lsu.warp_pool.line_queues"},
                     fmt::format("lsu.warp_pool.line_queues ({}) is not a power of two; use 8, 16, 32 or 64", line_queues));
}

void WarpPoolSpec::laws(LawBook& s) const {
    if (!s.has("warp_pool.load_requests")) return;
    s.balance("warp_pool.load_requests = warp_pool.load_requests_drained + queued", s("warp_pool.load_requests"),
              s("warp_pool.load_requests_drained") + s("warp_pool.queued_requests"));
    s.balance("warp_pool.load_requests = warp_pool.lines + warp_pool.merged", s("warp_pool.load_requests"),
              s("warp_pool.lines") + s("warp_pool.merged"));
    s.balance("warp_pool.load_requests_drained = warp_pool.written_back + waiting", s("warp_pool.load_requests_drained"),
              s("warp_pool.written_back") + s("warp_pool.waiting_requests"));
}

void WarpPoolSpec::metrics(Metrics& m) const {
    if (!m.has("warp_pool.load_requests")) return;
    constexpr std::string_view kHeading = "WarpPool";
    m.add(kHeading, "load requests per L1 access", Metrics::ratio(m("warp_pool.load_requests_drained"), m("warp_pool.lines_drained")), "",
          "requests of different instructions that went to the L1 together");
    m.add(kHeading, "cycles by warp ID", Metrics::percent(m("warp_pool.warp_id_cycles"), m.cycles() * m.machine().sms), "%",
          "with the selector's second policy");
}

/// Entries as wide as the paper prints them: 23 bits are a request's warp, number and lane mapping; a waiting line has four of them and 32
/// bits of address. A lookup reads the tags of one queue. Power is the paper's (Table 1).
void WarpPoolSpec::structures(const MachineFacts& machine, Structures& out) const {
    if (!machine.chosen("lsu.front", "warp_pool")) return;
    using Access = Structure::Access;
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
        {{"writes", Access::write, {"warp_pool.instructions"}}, {"reads", Access::read, {"warp_pool.instructions"}}});
    add("intra-warp coalescers", coalescers, 2048, 24.3,
        {{"writes", Access::write, {"warp_pool.instructions"}}, {"reads", Access::read, {"warp_pool.load_requests", "warp_pool.stores"}}});
    add("inter-warp queues", std::uint64_t{line_queues} * tags, 32 + merges * kRequestBits, 44.3,
        {{"reads", Access::read, {"warp_pool.load_requests", "warp_pool.lines_drained"}},
         {"writes", Access::write, {"warp_pool.load_requests"}}});
    add("thread map table", map_entries, 321, 9.9,
        {{"writes", Access::write, {"warp_pool.map_table"}}, {"reads", Access::read, {"warp_pool.map_table"}}});
    add("MSHR metadata", std::uint64_t{machine.l1_waiting} * merges, kRequestBits, 22.0,
        {{"writes", Access::write, {"warp_pool.missed_requests"}}, {"reads", Access::read, {"warp_pool.missed_requests"}}});
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
