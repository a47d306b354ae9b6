// SPDX-License-Identifier: MIT
// Miss status holding registers: outstanding blocks, each with the requests that wait for it. An entry and its first requests are stored
// together, and the most recently freed entry is reused first, so that few entries are touched.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <vector>

#include "core/bits.hpp"
#include "core/types.hpp"
#include "parts/key_index.hpp"

namespace mergelane {

template <class Target>
class MshrFile {
public:
    /// `searched`: find() will be used.
    MshrFile(std::uint32_t entries, std::uint32_t merges, bool searched = true)
        : capacity_(entries),
          merges_(merges),
          blocks_per_entry_(divide_up(sizeof(Entry) + sizeof(Target) * merges, sizeof(Block))),
          // Not cleared, so that pages of unused entries are never touched.
          memory_(std::make_unique_for_overwrite<Block[]>(blocks_per_entry_ * entries)),
          prints_(searched ? entries + 16 : 0, 0) {}

    std::uint32_t find(std::uint64_t block) const {
        for (std::uint32_t base = 0; base < begun_; base += 16) {
            for (std::uint32_t hits = equal_prints(&prints_[base], block); hits != 0; hits &= hits - 1) {
                const std::uint32_t e = base + lowest_bit(hits);
                if (e < begun_ && entry(e).block == block) return e;
            }
        }
        return kNoSlot;
    }
    bool full() const { return in_use_ == capacity_; }
    bool can_merge(std::uint32_t e) const { return entry(e).count < merges_; }
    std::uint32_t in_use() const { return in_use_; }
    std::uint32_t capacity() const { return capacity_; }

    /// `line`: the destination of the block, if a line has already been allocated.
    std::uint32_t allocate(std::uint64_t block, const Target& target, std::uint32_t line, Cycle now) {
        std::uint32_t e = free_;
        if (e != kNobodyNext)
            free_ = entry(e).next;
        else
            e = begun_++;
        new (&memory_[e * blocks_per_entry_]) Entry{block, now, line, 0, kNobodyNext};
        if (!prints_.empty()) prints_[e] = fingerprint(block);
        ++in_use_;
        merge(e, target);
        return e;
    }
    void merge(std::uint32_t e, const Target& target) { new (first_target(e) + entry(e).count++) Target(target); }
    /// find() no longer finds it. At most once per entry.
    void hide(std::uint32_t e) { prints_[e] ^= 1; }
    bool used(std::uint32_t e) const { return e < begun_ && entry(e).block != kFree; }
    std::uint64_t block(std::uint32_t e) const { return entry(e).block; }
    Cycle since(std::uint32_t e) const { return entry(e).since; }
    /// The entry will be asked for soon.
    void fetch(std::uint32_t e) const { prefetch(&memory_[e * blocks_per_entry_]); }
    std::uint32_t line(std::uint32_t e) const { return entry(e).line; }
    std::span<const Target> targets(std::uint32_t e) const { return {first_target(e), entry(e).count}; }
    void release(std::uint32_t e) {
        entry(e).block = kFree;
        entry(e).next = free_;
        free_ = static_cast<std::uint16_t>(e);
        --in_use_;
    }

    // The entries of a line with several blocks form a list that starts at the line, so that no search is needed.

    /// `alone`: the line had no entry, and `first` is not valid yet.
    void chain(std::uint32_t e, std::uint16_t& first, bool alone) {
        std::uint16_t* place = &first;
        // Behind the others: they are in the host's caches now, not when the first block arrives.
        while (!alone && *place != kNobodyNext) place = &entry(*place).next;
        *place = static_cast<std::uint16_t>(e);
        entry(e).next = kNobodyNext;
    }
    void unchain(std::uint32_t e, std::uint16_t& first) {
        std::uint16_t* place = &first;
        while (*place != e) place = &entry(*place).next;
        *place = entry(e).next;
    }
    /// The entry of this block, which must be in the list.
    std::uint32_t in_chain(std::uint32_t first, std::uint64_t block) const {
        while (entry(first).block != block) first = entry(first).next;
        return first;
    }

private:
    static constexpr std::uint64_t kFree = ~std::uint64_t{0};
    static constexpr std::uint16_t kNobodyNext = 0xFFFF;

    struct Entry {
        std::uint64_t block;
        Cycle since;
        std::uint32_t line;
        std::uint16_t count;
        std::uint16_t next;  ///< next entry of the same line, or next free entry
    };
    struct alignas(64) Block {
        std::byte bytes[64];
    };
    static_assert(std::is_trivially_copyable_v<Target> && sizeof(Entry) % alignof(Target) == 0);

    Entry& entry(std::uint32_t e) { return *std::launder(reinterpret_cast<Entry*>(&memory_[e * blocks_per_entry_])); }
    const Entry& entry(std::uint32_t e) const { return *std::launder(reinterpret_cast<const Entry*>(&memory_[e * blocks_per_entry_])); }
    Target* first_target(std::uint32_t e) const { return reinterpret_cast<Target*>(memory_[e * blocks_per_entry_].bytes + sizeof(Entry)); }

    std::uint32_t capacity_;
    std::uint32_t merges_;
    std::uint32_t begun_ = 0;  ///< entries that were ever used
    std::uint32_t in_use_ = 0;
    std::uint16_t free_ = kNobodyNext;
    std::size_t blocks_per_entry_;
    std::unique_ptr<Block[]> memory_;
    std::vector<std::uint8_t> prints_;
};

}  // namespace mergelane
