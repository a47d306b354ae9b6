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
#include "core/meter.hpp"
#include "parts/l1_cache.hpp"

namespace mergelane {

/// l1.meter
struct L1MeterSpec final : MeterSpec<L1MeterSpec> {
    bool on = false;

    void fields(SpecFields& f) override;
    bool enabled() const override { return on; }
    void check(const MachineFacts& machine, const Sections& others, Problems& problems) const override;
    L1Meter* at_l1s(const L1Place& place) const override;
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
class ReplicationMeter final : public Component, public L1Meter {
public:
    /// `core`: the clock of its cycle counts.
    ReplicationMeter(std::string name, Clock core) : Component(std::move(name)), core_(core) {}

    void watch(L1Cache& cache, Clock clock) override { cache.observe(logs_.emplace_back(clock)); }
    /// Exceeding it fails the run.
    void allow(std::uint32_t copies) override { allowed_ = copies; }
    void merge() override;
    /// Lines and replicas are counted from start to end of every kernel.
    void begin_kernel(Cycle start) override;
    void end_kernel(Cycle end) override;

    const ReplicationStats& counts() const { return stats_; }

    Cycle step(Cycle) override { return kNever; }
    void stats(StatFields& out, Cycle) const override { stats_.fields(out); }

private:
    enum class What : std::uint8_t { miss, fill, gained, lost };
    /// Events of one L1 since the last merge. Aligned to cache lines, because L1s of different domains may run in different threads.
    struct alignas(64) Log final : L1Observer {
        struct Entry {
            Cycle at;
            Addr block;
            What what;
        };

        explicit Log(Clock c) : clock(c) {}
        void missed(Addr block, Cycle now) override { note(What::miss, block, now); }
        void filled(Addr block, Cycle now) override { note(What::fill, block, now); }
        void gained(Addr block, Cycle now) override { note(What::gained, block, now); }
        void lost(Addr block, Cycle now) override { note(What::lost, block, now); }
        void flushed(Addr block) override { note(What::lost, block, latest); }
        void note(What what, Addr block, Cycle now) {
            latest = now;
            entries.push_back({now, block, what});
        }

        Clock clock;
        Cycle latest = 0;            ///< of an entry, or the start of the kernel
        std::vector<Entry> entries;  ///< in order of occurrence
    };
    struct Event {
        Time at;
        Addr line;
        What what;
    };

    void pass_to(Cycle now);
    void take(const Event& event);

    const Clock core_;
    std::deque<Log> logs_;       ///< in order of their numbers
    std::vector<Event> events_;  ///< being merged

    std::unordered_map<Addr, std::uint32_t> copies_;  ///< of lines held by at least one L1
    std::uint64_t all_copies_ = 0;
    std::uint32_t allowed_ = ~0u;  ///< maximum copies of a line
    bool running_ = false;         ///< between start and end of a kernel
    Cycle now_ = 0;
    ReplicationStats stats_;
};

}  // namespace mergelane
