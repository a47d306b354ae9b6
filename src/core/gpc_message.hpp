// SPDX-License-Identifier: MIT
// What travels between the SMs of a GPC (ADR 0049): accesses to shared memory of other CTAs of a cluster, arrivals at its barrier.
#pragma once

#include <cstdint>

#include "core/types.hpp"

namespace mergelane {

struct GpcMessage {
    /// Numbers of clusters in a GPC: more than can be resident at a time, so that none is used again soon.
    static constexpr std::uint32_t kClusters = 8192;

    enum class Kind : std::uint8_t {
        place,      ///< from the dispatcher: the CTA `rank` of the cluster is in `slot` of `sm`
        load,       ///< also atomics: has a reply
        reply,      ///< to the SM `sm`
        store,      ///< posted
        event,      ///< at the mbarrier at `address`
        multicast,  ///< a piece of a bulk copy for several CTAs, with an event if `tag` is 1
        arrive,     ///< the CTA `rank` arrives at the barrier of its cluster
        leave,      ///< the CTA `rank` has no warps any more
        release     ///< a phase of the barrier is over
    };

    Addr address = 0;
    std::uint32_t bytes = 0;    ///< of data
    std::uint16_t cluster = 0;  ///< number among the clusters of the GPC
    std::uint16_t ranks = 0;    ///< bit per CTA that receives it; of a placement: the number of CTAs
    std::uint16_t tag = 0;      ///< the sender's access; returns in the reply
    std::uint8_t sm = 0;        ///< of the GPC: the sender, or of a reply or placement the receiver
    std::uint8_t slot = 0;      ///< of the CTA that receives it; the switch fills it in
    std::uint8_t rank = 0;
    std::uint8_t passes = 1;  ///< over the banks of the receiver's shared memory
    Kind kind = Kind::event;
};

}  // namespace mergelane
