// SPDX-License-Identifier: MIT
// Invariants of WarpPool: everything that enters leaves, every L1 access serves requests of one line, no store passes a load of its warp,
// extra steps change nothing, and a pool that merges nothing equals the conventional load/store unit with two more cycles.
#include <gtest/gtest.h>

#include "core/rng.hpp"
#include "machines.hpp"
#include "random_scripts.hpp"
#include "run.hpp"
#include "warp_pool_bench.hpp"

namespace mergelane::testing {
namespace {

MachineSpec one_sm() {
    MachineSpec s = icc60_like(1);
    s.gpu.sms_per_cluster = 1;
    s.dram.channels = 2;
    s.sm.shared_path = SmSpec::SharedPath::own;
    return valid(s);
}
MachineSpec pooled(MachineSpec s) {
    s.lsu.front = "warp_pool";
    return valid(s);
}
/// Merges nothing, and has room for everything.
MachineSpec degenerate(MachineSpec s) {
    WarpPoolSpec& pool = s.section<WarpPoolSpec>();
    pool.coalescers = 1;
    pool.merges = 1;
    pool.added_latency = 0;
    pool.queue_entries = 64;
    pool.line_queues = 64;
    pool.tags = 8;
    pool.map_entries = 1024;
    pool.policy = WarpPoolSpec::Policy::oldest;
    return pooled(s);
}

TEST(WarpPoolBalance, HoldsOverRandomPrograms) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        MachineSpec s = pooled(one_sm());
        s.l1.size_kib = seed % 2 == 0 ? 2 : 48;
        s.l1.ways = 2;
        s.section<WarpPoolSpec>().merges = 1 + seed % 8;
        s.section<WarpPoolSpec>().map_entries = seed % 3 == 0 ? 1 : 64;
        RandomMix mix;
        mix.warps = 8;
        mix.lines = 8;
        std::vector<CtaScript> ctas;
        ExpectedRequests expected;
        for (std::uint32_t c = 0; c < 8; ++c) {
            ctas.push_back(random_cta(seed * 100 + c, mix));
            const ExpectedRequests e = expected_requests(ctas.back(), s.lsu.block_bytes);
            expected.through_l1 += e.through_l1;
            expected.stores += e.stores;
            expected.direct += e.direct + e.atomics;
        }
        ScriptedWorkload workload(ctas);
        Simulation simulation(valid(s), {});
        const RunResult result = simulation.run(workload);
        const auto stat = [&](std::string_view name) { return result.stat(name); };
        EXPECT_EQ(broken_laws(simulation.machine(), result.stats, true), std::vector<std::string>{}) << "also: every gauge is zero";
        EXPECT_EQ(stat("warp_pool.load_requests"), expected.through_l1);
        EXPECT_EQ(stat("warp_pool.load_requests_drained"), expected.through_l1);
        EXPECT_EQ(stat("warp_pool.written_back"), expected.through_l1);
        EXPECT_EQ(stat("warp_pool.stores"), expected.stores);
        EXPECT_EQ(stat("warp_pool.direct"), expected.direct);
        EXPECT_EQ(stat("warp_pool.lines_drained"), stat("warp_pool.lines"));
        EXPECT_EQ(stat("warp_pool.lines_drained") + stat("warp_pool.stores"), stat("l1.line_requests")) << "one lookup for each";
        EXPECT_EQ(stat("warp_pool.map_consecutive") + stat("warp_pool.map_broadcast") + stat("warp_pool.map_single") +
                      stat("warp_pool.map_range") + stat("warp_pool.map_table"),
                  expected.through_l1);
        EXPECT_EQ(stat("warp_pool.misses") + stat("warp_pool.merged_misses") + stat("l1.sector_hits") / 4, stat("warp_pool.lines_drained"));
        EXPECT_EQ(stat("warp_pool.instructions"), stat("sm.memory_instructions"));
        // With one entry of the thread map table hardly two requests wait at a time.
        if (s.section<WarpPoolSpec>().map_entries > 1) {
            EXPECT_EQ(stat("warp_pool.merged") > expected.through_l1 / 50, s.section<WarpPoolSpec>().merges > 1) << "seed " << seed;
        }
        std::uint64_t loads = 0;
        for (const CtaScript& cta : ctas) {
            for (const WarpScript& warp : cta) {
                for (std::size_t i = 0; i < warp.insts().size(); ++i) {
                    const OpClass op = warp.insts()[i].op;
                    const bool counted = (op == OpClass::load || op == OpClass::atomic) && warp.accesses()[i].active != 0;
                    loads += counted ? 1 : 0;
                }
            }
        }
        EXPECT_EQ(stat("sm.loads"), loads) << "each answered once";
    }
}

