// SPDX-License-Identifier: MIT
// The banks of a channel as its detailed controller sees them: open rows, command timing, refresh, and the page policy. Knows no requests.
#pragma once

#include <vector>

#include "core/bits.hpp"
#include "dram/command_timing.hpp"

namespace mergelane {

/// Banks are given as bit masks.
class DramDevice {
public:
    using Kind = DramCommand::Kind;
    static constexpr std::uint64_t kClosed = ~std::uint64_t{0};

    struct Stats {
        std::uint64_t activates = 0, precharges = 0, refreshes = 0;
        std::uint64_t open_cycles = 0;  ///< summed over banks
    };

    DramDevice(const DramSpec& dram, const DramControllerSpec& controller);

    void log_commands(std::vector<DramCommand>* log) { log_ = log; }
    /// Those of the past: a bank that is open counts its cycles until `now`.
    Stats stats(Cycle now) const;

    std::uint64_t open() const { return open_; }
    std::uint64_t open_row(std::uint32_t bank) const { return banks_[bank].row; }
    /// When the row before the open one was closed.
    Cycle closed_at(std::uint32_t bank) const { return banks_[bank].closed_at; }
    Cycle earliest(Kind kind, std::uint32_t bank) const { return timing_.earliest(kind, bank); }
    /// When the bank can be precharged or, if it is closed, activated.
    Cycle row_command_at(std::uint32_t bank) const {
        return std::max(row_bus_at_, earliest((open_ & bit(bank)) != 0 ? Kind::precharge : Kind::activate, bank));
    }

    /// Those of the banks that can get the command now; the others not before `next`, which is lowered for them.
    std::uint64_t ready(Kind kind, std::uint64_t banks, Cycle now, Cycle& next) const { return timing_.ready(kind, banks, now, next); }
    std::uint64_t ready_for_row_command(std::uint64_t banks, Cycle now, Cycle& next) const {
        if (row_bus_at_ > now) {
            next = std::min(next, row_bus_at_);
            return 0;
        }
        return ready(Kind::precharge, banks & open_, now, next) | ready(Kind::activate, banks & ~open_, now, next);
    }
    /// No activate before this, if there is one pseudo-channel.
    Cycle activate_at() const { return timing_.earliest_anywhere(Kind::activate); }

    void activate(std::uint32_t bank, std::uint64_t row, Cycle now);
    /// For a request to another row.
    void precharge(std::uint32_t bank, Cycle now);
    void column(bool write, std::uint32_t bank, Cycle now);

    /// Refreshes or a page policy that closes rows. Without them, the rest is not called.
    bool has_chores() const { return has_chores_; }
    /// Banks that get no command for requests until their refresh has been done.
    std::uint64_t refreshing() const { return refreshing_; }
    /// A refresh begins when it cannot be postponed further, or when no request waits for its banks.
    void begin_refreshes(Cycle now, std::uint64_t waiting);
    /// Issues a command of the refreshes that have begun; returns whether there was one.
    bool refresh(Cycle now);
    /// Closes a bank without hits if the page policy says so.
    bool close_page(Cycle now, std::uint64_t hits);
    /// When one of these may have something to do, after `now`.
    Cycle next_chore(Cycle now, std::uint64_t waiting, std::uint64_t hits) const;
    /// Nothing but chores happened since `since`, and nothing else will before `now`: does them, each at its own time.
    void idle(Cycle since, Cycle now);

private:
    struct Bank {
        std::uint64_t row = kClosed;
        std::uint64_t last_row = kClosed;
        Cycle used_at = 0;
        Cycle opened_at = 0;
        Cycle closed_at = 0;
        std::uint32_t timeout = 0;
        bool by_policy = false;  ///< it was the page policy that closed it
    };
    /// The refreshes of a pseudo-channel.
    struct Refreshes {
        Cycle due_at = kNever;
        std::uint32_t owed = 0;
        std::uint32_t bank = 0;   ///< of the next one
        std::uint64_t banks = 0;  ///< of the next one
        bool begun = false;
    };

    void close(std::uint32_t bank, Cycle now);
    void record(Cycle now, Kind kind, std::uint32_t bank, std::uint64_t row);
    Kind refresh_kind() const { return per_bank_ ? Kind::refresh_bank : Kind::refresh; }
    Cycle refresh_command_at(const Refreshes& refreshes) const;
    Cycle close_at(std::uint32_t bank) const;
    void refreshed(Refreshes& refreshes);

    const DramControllerSpec* spec_;
    CommandTiming timing_;
    std::uint32_t banks_per_half_;  ///< of a pseudo-channel
    std::uint32_t interval_;
    bool per_bank_, has_chores_;
    std::uint64_t open_ = 0;
    std::uint64_t refreshing_ = 0;
    Cycle row_bus_at_ = 0;
    std::vector<Bank> banks_;
    std::vector<Refreshes> refreshes_;  ///< per pseudo-channel; none without refresh
    std::vector<DramCommand>* log_ = nullptr;
    Stats stats_;
};

}  // namespace mergelane
