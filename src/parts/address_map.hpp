// SPDX-License-Identifier: MIT
// Maps a global address to its L2 slice and to the address space of the DRAM channel behind it.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "core/bits.hpp"
#include "parts/index_hash.hpp"

namespace mergelane {

class AddressMap {
public:
    AddressMap() = default;
    AddressMap(std::uint32_t channels, std::uint32_t slices_per_channel, std::uint32_t interleave_bytes, std::string_view hash)
        : hash_(hash, channels * slices_per_channel),
          channels_(channels),
          slices_per_channel_(slices_per_channel),
          direct_(slices_per_channel == 1),
          shift_(index_bits(interleave_bytes)),
          channel_bits_(index_bits(channels)) {
        for (std::uint32_t index = 0; index < hash_.count(); ++index) {
            slice_of_index_.push_back(static_cast<std::uint16_t>(index % channels * slices_per_channel + index / channels));
        }
    }

    /// Slices are numbered channel by channel; consecutive chunks map to different channels.
    std::uint32_t slice(Addr address) const {
        const std::uint32_t index = hash_.index(address >> shift_);
        return direct_ ? index : slice_of_index_[index];
    }
    /// Of the chunk whose hash is `index`.
    std::uint32_t slice_at(std::uint32_t index) const { return slice_of_index_[index]; }
    /// Maps the hash to other numbers: slice() then returns the node that a chunk passes on its way to the L2.
    AddressMap numbered(std::vector<std::uint16_t> numbers) const {
        AddressMap map = *this;
        map.slice_of_index_ = std::move(numbers);
        map.direct_ = false;
        return map;
    }
    std::uint32_t slices() const { return hash_.count(); }
    std::uint32_t interleave_bytes() const { return 1u << shift_; }
    /// Address inside the slice: consecutive chunks of one slice are adjacent.
    Addr slice_local(Addr address) const { return hash_.rest(address >> shift_) << shift_ | (address & low_bits(shift_)); }
    /// Converts an address inside slice `index_in_channel` to one inside the channel, where the chunks of its slices alternate. The hash
    /// selects the slice but not the position in the channel, so a DRAM bank serves all slices of its channel.
    Addr channel_local(Addr slice_local, std::uint32_t index_in_channel) const {
        const Addr rest = slice_local >> shift_;
        if (slices_per_channel_ != 1) index_in_channel ^= hash_.added_bits(rest) / channels_;
        return (rest * slices_per_channel_ + index_in_channel) << shift_ | (slice_local & low_bits(shift_));
    }

    /// The same if the global address is known: removes what the hash added.
    Addr channel_local_of(Addr address, std::uint32_t index_in_channel) const {
        if (slices_per_channel_ == 1 || !hash_.adds_bits()) return channel_local(slice_local(address), index_in_channel);
        const Addr block = address >> shift_;
        const std::uint32_t chunk = static_cast<std::uint32_t>(block & (hash_.count() - 1)) >> channel_bits_;
        return (hash_.rest(block) * slices_per_channel_ + chunk) << shift_ | (address & low_bits(shift_));
    }

private:
    IndexHash hash_;
    std::vector<std::uint16_t> slice_of_index_;
    std::uint32_t channels_ = 1;
    std::uint32_t slices_per_channel_ = 1;
    bool direct_ = true;  ///< the hash is the slice number
    std::uint32_t shift_ = 8;
    std::uint32_t channel_bits_ = 0;  ///< if the number of channels is a power of two
};

}  // namespace mergelane
