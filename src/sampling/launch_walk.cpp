// SPDX-License-Identifier: MIT
#include "sampling/launch_walk.hpp"

namespace mergelane::sampling {

LaunchWalk::LaunchWalk(const KernelSource& kernel, std::uint64_t resident, const CtaRange& range)
    : places_(std::min(resident, std::min(range.end, kernel.info().ctas()) - range.first)),
      listing_(kernel.listing()),
      next_cta_(range.first),
      end_cta_(std::min(range.end, kernel.info().ctas())),
      warps_(kernel.info().warps_per_cta()) {
    for (Place& place : places_) {
        place.stream = kernel.make_stream();
        place.passing = dynamic_cast<PassingStream*>(place.stream.get());
    }
    const std::span<const StaticInst> list = listing_.instructions;
    next_.resize(list.size());
    auto next = static_cast<std::uint32_t>(list.size());
    for (std::size_t i = list.size(); i-- != 0;) {
        if (is_memory(list[i])) next = static_cast<std::uint32_t>(i);
        next_[i] = next;
    }
}

bool LaunchWalk::open(Place& place) {
    if (next_cta_ == end_cta_) return false;
    place.stream->open(next_cta_++);
    place.warps.clear();
    for (std::uint32_t warp = 0; warp < warps_; ++warp) place.warps.push_back({warp, {}, 0});
    place.turn = 0;
    return true;
}

}  // namespace mergelane::sampling
