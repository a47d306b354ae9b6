// SPDX-License-Identifier: MIT
#include "microbench/microbench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>

#include "core/bulk_box.hpp"
#include "gpc/gpc_spec.hpp"
#include "l2/halves_spec.hpp"
#include "l2/request_coalescer_spec.hpp"
#include "microbench/probe.hpp"
#include "parts/address_map.hpp"
#include "sm/hopper_spec.hpp"

namespace mergelane::microbench {

namespace {

constexpr std::uint64_t kLine = 128;
constexpr Addr kArray = Addr{1} << 36;  ///< arrays of a kernel lie this far apart
constexpr std::uint64_t kMiB = 1 << 20;

/// A bijection of the numbers below `count` in no particular order.
class Shuffle {
public:
    explicit Shuffle(std::uint64_t count) : count_(count), bits_(std::max(2, static_cast<int>(std::bit_width(count - 1)))) {}
    std::uint64_t operator()(std::uint64_t n) const {
        do n = mix(n);
        while (n >= count_);
        return n;
    }

private:
    std::uint64_t mix(std::uint64_t n) const {
        const std::uint64_t mask = (std::uint64_t{1} << bits_) - 1;
        for (const std::uint64_t factor : {0x9E3779B97F4A7C15u, 0xC2B2AE3D27D4EB4Fu}) {
            n = n * factor & mask;
            n ^= n >> (bits_ / 2 + 1);
        }
        return n;
    }

