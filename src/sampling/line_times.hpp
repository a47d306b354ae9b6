// SPDX-License-Identifier: MIT
// A time per line: a flat hash table with linear probing, because a node per line costs more than the rest of a signature.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "core/rng.hpp"
#include "core/types.hpp"

namespace mergelane::sampling {

class LineTimes {
public:
    /// Of a line that was not asked for before: 0. `hash`: mix64(line). The caller must set it to another value before the next call.
    std::uint64_t& of(Addr line, std::uint64_t hash) {
        Entry* entry = &find(line, hash);
        if (entry->time != 0) return entry->time;
        if (++size_ * 2 > entries_.size()) {
            rebuild(entries_.size() * 2, [](std::uint64_t) { return true; });
            entry = &find(line, hash);
        }
        entry->line = line;
        return entry->time;
    }
    std::size_t size() const { return size_; }
    /// Drops the other lines.
    template <class Keep>
    void keep_if(Keep keep) {
        size_ = 0;
        rebuild(entries_.size(), [&](std::uint64_t hash) {
            const bool kept = keep(hash);
            size_ += kept;
            return kept;
        });
    }

private:
    struct Entry {
        Addr line = 0;
        std::uint64_t time = 0;  ///< 0: none
    };

    /// Its entry, or the empty one where it belongs. Lines are sampled by the low bits of the hash, so the place is taken from others.
    Entry& find(Addr line, std::uint64_t hash) {
        for (std::uint64_t at = hash >> 32;; ++at) {
            Entry& entry = entries_[at & (entries_.size() - 1)];
            if (entry.time == 0 || entry.line == line) return entry;
        }
    }
    template <class Keep>
    void rebuild(std::size_t entries, Keep keep) {
        std::vector<Entry> old(entries);
        old.swap(entries_);
        for (const Entry& entry : old) {
            if (entry.time == 0) continue;
            const std::uint64_t hash = mix64(entry.line);
            if (keep(hash)) find(entry.line, hash) = entry;
        }
    }

    std::vector<Entry> entries_ = std::vector<Entry>(1024);
    std::size_t size_ = 0;
};

}  // namespace mergelane::sampling
