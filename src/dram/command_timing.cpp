// SPDX-License-Identifier: MIT
#include "dram/command_timing.hpp"

namespace mergelane {

std::vector<DramRule> dram_rules(const DramSpec& dram, const DramControllerSpec& controller) {
    using Kind = DramCommand::Kind;
    using Scope = DramRule::Scope;
    const DramTiming& t = dram.timing;
    const DramControllerSpec& c = controller;
    const std::uint32_t burst = c.burst_cycles(dram);
    const std::uint32_t near = std::max(t.tCCDL, burst), far = std::max(t.tCCD, burst), written = t.tWL + burst;
    std::vector<DramRule> rules = {
        {"tRCD", Kind::activate, Kind::read, Scope::bank, t.tRCD},
        {"tRCDWR", Kind::activate, Kind::write, Scope::bank, c.tRCDWR == 0 ? t.tRCD : c.tRCDWR},
        {"tRAS", Kind::activate, Kind::precharge, Scope::bank, t.tRAS},
        {"tRC", Kind::activate, Kind::activate, Scope::bank, t.tRC},
        {"tRP", Kind::precharge, Kind::activate, Scope::bank, t.tRP},
        {"tRTP", Kind::read, Kind::precharge, Scope::bank, t.tRTP},
        {"tWR", Kind::write, Kind::precharge, Scope::bank, written + t.tWR},
        {"tRRD", Kind::activate, Kind::activate, Scope::pseudo_channel, t.tRRD},
        {"tCCD", Kind::read, Kind::read, Scope::pseudo_channel, far},
        {"tCCD", Kind::write, Kind::write, Scope::pseudo_channel, far},
        {"tCCDL", Kind::read, Kind::read, Scope::group, near},
        {"tCCDL", Kind::write, Kind::write, Scope::group, near},
        {"tCCDL", Kind::read, Kind::write, Scope::group, near},
        {"tCCDL", Kind::write, Kind::read, Scope::group, near},
        {"tRTW", Kind::read, Kind::write, Scope::pseudo_channel, t.tRTW},
        {"tCDLR", Kind::write, Kind::read, Scope::pseudo_channel, written + t.tCDLR},
    };
    const auto add = [&](std::uint32_t cycles, DramRule rule) {
        if (cycles != 0) rules.push_back(rule);
    };
    add(c.tRRDL, {"tRRDL", Kind::activate, Kind::activate, Scope::group, c.tRRDL});
    add(c.tFAW, {"tFAW", Kind::activate, Kind::activate, Scope::pseudo_channel, c.tFAW, 4});
    add(c.tWTRL, {"tWTRL", Kind::write, Kind::read, Scope::group, written + c.tWTRL});
    add(c.tRTPL, {"tRTPL", Kind::read, Kind::precharge, Scope::group, c.tRTPL});
    if (c.refresh == DramControllerSpec::Refresh::all_bank) {
        add(t.tRP, {"tRP", Kind::precharge, Kind::refresh, Scope::pseudo_channel, t.tRP});
        add(t.tRC, {"tRC", Kind::activate, Kind::refresh, Scope::pseudo_channel, t.tRC});
        add(c.tRFC, {"tRFC", Kind::refresh, Kind::activate, Scope::pseudo_channel, c.tRFC});
        add(c.tRFC, {"tRFC", Kind::refresh, Kind::refresh, Scope::pseudo_channel, c.tRFC});
    } else if (c.refresh == DramControllerSpec::Refresh::per_bank) {
        add(t.tRP, {"tRP", Kind::precharge, Kind::refresh_bank, Scope::bank, t.tRP});
        add(t.tRC, {"tRC", Kind::activate, Kind::refresh_bank, Scope::bank, t.tRC});
        add(t.tRRD, {"tRRD", Kind::activate, Kind::refresh_bank, Scope::pseudo_channel, t.tRRD});
        add(c.tRFCpb, {"tRFCpb", Kind::refresh_bank, Kind::activate, Scope::bank, c.tRFCpb});
        add(c.tRFCpb, {"tRFCpb", Kind::refresh_bank, Kind::refresh_bank, Scope::bank, c.tRFCpb});
        add(c.tRREFD, {"tRREFD", Kind::refresh_bank, Kind::activate, Scope::pseudo_channel, c.tRREFD});
        add(c.tRREFD, {"tRREFD", Kind::refresh_bank, Kind::refresh_bank, Scope::pseudo_channel, c.tRREFD});
    }
    // An activate of two cycles counts from its second; `at` is the first.
    const std::uint32_t later = c.activate_cycles - 1;
    for (DramRule& rule : rules) {
        if (rule.from == Kind::activate) rule.cycles += later;
        if (rule.to == Kind::activate) rule.cycles -= std::min(rule.cycles, later);
    }
    return rules;
}

CommandTiming::CommandTiming(const DramSpec& dram, const DramControllerSpec& controller, const std::vector<DramRule>& rules)
    : pseudo_channels_(controller.pseudo_channels),
      banks_per_half_(dram.banks / controller.pseudo_channels),
      places_(dram.banks),
      parts_(std::size_t{controller.pseudo_channels} * (1 + dram.bank_groups) + dram.banks) {
    const std::uint32_t first_bank = pseudo_channels_ * (1 + dram.bank_groups);
    for (std::uint32_t b = 0; b < dram.banks; ++b) {
        const std::uint32_t half = b / banks_per_half_;
        places_[b] = {first_bank + b, pseudo_channels_ + half * dram.bank_groups + b % dram.bank_groups, half};
    }
    for (const DramRule& rule : rules) {
        if (rule.back == 1)
            delays_[static_cast<std::size_t>(rule.from)].push_back(
                {static_cast<std::uint8_t>(rule.to), static_cast<std::uint8_t>(rule.scope), rule.cycles});
        else
            windows_.push_back({rule, std::vector<std::array<Cycle, kMostBack>>(controller.pseudo_channels),
                                std::vector<std::uint32_t>(controller.pseudo_channels)});
    }
}

void CommandTiming::issued(Kind kind, std::uint32_t bank, Cycle now) {
    const Place& place = places_[bank];
    for (const Delay& delay : delays_[static_cast<std::size_t>(kind)]) {
        Cycle& at = parts_[place[delay.scope]][delay.to];
        at = std::max(at, now + delay.cycles);
    }
    const std::uint32_t half = place[static_cast<std::size_t>(DramRule::Scope::pseudo_channel)];
    for (Window& window : windows_) {
        if (window.rule.from != kind) continue;
        std::uint32_t& next = window.next[half];
        window.last[half][next] = now + window.rule.cycles;
        next = (next + 1) % window.rule.back;
        Cycle& at = parts_[half][static_cast<std::size_t>(window.rule.to)];
        at = std::max(at, window.last[half][next]);
    }
}

}  // namespace mergelane
