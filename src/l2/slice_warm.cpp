// SPDX-License-Identifier: MIT
// Functional warming of a slice: the states of lines after accesses that are not simulated in time.
#include "core/bits.hpp"
#include "l2/slice.hpp"

namespace mergelane {

/// The line, allocated if it was not present, as the most recently used one.
std::uint32_t L2Slice::warm_line(const WarmPlace& place, L2Traffic& traffic) {
    std::uint32_t line = tags_.find(place.set, place.number);
    if (line == kNoSlot) {
        line = tags_.candidate(place.set);
        if (tags_.in_use(line)) traffic.written_back += bit_count(tags_.dirty(line));
        tags_.install(line, place.number);
    } else {
        tags_.touch(line);
    }
    return line;
}

void L2Slice::warm_read(const WarmPlace& place, std::uint32_t sectors, bool atomic, L2Traffic& traffic) {
    if (!spec_.enabled) return;
    const std::uint32_t line = warm_line(place, traffic);
    if (atomic) tags_.dirty(line) = static_cast<std::uint8_t>(tags_.dirty(line) | sectors);
    const std::uint32_t width = spec_.sector_bytes / kSectorBytes;
    std::uint32_t fetched = sectors & ~std::uint32_t{tags_.valid(line)};
    if (fetched == 0) return;
    traffic.missed += bit_count(fetched);
    for (std::uint32_t first = 0; width != 1 && first < spec_.line_bytes / kSectorBytes; first += width) {
        const auto group = static_cast<std::uint32_t>(low_bits(width)) << first;
        if ((fetched & group) != 0) fetched |= group;
    }
    traffic.fetched += bit_count(fetched);
    tags_.fill(line, static_cast<std::uint8_t>(fetched));
}

void L2Slice::warm_write(const WarmPlace& place, const ByteMask& written, L2Traffic& traffic) {
    if (!spec_.enabled) return;
    const std::uint32_t line = warm_line(place, traffic);
    traffic.missed += bit_count(written.touched_sectors() & ~tags_.held(line));
    tags_.write_bytes(line, written);
    tags_.dirty(line) = static_cast<std::uint8_t>(tags_.dirty(line) | written.touched_sectors());
}

bool L2Slice::holds(Addr address, std::uint32_t sectors) const {
    const std::uint64_t number = map_.slice_local(address) >> line_shift_;
    const std::uint32_t line = tags_.find(tags_.set_of(number), number);
    return line != kNoSlot && (tags_.valid(line) & sectors) == sectors;
}

}  // namespace mergelane
