// SPDX-License-Identifier: MIT
// One memory channel: request queue, banks with open rows, command timing. One command per bus and DRAM cycle.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "core/bits.hpp"
#include "core/observers.hpp"
#include "core/ring.hpp"
#include "dram/channel_stats.hpp"
#include "dram/dram_spec.hpp"
#include "dram/memory_channel.hpp"
#include "dram/request_order.hpp"

namespace mergelane {

class DramChannel final : public MemoryChannel {
public:
    DramChannel(std::string name, const DramSpec& spec, const Policies& policies = policies_of<add_request_orders>());

    void connect(std::vector<Link<DramRequest>*> requests, std::vector<Link<DramRequest>*> replies) override;
    void log_commands(std::vector<DramCommand>* log) override { log_ = log; }

    Cycle step(Cycle now) override;
    void stats(StatFields& out, Cycle now) const override;
    void gauges(StatFields& out) const override;
    void stages(Stages& out) override;
    std::uint64_t held() const override { return static_cast<std::uint64_t>(std::popcount(occupied_)) + behind_total_; }

private:
    static constexpr std::uint64_t kClosed = ~std::uint64_t{0};

    struct Slot {
        std::uint64_t row = 0;
        Cycle since = 0;
        std::uint16_t tag = 0;
        std::uint8_t bank = 0;
        std::uint8_t bursts = 0;  ///< column commands still to issue
        std::uint8_t sectors = 0;
        std::uint8_t slice = 0;
        bool write = false;
        bool missed = false;  ///< it required a row activation
        Journey* journey = nullptr;
    };
    struct Bank {
        std::uint64_t open_row = kClosed;
        Cycle activate_at = 0;
        Cycle column_at = 0;
        std::uint64_t waiting = 0;  ///< queue slots for this bank
        std::uint64_t hits = 0;     ///< those for the open row
        std::uint32_t group = 0;
        Cycle closed_at = 0;  ///< when the row before the open one was precharged
    };
    struct Group {
        Cycle column_at = 0;
        std::uint64_t waiting = 0;  ///< queue slots for its banks
    };

    template <bool kAtBanks>
    Cycle step_with(Cycle now);
    template <bool kAtBanks>
    void accept(Cycle now);
    Slot slot_of(const DramRequest& request, Cycle now) const;
    void take(std::uint32_t index, const Slot& slot);
    bool at_full_bank(const DramRequest& request) const;
    Cycle next_arrival() const;
    Cycle next_arrival_at_banks(Cycle now) const;
    void next_of_bank(std::uint32_t bank);
    std::uint32_t choice(std::uint64_t ready, std::uint32_t& next_bank) const;
    bool column_command(std::uint64_t visible, Cycle now);
    void row_command(std::uint64_t visible, Cycle now);
    std::uint32_t oldest_of(std::uint64_t slots) const;
    void enqueue(std::uint32_t slot);
    void dequeue(std::uint32_t slot);
    std::uint64_t visible() const {
        return sees_all_ ? occupied_ : order_->visible({occupied_, newer_[RequestQueue::kEnd], newer_, bank_, age_});
    }
    /// Banks with a request that may be served.
    std::uint64_t busy_banks() const;
    // Not inlined: most channels have no observers.
    [[gnu::noinline, gnu::cold]] void tell_arrived(const Slot& slot, Cycle now);
    [[gnu::noinline, gnu::cold]] void tell_busy(Cycle now);
    Cycle bus_at(std::uint64_t slots) const;
    Cycle row_command_at(std::uint32_t bank) const {
        return (closed_ & bit(bank)) != 0 ? std::max(row_ready_at_[bank], activate_at_) : row_ready_at_[bank];
    }
    void issue_column(std::uint32_t index, Cycle now);
    void issue_activate(std::uint32_t index, Cycle now);
    void issue_precharge(std::uint32_t bank, Cycle now);
    void record(Cycle now, DramCommand::Kind kind, std::uint32_t bank, std::uint64_t row) {
        if (log_ != nullptr) log_->push_back({now, kind, bank, row});
    }

    const DramSpec& spec_;
    const DramTiming& t_;
    const std::uint32_t burst_;
    const DramAddressMap map_;
    const BurstCounts bursts_for_;
    std::unique_ptr<RequestOrder> order_;
    std::vector<Link<DramRequest>*> requests_;
    std::vector<Link<DramRequest>*> replies_;

    const bool sees_all_;
    const std::uint32_t bank_queue_;  ///< 0: one queue for all banks; otherwise slot b is the head of bank b
    std::vector<Ring<Slot>> behind_;  ///< per bank: requests behind its head
    std::uint64_t behind_total_ = 0;
    std::uint32_t next_column_bank_ = 0;  ///< round-robin pointer with per-bank queues
    std::uint32_t next_row_bank_ = 0;
    std::uint64_t occupied_ = 0;
    std::uint64_t writes_ = 0;  ///< queue slots that hold a write
    std::uint64_t hits_ = 0;    ///< queue slots for the open row of their bank
    std::uint64_t banks_waiting_ = 0;
    std::uint64_t banks_hit_ = 0;               ///< banks with requests to their open row
    std::uint64_t banks_opening_ = 0;           ///< banks that may still be activating
    std::uint64_t closed_ = ~std::uint64_t{0};  ///< banks without an open row
    Cycle read_at_ = 0;                         ///< any read, bus and turnaround
    Cycle write_at_ = 0;
    Cycle activate_at_ = 0;  ///< any activate (tRRD)
    // No such command is possible earlier; both are exact after the banks have been examined.
    Cycle column_at_ = kNever;
    Cycle row_at_ = kNever;
    std::uint64_t arrivals_ = 0;
    std::uint32_t next_slice_ = 0;
    // Requests by age: a ring with one sentinel.
    std::array<std::uint8_t, 65> older_{};
    std::array<std::uint8_t, 65> newer_{};
    std::array<std::uint64_t, 64> age_{};
    std::array<std::uint8_t, 64> bank_{};
    std::array<Cycle, 64> row_ready_at_{};  ///< per bank: earliest activate, or precharge if a row is open
    std::array<Slot, 64> slots_{};
    std::vector<Bank> banks_;
    std::vector<Group> groups_;
    std::vector<DramCommand>* log_ = nullptr;
    const std::vector<std::unique_ptr<DramObserver>> observers_;
    const bool observed_;
    Stage queue_, row_, bus_;
    DramStats stats_;
};

}  // namespace mergelane