/// A warp that does one thing after the other: every load is used before the next, and a fence waits for every store.
struct Serial {
    Serial(std::uint64_t seed, bool with_stores) {
        Rng rng(seed);
        RandomMix mix;
        mix.lines = 200;
        for (std::uint32_t n = 0; n < 150; ++n) {
            const Access access = random_access(rng, mix);
            if (access.active == 0) continue;
            if (with_stores && rng.below(3) == 0) {
                script.store(access).fence();
                ++stores;
            } else {
                script.load(1, access).use(1);
                ++loads;
            }
        }
    }
    WarpScript script;
    std::uint64_t loads = 0, stores = 0;
};

TEST(WarpPoolThatMergesNothing, IsTheInOrderUnitForOneWarp) {
    for (const bool stores : {false, true}) {
        for (std::uint64_t seed = 1; seed <= 6; ++seed) {
            MachineSpec s = one_sm();
            s.l1.size_kib = 4;
            s.l1.ways = 2;
            const Serial serial(seed, stores);
            const RunResult usual = run_on(valid(s), serial.script);
            const RunResult pool = run_on(degenerate(s), serial.script);
            for (const char* name :
                 {"l1.sector_accesses", "l1.sector_hits", "l1.sector_misses", "l1.sector_pending_hits", "l1.sector_write_accesses",
                  "l1.line_requests", "l1.fills", "l1.evictions", "l1.write_invalidations", "l2.reads", "l2.writes", "sm.loads",
                  "sm.memory_instructions", "sm.requests_sent", "sm.replies_received", "sm.warp_instructions"})
                EXPECT_EQ(pool.stat(name), usual.stat(name)) << name << " seed " << seed;
            EXPECT_EQ(pool.stat("warp_pool.merged"), 0u);
            // Both have a cycle more to the coalescer, loads another one to the line queue; one block per cycle follows in either unit.
            EXPECT_EQ(pool.cycles, usual.cycles + 2 * serial.loads + serial.stores) << "seed " << seed;
        }
    }
}

TEST(WarpPoolThatMergesNothing, TakesExactlyTwoCyclesMoreForALoadThatHits) {
    for (const std::uint32_t added : {0u, 4u, 10u}) {
        MachineSpec s = one_sm();
        WarpScript script;
        Access access;
        access.lanes = affine(0);
        constexpr std::uint32_t kLoads = 50;
        script.load(1, access).use(1);
        for (std::uint32_t n = 0; n < kLoads; ++n) script.load(1, access, {1}).use(1);
        const std::uint64_t usual = run_on(s, script).cycles;
        MachineSpec pool = degenerate(s);
        pool.section<WarpPoolSpec>().added_latency = added;
        EXPECT_EQ(run_on(valid(pool), script).cycles, usual + (kLoads + 1) * (2 + added));
    }
}

// --- the pool alone

struct Issued {
    std::uint32_t warp;
    OpClass op;
    std::set<Addr> blocks;
};

struct Traffic {
    std::vector<PoolBench::Sent> sent;
    std::vector<std::uint64_t> finished;  ///< instruction and time, in order
    std::vector<Issued> issued;
    std::map<std::uint32_t, std::vector<std::uint32_t>> of_warp;  ///< instructions, in order
};

/// Random loads and stores. Every load has lines of its own, so that each of its requests is seen to leave, or all want the same few.
Traffic random_traffic(const PoolSetup& setup, std::uint64_t seed, std::uint32_t instructions, bool own_lines) {
    PoolBench bench(setup);
    Rng rng(seed);
    Traffic traffic;
    std::uint64_t fresh = 0;
    std::vector<bool> stores(setup.sm.warps);
    while (traffic.issued.size() < instructions) {
        bench.tick();
        for (int n = 0; n < 2; ++n) {
            const std::uint32_t warp = rng.below(setup.sm.warps);
            const OpClass op = stores[warp] ? OpClass::store : OpClass::load;
            if (bench.refuses(warp, op)) continue;
            const std::uint32_t lines = rng.below(4) == 0 ? 1 + rng.below(32) : 1;
            Access access = divergent(own_lines ? fresh : rng.below(20), lines);
            if (op == OpClass::load) fresh += lines;
            if (!own_lines && rng.below(4) == 0) access = backwards(rng.below(20));
            const std::uint32_t id = bench.issue(warp, op, access);
            EXPECT_EQ(id, traffic.issued.size());
            traffic.issued.push_back({warp, op, {}});
            if (own_lines) {
                for (std::uint32_t lane = 0; lane < lines; ++lane) traffic.issued.back().blocks.insert(access.lanes.of(lane));
            }
            traffic.of_warp[warp].push_back(id);
            stores[warp] = rng.below(3) == 0;
        }
    }
    bench.finish();
    for (std::uint32_t warp = 0; warp < setup.sm.warps; ++warp) {
        EXPECT_FALSE(bench.refuses(warp, OpClass::store)) << "nothing of warp " << warp << " is left between scheduler and L1";
    }
    EXPECT_EQ(bench.front().refused(), 0u);
    EXPECT_EQ(bench.stat("queued_requests") + bench.stat("waiting_requests") + bench.stat("queued_instructions"), 0u);
    traffic.sent = bench.sent;
    for (const auto& f : bench.finished) traffic.finished.push_back(std::uint64_t{f.id} << 40 | f.ready);
    return traffic;
}

