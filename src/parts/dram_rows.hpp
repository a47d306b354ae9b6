// SPDX-License-Identifier: MIT
// Identifies the DRAM row that a network request accesses: addresses in the same row of the same bank and channel have the same number.
#pragma once

#include "parts/address_map.hpp"
#include "parts/dram_address_map.hpp"

namespace mergelane {

class DramRows {
public:
    DramRows(AddressMap map, DramAddressMap dram, std::uint32_t slices_per_channel)
        : map_(std::move(map)), dram_(dram), slices_per_channel_(slices_per_channel) {}

    std::uint64_t row_of(Addr address) const {
        const DramAddressMap::Place place = dram_.place(map_.channel_local_of(address, map_.slice(address) % slices_per_channel_));
        return place.row << 8 | place.bank;
    }

private:
    AddressMap map_;
    DramAddressMap dram_;
    std::uint32_t slices_per_channel_;
};

}  // namespace mergelane
