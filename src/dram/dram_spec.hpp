// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "core/fields.hpp"
#include "core/law_book.hpp"
#include "core/problems.hpp"
#include "parts/dram_address_map.hpp"

namespace mergelane {

/// Command timing in DRAM command-clock cycles; the tables in gpus/memory/ fill it in.
struct DramTiming {
    std::uint32_t tRCD = 12;  ///< ACT to column command
    std::uint32_t tRP = 12;   ///< PRE to ACT
    std::uint32_t tRAS = 28;  ///< ACT to PRE
    std::uint32_t tRC = 40;   ///< ACT to ACT, same bank
    std::uint32_t tRRD = 6;   ///< ACT to ACT, other bank
    std::uint32_t tCCD = 2;   ///< column to column, other bank group
    std::uint32_t tCCDL = 2;  ///< column to column, same bank group
    std::uint32_t tCL = 12;   ///< read command to data
    std::uint32_t tWL = 4;    ///< write command to data
    std::uint32_t tWR = 12;   ///< end of write data to PRE
    std::uint32_t tRTP = 2;   ///< read command to PRE
    std::uint32_t tCDLR = 5;  ///< end of write data to read command
    std::uint32_t tRTW = 12;  ///< read command to write command

    void fields(SpecFields& f);
    /// `burst_cycles`: data bus cycles of one column command.
    void check(std::uint32_t burst_cycles, Problems& problems) const;
};

struct DramSpec {
    std::uint32_t channels = 8;
    std::string scheduler = "fr_fcfs";
    std::uint32_t queue = 64;
    std::uint32_t bank_queue = 4;
    std::uint32_t banks = 16;
    std::uint32_t bank_groups = 4;
    std::uint32_t bus_bytes = 64;
    std::uint32_t access_bytes = 128;
    std::uint32_t access_latency = 100;
    std::uint32_t command_buses = 1;
    std::string address_map = "RBBBBCCCCSSSSSSS";
    bool bank_hash = false;
    DramAddressMap::BankHash bank_hash_kind = DramAddressMap::BankHash::low_bits;
    DramTiming timing;

    void fields(SpecFields& f);
    void check(Problems& problems) const;
    void laws(LawBook& book) const;
    /// Requests a controller holds.
    std::uint32_t capacity(bool queue_per_bank) const { return queue_per_bank ? banks * bank_queue : queue; }
    /// Throws InputError if dram.address_map does not fit the banks.
    DramAddressMap map() const { return {address_map, banks, bank_hash ? bank_hash_kind : DramAddressMap::BankHash::none}; }
    std::uint32_t burst_cycles() const { return access_bytes / bus_bytes == 0 ? 1 : access_bytes / bus_bytes; }
};

}  // namespace mergelane
