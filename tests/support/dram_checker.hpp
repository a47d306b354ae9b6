// SPDX-License-Identifier: MIT
// Checks a list of DRAM commands and reports every one that came too early or to a bank in the wrong state. Written from the DRAM rules as
// a backward search through the list: unlike a controller, it keeps no earliest-next times.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "dram/command.hpp"
#include "dram/controller_spec.hpp"

namespace mergelane::testing {

struct DramViolation {
    std::size_t index;  ///< of the command
    std::string rule;   ///< a timing parameter, or what was wrong
};

class DramChecker {
public:
    using Kind = DramCommand::Kind;

    /// Without a controller section: that of the plain channel, with none of its constraints.
    explicit DramChecker(const DramSpec& spec, const DramControllerSpec& controller = {})
        : spec_(spec),
          t_(spec.timing),
          c_(controller),
          burst_(std::max(1u, spec.access_bytes * controller.pseudo_channels / spec.bus_bytes)) {
        // Nothing further back than this can be too close.
        const auto& t = t_;
        reach_ = std::max({t.tRCD, t.tRP, t.tRAS, t.tRC, t.tRRD, t.tCCDL, t.tRTP, t.tRTW,
                           t.tWL + burst_ + std::max({t.tWR, t.tCDLR, c_.tWTRL}), t.tCL + burst_, c_.tRCDWR, c_.tRRDL, c_.tRTPL});
        refresh_reach_ = std::max({c_.tRFC, c_.tRFCpb, c_.tRREFD});
    }

    std::vector<DramViolation> check(const std::vector<DramCommand>& commands) {
        violations_.clear();
        smallest_.clear();
        std::vector<Bank> banks(spec_.banks);
        std::vector<DramCommand> refreshes;
        std::map<std::uint32_t, std::deque<Cycle>> activates;  // the last four of each pseudo-channel
        for (std::size_t i = 0; i < commands.size(); ++i) {
            const DramCommand& command = commands[i];
            if (i > 0 && command.at < commands[i - 1].at) report(i, "time runs backwards");
            if (is_refresh(command.kind))
                refresh_rules(i, command, banks);
            else
                state_rules(i, command, banks[command.bank]);
            if (command.kind == Kind::activate) window_rule(i, command, activates[half(command.bank)]);
            for (std::size_t j = i; j-- > 0 && commands[j].at + reach_ >= command.at;) pair_rules(i, commands[j], command);
            for (std::size_t k = refreshes.size(); k-- > 0 && refreshes[k].at + refresh_reach_ >= command.at;)
                refresh_distances(i, refreshes[k], command);
            if (is_refresh(command.kind)) refreshes.push_back(command);
        }
        return violations_;
    }

    /// Smallest distance seen between two commands that `rule` keeps apart, for asking whether a rule was ever tight.
    std::uint64_t smallest(const std::string& rule) const {
        const auto found = smallest_.find(rule);
        return found == smallest_.end() ? ~std::uint64_t{0} : found->second;
    }

private:
    struct Bank {
        bool open = false;
        std::uint64_t row = 0;
    };

    std::uint32_t half(std::uint32_t bank) const { return bank / (spec_.banks / c_.pseudo_channels); }
    static bool is_refresh(Kind kind) { return kind == Kind::refresh || kind == Kind::refresh_bank; }
    static bool is_column(Kind kind) { return kind == Kind::read || kind == Kind::write; }

    void report(std::size_t index, std::string rule) { violations_.push_back({index, std::move(rule)}); }

    void state_rules(std::size_t i, const DramCommand& c, Bank& bank) {
        if (c.kind == Kind::activate) {
            if (bank.open) report(i, "activate on an open bank");
            bank = {true, c.row};
        } else if (c.kind == Kind::precharge) {
            if (!bank.open) report(i, "precharge of a closed bank");
            bank.open = false;
        } else if (!bank.open) {
            report(i, "column command to a closed bank");
        } else if (bank.row != c.row) {
            report(i, "column command to another row");
        }
    }

    /// A bank must be closed to be refreshed.
    void refresh_rules(std::size_t i, const DramCommand& c, const std::vector<Bank>& banks) {
        for (std::uint32_t b = 0; b < banks.size(); ++b) {
            const bool refreshed = c.kind == Kind::refresh ? half(b) == half(c.bank) : b == c.bank;
            if (refreshed && banks[b].open) report(i, "refresh of an open bank");
        }
    }

    void window_rule(std::size_t i, const DramCommand& c, std::deque<Cycle>& last) {
        if (c_.tFAW != 0 && last.size() == 4) apart(i, "tFAW", last.front(), c.at, c_.tFAW);
        last.push_back(c.at);
        if (last.size() > 4) last.pop_front();
    }

    /// When a command counts: an activate of two cycles in its second.
    Cycle time_of(const DramCommand& c) const { return c.at + (c.kind == Kind::activate ? c_.activate_cycles - 1 : 0); }
    void apart(std::size_t i, const char* rule, const DramCommand& a, const DramCommand& b, std::uint64_t distance) {
        apart(i, rule, time_of(a), time_of(b), distance);
    }
    void apart(std::size_t i, const char* rule, Cycle earlier, Cycle later, std::uint64_t distance) {
        const std::uint64_t gap = later - earlier;
        auto [at, is_new] = smallest_.try_emplace(rule, gap);
        if (!is_new) at->second = std::min(at->second, gap);
        if (gap < distance) report(i, rule);
    }

