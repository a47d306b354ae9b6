// SPDX-License-Identifier: MIT
// Checks a list of DRAM commands and reports every one that came too early or to a bank in the wrong state. Written from the DRAM rules as
// a backward search through the list: unlike a controller, it keeps no earliest-next times.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "dram/channel.hpp"

namespace mergelane::testing {

struct DramViolation {
    std::size_t index;  ///< of the command
    std::string rule;   ///< a timing parameter, or what was wrong
};

class DramChecker {
public:
    using Kind = DramCommand::Kind;

    explicit DramChecker(const DramSpec& spec) : spec_(spec), t_(spec.timing), burst_(std::max(1u, spec.access_bytes / spec.bus_bytes)) {
        // Nothing further back than this can be too close.
        const auto& t = t_;
        reach_ = std::max(
            {t.tRCD, t.tRP, t.tRAS, t.tRC, t.tRRD, t.tCCDL, t.tRTP, t.tRTW, t.tWL + burst_ + std::max(t.tWR, t.tCDLR), t.tCL + burst_});
    }

    std::vector<DramViolation> check(const std::vector<DramCommand>& commands) {
        violations_.clear();
        smallest_.clear();
        std::vector<Bank> banks(spec_.banks);
        for (std::size_t i = 0; i < commands.size(); ++i) {
            const DramCommand& command = commands[i];
            if (i > 0 && command.at < commands[i - 1].at) report(i, "time runs backwards");
            state_rules(i, command, banks[command.bank]);
            for (std::size_t j = i; j-- > 0 && commands[j].at + reach_ >= command.at;) pair_rules(i, commands[j], command);
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

    void apart(std::size_t i, const char* rule, Cycle earlier, Cycle later, std::uint64_t distance) {
        const std::uint64_t gap = later - earlier;
        auto [at, is_new] = smallest_.try_emplace(rule, gap);
        if (!is_new) at->second = std::min(at->second, gap);
        if (gap < distance) report(i, rule);
    }

    void pair_rules(std::size_t i, const DramCommand& a, const DramCommand& b) {
        const bool same_bank = a.bank == b.bank;
        const auto is = [&](Kind first, Kind second) { return a.kind == first && b.kind == second; };
        if (a.at == b.at && (spec_.command_buses == 1 || is_column(a.kind) == is_column(b.kind))) report(i, "command bus");
        if (same_bank) {
            if (a.kind == Kind::activate && is_column(b.kind)) apart(i, "tRCD", a.at, b.at, t_.tRCD);
            if (is(Kind::precharge, Kind::activate)) apart(i, "tRP", a.at, b.at, t_.tRP);
            if (is(Kind::activate, Kind::precharge)) apart(i, "tRAS", a.at, b.at, t_.tRAS);
            if (is(Kind::activate, Kind::activate)) apart(i, "tRC", a.at, b.at, t_.tRC);
            if (is(Kind::read, Kind::precharge)) apart(i, "tRTP", a.at, b.at, t_.tRTP);
            if (is(Kind::write, Kind::precharge)) apart(i, "tWR", a.at, b.at, t_.tWL + burst_ + t_.tWR);
        } else if (is(Kind::activate, Kind::activate)) {
            apart(i, "tRRD", a.at, b.at, t_.tRRD);
        }
        if (is_column(a.kind) && is_column(b.kind)) {
            const bool same_group = a.bank % spec_.bank_groups == b.bank % spec_.bank_groups;
            if (a.kind == b.kind) apart(i, same_group ? "tCCDL" : "tCCD", a.at, b.at, same_group ? t_.tCCDL : t_.tCCD);
            if (is(Kind::read, Kind::write)) apart(i, "tRTW", a.at, b.at, t_.tRTW);
            if (is(Kind::write, Kind::read)) apart(i, "tCDLR", a.at, b.at, t_.tWL + burst_ + t_.tCDLR);
            const Cycle data_a = a.at + (a.kind == Kind::read ? t_.tCL : t_.tWL);
            const Cycle data_b = b.at + (b.kind == Kind::read ? t_.tCL : t_.tWL);
            if (data_b < data_a + burst_ && data_a < data_b + burst_) report(i, "data bus");
        }
    }

    const DramSpec spec_;
    const DramTiming t_;
    const std::uint32_t burst_;
    std::uint64_t reach_ = 0;
    std::vector<DramViolation> violations_;
    std::map<std::string, std::uint64_t> smallest_;
};

}  // namespace mergelane::testing
