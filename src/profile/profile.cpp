// SPDX-License-Identifier: MIT
#include "profile/profile.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/bits.hpp"
#include "profile/add_counts.hpp"
#include "profile/touched_memory.hpp"
#include "profile/warp_walk.hpp"

namespace mergelane {

namespace {

constexpr std::uint32_t kSpaces = 3;
constexpr std::uint32_t kUsualWarps = 48;
constexpr std::uint32_t kUsualCtas = 8;

class KernelProfiler {
public:
    KernelProfiler(const KernelSource& kernel, const ProfileOptions& options, std::uint64_t number)
        : kernel_(kernel), options_(options), number_(number), warps_(kernel.info().warps_per_cta()) {
        const std::uint32_t usual = std::clamp(kUsualWarps / std::max(warps_, 1u), 1u, kUsualCtas);
        slots_.resize(options.resident != 0 ? options.resident : usual);
        for (Slot& slot : slots_) slot.warps.resize(warps_);
    }

    void run() {
        for (std::uint32_t sm = 0; sm < options_.sms && sm < kernel_.info().ctas(); ++sm) run_sm(sm);
        counts.window_left = window_.left();
        counts.footprint_lines = touched.lines();
        counts.footprint_sectors = touched.sectors();
        counts.intra_cta_reuses = counts.all_accesses().lines - cta_lines_;
        counts.inter_cta_reuses = cta_lines_ - counts.footprint_lines;
    }

    ProfileCounts counts;
    TouchedMemory touched;

private:
    struct Slot {
        std::unique_ptr<CtaStream> stream;
        std::vector<WarpWalk> warps;
        LineSet lines;
        std::uint32_t live = 0;
        std::uint64_t instructions = 0;
        std::uint64_t cta = 0;
    };

    /// CTAs sm, sm + sms, ...: a free slot takes the next one.
    void run_sm(std::uint64_t sm) {
        std::uint64_t next = sm;
        window_.start();
        bool any = true;
        while (any) {
            any = false;
            for (Slot& slot : slots_) {
                if (slot.live == 0 && next < kernel_.info().ctas()) {
                    open(slot, next);
                    next += options_.sms;
                }
                if (slot.live == 0) continue;
                any = true;
                for (std::uint32_t w = 0; w < warps_; ++w) {
                    if (!slot.warps[w].done) to_next_access(slot, w);
                }
                if (slot.live == 0) finish(slot);
            }
        }
    }

    void open(Slot& slot, std::uint64_t cta) {
        if (slot.stream == nullptr) slot.stream = kernel_.make_stream();
        slot.stream->open(cta);
        slot.lines.clear();
        slot.instructions = 0;
        slot.cta = cta;
        slot.live = warps_;
        for (WarpWalk& warp : slot.warps) warp = {};
    }

    void finish(const Slot& slot) {
        cta_lines_ += slot.lines.size();
        ++counts.ctas;
        report();
    }

    /// Called every 65,536 warp instructions too, because the callback may throw Interrupted.
    void report() {
        report_at_ = counts.warp_instructions + 65536;
        if (options_.progress) options_.progress(number_, counts.ctas, kernel_.info().ctas());
    }

    /// Counts instructions up to and including the warp's next access to global memory.
    void to_next_access(Slot& slot, std::uint32_t index) {
        WarpWalk& warp = slot.warps[index];
        const StaticInst* const inst = warp.next_access(
            *slot.stream, index, lanes_, [&] { count_run(slot, warp.run); },
            [&](const StaticInst& each) { ++counts.kinds[kind_of(each)]; });
        if (inst != nullptr)
            access(slot, *inst, warp.run.active);
        else
            --slot.live;
    }