    void pair_rules(std::size_t i, const DramCommand& a, const DramCommand& b) {
        bus_rules(i, a, b);
        if (half(a.bank) != half(b.bank)) return;
        if (a.bank == b.bank) bank_rules(i, a, b);
        row_rules(i, a, b);
        if (a.kind == Kind::precharge && b.kind == Kind::refresh) apart(i, "tRP before a refresh", a, b, t_.tRP);
        if (a.kind == Kind::activate && b.kind == Kind::refresh) apart(i, "tRC before a refresh", a, b, t_.tRC);
        if (a.kind == Kind::activate && b.kind == Kind::refresh_bank) apart(i, "tRRD before a refresh", a, b, t_.tRRD);
        if (is_column(a.kind) && is_column(b.kind)) column_rules(i, a, b);
    }

    /// Row commands share a bus, and so do column commands; an activate may take two cycles.
    void bus_rules(std::size_t i, const DramCommand& a, const DramCommand& b) {
        const Cycle taken = a.kind == Kind::activate && !is_column(b.kind) ? c_.activate_cycles : 1;
        if (b.at < a.at + taken && (spec_.command_buses == 1 || is_column(a.kind) == is_column(b.kind))) report(i, "command bus");
    }

    void bank_rules(std::size_t i, const DramCommand& a, const DramCommand& b) {
        const auto is = [&](Kind first, Kind second) { return a.kind == first && b.kind == second; };
        const bool own_write_time = c_.tRCDWR != 0;
        if (is(Kind::activate, Kind::read)) apart(i, "tRCD", a, b, t_.tRCD);
        if (is(Kind::activate, Kind::write)) apart(i, own_write_time ? "tRCDWR" : "tRCD", a, b, own_write_time ? c_.tRCDWR : t_.tRCD);
        if (is(Kind::precharge, Kind::activate)) apart(i, "tRP", a, b, t_.tRP);
        if (is(Kind::activate, Kind::precharge)) apart(i, "tRAS", a, b, t_.tRAS);
        if (is(Kind::activate, Kind::activate)) apart(i, "tRC", a, b, t_.tRC);
        if (is(Kind::read, Kind::precharge)) apart(i, "tRTP", a, b, t_.tRTP);
        if (is(Kind::write, Kind::precharge)) apart(i, "tWR", a, b, t_.tWL + burst_ + t_.tWR);
        if (is(Kind::precharge, Kind::refresh_bank)) apart(i, "tRP before a refresh", a, b, t_.tRP);
        if (is(Kind::activate, Kind::refresh_bank)) apart(i, "tRC before a refresh", a, b, t_.tRC);
    }

    bool same_group(const DramCommand& a, const DramCommand& b) const { return a.bank % spec_.bank_groups == b.bank % spec_.bank_groups; }

    /// Between commands to different banks.
    void row_rules(std::size_t i, const DramCommand& a, const DramCommand& b) {
        const bool two_activates = a.kind == Kind::activate && b.kind == Kind::activate && a.bank != b.bank;
        if (two_activates) apart(i, "tRRD", a, b, t_.tRRD);
        if (!same_group(a, b)) return;
        if (two_activates && c_.tRRDL != 0) apart(i, "tRRDL", a, b, c_.tRRDL);
        if (a.kind == Kind::read && b.kind == Kind::precharge && c_.tRTPL != 0) apart(i, "tRTPL", a, b, c_.tRTPL);
    }

    /// From a refresh, which lasts far longer than anything else, to a later command.
    void refresh_distances(std::size_t i, const DramCommand& a, const DramCommand& b) {
        if (half(a.bank) != half(b.bank) || (b.kind != Kind::activate && !is_refresh(b.kind))) return;
        if (a.kind == Kind::refresh) return apart(i, "tRFC", a, b, c_.tRFC);
        if (a.bank == b.bank)
            apart(i, "tRFCpb", a, b, c_.tRFCpb);
        else if (c_.tRREFD != 0)
            apart(i, "tRREFD", a, b, c_.tRREFD);
    }

    void column_rules(std::size_t i, const DramCommand& a, const DramCommand& b) {
        const auto is = [&](Kind first, Kind second) { return a.kind == first && b.kind == second; };
        const bool near = same_group(a, b);
        if (a.kind == b.kind) apart(i, near ? "tCCDL" : "tCCD", a, b, near ? t_.tCCDL : t_.tCCD);
        if (is(Kind::read, Kind::write)) apart(i, "tRTW", a, b, t_.tRTW);
        if (is(Kind::write, Kind::read)) {
            apart(i, "tCDLR", a, b, t_.tWL + burst_ + t_.tCDLR);
            if (near && c_.tWTRL != 0) apart(i, "tWTRL", a, b, t_.tWL + burst_ + c_.tWTRL);
        }
        const Cycle data_a = a.at + (a.kind == Kind::read ? t_.tCL : t_.tWL);
        const Cycle data_b = b.at + (b.kind == Kind::read ? t_.tCL : t_.tWL);
        if (data_b < data_a + burst_ && data_a < data_b + burst_) report(i, "data bus");
    }

    const DramSpec spec_;
    const DramTiming t_;
    const DramControllerSpec c_;
    const std::uint32_t burst_;
    std::uint64_t reach_ = 0, refresh_reach_ = 0;
    std::vector<DramViolation> violations_;
    std::map<std::string, std::uint64_t> smallest_;
};

}  // namespace mergelane::testing
