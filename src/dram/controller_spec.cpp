// SPDX-License-Identifier: MIT
#include "dram/controller_spec.hpp"

#include <fmt/format.h>

#include "dram/request_order.hpp"

namespace mergelane {

void DramControllerSpec::fields(SpecFields& f) {
    f.section("dram.controller");
    f.text("standard", standard, "", "memory standard, as energy tables name it (docs/energy.md); changes no result", 20);
    f.boolean("enabled", on, "detailed controller: refresh, activation windows, write queue, page policies, queues of up to 512 requests");
    f.integer("queue", queue, 0, 512, "requests", "queue of the detailed controller; 0: dram.queue");
    f.integer("write_queue", write_queue, 0, 512, "requests", "queue for writes; 0: reads and writes share one queue");
    f.integer("write_high", write_high, 0, 512, "requests", "queued writes at which the controller stops reads and drains writes");
    f.integer("write_low", write_low, 0, 512, "requests", "queued writes at which it returns to reads");
    f.enumeration(
        "page", page, {"open", "closed", "adaptive"},
        "page policy: rows stay open until another is needed, close after the last queued hit, or close after a time that adapts");
    f.integer("page_timeout", page_timeout, 1, 65536, "DRAM cycles", "initial time of an idle open row, per bank (adaptive)");
    f.enumeration("refresh", refresh, {"none", "all_bank", "per_bank"}, "refresh commands, every tREFI");
    f.integer("refresh_postpone", refresh_postpone, 0, 8, "refreshes", "refreshes that may wait while requests do");
    f.integer("pseudo_channels", pseudo_channels, 1, 2, "pseudo-channels",
              "halves of a channel with their own banks and data bus, which share the command buses");
    f.integer("activate_cycles", activate_cycles, 1, 2, "DRAM cycles", "cycles of an activate on the row command bus");
    f.belongs_to("dram.scheduler", {"fr_fcfs_cap"});
    f.integer("hit_cap", hit_cap, 1, 512, "requests", "requests served from one activation before an older one of the bank (fr_fcfs_cap)");
    f.section("dram.timing");
    const auto add = [&](std::string_view key, std::uint32_t& value, std::uint32_t most, std::string_view meaning) {
        f.integer(key, value, 0, most, "DRAM cycles", meaning);
    };
    add("tRCDWR", tRCDWR, 1000, "activate to write, same bank; 0: tRCD");
    add("tRRDL", tRRDL, 1000, "activate to activate, same bank group; 0: tRRD");
    add("tFAW", tFAW, 1000, "window of at most four activates; 0: no limit");
    add("tWTRL", tWTRL, 1000, "last write data to read command, same bank group; 0: tCDLR");
    add("tRTPL", tRTPL, 1000, "read command to precharge, same bank group; 0: only tRTP");
    add("tREFI", tREFI, 1'000'000, "mean interval between refreshes");
    add("tRFC", tRFC, 10'000, "refresh of all banks to activate");
    add("tRFCpb", tRFCpb, 10'000, "refresh of one bank to its activate");
    add("tRREFD", tRREFD, 1000, "refresh of one bank to activate or refresh of another");
}

void DramControllerSpec::check(const DramSpec& dram, const RequestOrderTraits& order, Problems& problems) const {
    const bool has_halves = dram.address_map.find('P') != std::string::npos;
    problems.require(!has_halves || (on && pseudo_channels == 2), {"dram.address_map", "dram.controller.pseudo_channels"},
                     "dram.address_map has a pseudo-channel bit (P); set dram.controller.enabled = true and pseudo_channels = 2, or use B");
    if (!on) {
        problems.require(*order.plain, {"dram.scheduler", "dram.controller.enabled"},
                         fmt::format("dram.scheduler = \"{}\" works in the detailed controller only; set dram.controller.enabled = true",
                                     dram.scheduler));
        return;
    }
    problems.require(*order.detailed, {"dram.scheduler", "dram.controller.enabled"},
                     fmt::format("dram.scheduler = \"{}\" does not work in the detailed controller; set dram.controller.enabled = false",
                                 dram.scheduler));
    problems.require(write_queue == 0 || (write_low < write_high && write_high <= write_queue),
                     {"dram.controller.write_queue", "dram.controller.write_high", "dram.controller.write_low"},
                     fmt::format("writes drain from {} down to {} in a queue of {}; choose write_low < write_high <= write_queue",
                                 write_high, write_low, write_queue));
    problems.require(
        dram.banks % pseudo_channels == 0 && dram.bus_bytes % pseudo_channels == 0 && dram.banks / pseudo_channels % dram.bank_groups == 0,
        {"dram.controller.pseudo_channels", "dram.banks", "dram.bank_groups", "dram.bus_bytes"},
        fmt::format("dram.banks ({}), bank groups ({}) and dram.bus_bytes ({}) cannot be divided by {} pseudo-channels; dram.banks "
                    "and dram.bus_bytes are those of the whole channel, dram.bank_groups those of a pseudo-channel",
                    dram.banks, dram.bank_groups, dram.bus_bytes, pseudo_channels));
    problems.require(activate_cycles == 1 || dram.command_buses == 2, {"dram.controller.activate_cycles", "dram.command_buses"},
                     "an activate of two cycles needs a row command bus; set dram.command_buses = 2");
    const DramTiming& t = dram.timing;
    const auto not_shorter = [&](std::string_view key, std::uint32_t value, std::string_view than, std::uint32_t least) {
        problems.require(value == 0 || value >= least, {key, than},
                         fmt::format("{} ({}) is less than {} ({}); raise it, or set it to 0", key, value, than, least));
    };
    not_shorter("dram.timing.tRRDL", tRRDL, "dram.timing.tRRD", t.tRRD);
    not_shorter("dram.timing.tWTRL", tWTRL, "dram.timing.tCDLR", t.tCDLR);
    t.check(burst_cycles(dram), problems);
    if (refresh == Refresh::none) return;
    const bool all = refresh == Refresh::all_bank;
    const std::string_view key = all ? "dram.timing.tRFC" : "dram.timing.tRFCpb";
    const std::uint32_t duration = all ? tRFC : tRFCpb;
    // A refresh closes its rows first; banks that are not refreshed go on meanwhile.
    const std::uint32_t needed = t.tRC + t.tRP + (all ? tRFC : tRREFD);
    const std::uint32_t interval = refresh_interval(dram);
    problems.require(duration != 0 && duration < tREFI && interval > needed, {"dram.timing.tREFI", key, "dram.controller.refresh"},
                     fmt::format("this refresh needs {} > 0 and more than {} DRAM cycles from one to the next, but there are {}; set "
                                 "dram.timing.tREFI and {} to those of the memory",
                                 key, needed, interval, key));
}

}  // namespace mergelane
