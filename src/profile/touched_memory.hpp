// SPDX-License-Identifier: MIT
// Sets of touched memory.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/bits.hpp"
#include "core/error.hpp"
#include "core/types.hpp"

namespace mergelane {

/// 32-byte sectors, grouped in regions of 8 KiB: about 56 bytes of memory per touched region.
class TouchedMemory {
public:
    static constexpr std::size_t kMost = std::size_t{1} << 25;  ///< regions
    /// `sectors`: one bit per sector of the 128-byte line number `line`.
    void touch(Addr line, std::uint8_t sectors) {
        Region& region = find(line / kLines);
        region[line % kLines / 16] |= std::uint64_t{sectors} << line % 16 * 4;
    }
    void add(const TouchedMemory& other) {
        for (const auto& [key, from] : other.regions_) {
            Region& to = find(key);
            for (std::size_t i = 0; i < to.size(); ++i) to[i] |= from[i];
        }
    }
    void clear() {
        regions_.clear();
        last_ = nullptr;
    }
    std::uint64_t sectors() const {
        return sum([](std::uint64_t bits) { return bit_count(bits); });
    }
    std::uint64_t lines() const {
        return sum([](std::uint64_t bits) { return bit_count((bits | bits >> 1 | bits >> 2 | bits >> 3) & 0x1111111111111111); });
    }

private:
    static constexpr Addr kLines = 64;  ///< of a region
    using Region = std::array<std::uint64_t, 4>;

    std::uint64_t sum(std::uint32_t (*of)(std::uint64_t bits)) const {
        std::uint64_t all = 0;
        for (const auto& [key, region] : regions_) {
            for (const std::uint64_t bits : region) all += of(bits);
        }
        return all;
    }
    Region& find(Addr key) {
        if (last_ == nullptr || key != last_key_) {
            last_ = &regions_[key];  // nodes stay where they are
            if (regions_.size() > kMost)
                throw InputError(
                    "the workload touches more than 33 million regions of 8 KiB, more than a profile holds; use a smaller input");
            last_key_ = key;
        }
        return *last_;
    }
    std::unordered_map<Addr, Region> regions_;
    Region* last_ = nullptr;
    Addr last_key_ = 0;
};

/// The lines touched by one CTA; cleared quickly.
class LineSet {
public:
    static constexpr std::size_t kMost = std::size_t{1} << 23;
    LineSet() : slots_(256) {}
    void clear() {
        if (++stamp_ == 0 || slots_.size() > 65536) {  // a large one does not stay
            slots_.assign(256, {});
            stamp_ = 1;
        }
        size_ = 0;
    }
    std::uint64_t size() const { return size_; }
    void insert(Addr line) {
        if (size_ * 2 >= slots_.size()) grow();
        if (put(line)) ++size_;
    }

private:
    struct Slot {
        Addr line = 0;
        std::uint64_t stamp = 0;
    };
    bool put(Addr line) {
        std::size_t at = (line * 0x9E3779B97F4A7C15 >> 32) & (slots_.size() - 1);
        for (; slots_[at].stamp == stamp_; at = (at + 1) & (slots_.size() - 1)) {
            if (slots_[at].line == line) return false;
        }
        slots_[at] = {line, stamp_};
        return true;
    }
    void grow() {
        if (size_ >= kMost)
            throw InputError("a CTA touches more than 8 million lines, more than a profile holds; use a smaller input, or more CTAs");
        std::vector<Slot> old(slots_.size() * 2);
        old.swap(slots_);
        for (const Slot& slot : old) {
            if (slot.stamp == stamp_) put(slot.line);
        }
    }
    std::vector<Slot> slots_;
    std::uint64_t stamp_ = 1;
    std::uint64_t size_ = 0;
};

}  // namespace mergelane
