// SPDX-License-Identifier: MIT
#include "dram/dram_spec.hpp"

#include <fmt/format.h>

#include "core/bits.hpp"
#include "core/error.hpp"
#include "dram/request_order.hpp"

namespace mergelane {

void DramTiming::fields(SpecFields& f) {
    f.section("dram.timing");
    const auto add = [&](std::string_view key, std::uint32_t& value, std::string_view meaning) {
        f.integer(key, value, 1, 1000, "DRAM cycles", meaning);
    };
    add("tRCD", tRCD, "activate to column command, same bank");
    add("tRP", tRP, "precharge to activate, same bank");
    add("tRAS", tRAS, "activate to precharge, same bank");
    add("tRC", tRC, "activate to activate, same bank");
    add("tRRD", tRRD, "activate to activate, different banks");
    add("tCCD", tCCD, "column command to column command, different bank groups");
    add("tCCDL", tCCDL, "column command to column command, same bank group");
    add("tCL", tCL, "read command to first data");
    add("tWL", tWL, "write command to first data");
    add("tWR", tWR, "last write data to precharge, same bank");
    add("tRTP", tRTP, "read command to precharge, same bank");
    add("tCDLR", tCDLR, "last write data to read command");
    add("tRTW", tRTW, "read command to write command");
}

void DramSpec::fields(SpecFields& f) {
    f.section("dram");
    f.integer("channels", channels, 1, 256, "channels", "memory channels, each with its own controller");
    f.choice("scheduler", scheduler, request_order_names(), "which queued request may be served");
    f.integer("queue", queue, 1, 64, "requests", "requests a controller can choose among");
    f.integer("banks", banks, 1, 64, "banks", "banks per channel");
    f.integer("bank_groups", bank_groups, 1, 64, "groups", "bank groups per channel; bank b is in group b mod n");
    f.integer("bus_bytes", bus_bytes, 1, 1024, "bytes/cycle", "bytes the data bus moves per command-clock cycle");
    f.integer("access_bytes", access_bytes, 32, 128, "bytes", "bytes moved by one column command");
    f.integer("access_latency", access_latency, 2, 10000, "core cycles",
              "added to every access, half before and half after the controller");
    f.integer("command_buses", command_buses, 1, 2, "buses", "2: a row and a column command in the same cycle");
    f.text("address_map", address_map, "bits", "channel address from the top bit down: R row, B bank, C column, S inside a sector");
    f.boolean("bank_hash", bank_hash, "XOR the bank with low row bits");
    timing.fields(f);
}

DramAddressMap::DramAddressMap(const std::string& map, std::uint32_t banks, bool bank_hash) : bank_hash_(bank_hash) {
    std::uint32_t bits = 0;
    std::uint32_t columns = 0;
    std::uint32_t sectors = 0;
    bool row_seen = false;
    for (auto letter = map.rbegin(); letter != map.rend(); ++letter) {
        if (*letter == '.' || *letter == ' ') continue;
        if (*letter != 'R' && row_seen) throw InputError("row bits (R) must be the most significant ones: write the map as R...BC...S");
        switch (*letter) {
            case 'R':
                if (!row_seen) row_shift_ = bits;
                row_seen = true;
                break;
            case 'B':
                if (bank_bits_ == 6) throw InputError("more than 6 bank bits (B)");
                bank_bit_[bank_bits_++] = bits;
                break;
            case 'C': ++columns; break;
            case 'S': ++sectors; break;
            default: throw InputError(fmt::format("unknown letter '{}'; use R, B, C and S", *letter));
        }
        if (++bits > 48) throw InputError("more than 48 address bits");
    }
    if (!row_seen) throw InputError("no row bit (R)");
    if (sectors < 5) throw InputError("needs at least 5 S bits, a 32-byte sector");
    if ((1u << bank_bits_) != banks)
        throw InputError(fmt::format("{} bank bits (B) make {} banks, but dram.banks is {}", bank_bits_, 1u << bank_bits_, banks));
    row_bytes_ = std::uint64_t{1} << (columns + sectors);
}

}  // namespace mergelane
