// SPDX-License-Identifier: MIT
#include "sm/lsu_meter.hpp"

#include <algorithm>
#include <bit>

namespace mergelane {

void LsuMeterSpec::fields(SpecFields& f) {
    f.section("lsu.meter");
    f.boolean("enabled", on,
              "count what an ideal coalescer between the warps of an SM would save, and what issues while the L1 is full; changes nothing");
}

std::unique_ptr<SmObserver> LsuMeterSpec::at_sm(const SmPlace& place) const {
    return std::make_unique<LsuMeter>(place.block_bytes);
}

void LsuMeter::memory_issued(const StaticInst& inst, const LaneAddresses& lanes, std::uint32_t active) {
    if (inst.op != OpClass::load || inst.space == Space::shared || inst.bypass_l1) return;
    coalesce(lanes, active, inst.lane_bytes, block_bytes_, block_bytes_, false, blocks_);
    ++loads_;
    lanes_ += static_cast<std::uint64_t>(std::popcount(active));
    requests_ += blocks_.count;
    if (blocks_.count >= kWarpLanes) ++divergent_;
    for (std::size_t w = 0; w < windows_.size(); ++w) {
        Window& window = windows_[w];
        const std::uint32_t size = kWindows[w];
        for (std::uint32_t b = 0; b < blocks_.count; ++b) {
            const auto held = static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(window.kept, size));
            if (std::find(window.lines.begin(), window.lines.begin() + held, blocks_.block[b]) != window.lines.begin() + held) continue;
            window.lines[window.kept++ % size] = blocks_.block[b];
        }
    }
}

void LsuMeter::stats(StatFields& f, Cycle) const {
    f.group("meter");
    f.add("loads", loads_, "warp instructions", "loads that use the L1");
    f.add("lanes", lanes_, "lanes", "active lanes of these loads");
    f.add("divergent", divergent_, "warp instructions", "of these loads, those with at least as many blocks as a warp has lanes");
    f.add("requests", requests_, "requests", "blocks of these loads, coalesced within each warp");
    f.add("kept_1", windows_[0].kept, "requests", "requests left by an ideal merging window of 1 request");
    f.add("kept_2", windows_[1].kept, "requests", "requests left by an ideal merging window of 2 requests");
    f.add("kept_4", windows_[2].kept, "requests", "requests left by an ideal merging window of 4 requests");
    f.add("kept_8", windows_[3].kept, "requests", "requests left by an ideal merging window of 8 requests");
    f.add("kept_16", windows_[4].kept, "requests", "requests left by an ideal merging window of 16 requests");
    f.add("kept_32", windows_[5].kept, "requests", "requests left by an ideal merging window of 32 requests");
    f.add("kept_64", windows_[6].kept, "requests", "requests left by an ideal merging window of 64 requests");
    f.add("kept_128", windows_[7].kept, "requests", "requests left by an ideal merging window of 128 requests");
    f.add("computed_while_full", while_full_, "warp instructions",
          "instructions without memory access issued while the L1 could not accept the next request");
}

}  // namespace mergelane
