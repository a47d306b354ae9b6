// SPDX-License-Identifier: MIT
// One memory channel: request queue, banks with open rows, command timing. One command per bus and DRAM cycle.
#pragma once

#include <array>
#include <vector>

#include "core/component.hpp"
#include "core/link.hpp"
#include "core/packet.hpp"
#include "dram/dram_spec.hpp"
#include "dram/request_order.hpp"

namespace mergelane {

struct DramCommand {
    enum class Kind : std::uint8_t { activate, precharge, read, write };
    Cycle at = 0;
    Kind kind = Kind::activate;
    std::uint32_t bank = 0;
    std::uint64_t row = 0;
};

struct DramStats {
    std::uint64_t requests = 0;
    std::uint64_t sector_reads = 0;
    std::uint64_t sector_writes = 0;
    std::uint64_t read_bursts = 0;
    std::uint64_t write_bursts = 0;
    std::uint64_t activates = 0;
    std::uint64_t precharges = 0;
    std::uint64_t row_misses = 0;
    std::uint64_t queue_wait = 0;
    std::uint64_t replies = 0;
    std::uint64_t writes = 0;
};

class DramChannel final : public Component {
public:
    DramChannel(std::string name, const DramSpec& spec, const Policies& policies = policies_of<add_request_orders>());

    /// One pair of links per L2 slice of the channel.
    void connect(std::vector<Link<DramRequest>*> requests, std::vector<Link<DramRequest>*> replies);
    /// Records every command, for checkers; nullptr stops it.
    void log_commands(std::vector<DramCommand>* log) { log_ = log; }

    Cycle step(Cycle now) override;
    void stats(StatFields& out, Cycle now) const override;
    void gauges(StatFields& out) const override;
    std::uint64_t held() const override;

private:
    static constexpr std::uint64_t kClosed = ~std::uint64_t{0};

    struct Slot {
        std::uint64_t row = 0;
        Cycle since = 0;
        std::uint32_t bank = 0;
        std::uint32_t bursts = 0;  ///< column commands still to issue
        std::uint32_t sectors = 0;
        std::uint16_t tag = 0;
        std::uint8_t slice = 0;
        bool write = false;
        bool missed = false;  ///< a row had to be opened for it
    };
    struct Bank {
        std::uint64_t open_row = kClosed;
        Cycle activate_at = 0;
        Cycle column_at = 0;
        Cycle precharge_at = 0;
        std::uint64_t waiting = 0;  ///< queue slots for this bank
        std::uint64_t hits = 0;     ///< those among them for the open row
        std::uint32_t first = 0;    ///< the oldest of them
        std::uint32_t group = 0;
    };

    void accept(Cycle now);
    bool column_command(std::uint64_t visible, Cycle now, Cycle& next);
    void row_command(std::uint64_t visible, Cycle now, Cycle& next);
    std::uint32_t first_of(const Bank& bank, std::uint64_t wanted) const;
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
    std::array<std::uint8_t, 16> bursts_for_{};  ///< per sector mask of a line
    std::unique_ptr<RequestOrder> order_;
    std::vector<Link<DramRequest>*> requests_;
    std::vector<Link<DramRequest>*> replies_;

    std::uint64_t occupied_ = 0;
    std::uint64_t banks_waiting_ = 0;
    std::uint64_t banks_hit_ = 0;  ///< banks with work for their open row
    std::uint64_t writes_ = 0;     ///< queue slots that hold a write
    std::array<Slot, 64> slots_{};
    std::array<std::uint64_t, 64> age_{};
    std::vector<Bank> banks_;
    std::vector<Cycle> group_column_at_;
    Cycle read_at_ = 0;  ///< any read, bus and turnaround
    Cycle write_at_ = 0;
    Cycle activate_at_ = 0;  ///< any activate (tRRD)
    std::uint64_t arrivals_ = 0;
    std::uint32_t next_slice_ = 0;
    std::vector<DramCommand>* log_ = nullptr;
    DramStats stats_;
};

}  // namespace mergelane
