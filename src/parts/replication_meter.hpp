// SPDX-License-Identifier: MIT
// Replication of lines across L1s, as defined in the DC-L1 paper: the replication ratio is the share of L1 misses whose line is in another
// L1 at that moment, and a line held by n L1s has n - 1 replicas. A line is the unit that a miss fetches; in a sectored L1 that is a
// sector.
//
// Exact, and independent of the number of threads: events of all L1s are ordered by time, and events at the same time by the order in which
// the L1s were added. Every L1 has its own log; the logs are merged and cleared between windows, so that they stay short.
#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include "core/clock.hpp"
#include "core/component.hpp"
#include "core/section.hpp"
#include "parts/l1_cache.hpp"
#include "parts/l1_log.hpp"

namespace mergelane {

/// l1.meter
struct L1MeterSpec final : SectionOf<L1MeterSpec> {
    bool on = false;

    void fields(SpecFields& f) override;
    bool enabled() const override { return on; }
    void check(const MachineFacts& machine, const Sections& others, Problems& problems) const override;
    void laws(LawBook& book) const override;
    void metrics(Metrics& metrics) const override;
};

void add_l1_meter(Registry& registry);

struct ReplicationStats {
    std::uint64_t misses = 0;
    std::uint64_t replicated = 0;
    std::uint64_t other_copies = 0;
    std::uint64_t fills = 0;
    std::uint64_t line_cycles = 0;
    std::uint64_t replica_cycles = 0;
    std::uint64_t most_copies = 0;

    void fields(StatFields& f) const;
};

/// One per group of the machine. It is a component only because it has statistics: it does nothing over time.
class ReplicationMeter final : public Component {
public:
    /// `core`: the clock of its cycle counts.
    ReplicationMeter(std::string name, Clock core) : Component(std::move(name)), core_(core) {}

    /// Observes another L1, starting before its first access. `clock`: the clock of the cycles that its owner reports.
    void watch(L1Cache& cache, Clock clock);

    /// Sets the maximum number of copies of a line; exceeding it fails the run.
    void allow(std::uint32_t copies) { allowed_ = copies; }

    // Called between windows, when all L1s have reached the same time.
    /// Processes the events since the last call.
    void merge();
    /// Lines and replicas are counted from `start` to `end` (core cycles) of every kernel. L1s may be flushed afterwards.
    void begin_kernel(Cycle start);
    void end_kernel(Cycle end);

    const ReplicationStats& counts() const { return stats_; }

    Cycle step(Cycle) override { return kNever; }
    void stats(StatFields& out, Cycle now) const override;

private:
    struct Watched {
        explicit Watched(Clock c) : clock(c) {}
        L1Log log;
        Clock clock;
    };
    struct Event {
        Time at;
        Addr line;
        L1Log::What what;
    };

    void pass_to(Cycle now);
    void take(const Event& event);

    const Clock core_;
    std::deque<Watched> watched_;  ///< in order of their numbers
    std::vector<Event> events_;    ///< being merged

    std::unordered_map<Addr, std::uint32_t> copies_;  ///< of lines held by at least one L1
    std::uint64_t all_copies_ = 0;
    std::uint32_t allowed_ = ~0u;  ///< maximum copies of a line
    bool running_ = false;         ///< between start and end of a kernel
    Cycle now_ = 0;
    ReplicationStats stats_;
};

}  // namespace mergelane
