// SPDX-License-Identifier: MIT
#include "sm/coalescer.hpp"

#include <algorithm>

#include "core/bits.hpp"

namespace mergelane {

namespace {

constexpr Addr kAddressSpace = low_bits(56);  // a malicious address must not wrap around

/// The blocks of one contiguous byte range are consecutive and unique.
void collect_range(Addr address, std::uint32_t bytes, std::uint32_t block_bytes, std::uint32_t line_bytes, bool want_bytes,
                   BlockList& out) {
    address &= kAddressSpace;
    const Addr end = address + bytes;
    std::uint32_t count = 0;
    for (Addr block = address & ~Addr{block_bytes - 1}; block < end; block += block_bytes) {
        out.block[count] = block;
        if (want_bytes) {
            const Addr first = std::max(address, block);
            out.bytes[count] = {};
            out.bytes[count].set_range(static_cast<std::uint32_t>(first & (line_bytes - 1)),
                                       static_cast<std::uint32_t>(std::min(end, block + block_bytes) - first));
        }
        ++count;
    }
    out.count = count;
}

/// Collects blocks without duplicates. A 64-bit filter answers most "not seen yet" queries.
class BlockCollector {
public:
    BlockCollector(std::uint32_t block_bytes, std::uint32_t line_bytes, bool want_bytes, BlockList& out)
        : block_mask_(block_bytes - 1), line_mask_(line_bytes - 1), want_bytes_(want_bytes), out_(out), first_(out.count) {}

    void touch(Addr address, std::uint32_t bytes) {
        address &= kAddressSpace;
        // Most lanes touch the block of the previous lane.
        if (address - last_ <= block_mask_ && address + bytes - 1 - last_ <= block_mask_) {
            if (want_bytes_) out_.bytes[last_slot_].set_range(static_cast<std::uint32_t>(address & line_mask_), bytes);
            return;
        }
        const Addr last_block = (address + bytes - 1) & ~block_mask_;
        for (Addr block = address & ~block_mask_; block <= last_block; block += block_mask_ + 1) {
            const std::uint32_t slot = slot_of(block);
            last_ = block;
            last_slot_ = slot;
            if (!want_bytes_) continue;
            const Addr begin = std::max(address, block);
            const Addr end = std::min(address + bytes, block + block_mask_ + 1);
            out_.bytes[slot].set_range(static_cast<std::uint32_t>(begin & line_mask_), static_cast<std::uint32_t>(end - begin));
        }
    }

private:
    std::uint32_t slot_of(Addr block) {
        const std::uint64_t print = bit(static_cast<std::uint32_t>((block * 0x9E3779B97F4A7C15ull) >> 58));
        if ((seen_ & print) != 0) {
            for (std::uint32_t i = first_; i < out_.count; ++i) {
                if (out_.block[i] == block) return i;
            }
        }
        seen_ |= print;
        out_.block[out_.count] = block;
        if (want_bytes_) out_.bytes[out_.count] = {};
        return out_.count++;
    }

