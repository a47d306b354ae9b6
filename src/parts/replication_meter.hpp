// SPDX-License-Identifier: MIT
// How often L1s hold the same line, as the DC-L1 paper counts it: its replication ratio is the share of L1 misses whose line is in another
// L1 at that moment, and a line that n L1s hold has n - 1 replicas. Here a line is what a miss fetches; in a sectored L1 that is a sector.
//
// Exact, and the same for any number of threads: what happens in all L1s is put in the order of time, and at one time in the order in
// which the L1s were named. Every L1 has a log of its own; between windows the logs are merged and emptied, so that they stay short.
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

/// One for each group of the machine. A component only because it has statistics: it does nothing while time passes.
class ReplicationMeter final : public Component {
public:
    /// `core`: the clock in which it counts cycles.
    ReplicationMeter(std::string name, Clock core) : Component(std::move(name)), core_(core) {}

    /// Looks at one more L1, from before its first access on. `clock`: that of the cycles its owner tells it.
    void watch(L1Cache& cache, Clock clock);

    /// No line may be in more of them at a time; a run in which one is ends with an error.
    void allow(std::uint32_t copies) { allowed_ = copies; }

    // Called between windows, when every L1 has got equally far.
    /// Takes over what has happened since.
    void merge();
    /// Lines and replicas are counted from `start` to `end` (core cycles) of every kernel. L1s may be flushed after this.
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
    std::deque<Watched> watched_;  ///< in the order of their numbers
    std::vector<Event> events_;    ///< being merged

    std::unordered_map<Addr, std::uint32_t> copies_;  ///< of lines that some L1 holds
    std::uint64_t all_copies_ = 0;
    std::uint32_t allowed_ = ~0u;  ///< copies of a line
    bool running_ = false;         ///< between start and end of a kernel
    Cycle now_ = 0;
    ReplicationStats stats_;
};

}  // namespace mergelane
