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

/// One for each group of the machine. A component only because it has statistics: it does nothing while time passes.
class ReplicationMeter final : public Component, public L1Meter {
public:
    /// `core`: the clock in which it counts cycles.
    ReplicationMeter(std::string name, Clock core) : Component(std::move(name)), core_(core) {}

    void watch(L1Cache& cache, Clock clock) override;
    /// A run in which a line has more copies ends with an error.
    void allow(std::uint32_t copies) override { allowed_ = copies; }
    void merge() override;
    /// Lines and replicas are counted from start to end of every kernel.
    void begin_kernel(Cycle start) override;
    void end_kernel(Cycle end) override;

    const ReplicationStats& counts() const { return stats_; }

    Cycle step(Cycle) override { return kNever; }
    void stats(StatFields& out, Cycle now) const override;

private:
    enum class What : std::uint8_t { miss, fill, gained, lost };
    /// What has happened in one L1 since somebody looked last. On cache lines of its own: L1s of different domains may run in different
    /// threads.
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
        std::vector<Entry> entries;  ///< in the order in which they happened
    };
    struct Event {
        Time at;
        Addr line;
        What what;
    };

    void pass_to(Cycle now);
    void take(const Event& event);

    const Clock core_;
    std::deque<Log> logs_;       ///< in the order of their numbers
    std::vector<Event> events_;  ///< being merged

    std::unordered_map<Addr, std::uint32_t> copies_;  ///< of lines that some L1 holds
    std::uint64_t all_copies_ = 0;
    std::uint32_t allowed_ = ~0u;  ///< copies of a line
    bool running_ = false;         ///< between start and end of a kernel
    Cycle now_ = 0;
    ReplicationStats stats_;
};

}  // namespace mergelane
