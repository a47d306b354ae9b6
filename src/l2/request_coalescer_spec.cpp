// SPDX-License-Identifier: MIT
#include "l2/request_coalescer_spec.hpp"

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"

namespace mergelane {

void RequestCoalescerSpec::fields(SpecFields& f) {
    f.section("l2.lrc");
    f.boolean("enabled", on, "L2 request coalescer (LRC): merge reads of one sector on their way to an L2 slice");
    f.integer("entries", entries, 1, 65535, "entries", "reads in flight per slice that further reads can merge with");
    f.integer("max_merged", max_merged, 1, 64, "requests", "reads per entry, including the first");
    f.enumeration("on_store", on_store, {"ignore", "close"},
                  "effect of a write or atomic on entries for its block: none, or close them to further merges");
}

void RequestCoalescerSpec::laws(LawBook& s) const {
    s.balance("lrc.requests_in = lrc.reads + lrc.passed", s("lrc.requests_in"), s("lrc.reads") + s("lrc.passed"));
    s.balance("lrc.reads = lrc.allocated + lrc.merged", s("lrc.reads"), s("lrc.allocated") + s("lrc.merged"));
    s.balance("lrc.requests_out = lrc.allocated + lrc.passed", s("lrc.requests_out"), s("lrc.allocated") + s("lrc.passed"));
    s.balance("every read gets one reply: lrc.reads = lrc.answered + waiting", s("lrc.reads"), s("lrc.answered") + s("lrc.waiting"));
    s.balance("lrc.allocated = lrc.completed + entries in use", s("lrc.allocated"), s("lrc.completed") + s("lrc.entries"));
    s.balance("lrc.replies_out = lrc.replies_in - lrc.completed + lrc.answered", s("lrc.replies_out") + s("lrc.completed"),
              s("lrc.replies_in") + s("lrc.answered"));
}

void RequestCoalescerSpec::metrics(Metrics& m) const {
    constexpr std::string_view kHeading = "L2 request coalescers";
    const double reads = m("lrc.reads");
    const double slice_cycles = m.cycles() * m.machine().slices * m.machine().l2_mhz / m.machine().core_mhz;
    m.add(kHeading, "reads merged", Metrics::percent(m("lrc.merged"), reads), "%",
          fmt::format("of {}; {:.2f} reads per entry", grouped(m.count("lrc.reads")), Metrics::ratio(reads, m("lrc.allocated"))));
    m.add(kHeading, "entries in use per slice", Metrics::ratio(m("lrc.entry_cycles"), slice_cycles), "entries",
          fmt::format("requests stalled because all were in use in {:.1f} % of cycles",
                      Metrics::percent(m("lrc.full_cycles"), slice_cycles)));
}

/// Every request searches the table. What an entry must know of a read that waits: cluster, SM and transaction.
void RequestCoalescerSpec::structures(const MachineFacts& machine, Structures& out) const {
    constexpr std::uint32_t kBitsPerRead = 16 + 8 + 16;
    Structure table;
    table.component = "l2";
    table.name = "request coalescer";
    table.plural = "request coalescers";
    table.kind = Structure::Kind::cam;
    table.instances = machine.slices;
    table.entries = entries;
    table.tag_bits = block_tag_bits(machine.block_bytes);
    table.data_bits = max_merged * kBitsPerRead;
    table.per = "slice";
    table.uses = {{"searches", Structure::search, {"lrc.requests_in"}},
                  {"reads", Structure::read, {"lrc.answered"}},
                  {"writes", Structure::write, {"lrc.reads"}}};
    out.add(std::move(table));
}

}  // namespace mergelane
