// SPDX-License-Identifier: MIT
#include "dram/channel.hpp"

#include "core/meter.hpp"
#include "parts/bitset_arbiter.hpp"

namespace mergelane {

namespace {
constexpr std::uint8_t kNoSuch = RequestQueue::kEnd;
}

DramChannel::DramChannel(std::string name, const DramSpec& spec, const Policies& policies)
    : MemoryChannel(std::move(name)),
      spec_(spec),
      t_(spec.timing),
      burst_(spec.burst_cycles()),
      map_(spec.map()),
      bursts_for_(burst_counts(spec.access_bytes)),
      order_(policies.make<RequestOrder>(spec.scheduler, spec)),
      sees_all_(order_->sees_all()),
      bank_queue_(order_->bank_queue()),
      banks_(spec.banks),
      groups_(spec.bank_groups),
      observers_(observers(policies.sections(), &MeterSection::at_dram, DramPlace{spec.banks, burst_})),
      observed_(!observers_.empty()) {
    older_[kNoSuch] = newer_[kNoSuch] = kNoSuch;
    if (bank_queue_ != 0) behind_.assign(spec.banks, Ring<Slot>(bank_queue_));
    for (std::uint32_t b = 0; b < spec.banks; ++b) banks_[b].group = b % spec.bank_groups;
}

void DramChannel::connect(std::vector<Link<DramRequest>*> requests, std::vector<Link<DramRequest>*> replies) {
    requests_ = std::move(requests);
    replies_ = std::move(replies);
    for (Link<DramRequest>* link : replies_) link->sends_ahead();
}

void DramChannel::enqueue(std::uint32_t slot) {
    const std::uint8_t newest = older_[kNoSuch];
    newer_[newest] = older_[kNoSuch] = static_cast<std::uint8_t>(slot);
    older_[slot] = newest;
    newer_[slot] = kNoSuch;
    age_[slot] = arrivals_++;
    occupied_ |= bit(slot);
}

void DramChannel::dequeue(std::uint32_t slot) {
    newer_[older_[slot]] = newer_[slot];
    older_[newer_[slot]] = older_[slot];
    occupied_ &= ~bit(slot);
}

/// Walks the queue and the given slots at the same time: one of the two ends soon, whether they are many or few.
std::uint32_t DramChannel::oldest_of(std::uint64_t slots) const {
    std::uint32_t best = lowest_bit(slots);
    std::uint32_t in_queue = newer_[kNoSuch];
    for (std::uint64_t left = slots & (slots - 1); left != 0; left &= left - 1) {
        if ((slots & bit(in_queue)) != 0) return in_queue;
        const std::uint32_t slot = lowest_bit(left);
        if (age_[slot] < age_[best]) best = slot;
        in_queue = newer_[in_queue];
    }
    return best;
}

[[gnu::always_inline]] inline DramChannel::Slot DramChannel::slot_of(const DramRequest& request, Cycle now) const {
    const DramAddressMap::Place place = map_.place(request.address);
    // Bursts of access_bytes that cover the requested sectors of the line.
    const std::uint8_t bursts = bursts_for_[request.sectors & 15];
    return {place.row,     now,
            request.tag,   static_cast<std::uint8_t>(place.bank),
            bursts,        static_cast<std::uint8_t>(request.sectors),
            request.slice, request.write,
            false,         request.journey};
}

/// Makes a request eligible for commands.
[[gnu::always_inline]] inline void DramChannel::take(std::uint32_t index, const Slot& slot) {
    enqueue(index);
    slots_[index] = slot;
    bank_[index] = slot.bank;
    writes_ = slot.write ? writes_ | bit(index) : writes_ & ~bit(index);
    Bank& bank = banks_[slot.bank];
    bank.waiting |= bit(index);
    groups_[bank.group].waiting |= bit(index);
    banks_waiting_ |= bit(slot.bank);
    if (bank.open_row == slot.row) {
        bank.hits |= bit(index);
        hits_ |= bit(index);
        banks_hit_ |= bit(slot.bank);
        column_at_ = std::min(column_at_, std::max(bank.column_at, slot.write ? write_at_ : read_at_));
    } else if (bank.hits == 0) {
        row_at_ = std::min(row_at_, row_command_at(slot.bank));
    }
}

/// One request per slice and cycle, starting after the most recently served slice. With per-bank queues, a request waits behind those of
/// its bank. If its bank has no space, it stays where it is and blocks all requests behind it.
template <bool kAtBanks>
void DramChannel::accept(Cycle now) {
    const auto slices = static_cast<std::uint32_t>(requests_.size());
    const std::uint32_t start = next_slice_;
    for (std::uint32_t k = 0; k < slices; ++k) {
        const std::uint32_t s = start + k < slices ? start + k : start + k - slices;
        if (!requests_[s]->has(now) || (kAtBanks && at_full_bank(requests_[s]->front()))) continue;
        if (!kAtBanks && occupied_ == low_bits(spec_.queue)) return;
        if (Journey* const journey = requests_[s]->front().journey; journey != nullptr) [[unlikely]]
            journey->enter(requests_[s]->head_arrival());
        const Slot slot = slot_of(requests_[s]->pop_and_release(now), now);
        if (kAtBanks && (occupied_ & bit(slot.bank)) != 0) {
            behind_[slot.bank].push(slot);
            ++behind_total_;
        } else {
            take(kAtBanks ? slot.bank : lowest_bit(~occupied_), slot);
        }
        if (observed_) tell_arrived(slot, now);
        ++stats_.requests;
        next_slice_ = s + 1 == slices ? 0 : s + 1;
    }
}

bool DramChannel::at_full_bank(const DramRequest& request) const {
    const std::uint32_t bank = map_.place(request.address).bank;
    return (occupied_ & bit(bank)) != 0 && behind_[bank].size() + 1 >= bank_queue_;
}

inline Cycle DramChannel::next_arrival() const {
    Cycle at = kNever;
    for (const Link<DramRequest>* link : requests_) at = std::min(at, link->head_arrival());
    return at;
}

/// Arrival of a request that could be accepted. One whose bank is full is reconsidered after a request was served, which is followed by a
/// step.
Cycle DramChannel::next_arrival_at_banks(Cycle now) const {
    Cycle at = kNever;
    for (const Link<DramRequest>* link : requests_) {
        const Cycle arrival = link->head_arrival();
        if (arrival > now || !at_full_bank(link->front())) at = std::min(at, arrival);
    }
    return at;
}

std::uint64_t DramChannel::busy_banks() const {
    if (sees_all_) return banks_waiting_;
    std::uint64_t banks = 0;
    for (std::uint64_t slots = occupied_ == 0 ? 0 : visible(); slots != 0; slots &= slots - 1) banks |= bit(bank_[lowest_bit(slots)]);
    return banks;
}

/// When the bus is free for the first of several column commands.
Cycle DramChannel::bus_at(std::uint64_t slots) const {
    return std::min((slots & ~writes_) != 0 ? read_at_ : kNever, (slots & writes_) != 0 ? write_at_ : kNever);
}

bool DramChannel::column_command(std::uint64_t visible, Cycle now) {
    column_at_ = kNever;
    std::uint64_t ready = hits_ & visible;
    if (ready == 0) return false;
    // Constraints of banks that are activating, of bank groups and of the bus.
    const auto hold = [&](std::uint64_t slots, Cycle until) {
        column_at_ = std::min(column_at_, std::max(until, bus_at(slots)));
        ready &= ~slots;
    };
    for (std::uint64_t banks = banks_opening_; banks != 0; banks &= banks - 1) {
        const std::uint32_t b = lowest_bit(banks);
        const Bank& bank = banks_[b];
        if (bank.column_at <= now)
            banks_opening_ &= ~bit(b);
        else if ((ready & bank.hits) != 0)
            hold(ready & bank.hits, bank.column_at);
    }
    for (const Group& group : groups_) {
        if (group.column_at > now && (ready & group.waiting) != 0) hold(ready & group.waiting, group.column_at);
    }
    if (read_at_ > now && (ready & ~writes_) != 0) hold(ready & ~writes_, read_at_);
    if (write_at_ > now && (ready & writes_) != 0) hold(ready & writes_, write_at_);
    if (ready == 0) return false;
    issue_column(choice(ready, next_column_bank_), now);
    return true;
}

/// The oldest request; with per-bank queues, the next bank, whose slot has its number.
inline std::uint32_t DramChannel::choice(std::uint64_t ready, std::uint32_t& next_bank) const {
    if (bank_queue_ == 0) return oldest_of(ready);
    const std::uint32_t bank = in_turn(ready, next_bank);
    next_bank = (bank + 1) % spec_.banks;
    return bank;
}

void DramChannel::row_command(std::uint64_t visible, Cycle now) {
    // Banks with visible requests but none for their open row.
    std::uint64_t wanted = banks_waiting_ & ~banks_hit_;
    if (visible != occupied_) {
        wanted = 0;
        for (std::uint64_t banks = banks_waiting_; banks != 0; banks &= banks - 1) {
            const Bank& bank = banks_[lowest_bit(banks)];
            if ((bank.waiting & visible) != 0 && (bank.hits & visible) == 0) wanted |= banks & (~banks + 1);
        }
    }
    row_at_ = kNever;
    std::uint64_t ready = 0;
    if ((wanted & closed_) != 0 && activate_at_ > now) {
        row_at_ = activate_at_;  // no bank before that
        wanted &= ~closed_;
    }
    for (std::uint64_t banks = wanted; banks != 0; banks &= banks - 1) {
        const std::uint32_t b = lowest_bit(banks);
        if (row_ready_at_[b] <= now)
            ready |= bit(b);
        else
            row_at_ = std::min(row_at_, row_ready_at_[b]);
    }
    if (ready == 0) return;
    // The bank with the oldest request goes first.
    std::uint64_t requests = 0;
    for (std::uint64_t banks = ready; banks != 0; banks &= banks - 1) requests |= banks_[lowest_bit(banks)].waiting & visible;
    const std::uint32_t best = choice(requests, next_row_bank_);
    const std::uint32_t bank = slots_[best].bank;
    const std::uint64_t others = ready & ~bit(bank);
    if ((closed_ & bit(bank)) != 0) {
        issue_activate(best, now);
        if ((others & closed_) != 0) row_at_ = std::min(row_at_, activate_at_);
        if ((others & ~closed_) != 0) row_at_ = now + 1;
    } else {
        issue_precharge(bank, now);
        row_at_ = others != 0 ? now + 1 : std::min(row_at_, row_command_at(bank));
    }
}

void DramChannel::issue_column(std::uint32_t index, Cycle now) {
    Slot& slot = slots_[index];
    Bank& bank = banks_[slot.bank];
    record(now, slot.write ? DramCommand::Kind::write : DramCommand::Kind::read, slot.bank, slot.row);
    const Cycle spacing = now + std::max<Cycle>(t_.tCCD, burst_);
    groups_[bank.group].column_at = now + std::max<Cycle>(t_.tCCDL, burst_);
    if (slot.write) {
        write_at_ = std::max(write_at_, spacing);
        read_at_ = std::max(read_at_, now + t_.tWL + burst_ + t_.tCDLR);
        row_ready_at_[slot.bank] = std::max(row_ready_at_[slot.bank], now + t_.tWL + burst_ + t_.tWR);
        ++stats_.write_bursts;
    } else {
        read_at_ = std::max(read_at_, spacing);
        write_at_ = std::max(write_at_, now + t_.tRTW);
        row_ready_at_[slot.bank] = std::max(row_ready_at_[slot.bank], now + t_.tRTP);
        ++stats_.read_bursts;
    }
    if (--slot.bursts != 0) return;

    const auto sectors = static_cast<std::uint32_t>(std::popcount(slot.sectors));
    (slot.write ? stats_.sector_writes : stats_.sector_reads) += sectors;
    if (slot.missed) ++stats_.row_misses;
    stats_.queue_wait += now - slot.since;
    if (!slot.write) {
        if (slot.journey != nullptr) [[unlikely]]
            slot.journey->leave(slot.missed ? bus_ : queue_, now);
        // The reply link has one slot per MSHR of the slice, so it is never full.
        replies_[slot.slice]->can_send(now, 1);
        replies_[slot.slice]->send(now + t_.tCL + burst_, {0, slot.sectors, slot.tag, slot.slice, false});
        ++stats_.replies;
    } else {
        ++stats_.writes;
    }
    dequeue(index);
    hits_ &= ~bit(index);
    bank.waiting &= ~bit(index);
    bank.hits &= ~bit(index);
    groups_[bank.group].waiting &= ~bit(index);
    if (bank.hits != 0) return;
    banks_hit_ &= ~bit(slot.bank);
    if (bank.waiting == 0)
        banks_waiting_ &= ~bit(slot.bank);
    else
        row_at_ = std::min(row_at_, row_command_at(slot.bank));
    if (bank_queue_ != 0) next_of_bank(index);
}

/// With per-bank queues: the request behind the one that was served.
void DramChannel::next_of_bank(std::uint32_t bank) {
    if (behind_[bank].empty()) return;
    const Slot next = behind_[bank].front();
    behind_[bank].pop();
    --behind_total_;
    take(bank, next);
}

void DramChannel::issue_activate(std::uint32_t index, Cycle now) {
    Slot& slot = slots_[index];
    Bank& bank = banks_[slot.bank];
    record(now, DramCommand::Kind::activate, slot.bank, slot.row);
    bank.open_row = slot.row;
    bank.column_at = now + t_.tRCD;
    bank.activate_at = now + t_.tRC;
    row_ready_at_[slot.bank] = now + t_.tRAS;
    closed_ &= ~bit(slot.bank);
    activate_at_ = now + t_.tRRD;
    slot.missed = true;
    if (slot.journey != nullptr) [[unlikely]] {
        const Cycle begun = std::max(slot.journey->entered(), bank.closed_at);
        slot.journey->leave(queue_, begun);
        slot.journey->wait(row_, begun, bank.column_at);
        slot.journey->enter(bank.column_at);
    }
    for (std::uint64_t waiting = bank.waiting; waiting != 0; waiting &= waiting - 1) {
        const std::uint32_t other = lowest_bit(waiting);
        if (slots_[other].row == bank.open_row) bank.hits |= bit(other);
    }
    hits_ |= bank.hits;
    banks_hit_ |= bit(slot.bank);
    banks_opening_ |= bit(slot.bank);
    column_at_ = std::min(column_at_, bank.column_at);
    ++stats_.activates;
}

void DramChannel::issue_precharge(std::uint32_t index, Cycle now) {
    Bank& bank = banks_[index];
    record(now, DramCommand::Kind::precharge, index, bank.open_row);
    bank.open_row = kClosed;
    hits_ &= ~bank.hits;
    bank.hits = 0;
    banks_hit_ &= ~bit(index);
    row_ready_at_[index] = std::max(bank.activate_at, now + t_.tRP);
    bank.closed_at = now;
    closed_ |= bit(index);
    ++stats_.precharges;
}

Cycle DramChannel::step(Cycle now) {
    return bank_queue_ == 0 ? step_with<false>(now) : step_with<true>(now);
}

template <bool kAtBanks>
inline Cycle DramChannel::step_with(Cycle now) {
    // 1. Requests from the slices enter the queue or the per-bank queues.
    const auto arrives = [&] { return kAtBanks ? next_arrival_at_banks(now) : next_arrival(); };
    const std::uint64_t full = low_bits(spec_.queue);
    Cycle arrival = 0;  // not looked up yet, or taken
    if ((kAtBanks || occupied_ != full) && (arrival = arrives()) <= now) {
        accept<kAtBanks>(now);
        arrival = 0;
    }
    // 2. A column command if one is legal, otherwise (or additionally, with two buses) a row command.
    Cycle next = kNever;
    if (occupied_ != 0) {
        if (!sees_all_) column_at_ = row_at_ = 0;  // other requests may be visible now
        const bool column = column_at_ <= now && column_command(visible(), now);
        if (column) column_at_ = std::min(column_at_, bus_at(hits_));
        if (row_at_ <= now && (!column || spec_.command_buses == 2)) row_command(visible(), now);
        if (occupied_ == 0) column_at_ = row_at_ = kNever;
        next = std::max(std::min(column_at_, row_at_), now + 1);
        if (column && (kAtBanks || !sees_all_)) next = now + 1;
    }
    if (observed_) tell_busy(now);
    // 3. The next arrival, unless the queue is full.
    if (kAtBanks || occupied_ != full) next = std::min(next, std::max(arrival != 0 ? arrival : arrives(), now + 1));
    return next;
}

void DramChannel::tell_arrived(const Slot& slot, Cycle now) {
    for (const auto& observer : observers_) observer->arrived(slot.bank, slot.row, slot.bursts, slot.write, now);
}

void DramChannel::tell_busy(Cycle now) {
    for (const auto& observer : observers_) observer->busy(busy_banks(), now);
}

void DramChannel::stats(StatFields& f, Cycle now) const {
    stats_.report(f);
    for (const auto& observer : observers_) observer->stats(f, now);
}

void DramChannel::stages(Stages& out) {
    declare_dram_stages(out, queue_, row_, bus_);
}

void DramChannel::gauges(StatFields& f) const {
    f.group("dram");
    f.add("held", held(), "requests", "in the controller's queue");
}

}  // namespace mergelane