PoolSetup varied(std::uint64_t seed) {
    PoolSetup s;
    s.pool.added_latency = static_cast<std::uint32_t>(seed % 5);
    s.pool.coalescers = 1 + static_cast<std::uint32_t>(seed % 4);
    s.pool.queue_entries = seed % 3 == 0 ? 1 : 8;
    s.pool.instruction_queues = seed % 2 == 0 ? 16 : 48;
    s.pool.line_queues = seed % 4 == 0 ? 1 : 32;
    s.pool.merges = 1 + static_cast<std::uint32_t>(seed % 8);
    s.pool.store_patience = seed % 2 == 0 ? 0 : 5;
    s.pool.policy = static_cast<WarpPoolSpec::Policy>(seed % 3);
    s.pool.quantum = 500;
    s.pool.switch_percent = 50;
    s.pool.writeback_per_cycle = static_cast<std::uint32_t>(seed % 3);
    s.l1.mshrs = seed % 3 == 1 ? 2 : 32;
    s.l1.write_policy = seed % 5 == 0 ? L1Spec::WritePolicy::byte_mask : L1Spec::WritePolicy::write_evict;
    s.room = seed % 2 == 0 ? 2 : 16;
    // By address, not by call: the same however often the pool is stepped.
    s.answer = [seed](const Packet& p) { return Cycle{1 + mix64(p.address + seed) % 300}; };
    s.make_room = [seed] { return Cycle{seed % 7}; };
    return s;
}

TEST(WarpPoolOrder, NoStorePassesALoadOfItsWarpNorALoadAStore) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        const Traffic traffic = random_traffic(varied(seed), seed, 1500, true);
        std::map<Addr, Cycle> read_at;
        std::map<std::uint32_t, std::vector<Cycle>> written_at;  // of each warp, in order
        for (const auto& s : traffic.sent) {
            if (s.packet.kind == PacketKind::write)
                written_at[s.packet.tag].push_back(s.at);
            else
                EXPECT_TRUE(read_at.emplace(s.packet.address, s.at).second) << "a line was asked for twice";
        }
        for (const auto& [warp, ids] : traffic.of_warp) {
            // Loads in a row may leave in any order; a store leaves after all that was before it and before all that is after it.
            Cycle last_store = 0, last = 0;
            std::size_t next = 0;
            for (const std::uint32_t id : ids) {
                const Issued& issued = traffic.issued[id];
                if (issued.op == OpClass::load) {
                    for (const Addr block : issued.blocks) {
                        ASSERT_TRUE(read_at.contains(block));
                        ASSERT_GT(read_at[block], last_store) << "warp " << warp << " seed " << seed;
                        last = std::max(last, read_at[block]);
                    }
                } else {
                    for (std::size_t n = 0; n < issued.blocks.size(); ++n) {
                        ASSERT_LT(next, written_at[warp].size());
                        const Cycle at = written_at[warp][next++];
                        ASSERT_GT(at, last) << "warp " << warp << " seed " << seed;
                        last_store = std::max(last_store, at);
                    }
                    last = last_store;
                }
            }
            EXPECT_EQ(next, written_at[warp].size());
        }
    }
}

TEST(WarpPoolSleep, BeingSteppedInEveryCycleChangesNothing) {
    for (std::uint64_t seed = 0; seed < 24; ++seed) {
        PoolSetup setup = varied(seed);
        setup.pool.map_entries = seed % 3 == 0 ? 1 : 8;
        const Traffic asked = random_traffic(setup, seed, 600, seed % 4 == 3);
        setup.patient = false;
        const Traffic always = random_traffic(setup, seed, 600, seed % 4 == 3);
        EXPECT_EQ(asked.finished, always.finished) << "seed " << seed;
        ASSERT_EQ(asked.sent.size(), always.sent.size());
        for (std::size_t n = 0; n < asked.sent.size(); ++n) {
            ASSERT_EQ(asked.sent[n].at, always.sent[n].at) << "seed " << seed;
            ASSERT_EQ(asked.sent[n].packet.address, always.sent[n].packet.address) << "seed " << seed;
        }
    }
}

}  // namespace
}  // namespace mergelane::testing