    std::uint64_t count_;
    int bits_;
};

std::uint32_t half_of(const MachineSpec& spec, std::uint32_t sm) {
    return sm < spec.first_sm((spec.gpu.clusters + 1) / 2) ? 0 : 1;
}
bool has_halves(const MachineSpec& spec) {
    return spec.section<HalvesSpec>().enabled();
}

/// Lines in random order whose home is one half of the L2; without halves, any.
class HalfLines {
public:
    HalfLines(const MachineSpec& spec, std::uint64_t count, std::uint64_t among) {
        const AddressMap map(spec.dram.channels, spec.l2.slices_per_channel, spec.l2.interleave_bytes, spec.l2.slice_hash);
        const Shuffle shuffle(among);
        const bool halves = has_halves(spec);
        for (std::uint64_t n = 0; n < among && std::min(lines_[0].size(), lines_[halves].size()) < count; ++n) {
            const Addr line = kArray + shuffle(n) * kLine;
            lines_[halves && map.slice(line) >= spec.slices() / 2].push_back(line);
        }
    }
    Addr at(std::uint32_t half, std::uint64_t n) const { return lines_[lines_[1].empty() ? 0 : half].at(n); }

private:
    std::vector<Addr> lines_[2];
};

void one_address(LaneAddresses& out, Addr address) {
    out.affine = true;
    out.base = address;
    out.stride = 0;
}
void consecutive(LaneAddresses& out, Addr address, std::uint32_t bytes) {
    out.affine = true;
    out.base = address;
    out.stride = bytes;
}
bool first_cta(std::uint64_t cta, std::uint32_t) {
    return cta == 0;
}

/// Cycles of kernel `index` of a run.
double cycles(const RunResult& result, std::size_t index) {
    return static_cast<double>(result.kernels.at(index).cycles);
}

// Latencies: one warp, every load depends on the one before. What a launch costs cancels between a kernel and one of twice the length.

Probe chase(std::uint64_t loads, bool bypass_l1, std::function<Addr(const Where&)> address) {
    Probe probe;
    probe.rounds = loads;
    probe.body = {dependent_load(Space::global, bypass_l1)};
    probe.addresses = [address = std::move(address)](const Where& where, std::uint32_t, LaneAddresses& out) {
        one_address(out, address(where));
    };
    return probe;
}
double latency(Bench& bench, const std::string& name, std::uint64_t loads, Probe warm_up, Probe once, Probe twice) {
    const auto workload = probe_workload(name, {std::move(warm_up), std::move(once), std::move(twice)});
    const RunResult result = bench.run(*workload);
    return (cycles(result, 2) - cycles(result, 1)) / static_cast<double>(loads);
}

double shared_latency(Bench& bench) {
    constexpr std::uint64_t kLoads = 1000;
    const auto probe = [](std::uint64_t loads) {
        Probe p = chase(loads, false, [](const Where&) { return Addr{0}; });
        p.body = {dependent_load(Space::shared, false)};
        p.shared_bytes = 128;
        return p;
    };
    return latency(bench, "latency.shared", kLoads, probe(1), probe(kLoads), probe(2 * kLoads));
}

/// Shared memory of the other CTA of a cluster.
double dsm_latency(Bench& bench) {
    constexpr std::uint64_t kLoads = 1000;
    const auto probe = [](std::uint64_t loads) {
        constexpr Addr kSecondCta = Addr{2} << 24;  // its rank plus one, above the bytes of a CTA
        Probe p = chase(loads, false, [](const Where&) { return kSecondCta; });
        p.body = {dependent_load(Space::shared, false)};
        p.shared_bytes = 128;
        p.ctas = p.cluster = 2;
        p.active = first_cta;
        return p;
    };
    return latency(bench, "latency.dsm", kLoads, probe(1), probe(kLoads), probe(2 * kLoads));
}

/// Bulk copies of one sector that hits the L2, one after the other.
double tma_latency(Bench& bench) {
    constexpr std::uint64_t kCopies = 1000;
    StaticInst copy, wait;
    copy.op = wait.op = OpClass::load;
    copy.space = wait.space = Space::shared;
    copy.async = wait.async = true;
    copy.async_op = AsyncOp::bulk_load;
    wait.async_op = AsyncOp::wait;
    wait.pc = 1;
    const auto probe = [&](std::uint64_t copies) {
        Probe p;
        p.rounds = copies;
        p.shared_bytes = 128;
        p.body = {copy, wait};
        p.addresses = [](const Where& where, std::uint32_t pc, LaneAddresses& out) {
            constexpr Addr kBarrier = 64;
            BulkBox box;
            box.barrier = kBarrier;
            box.first = kArray;
            box.row = box.shared = kSectorBytes;
            out.affine = false;
            out.lane[0] = kBarrier;
            out.lane[1] = where.round + 1;  // events: every copy so far
            out.values = pc == 0 ? box.put(out.lane.data()) : 2;
        };
        return p;
    };
    return latency(bench, "latency.tma", kCopies, probe(1), probe(kCopies), probe(2 * kCopies));
}

double l1_latency(Bench& bench) {
    constexpr std::uint64_t kLoads = 4000;
    const auto probe = [](std::uint64_t loads) {
        return chase(loads, false, [](const Where& where) { return kArray + where.round % 8 * kLine; });
    };
    return latency(bench, "latency.l1", kLoads, probe(1), probe(kLoads), probe(2 * kLoads));
}

/// `far`: of the half of the L2 that is not the SM's. The SMs next to a line have read it before; each line is read once, so that no copy
/// answers.
double l2_latency(Bench& bench, bool far) {
    constexpr std::uint64_t kLoads = 1000;
    const MachineSpec& spec = bench.spec();
    const auto lines = std::make_shared<HalfLines>(spec, 3 * kLoads, 64 * kLoads);
    const auto address = [lines, &spec](const Where& where, std::uint64_t first, bool other) {
        return lines->at(half_of(spec, where.sm) ^ (other ? 1 : 0), first + where.round);
    };
    Probe warm_up = chase(3 * kLoads, true, [address](const Where& where) { return address(where, 0, false); });
    warm_up.ctas = spec.sms();
    const auto measured = [&](std::uint64_t first, std::uint64_t loads) {
        Probe p = chase(loads, true, [address, first, far](const Where& where) { return address(where, first, far); });
        p.active = first_cta;
        return p;
    };
    return latency(bench, far ? "latency.l2_far" : "latency.l2_near", kLoads, std::move(warm_up), measured(0, kLoads),
                   measured(kLoads, 2 * kLoads));
}

/// Lines that nobody has read, in random order over 1 GiB.
double dram_latency(Bench& bench, bool far) {
    constexpr std::uint64_t kLoads = 2000;
    const MachineSpec& spec = bench.spec();
    const auto lines = std::make_shared<HalfLines>(spec, 3 * kLoads, 1024 * kMiB / kLine);
    const auto measured = [&](std::uint64_t first, std::uint64_t loads) {
        return chase(loads, true, [lines, &spec, first, far](const Where& where) {
            return lines->at(half_of(spec, where.sm) ^ (far ? 1 : 0), first + where.round);
        });
    };
    Probe idle = measured(0, 1);
    idle.active = [](std::uint64_t, std::uint32_t) { return false; };
    return latency(bench, far ? "latency.dram_far" : "latency.dram_near", kLoads, std::move(idle), measured(0, kLoads),
                   measured(kLoads, 2 * kLoads));
}

/// A buffer, every line once per pass in random order, read by SM 0. Before, the SMs of its half pass over the buffer in this order,
/// sharing the work, until the caches are in their steady state; if it is much larger than the L2, nobody does.
double chase_latency(Bench& bench, std::uint64_t mib) {
    constexpr std::uint64_t kLoads = 20'000;
    const MachineSpec& spec = bench.spec();
    const std::uint64_t lines = mib * kMiB / kLine;
    const std::uint64_t l2_kib = std::uint64_t{spec.slices()} * spec.l2.size_kib;
    const std::uint64_t passes = mib * 1024 <= l2_kib / 2 ? 1 : mib * 1024 < 2 * l2_kib ? 2 : 0;
    const std::uint32_t helpers = has_halves(spec) ? spec.first_sm((spec.gpu.clusters + 1) / 2) : spec.sms();
    const Shuffle shuffle(lines);
    const auto read_by = [&](std::uint32_t sms, std::uint64_t first, std::uint64_t loads) {
        Probe probe = chase(loads, sms != 1, [shuffle, first, lines, sms](const Where& where) {
            return kArray + shuffle((first + where.round * sms + where.sm) % lines) * kLine;
        });
        probe.ctas = spec.sms();
        probe.active = [sms](std::uint64_t, std::uint32_t sm) { return sm < sms; };
        return probe;
    };
    const std::uint64_t shared = passes * divide_up(lines, std::uint64_t{helpers});
    return latency(bench, fmt::format("latency.chase_{}mib", mib), kLoads, read_by(helpers, 0, std::max<std::uint64_t>(1, shared)),
                   read_by(1, passes * lines, kLoads), read_by(1, passes * lines + kLoads, 2 * kLoads));
}

// Bandwidths: of kernels that differ only in length.

double bandwidth_of(Bench& bench, const std::string& name, Probe probe, std::uint64_t bytes_per_round) {
    const std::uint64_t rounds = probe.rounds;
    std::vector<Probe> kernels = {probe, probe, std::move(probe)};
    kernels.back().rounds = 2 * rounds;
    const auto workload = probe_workload(name, std::move(kernels));
    const RunResult result = bench.run(*workload);
    return static_cast<double>(rounds * bytes_per_round) / (cycles(result, 2) - cycles(result, 1));
}
constexpr std::uint32_t kUnroll = 4;
std::vector<StaticInst> loads_of(Space space, bool bypass_l1) {
    std::vector<StaticInst> body;
    for (std::uint32_t n = 0; n < kUnroll; ++n) {
        body.push_back(independent(OpClass::load, n, 4, bypass_l1, n));
        body.back().space = space;
    }
    return body;
}

/// Of one SM; the others are idle.
double sm_bandwidth(Bench& bench, Space space) {
    const bool shared = space == Space::shared;
    Probe probe;
    probe.warps = std::min(32u, bench.spec().sm.warps);
    probe.shared_bytes = shared ? 4096 : 0;
    probe.rounds = 200;
    probe.body = loads_of(space, false);
    probe.addresses = [shared](const Where& where, std::uint32_t pc, LaneAddresses& out) {
        consecutive(out, (shared ? 0 : kArray) + (where.warp * kUnroll + pc) % 32 * kLine, 4);
    };
    return bandwidth_of(bench, shared ? "bandwidth.shared" : "bandwidth.l1", probe, probe.warps * kUnroll * kLine);
}

/// All SMs read data of the L2, each from another place of `lines` on; `line(n)` is the n-th of them.
double l2_bandwidth(Bench& bench, const std::string& name, std::uint64_t lines, std::uint64_t rounds,
                    std::function<Addr(std::uint64_t)> line) {
    const MachineSpec& spec = bench.spec();
    Probe probe;
    probe.warps = std::min(32u, spec.sm.warps);
    probe.ctas = spec.sms() * std::max(1u, std::min(2u, spec.sm.warps / probe.warps));
    probe.rounds = rounds;
    probe.body = loads_of(Space::global, true);
    const std::uint64_t apart = std::max<std::uint64_t>(1, lines / probe.ctas);
    const std::uint32_t warps = probe.warps;
    probe.addresses = [lines, apart, warps, line = std::move(line)](const Where& where, std::uint32_t pc, LaneAddresses& out) {
        consecutive(out, line((where.cta * apart + (where.round * kUnroll + pc) * warps + where.warp) % lines), 4);
    };
    return bandwidth_of(bench, name, probe, probe.ctas * probe.warps * kUnroll * kLine);
}
double l2_bandwidth(Bench& bench) {
    const MachineSpec& spec = bench.spec();
    const std::uint64_t lines = std::max<std::uint64_t>(1024, std::uint64_t{spec.slices()} * spec.l2.size_kib * 1024 / kLine / 8);
    // In random order: consecutive lines of all SMs would fall into step with the slices, for better or worse.
    return l2_bandwidth(bench, "bandwidth.l2", lines, 8,
                        [shuffle = Shuffle(lines)](std::uint64_t n) { return kArray + shuffle(n) * kLine; });
}
double slice_bandwidth(Bench& bench) {
    constexpr std::uint64_t kLines = 256;
    const MachineSpec& spec = bench.spec();
    const AddressMap map(spec.dram.channels, spec.l2.slices_per_channel, spec.l2.interleave_bytes, spec.l2.slice_hash);
    auto lines = std::make_shared<std::vector<Addr>>();
    for (Addr line = kArray; lines->size() < kLines; line += kLine) {
        if (map.slice(line) == 0) lines->push_back(line);
    }
    return l2_bandwidth(bench, "bandwidth.slice", kLines, 2, [lines](std::uint64_t n) { return (*lines)[n]; });
}

/// Lane operations of all SMs per core cycle; all on one address, or each on its own.
double atomic_rate(Bench& bench, bool one) {
    Probe probe;
    probe.warps = 8;
    probe.ctas = bench.spec().sms();
    probe.rounds = one ? 4 : 32;
    probe.body = {independent(OpClass::atomic, 0, 4, false, 0)};
    probe.addresses = [one](const Where& where, std::uint32_t, LaneAddresses& out) {
        one ? one_address(out, kArray) : consecutive(out, kArray + (where.cta * 8 + where.warp) * kLine, 4);
    };
    return bandwidth_of(bench, one ? "atomics.one_address" : "atomics.own_address", probe, probe.ctas * probe.warps * kWarpLanes);
}

/// Requests that the coalescer answers per request that it passes on, when all SMs read the same lines at the same time.
double merge_factor(Bench& bench) {
    Probe probe;
    probe.ctas = bench.spec().sms();
    probe.rounds = 500;
    probe.body = {dependent_load(Space::global, true)};
    // As many SMs of each half as all factors up to 8 divide evenly, so that no entry is left half full.
    const MachineSpec& spec = bench.spec();
    const std::uint32_t second = spec.first_sm((spec.gpu.clusters + 1) / 2);
    probe.active = [&spec, second](std::uint64_t, std::uint32_t sm) {
        const bool first_half = sm < second || !has_halves(spec);
        const std::uint32_t size = !has_halves(spec) ? spec.sms() : first_half ? second : spec.sms() - second;
        return (first_half ? sm : sm - second) < std::max(1u, size / 8 * 8);
    };
    probe.addresses = [](const Where& where, std::uint32_t, LaneAddresses& out) { one_address(out, kArray + where.round * kLine); };
    const auto workload = probe_workload("lrc.merge_factor", {std::move(probe)});
    const RunResult result = bench.run(*workload);
    return static_cast<double>(result.stat("lrc.reads")) / static_cast<double>(result.stat("lrc.allocated"));
}

/// From the end of a kernel of one idle CTA to the end of the next.
double launch_cycles(Bench& bench) {
    Probe probe = chase(1, false, [](const Where&) { return kArray; });
    probe.active = [](std::uint64_t, std::uint32_t) { return false; };
    const auto workload = probe_workload("launch", {probe, probe});
    const RunResult result = bench.run(*workload);
    const KernelResult& last = result.kernels.back();
    return static_cast<double>(last.start + last.cycles - result.kernels.front().start - result.kernels.front().cycles);
}

// Streaming kernels: one double per thread, two CTAs per SM. In percent of the peak DRAM bandwidth.

struct StreamKernel {
    std::string_view name;
    std::uint32_t reads;
    bool writes;
};
constexpr StreamKernel kStreams[] = {{"init", 0, true}, {"read", 1, false}, {"scale", 1, true}, {"triad", 2, true}};

Probe stream_probe(const MachineSpec& spec, const StreamKernel& kernel, std::uint32_t threads, std::uint64_t first_byte,
                   std::uint64_t ctas) {
    Probe probe;
    probe.ctas = ctas;
    probe.warps = threads / kWarpLanes;
    probe.shared_bytes = spec.sm.shared_kib * 1024 / 2 & ~1023u;  // two CTAs per SM
    for (std::uint32_t n = 0; n < kernel.reads; ++n) probe.body.push_back(independent(OpClass::load, n + 1, 8, false, n + 1));
    if (kernel.writes) {
        probe.body.push_back(independent(OpClass::store, 0, 8, false, std::min(1u, kernel.reads)));
        if (kernel.reads == 2) probe.body.back().regs[probe.body.back().reg_count++] = 2;
    } else {
        // The sum depends on the value.
        StaticInst use;
        use.op = OpClass::dp_add;
        use.pc = 16;
        use.dst_count = 1;
        use.reg_count = 2;
        use.regs = {3, 1};
        probe.body.push_back(use);
    }
    const std::uint32_t bytes = threads * 8;
    probe.addresses = [first_byte, bytes](const Where& where, std::uint32_t pc, LaneAddresses& out) {
        // A prime number of lines between arrays keeps their equal elements out of one bank.
        consecutive(out, (pc + 1) * (kArray + 9973 * kLine) + first_byte + where.cta * bytes + where.warp * kWarpLanes * 8ull, 8);
    };
    return probe;
}

/// Before it is measured, a kernel that writes has filled the L2 with its data, so that writing back is part of what is measured.
double stream(Bench& bench, const StreamKernel& kernel, std::uint32_t threads) {
    const MachineSpec& spec = bench.spec();
    const std::uint64_t l2_bytes = std::uint64_t{spec.slices()} * spec.l2.size_kib * 1024;
    const std::uint64_t bytes = threads * 8ull;
    const std::uint64_t wave = 2ull * spec.sms();
    const std::uint64_t ctas = wave * std::max<std::uint64_t>(8, 8192 / threads);
    // All that a kernel touches ends in the L2, so with one array of dirty lines it is full of the steady state's mixture.
    const std::uint64_t filling = kernel.writes ? l2_bytes / (1024 * 8) + wave : 1;
    std::vector<Probe> kernels = {stream_probe(spec, kernel, 1024, 0, filling)};
    std::uint64_t begin = filling * 1024 * 8;
    for (const std::uint64_t length : {ctas, 2 * ctas}) {
        kernels.push_back(stream_probe(spec, kernel, threads, begin, length));
        begin += length * bytes;
    }
    const auto workload = probe_workload(fmt::format("stream.{}.{}", kernel.name, threads), std::move(kernels));
    const RunResult result = bench.run(*workload);
    const double moved = static_cast<double>(ctas * bytes * (kernel.reads + (kernel.writes ? 1 : 0)));
    const double per_second = moved / (cycles(result, 2) - cycles(result, 1)) * spec.gpu.core_mhz;
    return 100 * per_second / peak_dram_bandwidth(spec);
}

bool always(const MachineSpec&) {
    return true;
}
bool with_l1(const MachineSpec& spec) {
    return spec.l1.enabled;
}
bool with_lrc(const MachineSpec& spec) {
    return spec.section<RequestCoalescerSpec>().enabled();
}
bool with_gpcs(const MachineSpec& spec) {
    return spec.section<GpcSpec>().enabled();
}
bool with_tma(const MachineSpec& spec) {
    return spec.section<TmaSpec>().enabled();
}
bool two_large_ctas(const MachineSpec& spec) {
    return spec.sm.warps >= 64;
}

void add_latencies(std::vector<Benchmark>& list) {
    const std::string cycles = "cycles";
    list.push_back({"latency.shared", cycles, "dependent loads from shared memory", shared_latency, always});
    list.push_back({"latency.l1", cycles, "dependent loads that hit the L1", l1_latency, with_l1});
    list.push_back({"latency.l2_near", cycles, "dependent loads that hit the SM's half of the L2, or an L2 without halves",
                    [](Bench& b) { return l2_latency(b, false); }, always});
    list.push_back({"latency.l2_far", cycles, "dependent loads that hit the other half of the L2 and have no copy",
                    [](Bench& b) { return l2_latency(b, true); }, has_halves});
    list.push_back({"latency.dram_near", cycles, "dependent loads from DRAM of the SM's half, random over 1 GiB",
                    [](Bench& b) { return dram_latency(b, false); }, always});
    list.push_back({"latency.dram_far", cycles, "dependent loads from DRAM of the other half, random over 1 GiB",
                    [](Bench& b) { return dram_latency(b, true); }, has_halves});
    list.push_back({"latency.dsm", cycles, "dependent loads from shared memory of the other CTA of a cluster", dsm_latency, with_gpcs});
    list.push_back({"latency.tma", cycles, "bulk copies of one sector that hit the L2, each after the one before", tma_latency, with_tma});
    for (const std::uint64_t mib : {8, 32, 40, 512}) {
        list.push_back({fmt::format("latency.chase_{}mib", mib), cycles,
                        fmt::format("dependent loads from a buffer of {} MiB, every line once per pass in random order", mib),
                        [mib](Bench& b) { return chase_latency(b, mib); }, always});
    }
}

void add_bandwidths(std::vector<Benchmark>& list) {
    const std::string bytes = "bytes/cycle";
    list.push_back({"bandwidth.shared", bytes, "loads from shared memory without bank conflicts, per SM",
                    [](Bench& b) { return sm_bandwidth(b, Space::shared); }, always});
    list.push_back(
        {"bandwidth.l1", bytes, "loads that hit the L1, per SM", [](Bench& b) { return sm_bandwidth(b, Space::global); }, with_l1});
    list.push_back({"bandwidth.l2", bytes, "loads of all SMs from an eighth of the L2, past the L1s",
                    [](Bench& b) { return l2_bandwidth(b); }, always});
    list.push_back({"bandwidth.slice", bytes, "loads of all SMs from one L2 slice, past the L1s", slice_bandwidth, always});
    list.push_back(
        {"atomics.one_address", "lanes/cycle", "atomics of all SMs on one address", [](Bench& b) { return atomic_rate(b, true); }, always});
    list.push_back({"atomics.own_address", "lanes/cycle", "atomics of all SMs, every lane on an address of its own",
                    [](Bench& b) { return atomic_rate(b, false); }, always});
    list.push_back({"lrc.merge_factor", "requests", "reads per read that the request coalescer passes on, all SMs reading the same lines",
                    merge_factor, with_lrc});
    list.push_back({"launch", "cycles", "from the end of an empty kernel to the end of the next", launch_cycles, always});
}

void add_streams(std::vector<Benchmark>& list) {
    for (const std::uint32_t threads : {128u, 256u, 512u, 1024u}) {
        for (const StreamKernel& kernel : kStreams) {
            list.push_back({fmt::format("stream.{}.{}", kernel.name, threads), "% of peak",
                            fmt::format("kernel '{}' over large arrays of doubles, two CTAs of {} threads per SM", kernel.name, threads),
                            [kernel, threads](Bench& b) { return stream(b, kernel, threads); }, two_large_ctas});
        }
    }
}

}  // namespace

std::vector<Benchmark> benchmarks_of(const MachineSpec& spec) {
    std::vector<Benchmark> list;
    add_latencies(list);
    add_bandwidths(list);
    add_streams(list);
    std::erase_if(list, [&](const Benchmark& benchmark) { return !benchmark.possible(spec); });
    return list;
}

double band_of(const Benchmark& benchmark) {
    return benchmark.unit == "cycles" ? 3 : 5;
}

Summary summary_of(const std::vector<Comparison>& rows) {
    Summary summary;
    for (const Comparison& row : rows) {
        if (row.published.empty()) continue;
        const double error = std::abs(row.error());
        if (row.published.front().role == "calibrates") {
            ++summary.calibrated;
            summary.within_band += error <= band_of(*row.benchmark);
            summary.calibration_error += error;
        } else if (row.published.front().role == "validates") {
            ++summary.validated;
            summary.validation_error += error;
            if (error <= summary.worst_validation_error) continue;
            summary.worst_validation_error = error;
            summary.worst = row.benchmark->name;
        }
    }
    if (summary.calibrated != 0) summary.calibration_error /= static_cast<double>(summary.calibrated);
    if (summary.validated != 0) summary.validation_error /= static_cast<double>(summary.validated);
    return summary;
}

}  // namespace mergelane::microbench
