// SPDX-License-Identifier: MIT
// Which DRAM row a request of the network is about: what lies on one row of one bank of a channel has one number.
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
