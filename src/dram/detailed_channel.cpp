// SPDX-License-Identifier: MIT
#include "dram/detailed_channel.hpp"

#include "core/meter.hpp"

namespace mergelane {

namespace {
constexpr DramCommand::Kind kColumn[] = {DramCommand::Kind::read, DramCommand::Kind::write};
}

DetailedChannel::DetailedChannel(std::string name, const DramSpec& spec, const Policies& policies)
    : MemoryChannel(std::move(name)),
      spec_(spec),
      controller_(policies.sections().get<DramControllerSpec>()),
      burst_(controller_.burst_cycles(spec)),
      map_(spec.map()),
      bursts_for_(burst_counts(spec.access_bytes)),
      order_(policies.make<RequestOrder>(spec.scheduler, spec)),
      hit_cap_(order_->hit_cap()),
      stays_(order_->stays_on_bank()),
      queue_(controller_.queue_of(spec)),
      write_queue_(controller_.write_queue),
      device_(spec, controller_),
      observers_(observers(policies.sections(), &MeterSection::at_dram, DramPlace{spec.banks, burst_})),
      entries_(controller_.capacity(spec)),
      banks_(spec.banks) {
    for (std::uint32_t i = 0; i < entries_.size(); ++i)
        entries_[i].newer = i + 1 == entries_.size() ? kNone : static_cast<std::uint16_t>(i + 1);
    free_ = 0;
    // The soonest that any column command can follow another: of the same kind, or after a turnaround.
    const DramTiming& t = spec.timing;
    after_column_ = controller_.pseudo_channels > 1 ? 1 : std::min({std::max(t.tCCD, burst_), t.tRTW, t.tWL + burst_ + t.tCDLR});
}

void DetailedChannel::connect(std::vector<Link<DramRequest>*> requests, std::vector<Link<DramRequest>*> replies) {
    requests_ = std::move(requests);
    replies_ = std::move(replies);
    for (Link<DramRequest>* link : replies_) link->sends_ahead();
}

/// One request per slice and cycle, starting after the most recently served slice.
void DetailedChannel::accept(Cycle now) {
    const auto slices = static_cast<std::uint32_t>(requests_.size());
    const std::uint32_t start = next_slice_;
    for (std::uint32_t k = 0; k < slices; ++k) {
        const std::uint32_t s = start + k < slices ? start + k : start + k - slices;
        Link<DramRequest>& link = *requests_[s];
        if (!link.has(now) || !has_space(link.front().write)) continue;
        if (Journey* const journey = link.front().journey; journey != nullptr) [[unlikely]]
            journey->enter(link.head_arrival());
        take(link.pop_and_release(now), now);
        next_slice_ = s + 1 == slices ? 0 : s + 1;
    }
}

void DetailedChannel::take(const DramRequest& request, Cycle now) {
    const DramAddressMap::Place place = map_.place(request.address);
    const std::uint16_t index = free_;
    Entry& entry = entries_[index];
    free_ = entry.newer;
    const std::uint32_t kind = request.write ? 1 : 0;
    Bank& bank = banks_[place.bank];
    List& list = bank.waiting[kind];
    entry = {place.row,
             arrivals_++,
             now,
             request.journey,
             list.last,
             kNone,
             kNone,
             request.tag,
             static_cast<std::uint8_t>(place.bank),
             bursts_for_[request.sectors & 15],
             static_cast<std::uint8_t>(request.sectors),
             request.slice,
             request.write,
             false};
    (list.last == kNone ? list.first : entries_[list.last].newer) = index;
    list.last = index;
    banks_waiting_[kind] |= bit(place.bank);
    ++count_[kind];
    ++stats_.requests;
    if (device_.open_row(place.bank) == place.row) {
        append_hit(bank, index);
        column_at_ = std::min(column_at_, device_.earliest(kColumn[kind], place.bank));
    } else {
        row_at_ = std::min(row_at_, device_.row_command_at(place.bank));
    }
    if (!observers_.empty()) tell(entry, now);
}

void DetailedChannel::append_hit(Bank& bank, std::uint16_t index) {
    Entry& entry = entries_[index];
    List& hits = bank.hits[entry.write];
    entry.next_hit = kNone;
    (hits.last == kNone ? hits.first : entries_[hits.last].next_hit) = index;
    hits.last = index;
    banks_hit_[entry.write] |= bit(entry.bank);
}

/// The arrival of a request that could be accepted. One without space is reconsidered after a request was served, which is followed by a
/// step.
Cycle DetailedChannel::next_arrival(Cycle now) const {
    Cycle at = kNever;
    for (const Link<DramRequest>* link : requests_) {
        const Cycle arrival = link->head_arrival();
        if (arrival > now || has_space(link->front().write)) at = std::min(at, arrival);
    }
    return at;
}

/// With a write queue, writes wait until there are many of them or no reads, and then go together.
void DetailedChannel::choose_kinds() {
    if (write_queue_ == 0) return;
    if (count_[1] >= controller_.write_high)
        draining_ = true;
    else if (count_[1] <= controller_.write_low)
        draining_ = false;
    const std::array<bool, 2> serves = {!draining_ && count_[0] != 0, draining_ || count_[0] == 0};
    if (serves == serves_) return;
    serves_ = serves;
    column_at_ = row_at_ = 0;
}

inline std::uint64_t DetailedChannel::eligible(const std::array<std::uint64_t, 2>& banks) const {
    return (serves_[0] ? banks[0] : 0) | (serves_[1] ? banks[1] : 0);
}

inline std::uint16_t DetailedChannel::oldest(const Bank& bank) const {
    const std::uint16_t read = serves_[0] ? bank.waiting[0].first : kNone;
    const std::uint16_t write = serves_[1] ? bank.waiting[1].first : kNone;
    if (read == kNone || write == kNone) return read == kNone ? write : read;
    return entries_[read].age < entries_[write].age ? read : write;
}

/// Banks that served dram.controller.hit_cap requests from the open row while an older one waits for another row.
std::uint64_t DetailedChannel::over_cap() const {
    std::uint64_t over = 0;
    const std::uint64_t hit = eligible(banks_hit_) & ~(opened_for_[0] | opened_for_[1]);  // a row just opened is used first
    for (std::uint64_t banks = hit_cap_ == 0 ? 0 : hit; banks != 0; banks &= banks - 1) {
        const std::uint32_t b = lowest_bit(banks);
        if (banks_[b].served >= hit_cap_ && entries_[oldest(banks_[b])].row != device_.open_row(b)) over |= bit(b);
    }
    return over;
}

/// The older of two requests, or the one whose bank is nearer to the bank served last.
inline void DetailedChannel::consider(Choice& best, std::uint16_t index) const {
    const Entry& entry = entries_[index];
    if (!stays_) {
        if (entry.age < best.age) best = {0, entry.age, index};
        return;
    }
    const std::uint64_t rank = (entry.bank + spec_.banks - last_bank_) % spec_.banks;
    if (rank < best.rank || (rank == best.rank && entry.age < best.age)) best = {rank, entry.age, index};
}

bool DetailedChannel::column_command(Cycle now) {
    column_at_ = kNever;
    Choice best;
    std::uint64_t closing = device_.refreshing();
    // Hits go on until the bank can be precharged.
    for (std::uint64_t banks = over_cap(); banks != 0; banks &= banks - 1) {
        if (device_.row_command_at(lowest_bit(banks)) <= now) closing |= banks & (~banks + 1);
    }
    for (std::uint32_t kind = 0; kind < 2; ++kind) {
        const std::uint64_t hits = (serves_[kind] ? banks_hit_[kind] : opened_for_[kind]) & ~closing;
        std::uint64_t banks = hits == 0 ? 0 : device_.ready(kColumn[kind], hits, now, column_at_);
        for (; banks != 0; banks &= banks - 1) consider(best, banks_[lowest_bit(banks)].hits[kind].first);
    }
    if (best.entry == kNone) return false;
    column_at_ = now + after_column_;
    serve(best.entry, now);
    return true;
}

bool DetailedChannel::row_command(Cycle now) {
    row_at_ = kNever;
    Choice best;
    // Banks with requests but none for their open row.
    const std::uint64_t kept = (eligible(banks_hit_) & ~over_cap()) | opened_for_[0] | opened_for_[1];
    const std::uint64_t wanted = eligible(banks_waiting_) & ~kept & ~device_.refreshing();
    std::uint64_t ready = device_.ready_for_row_command(wanted, now, row_at_);
    for (std::uint64_t banks = ready; banks != 0; banks &= banks - 1) consider(best, oldest(banks_[lowest_bit(banks)]));
    if (best.entry == kNone) return false;
    const std::uint32_t bank = entries_[best.entry].bank;
    if ((device_.open() & bit(bank)) != 0) {
        device_.precharge(bank, now);
        drop_hits(bank);
        row_at_ = std::min(row_at_, device_.row_command_at(bank));
    } else {
        open_row(best.entry, now);
    }
    ready &= ~bit(bank);
    if ((ready & device_.open()) != 0 || controller_.pseudo_channels > 1)
        row_at_ = now + 1;
    else if (ready != 0)
        row_at_ = std::min(row_at_, device_.activate_at());
    return true;
}

void DetailedChannel::drop_hits(std::uint32_t bank) {
    for (std::uint32_t kind = 0; kind < 2; ++kind) {
        banks_[bank].hits[kind] = {};
        banks_hit_[kind] &= ~bit(bank);
        opened_for_[kind] &= ~bit(bank);
    }
}

void DetailedChannel::serve(std::uint16_t index, Cycle now) {
    Entry& entry = entries_[index];
    const std::uint32_t b = entry.bank;
    last_bank_ = b;
    device_.column(entry.write, b, now);
    ++(entry.write ? stats_.write_bursts : stats_.read_bursts);
    if (--entry.bursts != 0) return;

    const std::uint32_t sectors = bit_count(entry.sectors);
    (entry.write ? stats_.sector_writes : stats_.sector_reads) += sectors;
    if (entry.missed) ++stats_.row_misses;
    stats_.queue_wait += now - entry.since;
    if (!entry.write) {
        if (entry.journey != nullptr) [[unlikely]]
            entry.journey->leave(entry.missed ? bus_ : queued_, now);
        // The reply link has one slot per MSHR of the slice, so it is never full.
        replies_[entry.slice]->can_send(now, 1);
        replies_[entry.slice]->send(now + spec_.timing.tCL + burst_, {0, entry.sectors, entry.tag, entry.slice, false});
        ++stats_.replies;
    } else {
        ++stats_.writes;
    }
    ++banks_[b].served;
    opened_for_[entry.write] &= ~bit(b);  // the request that opened a row is the oldest of its kind
    remove(index);
    if ((eligible(banks_hit_) & bit(b)) == 0 || hit_cap_ != 0) row_at_ = std::min(row_at_, device_.row_command_at(b));
}

/// The oldest hit of its bank and kind has been served.
void DetailedChannel::remove(std::uint16_t index) {
    Entry& entry = entries_[index];
    const std::uint32_t kind = entry.write ? 1 : 0;
    Bank& bank = banks_[entry.bank];
    List& list = bank.waiting[kind];
    (entry.older == kNone ? list.first : entries_[entry.older].newer) = entry.newer;
    (entry.newer == kNone ? list.last : entries_[entry.newer].older) = entry.older;
    List& hits = bank.hits[kind];
    hits.first = entry.next_hit;
    if (hits.first == kNone) {
        hits.last = kNone;
        banks_hit_[kind] &= ~bit(entry.bank);
    }
    if (list.first == kNone) banks_waiting_[kind] &= ~bit(entry.bank);
    --count_[kind];
    entry.newer = free_;
    free_ = index;
}

void DetailedChannel::open_row(std::uint16_t index, Cycle now) {
    Entry& entry = entries_[index];
    const std::uint32_t b = entry.bank;
    device_.activate(b, entry.row, now);
    entry.missed = true;
    opened_for_[entry.write] |= bit(b);
    if (entry.journey != nullptr) [[unlikely]] {
        const Cycle begun = std::max(entry.journey->entered(), device_.closed_at(b));
        const Cycle open_at = device_.earliest(kColumn[entry.write], b);
        entry.journey->leave(queued_, begun);
        entry.journey->wait(row_, begun, open_at);
        entry.journey->enter(open_at);
    }
    Bank& bank = banks_[b];
    bank.served = 0;
    const Entry* const entries = entries_.data();
    const std::uint64_t row = entry.row;
    for (const List& list : bank.waiting) {
        for (std::uint16_t i = list.first; i != kNone; i = entries[i].newer) {
            if (entries[i].row == row) append_hit(bank, i);
        }
    }
    column_at_ = std::min({column_at_, device_.earliest(Kind::read, b), device_.earliest(Kind::write, b)});
}

/// Refreshes that have begun go before requests, what the page policy closes after them.
bool DetailedChannel::refresh(Cycle now) {
    if (!device_.has_chores()) return false;
    const std::uint64_t open = device_.open(), refreshing = device_.refreshing();
    device_.begin_refreshes(now, banks_waiting_[0] | banks_waiting_[1]);
    const bool issued = device_.refresh(now);
    for (std::uint64_t closed = open & ~device_.open(); closed != 0; closed &= closed - 1) drop_hits(lowest_bit(closed));
    if (device_.refreshing() != refreshing) column_at_ = row_at_ = 0;
    return issued;
}

Cycle DetailedChannel::step(Cycle now) {
    if (held() == 0 && device_.has_chores()) device_.idle(stepped_at_, now);
    stepped_at_ = now;
    accept(now);
    choose_kinds();
    // One command; with two buses, one for a row and one for a column.
    const bool two_buses = spec_.command_buses == 2;
    bool row = refresh(now);
    const bool column = (two_buses || !row) && column_at_ <= now && column_command(now);
    const bool row_bus_free = !row && (two_buses || !column);
    if (row_bus_free && row_at_ <= now) row = row_command(now);
    const auto hits = banks_hit_[0] | banks_hit_[1];
    if (device_.has_chores() && row_bus_free && !row) device_.close_page(now, hits);
    if (!observers_.empty()) tell_busy(now);

    Cycle next = next_arrival(now);
    if (held() != 0) {
        next = std::min({next, column_at_, row_at_});
        if (column && write_queue_ != 0) next = now + 1;  // perhaps the other kind's turn
        if (device_.has_chores()) next = std::min(next, device_.next_chore(now, banks_waiting_[0] | banks_waiting_[1], hits));
    }
    return std::max(next, now + 1);
}

void DetailedChannel::tell_busy(Cycle now) {
    for (const auto& observer : observers_) observer->busy(banks_waiting_[0] | banks_waiting_[1], now);
}

void DetailedChannel::tell(const Entry& entry, Cycle now) {
    for (const auto& observer : observers_) observer->arrived(entry.bank, entry.row, entry.bursts, entry.write, now);
}

void DetailedChannel::stats(StatFields& f, Cycle now) const {
    DramDevice::Stats device = device_.stats(now);
    if (held() == 0 && device_.has_chores()) {  // with those that an idle channel has put off
        DramDevice later = device_;
        later.log_commands(nullptr);
        later.idle(stepped_at_, now);
        device = later.stats(now);
    }
    DramStats stats = stats_;
    stats.activates = device.activates;
    stats.precharges = device.precharges;
    stats.report(f);
    f.add("refreshes", device.refreshes, "commands", "refreshes, of all banks or of one (dram.controller.refresh)");
    f.add("open_cycles", device.open_cycles, "bank cycles", "DRAM cycles with an open row, summed over banks");
    for (const auto& observer : observers_) observer->stats(f, now);
}

void DetailedChannel::stages(Stages& out) {
    declare_dram_stages(out, queued_, row_, bus_);
}

void DetailedChannel::gauges(StatFields& f) const {
    f.group("dram");
    f.add("held", held(), "requests", "in the controller's queue");
}

}  // namespace mergelane
