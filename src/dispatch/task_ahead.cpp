// SPDX-License-Identifier: MIT
#include "dispatch/task_ahead.hpp"

#include <algorithm>
#include <array>

#include "dispatch/own_instructions.hpp"

namespace mergelane {

namespace {

/// Loads without a destination register, by bytes per lane. They outlive every kernel, because front ends keep pointers to instructions.
constexpr std::array<StaticInst, 256> kFetches = [] {
    std::array<StaticInst, 256> loads{};
    for (std::size_t bytes = 0; bytes < loads.size(); ++bytes) {
        loads[bytes].pc = kAddedPc;
        loads[bytes].op = OpClass::load;
        loads[bytes].lane_bytes = static_cast<std::uint8_t>(bytes);
    }
    return loads;
}();

}  // namespace

void TaskAhead::read(std::uint32_t warp, CtaStream& stream) {
    Warp& w = warps_[warp];
    w.clear();
    std::fill(from_memory_.begin(), from_memory_.end(), false);
    bool on = true;
    while (on && w.runs.size() < kMostRuns && w.accesses.size() < kMostAccesses) {
        Run run;
        w.ended = !stream.next_run(warp, run);
        if (w.ended) return;
        w.runs.push_back(run);
        on = look_at(w, warp, stream, run);
    }
}

/// Streams require that all addresses of a run are read before the next run. Returns false if no more is to be read.
bool TaskAhead::look_at(Warp& w, std::uint32_t warp, CtaStream& stream, const Run& run) {
    if (run.active == 0) return true;  // no active lanes: no access, no value
    const bool all_lanes = run.active == lanes_of(info_, warp);
    bool on = true;
    for (std::uint32_t i = 0; i < run.count; ++i) {
        const StaticInst& inst = run.first[i];
        const bool known = is_known(inst);
        if (is_memory(inst)) {
            LaneAddresses& lanes = w.accesses.emplace_back();
            stream.addresses(warp, inst, run.active, lanes);
            if (on && known && inst.op == OpClass::load && inst.space == Space::global && !inst.bypass_l1)
                w.fetches.push_back({static_cast<std::uint32_t>(w.accesses.size() - 1), run.active, inst.lane_bytes});
        }
        on = on && inst.op != OpClass::barrier && w.fetches.size() < loads_;
        const bool from_memory = is_memory(inst) || !known;
        for (std::uint32_t d = 0; d < inst.dst_count; ++d) {
            if (from_memory || all_lanes) from_memory_[inst.regs[d]] = from_memory;
        }
    }
    return on;
}

/// Before the task begins, software can compute everything that does not depend on the task's own loads.
bool TaskAhead::is_known(const StaticInst& inst) const {
    for (std::uint32_t r = inst.dst_count; r < inst.reg_count; ++r) {
        if (from_memory_[inst.regs[r]]) return false;
    }
    return true;
}

bool TaskAhead::fetch(std::uint32_t warp, Run& run) {
    Warp& w = warps_[warp];
    if (w.next_fetch == w.fetches.size()) return false;
    const Fetch& fetch = w.fetches[w.next_fetch++];
    w.fetching = &kFetches[fetch.lane_bytes];
    run = {w.fetching, 1, fetch.active};
    return true;
}

bool TaskAhead::replay(std::uint32_t warp, Run& run) {
    Warp& w = warps_[warp];
    if (w.next_run == w.runs.size()) return false;
    run = w.runs[w.next_run++];
    return true;
}

bool TaskAhead::addresses(std::uint32_t warp, const StaticInst& inst, LaneAddresses& out) {
    Warp& w = warps_[warp];
    if (&inst == w.fetching) {
        out = w.accesses[w.fetches[w.next_fetch - 1].access];
        return true;
    }
    if (w.next_access == w.accesses.size()) return false;
    out = w.accesses[w.next_access++];
    return true;
}

}  // namespace mergelane
