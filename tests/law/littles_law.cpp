// SPDX-License-Identifier: MIT
// Little's law: the occupancy of a stage, integrated over time, equals the sum of the times that requests spent there. The left side is
// sampled from outside every cycle, the right side comes from the stage's own statistics.
#include <gtest/gtest.h>

#include <map>

#include "machines.hpp"
#include "random_scripts.hpp"
#include "run.hpp"
#include "workload/synthetic.hpp"

namespace mergelane::testing {
namespace {

/// Integrates an occupancy over core cycles. A window is one core cycle; windows in which nothing happens are skipped
/// by the engine, and the state of the one before holds through them.
class Integral {
public:
    void sample(Cycle window_start, std::uint64_t occupancy) {
        sum_ += last_ * (window_start - since_);
        since_ = window_start;
        last_ = occupancy;
    }
    std::uint64_t value() const { return sum_; }
    std::uint64_t left_inside() const { return last_; }

private:
    Cycle since_ = 0;
    std::uint64_t last_ = 0;
    std::uint64_t sum_ = 0;
};

struct Observed {
    RunResult result;
    std::map<std::string, Integral> inside;
    std::uint64_t samples = 0;
};

Observed observe(const MachineSpec& spec, Workload& workload) {
    Observed seen;
    RunOptions options;
    options.window_cycles = 1;
    options.sleep = false;
    options.after_window = [&](Machine& machine, Time time) {
        const Cycle start = time / machine.timing().core.period - 1;
        std::uint64_t l1 = 0, l2 = 0;
        for (const Sm& sm : machine.sms()) l1 += gauge_of(sm, "l1", "mshrs");
        for (const L2Slice& slice : machine.slices()) l2 += slice.mshrs_in_use();
        seen.inside["l1.mshrs"].sample(start, l1);
        seen.inside["l2.mshrs"].sample(start, l2);
        seen.inside["dram.queue"].sample(start, machine.held("dram"));
        // From leaving the port (or the L2) until the crossbar sends it on.
        seen.inside["noc.request"].sample(start, machine.in_flight("cluster -> request network") + machine.held("request network"));
        seen.inside["noc.reply"].sample(start, machine.in_flight("l2 -> reply network") + machine.held("reply network"));
        seen.inside["sm.requests"].sample(start, machine.held("sm"));
        // Conservation at every instant: a request outstanding at an SM is in exactly one place.
        std::uint64_t somewhere =
            machine.held("cluster") + machine.held("request network") + machine.held("l2") + machine.held("reply network");
        for (const char* boundary : {"sm -> cluster", "cluster -> request network", "request network -> l2", "l2 -> reply network",
                                     "reply network -> cluster", "cluster -> sm"}) {
            somewhere += machine.in_flight(boundary);
        }
        if (somewhere != machine.held("sm"))
            ADD_FAILURE() << "cycle " << start << ": " << machine.held("sm") << " requests outstanding, " << somewhere << " found";
        ++seen.samples;
    };
    seen.result = run_on(spec, workload, options);
    return seen;
}

MachineSpec small() {
    MachineSpec s = icc60_like(3);
    s.gpu.sms_per_cluster = 2;
    s.dram.channels = 2;
    return valid(s);
}

/// Reads only: at the end of the kernel nothing is left under way, not even a write-back.
std::vector<CtaScript> reads(std::uint64_t seed, std::uint32_t warps) {
    std::vector<CtaScript> ctas;
    for (std::uint32_t c = 0; c < 24; ++c) {
        CtaScript cta(warps);
        Rng rng(seed * 100 + c);
        for (WarpScript& warp : cta) {
            for (std::uint16_t i = 0; i < 20; ++i) {
                Access access;
                access.lanes = affine(rng.next() % 3000 * 128);
                if (rng.below(4) == 0) access = random_access(rng, {});
                warp.load(static_cast<std::uint16_t>(i % 8), access, {static_cast<std::uint16_t>((i + 3) % 8)});
            }
        }
        ctas.push_back(std::move(cta));
    }
    return ctas;
}

void expect_stations_exact(const Observed& seen, const MachineSpec& s) {
    const auto inside = [&](const char* station) { return seen.inside.at(station).value(); };
    const auto stat = [&](std::string_view name) { return seen.result.stat(name); };
    EXPECT_GT(inside("dram.queue"), 0u);
    EXPECT_EQ(inside("l1.mshrs"), stat("l1.miss_latency"));
    EXPECT_EQ(inside("l2.mshrs"), stat("l2.fetch_latency"));
    EXPECT_EQ(inside("dram.queue"), stat("dram.queue_wait"));
    // A crossbar's statistic starts at its input, so the time on the way there is added per packet. Both ways are
    // the traversal here: it is not shorter than the credit latency.
    ASSERT_GE(s.noc.traversal_latency, s.noc.credit_latency);
    EXPECT_EQ(inside("noc.request"), stat("noc.request.wait") + stat("noc.request.packets") * s.noc.traversal_latency);
    EXPECT_EQ(inside("noc.reply"), stat("noc.reply.wait") + stat("noc.reply.packets") * s.noc.traversal_latency);
    for (const auto& [station, integral] : seen.inside) EXPECT_EQ(integral.left_inside(), 0u) << station;
}

TEST(LittlesLaw, HoldsExactlyAtEveryStation) {
    for (const auto queueing : {NetworkShape::Queueing::fifo, NetworkShape::Queueing::voq}) {
        MachineSpec s = small();
        s.noc.queueing = queueing;
        ScriptedWorkload workload(reads(1, 6));
        expect_stations_exact(observe(s, workload), s);
    }
}

TEST(LittlesLaw, HoldsExactlyUnderBackPressure) {
    const MachineSpec s = with_tiny_buffers(small());
    ScriptedWorkload workload(reads(2, 6));
    expect_stations_exact(observe(s, workload), s);
}

TEST(LittlesLaw, HoldsExactlyForLoadsThatWaitAlone) {
    // One warp per SM whose loads wait for each other: a load then lives one cycle in the load/store queue and after
    // that in the L1's MSHR entry (or, hitting, for the hit latency).
    const MachineSpec s = small();
    std::vector<CtaScript> ctas;
    for (std::uint32_t c = 0; c < s.sms(); ++c) {
        WarpScript warp;
        Rng rng(c);
        for (std::uint16_t i = 0; i < 40; ++i) {
            Access access;
            access.lanes = affine(rng.next() % 30 * 128);
            warp.load(static_cast<std::uint16_t>(i % 2), access, {static_cast<std::uint16_t>((i + 1) % 2)});
        }
        warp.use(1);  // the last value is waited for
        ctas.push_back({warp});
    }
    ScriptedWorkload workload(ctas);
    const Observed seen = observe(s, workload);
    const auto stat = [&](std::string_view name) { return seen.result.stat(name); };
    const std::uint64_t sectors = s.l1.sector_bytes / kSectorBytes;
    const std::uint64_t hits = stat("l1.sector_hits") / sectors;
    EXPECT_GT(hits, 0u);
    EXPECT_EQ(stat("sm.loads"), 40u * s.sms());
    EXPECT_EQ(stat("sm.load_latency"), stat("sm.loads") + hits * s.l1.hit_latency + seen.inside.at("l1.mshrs").value());
    // All requests are MSHR misses here, and both leave with the same cycle.
    EXPECT_EQ(seen.inside.at("sm.requests").value(), seen.inside.at("l1.mshrs").value());
}

TEST(LittlesLaw, HoldsOverTheNetworkForAnyMix) {
    // Stores and atomics included; write-backs outlive the kernel, so DRAM is left out.
    const MachineSpec s = small();
    std::vector<CtaScript> ctas;
    for (std::uint32_t c = 0; c < 12; ++c) ctas.push_back(random_cta(900 + c, {}));
    ScriptedWorkload workload(ctas);
    const Observed seen = observe(s, workload);
    const auto stat = [&](std::string_view name) { return seen.result.stat(name); };
    EXPECT_EQ(seen.inside.at("noc.request").value(), stat("noc.request.wait") + stat("noc.request.packets") * s.noc.traversal_latency);
    EXPECT_EQ(seen.inside.at("noc.reply").value(), stat("noc.reply.wait") + stat("noc.reply.packets") * s.noc.traversal_latency);
    EXPECT_EQ(seen.inside.at("l1.mshrs").value(), stat("l1.miss_latency"));
    EXPECT_EQ(seen.inside.at("l2.mshrs").value(), stat("l2.fetch_latency"));
}

TEST(LittlesLaw, HoldsAcrossClocks) {
    MachineSpec s = gtx480_like();
    s.gpu.clusters = 4;
    s.dram.channels = 2;
    valid(s);
    ScriptedWorkload workload(reads(3, 4));
    const Observed seen = observe(s, workload);
    const auto inside = [&](const char* station) { return static_cast<double>(seen.inside.at(station).value()); };
    const auto stat = [&](std::string_view name) { return static_cast<double>(seen.result.stat(name)); };
    // After a pause the engine starts a window at the edge of whichever clock is next, so a window need not start at
    // the station's own edge: a sample can be up to one core cycle off at either end of a stay.
    const auto expect_near = [&](const char* station, double cycles) { EXPECT_NEAR(inside(station), cycles, 0.01 * cycles) << station; };
    expect_near("l1.mshrs", stat("l1.miss_latency"));
    expect_near("l2.mshrs", stat("l2.fetch_latency") * s.gpu.core_mhz / s.gpu.l2_mhz);
    expect_near("dram.queue", stat("dram.queue_wait") * s.gpu.core_mhz / s.gpu.dram_mhz);
}

}  // namespace
}  // namespace mergelane::testing
