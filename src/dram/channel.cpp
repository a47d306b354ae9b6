// SPDX-License-Identifier: MIT
#include "dram/channel.hpp"

#include <algorithm>

#include "core/bits.hpp"

namespace mergelane {

namespace {
constexpr std::uint32_t kNoSlotFound = ~0u;
}

DramChannel::DramChannel(std::string name, const DramSpec& spec, const Policies& policies)
    : Component(std::move(name)),
      spec_(spec),
      t_(spec.timing),
      burst_(spec.burst_cycles()),
      map_(spec.address_map, spec.banks, spec.bank_hash),
      order_(policies.make<RequestOrder>(spec.scheduler, spec)),
      banks_(spec.banks),
      group_column_at_(spec.bank_groups, 0) {
    for (std::uint32_t b = 0; b < spec.banks; ++b) banks_[b].group = b % spec.bank_groups;
    const std::uint32_t per_burst = spec.access_bytes / kSectorBytes;
    for (std::uint32_t sectors = 0; sectors < bursts_for_.size(); ++sectors) {
        for (std::uint32_t first = 0; first < kMaxLineBytes / kSectorBytes; first += per_burst) {
            if ((sectors >> first & low_bits(per_burst)) != 0) ++bursts_for_[sectors];
        }
    }
}

void DramChannel::connect(std::vector<Link<DramRequest>*> requests, std::vector<Link<DramRequest>*> replies) {
    requests_ = std::move(requests);
    replies_ = std::move(replies);
}

std::uint64_t DramChannel::held() const {
    return static_cast<std::uint64_t>(std::popcount(occupied_));
}

void DramChannel::accept(Cycle now) {
    // One request per slice and cycle, starting after the slice served last.
    const auto slices = static_cast<std::uint32_t>(requests_.size());
    const std::uint32_t start = next_slice_;
    for (std::uint32_t k = 0; k < slices; ++k) {
        const std::uint32_t s = start + k < slices ? start + k : start + k - slices;
        if (!requests_[s]->has(now)) continue;
        const std::uint64_t free = ~occupied_ & low_bits(spec_.queue);
        if (free == 0) return;
        const DramRequest request = requests_[s]->pop_and_release(now);
        const std::uint32_t index = lowest_bit(free);
        const DramAddressMap::Place place = map_.place(request.address);
        // Bursts of access_bytes that cover the wanted sectors of the line.
        const std::uint32_t bursts = bursts_for_[request.sectors & 15];
        slots_[index] = {place.row, now, place.bank, bursts, request.sectors, request.tag, request.slice, request.write, false};
        age_[index] = arrivals_++;
        occupied_ |= bit(index);
        writes_ = request.write ? writes_ | bit(index) : writes_ & ~bit(index);
        Bank& bank = banks_[place.bank];
        if (bank.waiting == 0) bank.first = index;
        bank.waiting |= bit(index);
        if (bank.open_row == place.row) {
            bank.hits |= bit(index);
            banks_hit_ |= bit(place.bank);
        }
        banks_waiting_ |= bit(place.bank);
        ++stats_.requests;
        next_slice_ = s + 1 == slices ? 0 : s + 1;
    }
}

bool DramChannel::column_command(std::uint64_t visible, Cycle now, Cycle& next) {
    std::uint64_t ready = 0;
    for (std::uint64_t banks = banks_hit_; banks != 0; banks &= banks - 1) {
        const std::uint32_t b = lowest_bit(banks);
        const std::uint64_t hits = banks_[b].hits & visible;
        if (hits == 0) continue;
        const Cycle bank_at = std::max(banks_[b].column_at, group_column_at_[banks_[b].group]);
        const auto consider = [&](std::uint64_t requests, Cycle bus_at) {
            if (requests == 0) return;
            const Cycle at = std::max(bank_at, bus_at);
            if (at <= now)
                ready |= requests;
            else
                next = std::min(next, at);
        };
        consider(hits & ~writes_, read_at_);
        consider(hits & writes_, write_at_);
    }
    if (ready == 0) return false;
    issue_column(oldest(ready, age_), now);
    return true;
}

std::uint32_t DramChannel::first_of(const Bank& bank, std::uint64_t wanted) const {
    return (wanted >> bank.first & 1) != 0 ? bank.first : oldest(wanted, age_);
}

void DramChannel::row_command(std::uint64_t visible, Cycle now, Cycle& next) {
    // Banks with visible work but none for their open row; the bank whose oldest request came first goes first.
    const bool all_visible = visible == occupied_;
    std::uint32_t best = kNoSlotFound;
    std::uint32_t ready = 0;
    for (std::uint64_t banks = all_visible ? banks_waiting_ & ~banks_hit_ : banks_waiting_; banks != 0; banks &= banks - 1) {
        const Bank& bank = banks_[lowest_bit(banks)];
        const std::uint64_t wanted = bank.waiting & visible;
        if (!all_visible && (wanted == 0 || (bank.hits & visible) != 0)) continue;
        const Cycle at = bank.open_row == kClosed ? std::max(bank.activate_at, activate_at_) : bank.precharge_at;
        if (at <= now) {
            ++ready;
            const std::uint32_t first = first_of(bank, wanted);
            if (best == kNoSlotFound || age_[first] < age_[best]) best = first;
        } else {
            next = std::min(next, at);
        }
    }
    if (best == kNoSlotFound) return;
    const Bank& bank = banks_[slots_[best].bank];
    if (bank.open_row == kClosed) {
        issue_activate(best, now);
        next = std::min(next, bank.column_at);
    } else {
        issue_precharge(slots_[best].bank, now);
        next = std::min(next, std::max(bank.activate_at, activate_at_));
    }
    if (ready > 1) next = now + 1;
}

void DramChannel::issue_column(std::uint32_t index, Cycle now) {
    Slot& slot = slots_[index];
    Bank& bank = banks_[slot.bank];
    record(now, slot.write ? DramCommand::Kind::write : DramCommand::Kind::read, slot.bank, slot.row);
    const Cycle spacing = now + std::max<Cycle>(t_.tCCD, burst_);
    group_column_at_[bank.group] = now + std::max<Cycle>(t_.tCCDL, burst_);
    if (slot.write) {
        write_at_ = std::max(write_at_, spacing);
        read_at_ = std::max(read_at_, now + t_.tWL + burst_ + t_.tCDLR);
        bank.precharge_at = std::max(bank.precharge_at, now + t_.tWL + burst_ + t_.tWR);
        ++stats_.write_bursts;
    } else {
        read_at_ = std::max(read_at_, spacing);
        write_at_ = std::max(write_at_, now + t_.tRTW);
        bank.precharge_at = std::max(bank.precharge_at, now + t_.tRTP);
        ++stats_.read_bursts;
    }
    if (--slot.bursts != 0) return;

    const auto sectors = static_cast<std::uint32_t>(std::popcount(slot.sectors));
    (slot.write ? stats_.sector_writes : stats_.sector_reads) += sectors;
    if (slot.missed) ++stats_.row_misses;
    stats_.queue_wait += now - slot.since;
    if (!slot.write) {
        // The reply link holds one place per MSHR of the slice, so there is always room.
        replies_[slot.slice]->can_send(now, 1);
        replies_[slot.slice]->send(now + t_.tCL + burst_, {0, slot.sectors, slot.tag, slot.slice, false});
        ++stats_.replies;
    } else {
        ++stats_.writes;
    }
    occupied_ &= ~bit(index);
    bank.waiting &= ~bit(index);
    bank.hits &= ~bit(index);
    if (bank.hits == 0) banks_hit_ &= ~bit(slot.bank);
    if (bank.waiting == 0)
        banks_waiting_ &= ~bit(slot.bank);
    else if (bank.first == index)
        bank.first = oldest(bank.waiting, age_);
}

void DramChannel::issue_activate(std::uint32_t index, Cycle now) {
    Slot& slot = slots_[index];
    Bank& bank = banks_[slot.bank];
    record(now, DramCommand::Kind::activate, slot.bank, slot.row);
    bank.open_row = slot.row;
    bank.column_at = now + t_.tRCD;
    bank.precharge_at = now + t_.tRAS;
    bank.activate_at = now + t_.tRC;
    activate_at_ = now + t_.tRRD;
    slot.missed = true;
    for (std::uint64_t waiting = bank.waiting; waiting != 0; waiting &= waiting - 1) {
        const std::uint32_t other = lowest_bit(waiting);
        if (slots_[other].row == bank.open_row) bank.hits |= bit(other);
    }
    banks_hit_ |= bit(slot.bank);
    ++stats_.activates;
}

void DramChannel::issue_precharge(std::uint32_t index, Cycle now) {
    Bank& bank = banks_[index];
    record(now, DramCommand::Kind::precharge, index, bank.open_row);
    bank.open_row = kClosed;
    bank.hits = 0;
    banks_hit_ &= ~bit(index);
    bank.activate_at = std::max(bank.activate_at, now + t_.tRP);
    ++stats_.precharges;
}

Cycle DramChannel::step(Cycle now) {
    // 1. Requests from the slices enter the queue.
    accept(now);
    // 2. A column command if one is legal, else (or besides, with two buses) a row command.
    Cycle next = kNever;
    if (occupied_ != 0) {
        const bool column = column_command(order_->visible(occupied_, age_), now, next);
        const std::uint64_t visible = order_->visible(occupied_, age_);
        if (!column || spec_.command_buses == 2) {
            row_command(visible, now, next);
        } else if (visible != occupied_ || (banks_waiting_ & ~banks_hit_) != 0) {
            next = now + 1;  // a row command may have been left out
        }
        if (column) next = occupied_ == 0 ? kNever : std::min(next, now + (visible == occupied_ ? burst_ : 1));
    }
    // 3. The next arrival, unless the queue is full.
    if (occupied_ != low_bits(spec_.queue)) {
        for (const Link<DramRequest>* link : requests_) next = std::min(next, std::max(link->head_arrival(), now + 1));
    }
    return next;
}

void DramChannel::stats(StatFields& f, Cycle) const {
    f.group("dram");
    f.add("requests", stats_.requests, "requests", "requests that reached a controller");
    f.add("sector_reads", stats_.sector_reads, "sectors", "32-byte sectors read");
    f.add("sector_writes", stats_.sector_writes, "sectors", "32-byte sectors written");
    f.add("read_bursts", stats_.read_bursts, "bursts", "read column commands");
    f.add("write_bursts", stats_.write_bursts, "bursts", "write column commands");
    f.add("activates", stats_.activates, "commands", "rows opened");
    f.add("precharges", stats_.precharges, "commands", "rows closed");
    f.add("row_misses", stats_.row_misses, "requests", "requests for which a row was opened");
    f.add("queue_wait", stats_.queue_wait, "DRAM cycles", "sum over requests of the cycles from arrival to the last column command");
    f.add("replies", stats_.replies, "requests", "reads answered");
    f.add("writes", stats_.writes, "requests", "writes done");
}

void DramChannel::gauges(StatFields& f) const {
    f.group("dram");
    f.add("held", held(), "requests", "in the controller's queue");
}

}  // namespace mergelane
