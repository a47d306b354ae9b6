// SPDX-License-Identifier: MIT
#include "parts/tag_array.hpp"

#include <algorithm>

namespace mergelane {

TagArray::TagArray(const Geometry& geometry, const Policies& policies)
    : sets_(geometry.sets),
      ways_(geometry.ways),
      hash_(geometry.set_hash, geometry.sets),
      replacement_(policies.make<Replacement>(geometry.replacement, geometry.sets * geometry.ways)),
      used_(geometry.sets, 0),
      tags_(lines(), kEmpty),
      prints_(lines() + 16, 0),
      valid_(lines(), 0),
      pending_(lines(), 0),
      dirty_(lines(), 0),
      bytes_(geometry.byte_masks ? lines() : 0) {}

std::uint32_t TagArray::candidate(std::uint32_t set) const {
    std::uint32_t& used = used_[set / ways_];
    while (used != ways_ && tags_[set + used] != kEmpty) ++used;
    return used != ways_ ? set + used : replacement_->victim(set, ways_, pending_.data());
}

void TagArray::install(std::uint32_t line, std::uint64_t line_number) {
    tags_[line] = line_number;
    prints_[line] = fingerprint(line_number);
    valid_[line] = pending_[line] = dirty_[line] = 0;
    if (has_byte_masks()) bytes_[line] = {};
    replacement_->filled(line);
}

void TagArray::invalidate(std::uint32_t line) {
    tags_[line] = kEmpty;
    std::uint32_t& used = used_[line / ways_];
    used = std::min(used, line % ways_);
    valid_[line] = pending_[line] = dirty_[line] = 0;
    if (has_byte_masks()) bytes_[line] = {};
}

void TagArray::invalidate_all() {
    for (std::uint32_t line = 0; line < lines(); ++line) invalidate(line);
}

void TagArray::write_bytes(std::uint32_t line, const ByteMask& written) {
    ByteMask& known = bytes_[line];
    known.merge(written);
    for (std::uint32_t sector = 0; sector < kMaxLineBytes / kSectorBytes; ++sector) {
        if (known.sector(sector) == 0xFFFFFFFFu) valid_[line] = static_cast<std::uint8_t>(valid_[line] | 1u << sector);
    }
}

void TagArray::fill(std::uint32_t line, std::uint8_t sectors) {
    valid_[line] = static_cast<std::uint8_t>(valid_[line] | sectors);
    pending_[line] = static_cast<std::uint8_t>(pending_[line] & ~sectors);
    if (!has_byte_masks()) return;
    for (std::uint32_t sector = 0; sector < kMaxLineBytes / kSectorBytes; ++sector) {
        if ((sectors >> sector & 1) != 0) bytes_[line].fill_sector(sector);
    }
}

}  // namespace mergelane
