// SPDX-License-Identifier: MIT
#include "profile/replay.hpp"

#include "core/bits.hpp"
#include "profile/line_request.hpp"

namespace mergelane {

namespace {

constexpr std::uint32_t kAllSectors = 15;  ///< of a 128-byte line

/// The parts of a 128-byte line that are lines of a cache with `line_bytes`, starting with the lowest that `sectors` touch.
struct Part {
    std::uint64_t number;   ///< of the cache's line
    std::uint32_t sectors;  ///< requested, relative to that line
    std::uint32_t first;    ///< its position in the 128-byte line, in sectors
};

template <class Do>
void each_part(Addr line, std::uint32_t sectors, std::uint32_t line_bytes, Do&& act) {
    const std::uint32_t width = std::min(line_bytes, kProfileLineBytes) / kSectorBytes;  // sectors
    const auto mask = static_cast<std::uint32_t>(low_bits(width));
    while (sectors != 0) {
        const std::uint32_t first = lowest_bit(sectors) / width * width;
        const std::uint32_t wanted = sectors >> first & mask;
        const Addr address = line * kProfileLineBytes + first * kSectorBytes;
        const auto shift = static_cast<std::uint32_t>(address % line_bytes / kSectorBytes);  // lines of more than 128 bytes
        act(Part{address / line_bytes, wanted << shift, first});
        sectors &= ~(mask << first);
    }
}

/// Whole lines if a sector is a line.
std::uint32_t fetched(std::uint32_t missing, std::uint32_t line_bytes, std::uint32_t sector_bytes) {
    const std::uint32_t width = std::max(sector_bytes / kSectorBytes, 1u);
    if (width == 1 || missing == 0) return missing;
    std::uint32_t all = 0;
    for (std::uint32_t first = 0; first < line_bytes / kSectorBytes; first += width) {
        const auto group = static_cast<std::uint32_t>(low_bits(width)) << first;
        if ((missing & group) != 0) all |= group;
    }
    return all;
}

TagArray::Geometry geometry(const L1Spec& l1) {
    return {l1.sets() / l1.partitions, l1.ways, l1.set_hash, l1.replacement};
}

}  // namespace

std::uint32_t RowWindow::put(const DramAddressMap::Place& place) {
    if (open_[place.bank] == place.row) return 0;
    waiting_.push_back(place);
    if (waiting_.size() < queue_) return 0;
    const DramAddressMap::Place oldest = waiting_.front();
    open_[oldest.bank] = oldest.row;
    std::erase_if(waiting_, [&](const DramAddressMap::Place& other) { return other.bank == oldest.bank && other.row == oldest.row; });
    return 1;
}

Replay::Replay(const ReplayMachine& machine) : machine_(machine), sms_(machine.sms) {
    for (Sm& sm : sms_) {
        for (std::uint32_t part = 0; machine.l1.enabled && part < machine.l1.partitions; ++part) sm.l1.emplace_back(geometry(machine.l1));
    }
    for (std::uint32_t slice = 0; slice < machine.map.slices(); ++slice) slices_.emplace_back(machine.slice);
    for (std::uint32_t slice = 0; slice < machine.map.slices(); slice += machine.slices_per_channel)
        channels_.emplace_back(machine.banks, machine.dram_queue);
}

Traffic Replay::run(const AccessLog& log, TaskSource& tasks, std::uint32_t slots, const SiteSet& past_l1) {
    traffic_ = {};
    past_l1_ = past_l1;
    l1_hits_ = {};
    if (watcher_ != nullptr) watcher_->starts();
    for (Sm& sm : sms_) {
        sm.places.assign(slots, {});
        sm.live.clear();
        sm.turn = 0;
        if (!machine_.l1.flush_at_kernel) continue;
        for (TagArray& part : sm.l1) part.invalidate_all();
    }
    // Round robin: one slot on every SM before the next slot.
    for (std::uint32_t slot = 0; slot < slots; ++slot) {
        for (std::uint32_t sm = 0; sm < sms_.size(); ++sm) {
            if (open(sm, slot, log, tasks)) sms_[sm].live.push_back(slot);
        }
    }
    for (bool any = true; any;) {
        any = false;
        for (std::uint32_t sm = 0; sm < sms_.size(); ++sm) any |= step(sm, log, tasks);
    }
    traffic_.loads = log.counts().load_sectors;
    return traffic_;
}

/// The next task with any accesses.
bool Replay::open(std::uint32_t index, std::uint32_t slot, const AccessLog& log, TaskSource& tasks) {
    Place& place = sms_[index].places[slot];
    do {
        if (!tasks.next(index, slot, place.task)) return false;
        place.left = log.of(place.task);
    } while (place.left.empty());
    return true;
}

/// A warp's access of the CTA whose turn it is.
bool Replay::step(std::uint32_t index, const AccessLog& log, TaskSource& tasks) {
    Sm& sm = sms_[index];
    if (sm.live.empty()) return false;
    if (sm.turn >= sm.live.size()) sm.turn = 0;
    const std::uint32_t slot = sm.live[sm.turn];
    Place& place = sm.places[slot];
    TagArray* const l1 = sm.l1.empty() ? nullptr : &sm.l1[slot % sm.l1.size()];
    const Traffic before = traffic_;
    bool loads = false;
    for (bool ends = false; !ends;) {
        const AccessLog::Entry& entry = place.left.front();
        ends = entry.ends();
        if (entry.kind() == AccessLog::Kind::load) {
            load(index, entry.past_l1() || past_l1_[entry.site()] ? nullptr : l1, entry);
            loads = true;
        } else {
            if (l1 != nullptr && machine_.l1.write_policy == L1Spec::WritePolicy::write_evict) evict(*l1, entry);
            traffic_.stores += bit_count(entry.sectors());
            to_l2(entry.line(), entry.sectors(), true, entry.kind() == AccessLog::Kind::atomic);
        }
        place.left = place.left.subspan(1);
    }
    if (loads && traffic_.l1_misses != before.l1_misses) {
        ++traffic_.waits_l2;
        if (traffic_.l2_misses != before.l2_misses) ++traffic_.waits_dram;
    }
    if (place.left.empty() && !open(index, slot, log, tasks)) {
        sm.live.erase(sm.live.begin() + static_cast<std::ptrdiff_t>(sm.turn));
        return true;
    }
    ++sm.turn;
    return true;
}

void Replay::load(std::uint32_t sm, TagArray* l1, const AccessLog::Entry& entry) {
    const std::uint32_t line_bytes = machine_.l1.line_bytes;
    if (l1 == nullptr) {
        miss(sm, entry.line(), entry.sectors());
        return;
    }
    std::uint32_t missing = 0;
    each_part(entry.line(), entry.sectors(), line_bytes, [&](const Part& part) {
        const std::uint32_t set = l1->set_of(part.number);
        std::uint32_t line = l1->find(set, part.number);
        if (line == kNoSlot) {
            line = l1->candidate(set);
            l1->install(line, part.number);
        }
        l1->touch(line);
        const std::uint32_t lacks = part.sectors & ~std::uint32_t{l1->valid(line)};
        l1_hits_[entry.site()] += bit_count(part.sectors) - bit_count(lacks);
        if (lacks == 0) return;
        const std::uint32_t fetch = fetched(lacks, line_bytes, machine_.l1.sector_bytes);
        l1->fill(line, static_cast<std::uint8_t>(fetch));
        missing |= (fetch & kAllSectors) << part.first;
    });
    if (missing != 0) miss(sm, entry.line(), missing & kAllSectors);
}

void Replay::miss(std::uint32_t sm, Addr line, std::uint32_t sectors) {
    traffic_.l1_misses += bit_count(sectors);
    if (watcher_ != nullptr) watcher_->missed(sm, line);
    to_l2(line, sectors, false, true);
}

void Replay::evict(TagArray& l1, const AccessLog::Entry& entry) const {
    each_part(entry.line(), entry.sectors(), machine_.l1.line_bytes, [&](const Part& part) {
        const std::uint32_t line = l1.find(l1.set_of(part.number), part.number);
        if (line != kNoSlot) l1.invalidate(line);
    });
}

void Replay::to_l2(Addr line, std::uint32_t sectors, bool writes, bool reads) {
    const Addr address = line * kProfileLineBytes;
    const std::uint32_t home = machine_.map.slice(address);
    TagArray& slice = slices_[home];
    const Addr local = machine_.map.slice_local(address) / kProfileLineBytes;
    each_part(local, sectors, machine_.l2_line_bytes, [&](const Part& part) {
        const std::uint32_t set = slice.set_of(part.number);
        std::uint32_t at = slice.find(set, part.number);
        if (at == kNoSlot) {
            at = slice.candidate(set);
            if (slice.in_use(at) && slice.dirty(at) != 0) {
                traffic_.written_back += bit_count(slice.dirty(at));
                to_dram(slice.tag(at) * machine_.l2_line_bytes, home);
            }
            slice.install(at, part.number);
        }
        slice.touch(at);
        const std::uint32_t lacks = part.sectors & ~std::uint32_t{slice.valid(at)};
        const std::uint32_t fetch = reads ? fetched(lacks, machine_.l2_line_bytes, machine_.l2_sector_bytes) : 0;
        traffic_.l2_misses += bit_count(fetch);
        if (fetch != 0) to_dram(part.number * machine_.l2_line_bytes, home);
        slice.fill(at, static_cast<std::uint8_t>(fetch | part.sectors));
        if (writes) slice.dirty(at) = static_cast<std::uint8_t>(slice.dirty(at) | part.sectors);
    });
}

void Replay::to_dram(Addr local, std::uint32_t slice) {
    const std::uint32_t channel = slice / machine_.slices_per_channel;
    const Addr in_channel = machine_.map.channel_local(local, slice % machine_.slices_per_channel);
    traffic_.row_misses += channels_[channel].put(machine_.dram.place(in_channel));
}

}  // namespace mergelane
