// SPDX-License-Identifier: MIT
// Random programs that mix everything a warp can do, and a count of the requests they must cause.
#pragma once

#include <set>
#include <vector>

#include "core/rng.hpp"
#include "scripted.hpp"

namespace mergelane::testing {

struct RandomMix {
    std::uint32_t warps = 3;
    std::uint32_t instructions = 30;
    std::uint32_t lines = 96;  ///< of the region all accesses fall into: small makes hits, merges and conflicts
    bool barriers = true;
    bool loads_through_l1 = true;
};

inline Access random_access(Rng& rng, const RandomMix& mix) {
    Access access;
    access.lane_bytes = static_cast<std::uint8_t>(1u << rng.below(5));
    const std::uint64_t bytes = std::uint64_t{mix.lines} * 128;
    const auto anywhere = [&] { return rng.next() % bytes; };
    switch (rng.below(5)) {
        case 0: access.lanes = affine(anywhere() / 128 * 128, access.lane_bytes); break;
        case 1: access.lanes = affine(anywhere(), access.lane_bytes); break;  // misaligned
        case 2: access.lanes = affine(anywhere(), 0); break;
        case 3: access.lanes = affine(anywhere() % (bytes / 2 + 1), 1 + rng.below(200)); break;
        default: {
            std::vector<Addr> lanes(kWarpLanes);
            for (Addr& lane : lanes) lane = anywhere();
            access.lanes = scattered(lanes);
        }
    }
    if (rng.below(3) == 0) access.active = static_cast<std::uint32_t>(rng.next());
    return access;
}

/// Barriers stand at the same places in all warps of a CTA, as in any correct program.
inline CtaScript random_cta(std::uint64_t seed, const RandomMix& mix) {
    CtaScript cta(mix.warps);
    Rng shape(seed);
    std::vector<bool> barrier(mix.instructions);
    for (std::uint32_t i = 0; i < mix.instructions; ++i) barrier[i] = mix.barriers && shape.below(12) == 0;
    for (std::uint32_t w = 0; w < mix.warps; ++w) {
        Rng rng(mix64(seed) + w);
        for (std::uint32_t i = 0; i < mix.instructions; ++i) {
            if (barrier[i]) {
                cta[w].barrier(static_cast<std::uint8_t>(i % 3));
                continue;
            }
            const auto dst = static_cast<std::uint16_t>(rng.below(12));
            const auto src = static_cast<std::uint16_t>(rng.below(12));
            Access access = random_access(rng, mix);
            switch (rng.below(9)) {
                case 0:
                case 1:
                case 2:
                    access.bypass_l1 = !mix.loads_through_l1;
                    cta[w].load(dst, access, {src});
                    break;
                case 3:
                case 4: cta[w].store(access, {src}); break;
                case 5: cta[w].atomic(dst, access, {src}); break;
                case 6:
                    access.bypass_l1 = true;
                    cta[w].load(dst, access, {src});
                    break;
                case 7:
                    if (rng.below(2) == 0) cta[w].fence();
                    access.space = Space::shared;
                    cta[w].load(dst, access, {src});
                    break;
                default: cta[w].compute(rng.below(2) == 0 ? OpClass::int_mad : OpClass::sfu, dst, {src});
            }
        }
    }
    return cta;
}

/// Distinct blocks that the given lanes touch, byte by byte: slow and obvious.
inline std::set<Addr> blocks_of(const Access& access, std::uint32_t lanes, std::uint32_t block_bytes) {
    std::set<Addr> blocks;
    for (std::uint32_t lane = 0; lane < kWarpLanes; ++lane) {
        if ((lanes >> lane & 1) == 0) continue;
        for (std::uint32_t b = 0; b < access.lane_bytes; ++b) blocks.insert((access.lanes.of(lane) + b) / block_bytes);
    }
    return blocks;
}

/// Requests of an atomic: lanes on one address go in successive rounds.
inline std::uint64_t atomic_requests(const Access& access, std::uint32_t block_bytes) {
    std::uint64_t requests = 0;
    std::uint32_t left = access.active;
    while (left != 0) {
        std::set<Addr> taken;
        std::uint32_t round = 0;
        for (std::uint32_t lane = 0; lane < kWarpLanes; ++lane) {
            if ((left >> lane & 1) != 0 && taken.insert(access.lanes.of(lane)).second) round |= 1u << lane;
        }
        requests += blocks_of(access, round, block_bytes).size();
        left &= ~round;
    }
    return requests;
}

struct ExpectedRequests {
    std::uint64_t direct = 0;      ///< loads around the L1
    std::uint64_t through_l1 = 0;  ///< blocks looked up in the L1 by loads: some become requests
    std::uint64_t stores = 0;
    std::uint64_t atomics = 0;
};

inline ExpectedRequests expected_requests(const CtaScript& cta, std::uint32_t block_bytes) {
    ExpectedRequests expected;
    for (const WarpScript& warp : cta) {
        for (std::size_t i = 0; i < warp.insts().size(); ++i) {
            const Access& access = warp.accesses()[i];
            if (access.space == Space::shared || access.active == 0) continue;
            const std::uint64_t blocks = blocks_of(access, access.active, block_bytes).size();
            switch (warp.insts()[i].op) {
                case OpClass::load: (access.bypass_l1 ? expected.direct : expected.through_l1) += blocks; break;
                case OpClass::store: expected.stores += blocks; break;
                case OpClass::atomic: expected.atomics += atomic_requests(access, block_bytes); break;
                default: break;
            }
        }
    }
    return expected;
}

inline ExpectedRequests expected_requests(const std::vector<CtaScript>& ctas, std::uint32_t block_bytes) {
    ExpectedRequests sum;
    for (const CtaScript& cta : ctas) {
        const ExpectedRequests e = expected_requests(cta, block_bytes);
        sum.direct += e.direct;
        sum.through_l1 += e.through_l1;
        sum.stores += e.stores;
        sum.atomics += e.atomics;
    }
    return sum;
}

}  // namespace mergelane::testing
