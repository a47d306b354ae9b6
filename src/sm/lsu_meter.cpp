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

void LsuMeter::see(const StaticInst& inst, const LaneAddresses& lanes, std::uint32_t active) {
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

void LsuMeter::stats(StatFields& f) const {
    f.group("meter");
    f.add("loads", loads_, "warp instructions", "loads the meter saw: those that use the L1");
    f.add("lanes", lanes_, "lanes", "active lanes of them");
    f.add("divergent", divergent_, "warp instructions", "of them those that want at least as many blocks as a warp has lanes");
    f.add("requests", requests_, "requests", "blocks they want, each warp's coalesced");
    f.add("kept_1", windows_[0].kept, "requests", "of them those not among the last that remained");
    f.add("kept_2", windows_[1].kept, "requests", "of them those not among the last 2 that remained");
    f.add("kept_4", windows_[2].kept, "requests", "of them those not among the last 4 that remained");
    f.add("kept_8", windows_[3].kept, "requests", "of them those not among the last 8 that remained");
    f.add("kept_16", windows_[4].kept, "requests", "of them those not among the last 16 that remained");
    f.add("kept_32", windows_[5].kept, "requests", "of them those not among the last 32 that remained");
    f.add("kept_64", windows_[6].kept, "requests", "of them those not among the last 64 that remained");
    f.add("kept_128", windows_[7].kept, "requests", "of them those not among the last 128 that remained");
    f.add("computed_while_full", while_full_, "warp instructions",
          "that need no memory, issued while the L1 could not take the next request");
}

}  // namespace mergelane
