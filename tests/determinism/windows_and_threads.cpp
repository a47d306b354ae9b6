// SPDX-License-Identifier: MIT
// Law: the same inputs give the same counters, for any number of threads, any window, sleeping or not. The one place where this is tested:
// a machine that deserves it is a row of kMachines, a kind of workload one of kSources; what is registered comes by itself (variants.hpp).
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "cluster/icc_spec.hpp"
#include "cluster/locality_meter.hpp"
#include "cluster/network_ports_spec.hpp"
#include "config/config.hpp"
#include "dcl1_machines.hpp"
#include "dispatch/clustering_spec.hpp"
#include "l2/request_coalescer_spec.hpp"
#include "machines.hpp"
#include "noc/mesh_spec.hpp"
#include "noc/noc_spec.hpp"
#include "noc/packet_coalescing_spec.hpp"
#include "parts/replication_meter.hpp"
#include "ptx_helpers.hpp"
#include "random_scripts.hpp"
#include "run.hpp"
#include "sm/warp_pool_spec.hpp"
#include "traces.hpp"
#include "tracez_writer.hpp"
#include "variants.hpp"
#include "workload/ptx/manifest.hpp"
#include "workload/suite/ptx_executor.hpp"
#include "workload/synthetic.hpp"
#include "workload/tracefile/trace_file.hpp"
#include "workload/tracefile/writer.hpp"

