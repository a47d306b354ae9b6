// SPDX-License-Identifier: MIT
#include "parts/replication_meter.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "core/registry.hpp"
#include "core/result.hpp"
#include "core/wiring.hpp"

namespace mergelane {

void L1MeterSpec::fields(SpecFields& f) {
    f.section("l1.meter");
    f.boolean("enabled", on, "measure replication: misses whose line another L1 holds, and copies per line; does not affect timing");
}

void L1MeterSpec::check(const MachineFacts& machine, const Sections&, Problems& problems) const {
    problems.require(machine.has_l1, {"l1.meter.enabled", "l1.enabled"},
                     "l1.meter.enabled requires an L1; set l1.enabled = true, or l1.meter.enabled = false");
    problems.require(machine.l1_partitions == 1, {"l1.partitions", "l1.meter.enabled"},
                     "l1.meter counts copies by L1, not by partition; set l1.partitions = 1 or l1.meter.enabled = false");
}

L1Meter* L1MeterSpec::at_l1s(const L1Place& place) const {
    return &place.wiring.add<ReplicationMeter>(place.domain, "meter", place.prefix + "replication_meter", place.core);
}

void L1MeterSpec::laws(LawBook& book) const {
    book.balance("replication.misses = l1.fills + l1.mshrs", book("replication.misses"), book("l1.fills") + book("l1.mshrs"));
    book.balance("replication.fills = l1.fills", book("replication.fills"), book("l1.fills"));
}

void L1MeterSpec::metrics(Metrics& m) const {
    m.add("L1 caches", "replication ratio", Metrics::percent(m("replication.replicated"), m("replication.misses")), "%",
          fmt::format("of misses, with {:.1f} other copies of the line",
                      Metrics::ratio(m("replication.other_copies"), m("replication.replicated"))));
    m.add("L1 caches", "replicas of a line", Metrics::ratio(m("replication.replica_cycles"), m("replication.line_cycles")), "",
          fmt::format("in addition to the first copy, average over time; maximum copies: {:.0f}",
                      double(m.highest("replication.most_copies"))));
    m.add("L1 caches", "busiest port",
          Metrics::percent(double(m.highest("l1.line_requests")), m.cycles() * m.machine().l1_blocks_per_cycle), "%", "accesses per cycle");
}

void add_l1_meter(Registry& registry) {
    registry.add_section<L1MeterSpec>();
}

void ReplicationStats::fields(StatFields& f) const {
    f.group("replication");
    f.add("misses", misses, "misses", "load misses: lines requested by an L1");
    f.add("replicated", replicated, "misses", "misses whose line another L1 held");
    f.add("other_copies", other_copies, "copies", "number of other L1s that held the line, summed over misses");
    f.add("fills", fills, "lines", "lines filled");
    f.add("line_cycles", line_cycles, "line cycles", "distinct lines in all L1s, summed over the cycles of kernels");
    f.add("replica_cycles", replica_cycles, "line cycles", "replicas (all copies of a line but one), summed over the cycles of kernels");
    f.add("most_copies", most_copies, "copies", "maximum number of L1s that held one line at the same time; for a kernel: the increase");
}

void ReplicationMeter::merge() {
    events_.clear();
    for (Log& log : logs_) {
        for (const Log::Entry& entry : log.entries) events_.push_back({log.clock.time_of(entry.at), entry.block, entry.what});
        log.entries.clear();
    }
    std::stable_sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) { return a.at < b.at; });
    for (const Event& event : events_) {
        pass_to(event.at / core_.period);
        take(event);
    }
}

void ReplicationMeter::pass_to(Cycle now) {
    if (now < now_) throw SimulationError(fmt::format("{}: an L1 reported cycle {} after cycle {}", name(), now, now_));
    if (running_) {
        stats_.line_cycles += copies_.size() * (now - now_);
        stats_.replica_cycles += (all_copies_ - copies_.size()) * (now - now_);
    }
    now_ = now;
}

void ReplicationMeter::take(const Event& event) {
    switch (event.what) {
        case What::miss: {
            // This L1 does not hold the line, or it would not be a miss: all copies are in other L1s.
            const auto found = copies_.find(event.line);
            ++stats_.misses;
            if (found == copies_.end()) return;
            ++stats_.replicated;
            stats_.other_copies += found->second;
            return;
        }
        case What::fill: ++stats_.fills; return;
        case What::gained: {
            const std::uint32_t copies = ++copies_[event.line];
            ++all_copies_;
            if (copies > allowed_)
                throw SimulationError(
                    fmt::format("{}: line {:#x} is in {} L1s, but has only {} homes", name(), event.line, copies, allowed_));
            stats_.most_copies = std::max<std::uint64_t>(stats_.most_copies, copies);
            return;
        }
        case What::lost: {
            const auto found = copies_.find(event.line);
            if (found == copies_.end()) throw SimulationError(fmt::format("{}: an L1 evicted a line that none held", name()));
            --all_copies_;
            if (--found->second == 0) copies_.erase(found);
            return;
        }
    }
}

void ReplicationMeter::begin_kernel(Cycle start) {
    merge();
    pass_to(start);
    running_ = true;
    for (Log& log : logs_) log.latest = log.clock.first_at(core_.time_of(start));
}

void ReplicationMeter::end_kernel(Cycle end) {
    merge();
    pass_to(std::max(end, now_));
    running_ = false;
}

}  // namespace mergelane
