// SPDX-License-Identifier: MIT
// Miss status holding registers: outstanding blocks, each with the requests that wait for it.
#pragma once

#include <span>
#include <vector>

#include "core/types.hpp"
#include "parts/key_index.hpp"

namespace mergelane {

template <class Target>
class MshrFile {
public:
    MshrFile(std::uint32_t entries, std::uint32_t merges)
        : merges_(merges),
          blocks_(entries, kFree),
          prints_(entries + 16, 0),
          since_(entries, 0),
          lines_(entries, kNoSlot),
          counts_(entries, 0),
          targets_(std::size_t{entries} * merges) {
        for (std::uint32_t i = entries; i > 0; --i) free_.push_back(i - 1);
    }

    std::uint32_t find(std::uint64_t block) const {
        return find_key(blocks_.data(), prints_.data(), static_cast<std::uint32_t>(blocks_.size()), block);
    }
    bool full() const { return free_.empty(); }
    bool can_merge(std::uint32_t entry) const { return counts_[entry] < merges_; }
    std::uint32_t in_use() const { return static_cast<std::uint32_t>(blocks_.size() - free_.size()); }
    std::uint32_t capacity() const { return static_cast<std::uint32_t>(blocks_.size()); }

    /// `line`: where the block will go, if a line was taken for it already.
    std::uint32_t allocate(std::uint64_t block, const Target& target, std::uint32_t line, Cycle now) {
        const std::uint32_t entry = free_.back();
        free_.pop_back();
        blocks_[entry] = block;
        prints_[entry] = fingerprint(block);
        since_[entry] = now;
        lines_[entry] = line;
        counts_[entry] = 0;
        merge(entry, target);
        return entry;
    }
    void merge(std::uint32_t entry, const Target& target) { targets_[std::size_t{entry} * merges_ + counts_[entry]++] = target; }
    bool used(std::uint32_t entry) const { return entry < blocks_.size() && blocks_[entry] != kFree; }
    std::uint64_t block(std::uint32_t entry) const { return blocks_[entry]; }
    Cycle since(std::uint32_t entry) const { return since_[entry]; }
    std::uint32_t line(std::uint32_t entry) const { return lines_[entry]; }
    std::span<const Target> targets(std::uint32_t entry) const { return {&targets_[std::size_t{entry} * merges_], counts_[entry]}; }
    void release(std::uint32_t entry) {
        blocks_[entry] = kFree;
        free_.push_back(entry);
    }

private:
    static constexpr std::uint64_t kFree = ~std::uint64_t{0};

    std::uint32_t merges_;
    std::vector<std::uint64_t> blocks_;
    std::vector<std::uint8_t> prints_;
    std::vector<Cycle> since_;
    std::vector<std::uint32_t> lines_;
    std::vector<std::uint16_t> counts_;
    std::vector<Target> targets_;
    std::vector<std::uint32_t> free_;
};

}  // namespace mergelane
