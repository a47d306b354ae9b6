// SPDX-License-Identifier: MIT
// Invariant: counted copies of lines in other L1s equal what inspecting every L1 at every moment would find, however L1s are distributed
// over domains, threads and windows; measuring them changes nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "core/error.hpp"
#include "core/rng.hpp"
#include "machines.hpp"
#include "parts/replication_meter.hpp"
#include "run.hpp"
#include "sm/memory_front.hpp"
#include "workload/synthetic.hpp"

namespace mergelane::testing {
namespace {

constexpr Clock kCore{2};
constexpr std::uint32_t kCaches = 5;
constexpr std::uint32_t kLines = 24;
constexpr Time kKernel = 3000;  ///< engine units that a kernel takes, and
constexpr Time kPause = 504;    ///< those until the next one
constexpr std::uint32_t kKernels = 3;

/// An L1 and its random owner, who looks at nothing else: it does the same alone and in company.
struct Player {
    Player(const L1Spec& spec, std::uint32_t number) : cache(spec), rng(number * 1000), block_bytes(spec.sector_bytes) {
        clock.period = number % 2 == 0 ? kCore.period : 3;
    }

    /// One cycle; `missed` is told of a miss, `changed` that something may be different now.
    template <class Missed, class Changed>
    void act(Cycle now, Missed&& missed, Changed&& changed) {
        for (std::uint32_t n = rng.below(3); n > 0; --n) {
            const Addr block = rng.below(kLines * 128 / block_bytes) * Addr{block_bytes};
            const std::uint32_t dice = rng.below(8);
            if (dice < 4) {
                const L1Cache::Lookup lookup = cache.read(block, 1, true, now);
                if (lookup.outcome == L1Cache::Outcome::miss) {
                    fetches.push_back(lookup.mshr);
                    missed(block);
                }
            } else if (dice < 7) {
                fill(now);
            } else {
                const std::uint32_t bytes = rng.below(2) == 0 ? block_bytes : 4;
                ByteMask mask;
                mask.set_range(static_cast<std::uint32_t>(block % 128), bytes);
                cache.write(block, mask, now);
            }
            changed();
        }
    }
    void fill(Cycle now) {
        if (fetches.empty()) return;
        const std::size_t which = rng.below(static_cast<std::uint32_t>(fetches.size()));
        cache.fill(fetches[which], now);
        cache.release(fetches[which]);
        fetches.erase(fetches.begin() + static_cast<std::ptrdiff_t>(which));
    }
    /// A kernel ends when everything was answered.
    void drain(Cycle now) {
        while (!fetches.empty()) fill(now);
    }
    bool acts_at(Time time) const { return time % clock.period == 0; }
    Cycle cycle(Time time) const { return time / clock.period; }

