// SPDX-License-Identifier: MIT
#include "dram/device.hpp"

namespace mergelane {

namespace {
constexpr std::uint32_t kLongestTimeout = 1 << 16;
}

DramDevice::DramDevice(const DramSpec& dram, const DramControllerSpec& controller)
    : spec_(&controller),
      timing_(dram, controller, dram_rules(dram, controller)),
      banks_per_half_(dram.banks / controller.pseudo_channels),
      interval_(controller.refresh_interval(dram)),
      per_bank_(controller.refresh == DramControllerSpec::Refresh::per_bank),
      has_chores_(controller.refresh != DramControllerSpec::Refresh::none || controller.page != DramControllerSpec::Page::open),
      banks_(dram.banks) {
    for (Bank& bank : banks_) bank.timeout = controller.page == DramControllerSpec::Page::closed ? 0 : controller.page_timeout;
    if (controller.refresh == DramControllerSpec::Refresh::none) return;
    // Pseudo-channels refresh at the same time: the queue they share would fill with requests for one that stands still.
    for (std::uint32_t p = 0; p < controller.pseudo_channels; ++p) {
        const std::uint32_t first = p * banks_per_half_;
        const std::uint64_t banks = per_bank_ ? bit(first) : low_bits(banks_per_half_) << first;
        refreshes_.push_back({interval_, 0, first, banks, false});
    }
}

DramDevice::Stats DramDevice::stats(Cycle now) const {
    Stats stats = stats_;
    for (std::uint64_t banks = open_; banks != 0; banks &= banks - 1) stats.open_cycles += now - banks_[lowest_bit(banks)].opened_at;
    return stats;
}

void DramDevice::record(Cycle now, Kind kind, std::uint32_t bank, std::uint64_t row) {
    if (log_ != nullptr) log_->push_back({now, kind, bank, row});
}

void DramDevice::activate(std::uint32_t index, std::uint64_t row, Cycle now) {
    Bank& bank = banks_[index];
    record(now, Kind::activate, index, row);
    timing_.issued(Kind::activate, index, now);
    row_bus_at_ = now + spec_->activate_cycles;
    // It should have stayed open.
    if (bank.by_policy && row == bank.last_row) bank.timeout = std::min(bank.timeout * 2, kLongestTimeout);
    bank.row = row;
    bank.used_at = now;
    bank.opened_at = now;
    open_ |= bit(index);
    ++stats_.activates;
}

void DramDevice::close(std::uint32_t index, Cycle now) {
    Bank& bank = banks_[index];
    record(now, Kind::precharge, index, bank.row);
    timing_.issued(Kind::precharge, index, now);
    row_bus_at_ = now + 1;
    bank.last_row = bank.row;
    bank.row = kClosed;
    bank.closed_at = now;
    stats_.open_cycles += now - bank.opened_at;
    bank.by_policy = false;
    open_ &= ~bit(index);
    ++stats_.precharges;
}

void DramDevice::precharge(std::uint32_t bank, Cycle now) {
    close(bank, now);
    // It should have been closed earlier.
    if (spec_->page == DramControllerSpec::Page::adaptive) banks_[bank].timeout = std::max(banks_[bank].timeout / 2, 1u);
}

void DramDevice::column(bool write, std::uint32_t bank, Cycle now) {
    const Kind kind = write ? Kind::write : Kind::read;
    record(now, kind, bank, banks_[bank].row);
    timing_.issued(kind, bank, now);
    banks_[bank].used_at = now;
}

void DramDevice::begin_refreshes(Cycle now, std::uint64_t waiting) {
    for (Refreshes& r : refreshes_) {
        for (; r.due_at <= now; r.due_at += interval_) ++r.owed;
        if (r.begun || r.owed == 0 || (r.owed <= spec_->refresh_postpone && (r.banks & waiting) != 0)) continue;
        r.begun = true;
        refreshing_ |= r.banks;
    }
}

/// The first command that can be next: a precharge of one of the open banks, or the refresh itself.
Cycle DramDevice::refresh_command_at(const Refreshes& r) const {
    Cycle at = kNever;
    for (std::uint64_t banks = open_ & r.banks; banks != 0; banks &= banks - 1)
        at = std::min(at, earliest(Kind::precharge, lowest_bit(banks)));
    return std::max(row_bus_at_, at != kNever ? at : earliest(refresh_kind(), r.bank));
}

bool DramDevice::refresh(Cycle now) {
    for (Refreshes& r : refreshes_) {
        if (!r.begun || refresh_command_at(r) > now) continue;
        for (std::uint64_t banks = open_ & r.banks; banks != 0; banks &= banks - 1) {
            if (earliest(Kind::precharge, lowest_bit(banks)) > now) continue;
            close(lowest_bit(banks), now);
            return true;
        }
        record(now, refresh_kind(), r.bank, 0);
        timing_.issued(refresh_kind(), r.bank, now);
        row_bus_at_ = now + 1;
        refreshed(r);
        return true;
    }
    return false;
}

void DramDevice::refreshed(Refreshes& r) {
    ++stats_.refreshes;
    // What was postponed is made up at once, while the rows are closed.
    if (--r.owed != 0 && !per_bank_) return;
    r.begun = false;
    refreshing_ &= ~r.banks;
    if (!per_bank_) return;
    const std::uint32_t first = r.bank / banks_per_half_ * banks_per_half_;
    r.bank = first + (r.bank + 1 - first) % banks_per_half_;
    r.banks = bit(r.bank);
}

Cycle DramDevice::close_at(std::uint32_t bank) const {
    return std::max({row_bus_at_, earliest(Kind::precharge, bank), banks_[bank].used_at + banks_[bank].timeout});
}

bool DramDevice::close_page(Cycle now, std::uint64_t hits) {
    if (spec_->page == DramControllerSpec::Page::open) return false;
    for (std::uint64_t banks = open_ & ~hits; banks != 0; banks &= banks - 1) {
        const std::uint32_t bank = lowest_bit(banks);
        if (close_at(bank) > now) continue;
        close(bank, now);
        banks_[bank].by_policy = true;
        return true;
    }
    return false;
}

Cycle DramDevice::next_chore(Cycle now, std::uint64_t waiting, std::uint64_t hits) const {
    Cycle at = kNever;
    for (const Refreshes& r : refreshes_) {
        at = std::min(at, r.due_at);
        if (r.begun)
            at = std::min(at, refresh_command_at(r));
        else if (r.owed > spec_->refresh_postpone || (r.owed != 0 && (r.banks & waiting) == 0))
            at = now;
    }
    if (spec_->page != DramControllerSpec::Page::open) {
        for (std::uint64_t banks = open_ & ~hits; banks != 0; banks &= banks - 1) at = std::min(at, close_at(lowest_bit(banks)));
    }
    return std::max(at, now + 1);
}

void DramDevice::idle(Cycle since, Cycle now) {
    for (Cycle at = next_chore(since, 0, 0); at < now; at = next_chore(at, 0, 0)) {
        begin_refreshes(at, 0);
        if (!refresh(at)) close_page(at, 0);
    }
}

}  // namespace mergelane
