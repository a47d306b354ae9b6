// SPDX-License-Identifier: MIT
#include "parts/l1_cache.hpp"

#include <algorithm>

#include "core/bits.hpp"

namespace mergelane {

namespace {

/// Ways left for the L1 after the smallest allowed carve-out that holds `shared_kib` is taken from unified memory.
std::uint32_t ways_for(const L1Spec& spec, std::uint32_t shared_kib) {
    if (spec.unified_kib == 0) return spec.ways;
    std::uint32_t carveout = 0;
    for (const std::uint32_t share : spec.carveouts_kib) {
        carveout = share;
        if (carveout >= shared_kib) break;
    }
    const std::uint32_t way_bytes = spec.sets() * spec.line_bytes;
    const std::uint32_t left_kib = spec.unified_kib > carveout ? spec.unified_kib - carveout : 0;
    return std::max(left_kib * 1024 / way_bytes, 1u);
}

TagArray::Geometry geometry(const L1Spec& spec, std::uint32_t ways) {
    return {spec.sets(), ways, spec.set_hash, spec.replacement};
}

}  // namespace

void L1Stats::fields(StatFields& f) const {
    f.group("l1");
    f.add("sector_accesses", sector_accesses, "sectors", "32-byte sectors of global and local loads and stores looked up in the L1");
    f.add("sector_hits", sector_hits, "sectors", "load sectors found valid");
    f.add("sector_misses", sector_misses, "sectors",
          "sectors not present: load sectors requested from the L2, and store sectors not in the cache");
    f.add("sector_pending_hits", sector_pending_hits, "sectors", "hits on misses: load sectors in flight, merged into an MSHR entry");
    f.add("sector_write_accesses", sector_write_accesses, "sectors", "store sectors (part of sector_accesses)");
    f.add("sector_write_misses", sector_write_misses, "sectors", "store sectors not in the cache (part of sector_misses)");
    f.add("line_requests", line_requests, "requests", "lookups: one per coalesced block of a warp instruction");
    f.add("line_write_misses", line_write_misses, "requests", "stores of which some sector was not in the cache");
    f.add("fills", fills, "blocks", "blocks filled");
    f.add("miss_latency", miss_latency, "cycles", "cycles from miss to fill, summed over fills");
    f.add("evictions", evictions, "lines", "lines evicted");
    f.add("write_invalidations", write_invalidations, "lines", "lines invalidated by a store (write-evict)");
}

L1Cache::L1Cache(const L1Spec& spec, const Policies& policies)
    : spec_(spec),
      policies_(policies),
      line_shift_(index_bits(spec.line_bytes)),
      line_mask_(spec.line_bytes - 1),
      sectors_per_block_(spec.sector_bytes / kSectorBytes),
      block_sectors_(static_cast<std::uint32_t>(low_bits(sectors_per_block_))),
      byte_mask_policy_(spec.write_policy == L1Spec::WritePolicy::byte_mask),
      allocate_on_miss_(spec.allocate == L1Spec::Allocate::on_miss),
      tags_(geometry(spec, spec.ways), policies),
      mshrs_(spec.mshrs, spec.mshr_merges, !allocate_on_miss_),
      partition_mask_(spec.partitions - 1),
      partition_hash_(spec.set_hash, spec.sets() / spec.partitions),
      numbers_all_(spec.partitions == 1) {}

/// Neighbouring lines of a share have consecutive indices. A partition owns every n-th set and hashes lines over those.
std::uint32_t L1Cache::set_in_part(std::uint64_t line_number) const {
    if (partition_mask_ == 0) return tags_.set_of(share_.number(line_number));
    const std::uint32_t partition_shift = kPartitionBit - line_shift_;
    const std::uint32_t own = partition_hash_.index(share_.number(line_number & low_bits(partition_shift)));
    return tags_.first_line(own * (partition_mask_ + 1) + static_cast<std::uint32_t>(line_number >> partition_shift));
}

void L1Cache::begin_kernel(std::uint32_t shared_kib) {
    const std::uint32_t ways = ways_for(spec_, shared_kib);
    const bool resized = ways * spec_.sets() != tags_.lines();
    if (!observers_.empty() && (resized || spec_.flush_at_kernel)) tell_flush();
    if (resized)
        tags_ = TagArray(geometry(spec_, ways), policies_);
    else if (spec_.flush_at_kernel)
        tags_.invalidate_all();
    last_line_ = 0;
}

std::uint8_t L1Cache::sectors_of(Addr block) const {
    return static_cast<std::uint8_t>(block_sectors_ << (static_cast<std::uint32_t>(block) & line_mask_) / kSectorBytes);
}

/// The line that holds `line_number`, or kNoSlot; `set` is the set it belongs to.
inline std::uint32_t L1Cache::find(std::uint64_t line_number, std::uint32_t& set) {
    if (tags_.tag(last_line_) == line_number) return last_line_;
    set = set_of(line_number);
    const std::uint32_t line = tags_.find(set, line_number);
    if (line != kNoSlot) last_line_ = line;
    return line;
}

/// For a line whose valid sectors change: the blocks that loads start or stop hitting. `now`: kNever between kernels.
void L1Cache::tell_change(std::uint64_t line_number, std::uint32_t before, std::uint32_t after, Cycle now) {
    for (std::uint32_t sector = 0; sector < spec_.line_bytes / kSectorBytes; sector += sectors_per_block_) {
        const std::uint32_t block = block_sectors_ << sector;
        const bool was_there = (before & block) == block;
        const bool is_there = (after & block) == block;
        if (was_there == is_there) continue;
        const Addr address = (line_number << line_shift_) + sector * kSectorBytes;
        for (L1Observer* observer : observers_) {
            if (is_there)
                observer->gained(address, now);
            else
                now == kNever ? observer->flushed(address) : observer->lost(address, now);
        }
    }
}

void L1Cache::tell_miss(Addr block, Cycle now) {
    for (L1Observer* observer : observers_) observer->missed(block, now);
}

void L1Cache::tell_fill(std::uint32_t line, Addr block, std::uint32_t before, Cycle now) {
    for (L1Observer* observer : observers_) observer->filled(block, now);
    tell_change(line_of(block), before, tags_.valid(line), now);
}

void L1Cache::tell_flush() {
    for (std::uint32_t line = 0; line < tags_.lines(); ++line) {
        if (tags_.in_use(line)) tell_change(tags_.tag(line), tags_.valid(line), 0, kNever);
    }
}

void L1Cache::take(std::uint32_t line, std::uint64_t line_number, Cycle now) {
    if (tags_.in_use(line)) {
        ++stats_.evictions;
        if (!observers_.empty()) tell_change(tags_.tag(line), tags_.valid(line), 0, now);
    }
    tags_.install(line, line_number);
    last_line_ = line;
}

bool L1Cache::holds(Addr block) const {
    const std::uint32_t line = tags_.find(set_of(line_of(block)), line_of(block));
    const std::uint8_t sectors = sectors_of(block);
    return spec_.perfect || (line != kNoSlot && (tags_.valid(line) & sectors) == sectors);
}

L1Cache::Lookup L1Cache::read(Addr block, std::uint16_t load, bool can_send, Cycle now) {
    const std::uint64_t line_number = line_of(block);
    const std::uint8_t sectors = sectors_of(block);
    std::uint32_t set = 0;
    std::uint32_t line = find(line_number, set);
    const auto count = [&](std::uint64_t& counter) {
        ++stats_.line_requests;
        stats_.sector_accesses += sectors_per_block_;
        counter += sectors_per_block_;
    };

    if (line != kNoSlot && (tags_.valid(line) & sectors) == sectors) {
        tags_.touch(line);
        count(stats_.sector_hits);
        return {Outcome::hit};
    }
    if (spec_.perfect) {
        count(stats_.sector_hits);
        return {Outcome::hit};
    }
    // A block can be in flight only if its line has a pending fill, unless lines are allocated on fill.
    std::uint32_t entry = kNoSlot;
    if (!allocate_on_miss_)
        entry = mshrs_.find(block);
    else if (line != kNoSlot && (tags_.pending(line) & sectors) != 0)
        entry = mshrs_.in_chain(tags_.fetch(line), block);
    if (entry != kNoSlot) {
        if (!mshrs_.can_merge(entry)) return {Outcome::no_merge_slot};
        mshrs_.merge(entry, {load, now});
        if (line != kNoSlot) tags_.touch(line);
        count(stats_.sector_pending_hits);
        return {Outcome::merged, entry};
    }
    if (mshrs_.full()) return {Outcome::no_mshr};
    if (!can_send) return {Outcome::no_queue};
    if (allocate_on_miss_) {
        if (line == kNoSlot) {
            line = tags_.candidate(set);
            if (line == kNoSlot) return {Outcome::no_way};
            take(line, line_number, now);
        } else {
            tags_.touch(line);
        }
    }
    count(stats_.sector_misses);
    if (!observers_.empty()) tell_miss(block, now);
    const std::uint32_t taken = mshrs_.allocate(block, {load, now}, allocate_on_miss_ ? line : kNoSlot, now);
    if (allocate_on_miss_) {
        std::uint8_t& pending = tags_.pending(line);
        mshrs_.chain(taken, tags_.fetch(line), pending == 0);
        pending = static_cast<std::uint8_t>(pending | sectors);
    }
    return {Outcome::miss, taken};
}

bool L1Cache::write(Addr block, const ByteMask& bytes, Cycle now) {
    std::uint32_t set = 0;
    const std::uint32_t line = find(line_of(block), set);
    const std::uint32_t touched = bytes.touched_sectors();
    const auto sectors = static_cast<std::uint32_t>(std::popcount(touched));
    const bool present = line != kNoSlot && (tags_.held(line) & touched) == touched;
    if (byte_mask_policy_) {
        if (!write_allocate(block, bytes, set, line, now)) return false;
    } else if (line != kNoSlot && tags_.valid(line) != 0) {
        // Write-evict: invalidate what is valid; a pending fill keeps its line.
        ++stats_.write_invalidations;
        if (!observers_.empty()) tell_change(line_of(block), tags_.valid(line), 0, now);
        if (tags_.pending(line) != 0)
            tags_.valid(line) = 0;
        else
            tags_.invalidate(line);
    }
    ++stats_.line_requests;
    stats_.sector_accesses += sectors;
    stats_.sector_write_accesses += sectors;
    if (!present) {
        stats_.sector_misses += sectors;
        stats_.sector_write_misses += sectors;
        ++stats_.line_write_misses;
    }
    return true;
}

bool L1Cache::write_allocate(Addr block, const ByteMask& bytes, std::uint32_t set, std::uint32_t line, Cycle now) {
    if (line == kNoSlot) {
        line = tags_.candidate(set);
        if (line == kNoSlot) return false;
        take(line, line_of(block), now);
    } else {
        tags_.touch(line);
    }
    const std::uint8_t before = tags_.valid(line);
    tags_.write_bytes(line, bytes);
    if (!observers_.empty()) tell_change(line_of(block), before, tags_.valid(line), now);
    return true;
}

std::span<const L1Cache::Target> L1Cache::fill(std::uint32_t mshr, Cycle now) {
    const Addr block = mshrs_.block(mshr);
    std::uint32_t line = mshrs_.line(mshr);
    if (line == kNoSlot) {  // allocate on fill; another block of the line may have done so already
        const std::uint32_t set = set_of(line_of(block));
        line = tags_.find(set, line_of(block));
        if (line == kNoSlot) {
            line = tags_.candidate(set);
            take(line, line_of(block), now);
        }
    } else {
        mshrs_.unchain(mshr, tags_.fetch(line));
    }
    const std::uint8_t before = tags_.valid(line);
    tags_.fill(line, sectors_of(block));
    if (!observers_.empty()) tell_fill(line, block, before, now);
    ++stats_.fills;
    stats_.miss_latency += now - mshrs_.since(mshr);
    return mshrs_.targets(mshr);
}

}  // namespace mergelane