namespace mergelane::testing {
namespace {

MachineSpec small_icc() {
    MachineSpec s = icc60_like(3);
    s.gpu.sms_per_cluster = 2;
    s.dram.channels = 2;
    return valid(s);
}
MachineSpec small_gtx() {
    MachineSpec s = gtx480_like();
    s.gpu.clusters = 5;
    s.dram.channels = 3;
    return valid(s);
}
MachineSpec small_v100() {
    MachineSpec s = v100_like();
    s.gpu.clusters = 6;
    s.dram.channels = 2;
    s.dispatch.launch_latency = 300;
    return valid(s);
}
/// Clocks so slow that several windows pass between two of their cycles.
MachineSpec slow_memory() {
    MachineSpec s = small_icc();
    s.name = "slow-memory";
    s.gpu.clusters = 2;
    s.gpu.l2_mhz = 140;
    s.gpu.dram_mhz = 175;
    return valid(s);
}
MachineSpec two_groups() {
    MachineSpec s = small_icc();
    s.name = "two-groups";
    s.gpu.groups = 2;
    s.noc.queueing = NetworkShape::Queueing::voq;
    s.noc.arbiter = NetworkShape::Arbiter::islip;
    return valid(s);
}
/// Everything a cluster can do.
MachineSpec coalescing() {
    MachineSpec s = small_icc();
    s.name = "coalescing";
    s.section<IccSpec>().on = true;
    s.section<IccSpec>().entries = 6;
    s.section<CoalescedCacheSpec>().on = true;
    s.section<CoalescedCacheSpec>().entries = 4;
    s.section<LocalitySpec>().on = true;
    s.section<L1MeterSpec>().on = true;
    s.section<NocMeterSpec>().on = true;
    s.dispatch.scheduler = "distributed_block";
    return valid(s);
}
/// No component between clusters and slices: packets stay with their senders until they are taken.
MachineSpec output_queues() {
    MachineSpec s = coalescing();
    s.name = "output-queues";
    s.noc.kind = "output_queues";
    return valid(s);
}
MachineSpec on_mesh(MachineSpec s, const char* name, bool shared = false) {
    s.name = name;
    s.noc.kind = "mesh";
    s.section<MeshSpec>().shared = shared;
    return valid(s);
}
MachineSpec icc_mesh() {
    return on_mesh(coalescing(), "icc-mesh");
}
MachineSpec icc_shared_mesh() {
    MachineSpec s = coalescing();
    s.gpu.groups = 2;
    s.section<L1MeterSpec>().on = false;
    s.section<MeshSpec>().virtual_channels = 2;
    return on_mesh(s, "icc-shared-mesh", true);
}
MachineSpec warp_pool() {
    MachineSpec s = small_gtx();
    s.name = "warp-pool";
    s.lsu.front = "warp_pool";
    s.sm.shared_path = SmSpec::SharedPath::own;
    s.section<WarpPoolSpec>().quantum = 500;
    s.section<WarpPoolSpec>().switch_percent = 30;
    s.section<L1MeterSpec>().on = true;
    s.section<NocMeterSpec>().on = true;
    return valid(s);
}
MachineSpec mrpb_limited() {
    MachineSpec s = small_gtx();
    s.name = "mrpb-limited";
    s.lsu.front = "mrpb";
    s.sm.shared_path = SmSpec::SharedPath::own;
    s.sm.warp_limit = 3;
    return valid(s);
}
MachineSpec banked() {
    MachineSpec s = small_gtx();
    s.name = "banked";
    s.lsu.front = "banked";
    return valid(s);
}
MachineSpec decoupled_l1() {
    return decoupled(4, 2, 1400);
}
MachineSpec warp_pool_mesh() {
    return on_mesh(warp_pool(), "warp-pool-mesh");
}
MachineSpec decoupled_mesh() {
    return on_mesh(decoupled(4, 2, 1400), "decoupled-mesh");
}
/// Everything that merges, one behind the other: WarpPool, ICC, nodes, routers and request coalescers.
MachineSpec merging_everywhere() {
    MachineSpec s = on_mesh(behind_shared_ports(4, 2, 4), "merging-everywhere");
    s.lsu.front = "warp_pool";
    s.sm.shared_path = SmSpec::SharedPath::own;
    s.section<IccSpec>().on = true;
    s.section<CoalescedCacheSpec>().on = true;
    s.section<PacketCoalescingSpec>().on = true;
    s.section<RequestCoalescerSpec>().on = true;
    return valid(s);
}
/// No cache behind a mesh of short buffers.
MachineSpec bare_mesh() {
    MachineSpec s = small_v100();
    s.l2.enabled = false;
    s.dram.scheduler = "banked_fifo";
    s.section<MeshSpec>().virtual_channels = 1;
    s.section<MeshSpec>().buffer_flits = 2;
    return on_mesh(s, "bare-mesh");
}
/// Routers that merge requests, with ICC before them.
MachineSpec merging_mesh() {
    MachineSpec s = coalescing();
    s.section<PacketCoalescingSpec>().on = true;
    s.section<MeshSpec>().virtual_channels = 1;
    return on_mesh(s, "merging-mesh");
}
MachineSpec agents() {
    MachineSpec s = small_gtx();
    s.dispatch.transform = "agents";
    s.dispatch.scheduler = "random_per_turnaround";
    return valid(s);
}
MachineSpec prefetching() {
    MachineSpec s = agents();
    s.name = "prefetching";
    s.section<ClusteringSpec>().prefetch = 3;
    s.section<ClusteringSpec>().bypass = "2,5";
    return valid(s);
}
MachineSpec tiny() {
    return with_tiny_buffers(small_gtx());
}
MachineSpec plain_queues() {
    return configured(small_icc(), {{"noc.kind", "output_queues"}});
}
MachineSpec two_stages() {
    return configured(small_icc(), {{"gpu.clusters", "5"}, {"noc.kind", "two_stage"}, {"noc.stage_inputs", "2"}, {"noc.stage_links", "1"}});
}
/// Loads that a transform sends past the L1.
MachineSpec redirected() {
    return configured(small_icc(), {{"gpu.groups", "2"},
                                    {"dispatch.transform", "redirect"},
                                    {"dispatch.scheduler", "random_per_turnaround"},
                                    {"clustering.bypass", "0,2"}});
}
MachineSpec prefetching_groups() {
    return configured(prefetching(), {{"gpu.groups", "2"}, {"gpu.clusters", "4"}});
}
/// L1s of one group know nothing of those of another.
MachineSpec metered_groups() {
    return configured(small_gtx(), {{"gpu.groups", "3"}, {"gpu.clusters", "6"}, {"sm.shared_path", "own"}, {"l1.meter.enabled", "true"}});
}

/// `variety`: runs every synthetic workload, not a choice of them.
/// Requests merge in front of slices that have room for few, and in SM clusters of unequal size.
MachineSpec coalesced_slices() {
    return configured(small_v100(), {{"l2.lrc.enabled", "true"},
                                     {"l2.lrc.entries", "12"},
                                     {"l2.lrc.on_store", "close"},
                                     {"l2.slice_hash", "ipoly_modulo"},
                                     {"dram.channels", "3"}});
}
MachineSpec unequal_clusters() {
    MachineSpec s = small_icc();
    s.gpu.sms_per_cluster = 4;
    s.section<ClusterSizesSpec>().sizes = {2, 4, 1};
    s.section<ClusterWidthSpec>().packets_per_cycle = 3;
    return configured(s, {{"cluster.icc.enabled", "true"}, {"l2.lrc.enabled", "true"}, {"dispatch.scheduler", "distributed_block"}});
}

/// A GPC with a network port for each SM, in front of an L2 in two halves with request coalescers.
MachineSpec gpcs() {
    MachineSpec s = small_icc();
    s.gpu.clusters = 2;
    s.gpu.sms_per_cluster = 4;
    s.section<ClusterSizesSpec>().sizes = {4, 3};
    s.section<ClusterWidthSpec>().packets_per_cycle = 8;
    s.section<NetworkPortsSpec>().ports = 4;
    return configured(s, {{"cluster.icc.enabled", "true"},
                          {"cluster.cc.enabled", "true"},
                          {"l2.lrc.enabled", "true"},
                          {"l2.halves.enabled", "true"},
                          {"l2.halves.far", "copy"}});
}

/// An L2 in two halves with little room between them.
MachineSpec two_halves() {
    return configured(small_v100(), {{"l2.halves.enabled", "true"}, {"l2.halves.latency", "30"}, {"l2.halves.queue", "6"}});
}
MachineSpec two_halves_with_copies() {
    return configured(small_icc(), {{"l2.halves.enabled", "true"},
                                    {"l2.halves.far", "copy"},
                                    {"l2.halves.bytes_per_cycle", "16"},
                                    {"l2.halves.queue", "4"},
                                    {"l2.lrc.enabled", "true"},
                                    {"noc.kind", "output_queues"}});
}

struct Case {
    const char* name;
    MachineSpec (*machine)();
    bool variety = true;
};
constexpr Case kMachines[] = {{"icc", small_icc},
                              {"gtx", small_gtx},
                              {"v100", small_v100},
                              {"slow_memory", slow_memory},
                              {"two_groups", two_groups},
                              {"tiny", tiny},
                              {"coalescing", coalescing},
                              {"output_queues", output_queues},
                              {"icc_mesh", icc_mesh},
                              {"icc_shared_mesh", icc_shared_mesh},
                              {"warp_pool_mesh", warp_pool_mesh},
                              {"decoupled_mesh", decoupled_mesh},
                              {"merging_everywhere", merging_everywhere},
                              {"bare_mesh", bare_mesh},
                              {"merging_mesh", merging_mesh},
                              {"warp_pool", warp_pool},
                              {"mrpb_limited", mrpb_limited},
                              {"banked", banked},
                              {"decoupled_l1", decoupled_l1},
                              {"agents", agents},
                              {"prefetching", prefetching},
                              {"coalesced_slices", coalesced_slices},
                              {"unequal_clusters", unequal_clusters},
                              {"gpcs", gpcs},
                              {"two_halves", two_halves},
                              {"two_halves_with_copies", two_halves_with_copies},
                              {"plain_queues", plain_queues, false},
                              {"two_stages", two_stages, false},
                              {"redirected", redirected, false},
                              {"prefetching_groups", prefetching_groups, false},
                              {"metered_groups", metered_groups, false}};

SyntheticParams small_params(std::string_view kind) {
    SyntheticParams p = synthetic_defaults(kind);
    const bool divergent = kind == "divergent" || kind == "atomic";  // 32 requests per instruction
    p.ctas = divergent ? 5 : 14;
    p.iterations = divergent ? 1 : std::min(p.iterations, 2u);
    p.warps = std::min(p.warps, 2u);
    p.footprint_kib = 256;
    p.kernels = 2;
    return p;
}

struct Mode {
    std::uint32_t threads;
    std::uint32_t window;
    bool sleep;
};
constexpr Mode kModes[] = {{1, 1, true}, {1, 0, false}, {1, 1, false}, {1, 3, true}, {2, 0, true},
                           {2, 1, true}, {2, 3, true},  {4, 0, true},  {8, 0, true}};

RunResult run_in(const Mode& mode, const MachineSpec& spec, Workload& workload, std::uint64_t max_cycles = 0, std::uint64_t interval = 0) {
    RunOptions options;
    options.threads = mode.threads;
    options.window_cycles = mode.window;
    options.sleep = mode.sleep;
    options.max_cycles = max_cycles;
    options.interval_cycles = interval;
    return run_on(spec, workload, options);
}

/// Those of an interval are never negative, and add up to the run's.
void expect_sums(const RunResult& result, const std::string& what) {
    std::vector<std::uint64_t> sums(result.stats.size());
    for (std::size_t i = 0; i < result.intervals.size(); ++i) {
        for (std::size_t s = 0; s < sums.size(); ++s) {
            EXPECT_LE(result.intervals.of(i)[s], result.stats[s].value) << what << ", " << result.stats[s].name << ", interval " << i;
            sums[s] += result.intervals.of(i)[s];
        }
    }
    for (std::size_t s = 0; s < sums.size(); ++s) EXPECT_EQ(sums[s], result.stats[s].value) << what << ", " << result.stats[s].name;
}

/// Names the first counter that differs: a digest alone would not help anyone.
std::string first_difference(const RunResult& a, const RunResult& b) {
    if (a.cycles != b.cycles) return "cycles " + std::to_string(a.cycles) + " against " + std::to_string(b.cycles);
    for (std::size_t i = 0; i < a.stats.size() && i < b.stats.size(); ++i) {
        if (a.stats[i].value != b.stats[i].value) {
            return a.stats[i].name + " " + std::to_string(a.stats[i].value) + " against " + std::to_string(b.stats[i].value);
        }
    }
    return "only per-component or per-kernel counters differ";
}

std::string first_interval(const RunResult& a, const RunResult& b) {
    for (std::size_t i = 0; i < a.intervals.size() && i < b.intervals.size(); ++i) {
        for (std::size_t s = 0; s < a.stats.size(); ++s) {
            if (a.intervals.of(i)[s] == b.intervals.of(i)[s]) continue;
            return a.stats[s].name + " " + std::to_string(a.intervals.of(i)[s]) + " against " + std::to_string(b.intervals.of(i)[s]) +
                   " in interval " + std::to_string(i);
        }
    }
    return "none";
}

using MachineAndKind = std::tuple<std::size_t, const char*>;
std::vector<MachineAndKind> machines_and_kinds() {
    std::vector<MachineAndKind> list;
    for (std::size_t m = 0; m < std::size(kMachines); ++m) {
        for (const char* kind : {"stream", "tiled", "divergent", "atomic"}) list.emplace_back(m, kind);
        if (!kMachines[m].variety) continue;
        for (const char* kind : {"compute", "chase", "shared", "store", "barrier"}) list.emplace_back(m, kind);
    }
    return list;
}

class OneDigest : public ::testing::TestWithParam<MachineAndKind> {};
INSTANTIATE_TEST_SUITE_P(ForAll, OneDigest, ::testing::ValuesIn(machines_and_kinds()), [](const auto& pair) {
    return std::string(kMachines[std::get<0>(pair.param)].name) + "_" + std::get<1>(pair.param);
});

TEST_P(OneDigest, ForThreadsWindowsAndSleep) {
    const MachineSpec spec = kMachines[std::get<0>(GetParam())].machine();
    const char* kind = std::get<1>(GetParam());
    const bool slow = spec.name == "slow-memory" || spec.l2.mshrs <= 2;  // many cycles per request
    const auto run = [&](const Mode& mode, std::uint64_t max_cycles, std::uint64_t interval = 0) {
        SyntheticParams params = small_params(kind);
        if (slow) params.ctas = std::max(params.ctas / 3, 2u);
        const auto workload = make_synthetic(kind, params);
        return run_in(mode, spec, *workload, max_cycles, interval);
    };
    const RunResult whole = run({1, 0, true}, 0);
    ASSERT_EQ(whole.kernels.size(), 2u);
    const RunResult part = run({1, 0, true}, whole.cycles * 2 / 3);
    EXPECT_EQ(part.partial, "cycle limit");
    EXPECT_NE(part.digest, whole.digest);
    const std::uint64_t interval = whole.cycles / 23 + 1;
    const RunResult in_intervals = run({1, 0, true}, 0, interval);
    EXPECT_EQ(in_intervals.digest, whole.digest) << "in intervals: " << first_difference(whole, in_intervals);
    expect_sums(in_intervals, "in intervals");
    for (const Mode& mode : kModes) {
        const std::string what =
            "threads " + std::to_string(mode.threads) + ", window " + std::to_string(mode.window) + (mode.sleep ? "" : ", no sleep");
        const RunResult again = run(mode, 0, interval);
        EXPECT_EQ(again.digest, whole.digest) << what << ": " << first_difference(whole, again);
        EXPECT_EQ(again.intervals.counts, in_intervals.intervals.counts) << what << ": " << first_interval(in_intervals, again);
        if (mode.threads > 4) continue;
        const RunResult cut = run(mode, whole.cycles * 2 / 3);
        EXPECT_EQ(cut.digest, part.digest) << what << ", cut: " << first_difference(part, cut);
    }
}

class OneDigestOf : public ::testing::TestWithParam<Variant> {};
INSTANTIATE_TEST_SUITE_P(EveryVariant, OneDigestOf, ::testing::ValuesIn(variants()), [](const auto& given) { return given.param.name(); });

TEST_P(OneDigestOf, ForThreadsWindowsAndSleep) {
    const MachineSpec spec = machine_with(GetParam()).spec;
    const RunResult whole = run_mixed(spec);
    RunOptions cut;
    cut.interval_cycles = whole.cycles / 31 + 1;
    const RunResult in_intervals = run_mixed(spec, cut);
    EXPECT_EQ(in_intervals.digest, whole.digest) << "in intervals: " << first_difference(whole, in_intervals);
    expect_sums(in_intervals, "in intervals");
    for (const Mode& mode : {Mode{1, 1, false}, Mode{2, 0, true}, Mode{2, 3, true}, Mode{4, 0, true}}) {
        RunOptions options;
        options.threads = mode.threads;
        options.window_cycles = mode.window;
        options.sleep = mode.sleep;
        options.interval_cycles = cut.interval_cycles;
        const RunResult again = run_mixed(spec, options);
        EXPECT_EQ(again.intervals.counts, in_intervals.intervals.counts) << mode.threads << " threads, window " << mode.window;
        EXPECT_EQ(again.digest, whole.digest) << mode.threads << " threads, window " << mode.window << ": "
                                              << first_difference(whole, again);
    }
}

/// Where instructions come from: executed, read from files by all threads together, or recorded and replayed.
struct Source {
    std::string name;
    MachineSpec (*machine)();
    std::function<std::unique_ptr<Workload>()> make;
    bool recorded = false;  ///< the same digest, too, when it is replayed from a trace file
};

/// One kernel of short CTAs, and one whose CTAs are long enough to be read in windows.
std::string write_list() {
    for (int kernel = 1; kernel <= 2; ++kernel) {
        TraceText trace;
        trace.name = "k" + std::to_string(kernel);
        trace.grid = "(12,1,1)";
        trace.block = "(64,1,1)";
        const int rounds = kernel == 1 ? 3 : 18;
        for (int cta = 0; cta < 12; ++cta) {
            std::vector<std::vector<std::string>> warps(2);
            for (std::size_t w = 0; w < 2; ++w) {
                for (int i = 0; i < rounds; ++i) {
                    const std::string page = std::to_string(10 + (cta * 7 + i) % 90);
                    const std::string pad(kernel == 1 ? 0 : 4000, ' ');
                    warps[w].push_back("0000 ffffffff 1 R4 LDG.E 1 R2 4 1 0x7f4b00" + page + "000 4 0" + pad);
                    warps[w].push_back("0010 0000ffff 1 R5 FADD 2 R4 R5 0 0");
                    if (i % 5 == 0) warps[w].push_back("0020 ffffffff 0 BAR.SYNC 0 0 0");
                    warps[w].push_back("0030 0000000f 0 STG.E 2 R2 R5 4 2 0x7f4b10" + page + "000 128 -4096 64 0");
                    if (i % 7 == 0) warps[w].push_back("0040 00000003 0 RED.E.ADD 1 R2 4 0 0x7f4b20000000 0x7f4b20000000 0");
                    if (i == 2) warps[w].push_back("0050 ffffffff 0 OPCODE" + std::to_string(cta) + " 0 0 0");
                }
                warps[w].push_back("0060 ffffffff 0 EXIT 0 0 0");
            }
            trace.cta(std::to_string(cta) + ",0,0", warps);
        }
        trace.write("kernel-" + trace.name + ".traceg");
    }
    return write_temporary("kernelslist.g", "kernel-k1.traceg\nkernel-k2.traceg\n");
}
std::unique_ptr<Workload> traced() {
    return accelsim::open_trace(write_list(), {});
}

/// A kernel that executes while it is timed, for it asks where it is.
class AtPlacement final : public Workload {
public:
    AtPlacement() : device_(ptx::test_data("where.ptx")) {
        device_.record = device_.options.at_placement = true;
        const Addr places = device_.zeros<std::byte>(300 * 32);
        const Addr counters = device_.zeros<std::uint32_t>(1024);
        kernel_ = device_.run("where", {300, 1, 1}, {64, 1, 1}, places, counters);
    }
    const std::string& name() const override { return name_; }
    const KernelSource* next_kernel() override { return std::exchange(given_, true) ? nullptr : kernel_.get(); }

private:
    std::string name_ = "at placement";
    ptx::TestDevice device_;
    std::unique_ptr<KernelSource> kernel_;
    bool given_ = false;
};

MachineSpec icc60() {
    return load_config("icc60", {}, {std::filesystem::path(MERGELANE_SOURCE_DIR) / "gpus"}).spec;
}
/// Reads the next CTA of a trace while others still read this one.
MachineSpec reads_ahead() {
    return configured(icc60_like(2), {{"gpu.sms_per_cluster", "1"},
                                      {"dram.channels", "2"},
                                      {"dispatch.transform", "agents"},
                                      {"clustering.agents", "2"},
                                      {"clustering.prefetch", "2"}});
}

std::vector<Source> sources() {
    std::vector<Source> list = {
        {"traces_icc", small_icc, traced},
        {"traces_v100", small_v100, traced},
        {"traces_read_ahead", reads_ahead, traced},
        {"at_placement_icc", small_icc, [] { return std::make_unique<AtPlacement>(); }},
        {"at_placement_v100", small_v100, [] { return std::make_unique<AtPlacement>(); }},
        {"ptx", small_icc, [] { return ptx::load_manifest(MERGELANE_SOURCE_DIR "/tests/data/ptx/matmul.toml"); }, true}};
    for (const char* kind : {"stream", "tiled", "divergent", "atomic"})
        list.push_back({kind, small_icc, [kind] { return make_synthetic(kind, small_params(kind)); }, true});
    for (const char* name : {"hotspot", "bfs", "lud", "spmv", "histogram", "matrixmul"}) {
        list.push_back({name, icc60,
                        [name] {
                            return suite::make_suite_workload(name, suite::Size::tiny, 1, {},
                                                              {std::filesystem::path(MERGELANE_SOURCE_DIR) / "kernels"});
                        },
                        true});
    }
    return list;
}

class OneDigestFrom : public ::testing::TestWithParam<Source> {};
INSTANTIATE_TEST_SUITE_P(EverySource, OneDigestFrom, ::testing::ValuesIn(sources()), [](const auto& given) { return given.param.name; });

TEST_P(OneDigestFrom, ForThreadsWindowsAndReplay) {
    const Source& source = GetParam();
    const MachineSpec spec = source.machine();
    const RunResult whole = run_in({1, 0, true}, spec, *source.make());
    for (const Mode& mode : {Mode{2, 0, true}, Mode{4, 0, true}, Mode{2, 1, false}}) {
        const RunResult again = run_in(mode, spec, *source.make());
        EXPECT_EQ(again.digest, whole.digest) << mode.threads << " threads, window " << mode.window << ": "
                                              << first_difference(whole, again);
    }
    if (!source.recorded) return;
    const std::string path =
        (std::filesystem::path(::testing::TempDir()) / ("one_digest_" + source.name + std::to_string(::getpid()) + ".mlt")).string();
    tracefile::write_trace(*source.make(), path);
    for (const std::uint32_t threads : {1u, 2u, 4u}) {
        const RunResult again = run_in({threads, 0, true}, spec, *tracefile::open_trace_file(path));
        EXPECT_EQ(again.digest, whole.digest) << "replayed, " << threads << " threads: " << first_difference(whole, again);
        EXPECT_EQ(again.workload, whole.workload);
    }
    std::filesystem::remove(path);
}

/// What cannot be decoded is said once, whichever thread comes to it first.
TEST(TracedKernels, WarnTheSameForAnyNumberOfThreads) {
    const std::string list = write_list();
    std::vector<std::string> first;
    for (const std::uint32_t threads : {1u, 2u, 4u}) {
        std::vector<std::string> warnings;
        accelsim::ReplayOptions replay;
        replay.warn = [&](const std::string& text) { warnings.push_back(text); };
        const auto workload = accelsim::open_trace(list, replay);
        EXPECT_EQ(run_in({threads, 0, true}, small_icc(), *workload).kernels.size(), 2u);
        EXPECT_EQ(warnings.size(), 1u);
        if (first.empty()) first = warnings;
        EXPECT_EQ(warnings, first);
    }
}

/// A container is read piece by piece, which must not show.
TEST(TracedKernels, ContainersGiveTheDigestOfTheirText) {
    const std::string list = write_list();
    const std::string expected = run_in({1, 0, true}, small_icc(), *accelsim::open_trace(list, {})).digest;
    const std::filesystem::path folder = std::filesystem::path(list).parent_path();
    for (const std::size_t chunk : {std::size_t{2048}, std::size_t{5}}) {
        std::string names;
        for (const char* name : {"kernel-k1", "kernel-k2"}) {
            std::ifstream in(folder / (std::string(name) + ".traceg"), std::ios::binary);
            const std::string text{std::istreambuf_iterator<char>(in), {}};
            write_temporary(std::string(name) + ".tracez", TracezWriter({chunk, true, true}).write(text).bytes);
            names += std::string(name) + ".tracez\n";
        }
        const std::string containers = write_temporary("containers.g", names);
        for (const std::uint32_t threads : {1u, 2u, 4u})
            EXPECT_EQ(run_in({threads, 0, true}, small_icc(), *accelsim::open_trace(containers, {})).digest, expected)
                << threads << " threads, sub-chunks of " << chunk;
    }
}

TEST(Digest, IsOneForRandomProgramsCutAnywhere) {
    for (const Case& machine : kMachines) {
        const MachineSpec spec = machine.machine();
        std::vector<CtaScript> programs;
        for (std::uint32_t c = 0; c < 6; ++c) programs.push_back(random_cta(500 + c, {}));
        const auto run = [&](const Mode& mode, std::uint64_t max_cycles) {
            ScriptedWorkload workload(programs, 8);
            workload.then(programs, 3);
            return run_in(mode, spec, workload, max_cycles);
        };
        const std::uint64_t whole = run({1, 0, true}, 0).cycles;
        for (const std::uint64_t cut :
             {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{17}, whole / 3, whole / 2 + 1, whole - 1, whole, whole + 5}) {
            const RunResult reference = run({1, 0, true}, cut);
            for (const Mode& mode : {Mode{1, 1, false}, Mode{1, 1, true}, Mode{1, 5, true}, Mode{3, 0, true}}) {
                const RunResult again = run(mode, cut);
                EXPECT_EQ(again.digest, reference.digest)
                    << machine.name << " cut at " << cut << " of " << whole << ", window " << mode.window
                    << (mode.sleep ? "" : ", no sleep") << ": " << first_difference(reference, again);
                EXPECT_EQ(again.partial, reference.partial);
            }
        }
    }
}

TEST(Digest, TellsDifferentRunsApart) {
    const auto digest = [](std::uint32_t seed) {
        SyntheticParams p = small_params("divergent");
        p.seed = seed;
        const auto workload = make_synthetic("divergent", p);
        return run_on(small_icc(), *workload).digest;
    };
    EXPECT_EQ(digest(1), digest(1));
    EXPECT_NE(digest(1), digest(2));
}

TEST(Digest, SurvivesManyRepetitionsWithMoreThreadsThanDomains) {
    std::string first;
    for (int i = 0; i < 6; ++i) {
        const auto workload = make_synthetic("tiled", small_params("tiled"));
        const std::string digest = run_in({16, 0, true}, small_icc(), *workload).digest;
        if (first.empty()) first = digest;
        EXPECT_EQ(digest, first);
    }
}

}  // namespace
}  // namespace mergelane::testing