    void count_run(Slot& slot, const Run& run) {
        const std::uint32_t lanes = bit_count(run.active);
        counts.warp_instructions += run.count;
        counts.thread_instructions += std::uint64_t{run.count} * lanes;
        if (lanes == kWarpLanes) counts.full_warps += run.count;
        slot.instructions += run.count;
        check_that_it_ends(kernel_.info(), slot.cta, slot.instructions);
        if (counts.warp_instructions >= report_at_) report();
    }

    void access(Slot& slot, const StaticInst& inst, std::uint32_t active) {
        const std::uint32_t lanes = bit_count(active);
        ProfileCounts::Access& sum = counts.access[static_cast<std::size_t>(inst.op) - static_cast<std::size_t>(OpClass::load)];
        const std::span<const LineRequest> requests = splitter_.split(lanes_, active, inst.lane_bytes);
        ++sum.accesses;
        sum.lanes += lanes;
        sum.bytes += std::uint64_t{lanes} * inst.lane_bytes;
        sum.lines += requests.size();
        const auto bucket = std::lower_bound(ProfileCounts::kLineBuckets.begin(), ProfileCounts::kLineBuckets.end() - 1, requests.size());
        ++counts.by_lines[static_cast<std::size_t>(bucket - ProfileCounts::kLineBuckets.begin())];
        for (const LineRequest& request : requests) {
            sum.sectors += bit_count(request.sectors);
            ++counts.mapping[static_cast<std::size_t>(mapping_of(request, lanes_, inst.lane_bytes))];
            touched.touch(request.line, request.sectors);
            slot.lines.insert(request.line);
            if (inst.op == OpClass::load) window_.request(request.line);
        }
    }

    const KernelSource& kernel_;
    const ProfileOptions& options_;
    std::uint64_t number_;
    std::uint32_t warps_;
    std::vector<Slot> slots_;
    std::uint64_t cta_lines_ = 0;  ///< distinct lines of every CTA, summed
    std::uint64_t report_at_ = 0;
    WindowStudy window_;
    LineRequests splitter_;
    LaneAddresses lanes_;
};

}  // namespace

std::uint32_t kind_of(const StaticInst& inst) {
    const auto op = static_cast<std::uint32_t>(inst.op);
    if (op < kComputeClasses) return op;
    if (is_memory(inst)) return kComputeClasses + (op - kComputeClasses) * kSpaces + static_cast<std::uint32_t>(inst.space);
    return kComputeClasses + 3 * kSpaces + op - static_cast<std::uint32_t>(OpClass::barrier);
}

std::string kind_name(std::uint32_t kind) {
    static constexpr const char* kPlaces[] = {"global", "local", "shared"};
    if (kind < kComputeClasses) return std::string(kComputeClassNames[kind]);
    kind -= kComputeClasses;
    if (kind < 3 * kSpaces) return fmt::format("{}_{}", kOtherClassNames[kind / kSpaces], kPlaces[kind % kSpaces]);
    return std::string(kOtherClassNames[3 + kind - 3 * kSpaces]);
}

ProfileCounts::Access ProfileCounts::all_accesses() const {
    Access sum;
    for (const Access& one : access) add_counts(sum, one);
    return sum;
}

void ProfileCounts::add(const ProfileCounts& other) {
    const std::uint64_t lines = footprint_lines, sectors = footprint_sectors;
    add_counts(*this, other);
    footprint_lines = lines;
    footprint_sectors = sectors;
}

Profile profile_workload(Workload& workload, const ProfileOptions& options) {
    Profile profile;
    profile.workload = workload.name();
    profile.sms = options.sms;
    TouchedMemory all;
    while (const KernelSource* kernel = workload.next_kernel()) {
        KernelProfiler profiler(*kernel, options, profile.kernels.size() + 1);
        profiler.run();
        profile.total.add(profiler.counts);
        all.add(profiler.touched);
        profile.kernels.push_back({kernel->info(), profiler.counts});
    }
    profile.total.footprint_lines = all.lines();
    profile.total.footprint_sectors = all.sectors();
    return profile;
}

}  // namespace mergelane
