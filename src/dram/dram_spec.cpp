// SPDX-License-Identifier: MIT
#include "dram/dram_spec.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "dram/request_order.hpp"
#include "parts/cache_checks.hpp"

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

void DramTiming::check(std::uint32_t burst_cycles, Problems& problems) const {
    problems.require(tRC >= tRAS + tRP, {"dram.timing.tRC", "dram.timing.tRAS", "dram.timing.tRP"},
                     fmt::format("tRC ({}) is less than tRAS + tRP ({}); raise it", tRC, tRAS + tRP));
    problems.require(tRAS >= tRCD, {"dram.timing.tRAS", "dram.timing.tRCD"},
                     fmt::format("tRAS ({}) is less than tRCD ({}); raise it", tRAS, tRCD));
    problems.require(tCCDL >= tCCD, {"dram.timing.tCCDL", "dram.timing.tCCD"},
                     fmt::format("tCCDL ({}) is less than tCCD ({}); raise it", tCCDL, tCCD));
    problems.require(tRTW + tWL >= tCL + burst_cycles,
                     {"dram.timing.tRTW", "dram.timing.tCL", "dram.timing.tWL", "dram.access_bytes", "dram.bus_bytes"},
                     fmt::format("tRTW ({}) lets write data collide with read data on the bus; raise it to at least {} (tCL + burst - tWL)",
                                 tRTW, tCL + burst_cycles - tWL));
}

void DramSpec::fields(SpecFields& f) {
    f.section("dram");
    f.integer("channels", channels, 1, 256, "channels", "memory channels, each with its own controller");
    f.policy<RequestOrder>("scheduler", scheduler, "memory scheduling policy");
    f.integer("queue", queue, 1, 64, "requests", "controller queue (scheduling window)");
    f.integer("bank_queue", bank_queue, 1, 4096, "requests", "queue per bank, instead of dram.queue (banked_fifo)");
    f.integer("banks", banks, 1, 64, "banks", "banks per channel");
    f.integer("bank_groups", bank_groups, 1, 64, "groups", "bank groups per channel or pseudo-channel; bank b is in group b mod n");
    f.integer("bus_bytes", bus_bytes, 1, 1024, "bytes/cycle", "data-bus width, in bytes per command-clock cycle");
    f.integer("access_bytes", access_bytes, 32, 128, "bytes", "bytes per column command");
    f.integer("access_latency", access_latency, 2, 10000, "core cycles",
              "fixed latency of every access, half before and half after the controller");
    f.integer("command_buses", command_buses, 1, 2, "buses", "command buses; 2: a row and a column command can issue in the same cycle");
    f.text(
        "address_map", address_map, "bits",
        "address mapping within a channel, from the most significant bit: R row, B bank, P pseudo-channel, C column, S offset in a sector");
    f.boolean("bank_hash", bank_hash, "XOR the bank with bits of the row (dram.bank_hash_kind)");
    f.belongs_to("dram.bank_hash", {"true"});
    f.enumeration(
        "bank_hash_kind", bank_hash_kind, {"low_bits", "xor_fold", "ipoly"},
        "what the bank is XORed with: the low row bits, all row bits folded to the width of a bank, or the row modulo a polynomial");
    timing.fields(f);
}

void DramSpec::check(Problems& problems) const {
    check_block_bytes("dram.access_bytes", access_bytes, problems);
    problems.require(
        bus_bytes <= access_bytes && access_bytes % bus_bytes == 0, {"dram.bus_bytes", "dram.access_bytes"},
        fmt::format("dram.access_bytes ({}) is not a multiple of dram.bus_bytes ({}); change one of them", access_bytes, bus_bytes));
    problems.require(bank_groups <= banks && banks % bank_groups == 0, {"dram.bank_groups", "dram.banks"},
                     fmt::format("dram.banks ({}) cannot be divided into {} groups; use a divisor", banks, bank_groups));
    timing.check(burst_cycles(), problems);
    try {
        static_cast<void>(map());
    } catch (const InputError& error) {
        problems.require(false, {"dram.address_map", "dram.banks"},
                         fmt::format("dram.address_map = \"{}\": {}", address_map, error.what()));
    }
}

void DramSpec::laws(LawBook& book) const {
    book.balance("dram.requests = dram.replies + dram.writes + held", book("dram.requests"),
                 book("dram.replies") + book("dram.writes") + book("dram.held"));
}

}  // namespace mergelane