    L1Cache cache;
    Rng rng;
    std::uint32_t block_bytes;
    Clock clock;
    std::vector<std::uint32_t> fetches;
};

std::deque<Player> players(const L1Spec& spec) {
    std::deque<Player> list;
    for (std::uint32_t p = 0; p < kCaches; ++p) list.emplace_back(spec, p);
    return list;
}

/// The last time at which anybody acts in a kernel that starts at `start`: a cycle of every clock begins there.
Time last_time(Time start) {
    return start + kKernel - 12;
}

/// Every L1 is asked for every line, whenever anything happens.
ReplicationStats by_looking_everywhere(const L1Spec& spec) {
    std::deque<Player> all = players(spec);
    ReplicationStats stats;
    const auto holders = [&](Addr block) {
        return static_cast<std::uint64_t>(std::count_if(all.begin(), all.end(), [&](const Player& p) { return p.cache.holds(block); }));
    };
    const auto each_block = [&](auto&& see) {
        for (Addr block = 0; block < kLines * 128; block += spec.sector_bytes) see(holders(block));
    };
    const auto look = [&] { each_block([&](std::uint64_t n) { stats.most_copies = std::max(stats.most_copies, n); }); };
    const auto missed = [&](Addr block) {
        ++stats.misses;
        stats.replicated += holders(block) != 0 ? 1 : 0;
        stats.other_copies += holders(block);
    };
    for (std::uint32_t kernel = 0; kernel < kKernels; ++kernel) {
        const Time start = kernel * (kKernel + kPause);
        for (Player& player : all) player.cache.begin_kernel(0);
        for (Time time = start; time < start + kKernel; ++time) {
            for (Player& player : all) {
                if (!player.acts_at(time)) continue;
                if (time < last_time(start)) player.act(player.cycle(time), missed, look);
                if (time == last_time(start)) player.drain(player.cycle(time));
            }
            look();
            if (time % kCore.period != kCore.period - 1) continue;  // until here a core cycle goes
            each_block([&](std::uint64_t n) {
                stats.line_cycles += n != 0 ? 1 : 0;
                stats.replica_cycles += n != 0 ? n - 1 : 0;
            });
        }
    }
    for (const Player& player : all) stats.fills += player.cache.stats().fills;
    return stats;
}

/// Each L1 goes through a window alone, the last first; then the meter looks.
ReplicationStats by_meter(const L1Spec& spec, Time window) {
    std::deque<Player> all = players(spec);
    ReplicationMeter meter("meter", kCore);
    for (Player& player : all) meter.watch(player.cache, player.clock);
    for (std::uint32_t kernel = 0; kernel < kKernels; ++kernel) {
        const Time start = kernel * (kKernel + kPause);
        meter.begin_kernel(start / kCore.period);
        for (Player& player : all) player.cache.begin_kernel(0);
        meter.merge();
        for (Time begin = start; begin < start + kKernel; begin += window) {
            for (auto player = all.rbegin(); player != all.rend(); ++player) {
                for (Time time = begin; time < std::min(begin + window, start + kKernel); ++time) {
                    if (!player->acts_at(time)) continue;
                    if (time < last_time(start))
                        player->act(
                            player->cycle(time), [](Addr) {}, [] {});
                    if (time == last_time(start)) player->drain(player->cycle(time));
                }
            }
            meter.merge();
        }
        meter.end_kernel((start + kKernel) / kCore.period);
    }
    return meter.counts();
}

void expect_same(const ReplicationStats& got, const ReplicationStats& want, const std::string& what) {
    EXPECT_EQ(got.misses, want.misses) << what;
    EXPECT_EQ(got.replicated, want.replicated) << what;
    EXPECT_EQ(got.other_copies, want.other_copies) << what;
    EXPECT_EQ(got.fills, want.fills) << what;
    EXPECT_EQ(got.line_cycles, want.line_cycles) << what;
    EXPECT_EQ(got.replica_cycles, want.replica_cycles) << what;
    EXPECT_EQ(got.most_copies, want.most_copies) << what;
}

TEST(Replication, IsWhatLookingIntoEveryL1Finds) {
    for (const std::uint32_t sector_bytes : {128u, 64u, 32u}) {
        for (const auto policy : {L1Spec::WritePolicy::write_evict, L1Spec::WritePolicy::byte_mask}) {
            for (const auto allocate : {L1Spec::Allocate::on_miss, L1Spec::Allocate::on_fill}) {
                L1Spec spec;
                spec.size_kib = 1;  // two sets of four ways
                spec.mshrs = 4;
                spec.sector_bytes = sector_bytes;
                spec.write_policy = policy;
                spec.allocate = allocate;
                spec.flush_at_kernel = sector_bytes != 64;
                const ReplicationStats want = by_looking_everywhere(spec);
                EXPECT_GT(want.replicated, 50u);
                EXPECT_LT(want.replicated, want.misses);
                EXPECT_GT(want.replica_cycles, 1000u);
                EXPECT_GE(want.most_copies, 3u);
                const std::string what = std::to_string(sector_bytes) + " bytes" +
                                         (policy == L1Spec::WritePolicy::byte_mask ? ", byte mask" : "") +
                                         (allocate == L1Spec::Allocate::on_fill ? ", on fill" : "");
                for (const Time window : {Time{1}, Time{6}, Time{70}, kKernel}) expect_same(by_meter(spec, window), want, what);
            }
        }
    }
}

/// All SMs read the same lines, one after the other because there is one CTA for each.
RunResult run_shared_lines(const MachineSpec& spec, const RunOptions& options = {}) {
    SyntheticParams params = synthetic_defaults("tiled");
    params.ctas = 24;
    params.iterations = 3;
    params.footprint_kib = 256;
    params.kernels = 2;
    const auto workload = make_synthetic("tiled", params);
    return run_on(spec, *workload, options);
}

MachineSpec six_sms(std::string_view front = "in_order") {
    MachineSpec s = gtx480_like();
    s.gpu.clusters = 6;
    s.dram.channels = 2;
    s.lsu.front = front;
    s.sm.shared_path = SmSpec::SharedPath::own;
    return valid(s);
}

/// That it changes nothing is the law of all meters (declared.cpp).
TEST(Replication, IsMeasuredBehindEveryFront) {
    for (const std::string_view front : built_in().names<MemoryFront>()) {
        MachineSpec spec = six_sms(front);
        const RunResult without = run_shared_lines(spec);
        spec.section<L1MeterSpec>().on = true;
        const RunResult with = run_shared_lines(valid(spec));
        EXPECT_GT(with.stat("replication.replicated"), 0u) << front;
        EXPECT_EQ(with.stat("replication.misses") * 4, with.stat("l1.sector_misses") - with.stat("l1.sector_write_misses")) << front;
        EXPECT_GE(with.stat("replication.other_copies"), with.stat("replication.replicated")) << front;
        EXPECT_LE(with.stat("replication.most_copies"), 6u) << front;
        ASSERT_EQ(with.metrics.size(), without.metrics.size() + 3) << front;
    }
}

TEST(Replication, OfOtherGroupsDoesNotCount) {
    MachineSpec spec = six_sms();
    spec.gpu.groups = 3;
    const RunResult without = run_shared_lines(valid(spec));
    spec.section<L1MeterSpec>().on = true;
    const RunResult run = run_shared_lines(valid(spec));
    EXPECT_GT(run.stat("replication.replicated"), 0u);
    EXPECT_LE(run.highest("replication.most_copies"), 6u);
    EXPECT_EQ(run.cycles, without.cycles);
}

TEST(Replication, OneL1HasNone) {
    MachineSpec spec = six_sms();
    spec.gpu.clusters = 1;
    spec.section<L1MeterSpec>().on = true;
    const RunResult run = run_shared_lines(valid(spec));
    EXPECT_GT(run.stat("replication.misses"), 0u);
    EXPECT_EQ(run.stat("replication.replicated"), 0u);
    EXPECT_EQ(run.stat("replication.replica_cycles"), 0u);
    EXPECT_EQ(run.stat("replication.most_copies"), 1u);
    EXPECT_GT(run.stat("replication.line_cycles"), 0u);
}

TEST(PerfectL1, AsksForNothing) {
    MachineSpec spec = six_sms();
    const RunResult usual = run_shared_lines(spec);
    spec.l1.perfect = true;
    const RunResult perfect = run_shared_lines(valid(spec));
    EXPECT_EQ(perfect.stat("l1.sector_accesses"), usual.stat("l1.sector_accesses"));
    EXPECT_EQ(perfect.stat("l1.sector_misses"), perfect.stat("l1.sector_write_misses"));
    EXPECT_EQ(perfect.stat("l1.fills"), 0u);
    EXPECT_LT(perfect.cycles, usual.cycles);
}

/// A line in more L1s than it has homes ends the run.
TEST(Replication, BeyondWhatIsAllowedIsAnError) {
    const L1Spec spec;
    for (const std::uint32_t allowed : {1u, 2u}) {
        L1Cache first(spec), second(spec);
        ReplicationMeter meter("meter", kCore);
        meter.allow(allowed);
        meter.watch(first, kCore);
        meter.watch(second, kCore);
        meter.begin_kernel(0);
        Cycle now = 1;
        for (L1Cache* cache : {&first, &second}) {
            const L1Cache::Lookup lookup = cache->read(0, 0, true, now);
            cache->fill(lookup.mshr, ++now);
            cache->release(lookup.mshr);
        }
        if (allowed == 1)
            EXPECT_THROW(meter.merge(), SimulationError);
        else
            EXPECT_NO_THROW(meter.merge());
    }
}

}  // namespace
}  // namespace mergelane::testing