    const Addr block_mask_;
    const Addr line_mask_;
    const bool want_bytes_;
    BlockList& out_;
    const std::uint32_t first_;
    Addr last_ = Addr{1} << 60;  ///< most recently touched block; initially beyond all addresses
    std::uint32_t last_slot_ = 0;
    std::uint64_t seen_ = 0;
};

/// All active lanes form one contiguous ascending byte range.
bool is_dense(const LaneAddresses& addresses, std::uint32_t active, std::uint32_t lane_bytes) {
    if (!addresses.affine || addresses.stride != static_cast<std::int64_t>(lane_bytes)) return false;
    const std::uint32_t run = active >> std::countr_zero(active);
    return (run & (run + 1)) == 0;
}

}  // namespace

void coalesce(const LaneAddresses& addresses, std::uint32_t active, std::uint32_t lane_bytes, std::uint32_t block_bytes,
              std::uint32_t line_bytes, bool want_bytes, BlockList& out) {
    out.count = 0;
    if (active == 0) return;
    if (addresses.run_count == 1 && addresses.runs[0].stride == static_cast<std::int64_t>(lane_bytes)) {
        return collect_range(addresses.runs[0].base, lane_bytes * addresses.runs[0].count, block_bytes, line_bytes, want_bytes, out);
    }
    const std::uint32_t first_lane = static_cast<std::uint32_t>(std::countr_zero(active));
    if (addresses.run_count == 0 && is_dense(addresses, active, lane_bytes)) {
        const auto lanes = static_cast<std::uint32_t>(std::popcount(active));
        return collect_range(addresses.of(first_lane), lane_bytes * lanes, block_bytes, line_bytes, want_bytes, out);
    }
    BlockCollector collector(block_bytes, line_bytes, want_bytes, out);
    if (addresses.run_count != 0) {
        for (std::uint32_t r = 0; r < addresses.run_count; ++r) {
            const LaneAddresses::Run& run = addresses.runs[r];
            if (run.stride == static_cast<std::int64_t>(lane_bytes)) {
                collector.touch(run.base, lane_bytes * run.count);
            } else {
                const std::uint32_t different = run.stride == 0 ? 1 : run.count;
                for (std::uint32_t k = 0; k < different; ++k) collector.touch(run.base + k * static_cast<Addr>(run.stride), lane_bytes);
            }
        }
        return;
    }
    if (addresses.affine && addresses.stride == 0) {
        collector.touch(addresses.base, lane_bytes);
        return;
    }
    for (std::uint32_t lanes = active; lanes != 0; lanes &= lanes - 1) {
        collector.touch(addresses.of(lowest_bit(lanes)), lane_bytes);
    }
}

void coalesce_atomic(const LaneAddresses& addresses, std::uint32_t active, std::uint32_t lane_bytes, std::uint32_t block_bytes,
                     std::uint32_t line_bytes, BlockList& out) {
    out.count = 0;
    while (active != 0) {
        BlockCollector round(block_bytes, line_bytes, true, out);
        std::uint32_t later = 0;
        for (std::uint32_t lanes = active; lanes != 0; lanes &= lanes - 1) {
            const std::uint32_t lane = lowest_bit(lanes);
            const Addr address = addresses.of(lane);
            bool taken = false;  // an earlier lane of this round has the same address
            for (std::uint32_t earlier = active & ~later & static_cast<std::uint32_t>(low_bits(lane)); earlier != 0 && !taken;
                 earlier &= earlier - 1) {
                taken = addresses.of(lowest_bit(earlier)) == address;
            }
            if (taken)
                later |= 1u << lane;
            else
                round.touch(address, lane_bytes);
        }
        active = later;
    }
}

namespace {
/// No two different words of the runs share a bank. Conservative fast path: false means unknown.
bool without_conflict(const LaneAddresses& addresses, std::uint32_t lane_bytes, std::uint32_t banks) {
    if (banks > 64 || !is_power_of_two(banks)) return false;
    std::uint64_t taken = 0;
    for (std::uint32_t r = 0; r < addresses.run_count; ++r) {
        const LaneAddresses::Run& run = addresses.runs[r];
        if (r != 0) {
            const LaneAddresses::Run& before = addresses.runs[r - 1];
            if (run.base == before.base && run.stride == before.stride && run.count == before.count) continue;
        }
        if (run.stride != 0 && run.stride != static_cast<std::int64_t>(lane_bytes)) return false;
        const Addr first = run.base / 4;
        const Addr last = (run.base + lane_bytes * (run.stride == 0 ? 1 : run.count) - 1) / 4;
        if (last - first >= banks) return false;
        const std::uint64_t words = low_bits(static_cast<std::uint32_t>(last - first) + 1);
        const std::uint32_t shift = static_cast<std::uint32_t>(first) & (banks - 1);
        const std::uint64_t mine = (words << shift | (shift == 0 ? 0 : words >> (banks - shift))) & low_bits(banks);
        if ((taken & mine) != 0) return false;
        taken |= mine;
    }
    return true;
}
}  // namespace

std::uint32_t bank_conflict_degree(const LaneAddresses& addresses, std::uint32_t active, std::uint32_t lane_bytes, std::uint32_t banks) {
    if (active == 0) return 1;
    if (addresses.run_count != 0) {
        if (without_conflict(addresses, lane_bytes, banks)) return 1;
        LaneAddresses list = addresses;
        list.expand(active);
        return bank_conflict_degree(list, active, lane_bytes, banks);
    }
    if (addresses.affine && (addresses.stride == 0 || (addresses.stride == 4 && lane_bytes <= 4 && banks >= kWarpLanes))) return 1;
    // Counts different words per bank; lanes that read the same word are served together. A bank's first word is stored separately, so that
    // only conflicts require a search.
    constexpr Addr kNoWord = ~Addr{0};
    std::array<std::uint8_t, 128> load{};
    std::array<Addr, 128> first_word;
    std::array<Addr, 4 * kWarpLanes> others;
    std::uint32_t count = 0;
    std::uint32_t degree = 1;
    Addr before = kNoWord;
    const std::uint32_t words_per_lane = std::max(1u, std::min(lane_bytes / 4, 4u));
    for (std::uint32_t lanes = active; lanes != 0; lanes &= lanes - 1) {
        const Addr first = addresses.of(lowest_bit(lanes)) / 4;
        if (first == before) continue;
        before = first;
        for (std::uint32_t k = 0; k < words_per_lane; ++k) {
            const Addr word = first + k;
            const std::uint32_t bank = static_cast<std::uint32_t>(word % banks);
            if (load[bank] == 0) {
                first_word[bank] = word;
                load[bank] = 1;
            } else if (first_word[bank] != word && std::find(others.begin(), others.begin() + count, word) == others.begin() + count) {
                others[count++] = word;
                degree = std::max<std::uint32_t>(degree, ++load[bank]);
            }
        }
    }
    return degree;
}

}  // namespace mergelane
