// SPDX-License-Identifier: MIT
// One memory channel with every constraint of dram.controller. Its queues are lists per bank, so that a choice costs the same whether
// 64 requests wait or 512. With the additional constraints off it issues the same commands as DramChannel, which is faster.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "core/journey.hpp"
#include "core/observers.hpp"
#include "dram/channel_stats.hpp"
#include "dram/device.hpp"
#include "dram/memory_channel.hpp"
#include "dram/request_order.hpp"
#include "parts/dram_address_map.hpp"

namespace mergelane {

class DetailedChannel final : public MemoryChannel {
public:
    DetailedChannel(std::string name, const DramSpec& spec, const Policies& policies = policies_of<add_request_orders>());

    void connect(std::vector<Link<DramRequest>*> requests, std::vector<Link<DramRequest>*> replies) override;
    void log_commands(std::vector<DramCommand>* log) override { device_.log_commands(log); }

    Cycle step(Cycle now) override;
    void stats(StatFields& out, Cycle now) const override;
    void gauges(StatFields& out) const override;
    void stages(Stages& out) override;
    std::uint64_t held() const override { return std::uint64_t{count_[0]} + count_[1]; }

private:
    static constexpr std::uint16_t kNone = 0xFFFF;

    struct Entry {
        std::uint64_t row = 0;
        std::uint64_t age = 0;
        Cycle since = 0;
        Journey* journey = nullptr;
        std::uint16_t older = kNone, newer = kNone;  ///< requests of its kind for its bank; `newer` also chains free entries
        std::uint16_t next_hit = kNone;
        std::uint16_t tag = 0;
        std::uint8_t bank = 0;
        std::uint8_t bursts = 0;  ///< column commands still to issue
        std::uint8_t sectors = 0;
        std::uint8_t slice = 0;
        bool write = false;
        bool missed = false;  ///< it required a row activation
    };
    struct List {
        std::uint16_t first = kNone, last = kNone;
    };
    /// Index 0: reads, 1: writes. Both lists in order of arrival.
    struct Bank {
        std::array<List, 2> waiting;
        std::array<List, 2> hits;  ///< those to the open row
        std::uint32_t served = 0;  ///< requests since the row was opened
    };
    /// A request that can be served.
    struct Choice {
        std::uint64_t rank = ~std::uint64_t{0};
        std::uint64_t age = ~std::uint64_t{0};
        std::uint16_t entry = kNone;
    };
    using Kind = DramCommand::Kind;

    void accept(Cycle now);
    bool has_space(bool write) const { return write && write_queue_ != 0 ? count_[1] < write_queue_ : held_as_reads() < queue_; }
    std::uint32_t held_as_reads() const { return count_[0] + (write_queue_ == 0 ? count_[1] : 0); }
    void take(const DramRequest& request, Cycle now);
    Cycle next_arrival(Cycle now) const;
    void choose_kinds();
    bool column_command(Cycle now);
    bool row_command(Cycle now);
    bool refresh(Cycle now);
    /// Those of the kinds that may be served now.
    std::uint64_t eligible(const std::array<std::uint64_t, 2>& banks) const;
    std::uint64_t over_cap() const;
    std::uint16_t oldest(const Bank& bank) const;
    void consider(Choice& best, std::uint16_t entry) const;
    void serve(std::uint16_t entry, Cycle now);
    void open_row(std::uint16_t entry, Cycle now);
    void drop_hits(std::uint32_t bank);
    void append_hit(Bank& bank, std::uint16_t entry);
    void remove(std::uint16_t entry);
    [[gnu::noinline, gnu::cold]] void tell(const Entry& entry, Cycle now);
    [[gnu::noinline, gnu::cold]] void tell_busy(Cycle now);

    const DramSpec& spec_;
    const DramControllerSpec& controller_;
    const std::uint32_t burst_;
    const DramAddressMap map_;
    const BurstCounts bursts_for_;
    const std::unique_ptr<RequestOrder> order_;
    const std::uint32_t hit_cap_;
    const bool stays_;  ///< prefers the bank served last
    const std::uint32_t queue_, write_queue_;
    DramDevice device_;
    std::vector<Link<DramRequest>*> requests_;
    std::vector<Link<DramRequest>*> replies_;
    const std::vector<std::unique_ptr<DramObserver>> observers_;

    std::vector<Entry> entries_;
    std::vector<Bank> banks_;
    std::uint16_t free_ = kNone;
    std::array<std::uint32_t, 2> count_{};          ///< reads, writes
    std::array<std::uint64_t, 2> banks_waiting_{};  ///< with reads, with writes
    std::array<std::uint64_t, 2> banks_hit_{};
    /// Banks whose row was opened for a read or a write that has not been served yet: it goes on after a change between reads and writes.
    std::array<std::uint64_t, 2> opened_for_{};
    std::array<bool, 2> serves_{true, true};  ///< kinds that may be served now
    bool draining_ = false;
    std::uint64_t arrivals_ = 0;
    std::uint32_t next_slice_ = 0;
    std::uint32_t last_bank_ = 0;
    Cycle stepped_at_ = 0;
    Cycle after_column_ = 1;  ///< the soonest next column command
    // No such command is possible earlier.
    Cycle column_at_ = 0;
    Cycle row_at_ = 0;
    Stage queued_, row_, bus_;
    DramStats stats_;
};

}  // namespace mergelane
