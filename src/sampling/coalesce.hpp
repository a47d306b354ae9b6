// SPDX-License-Identifier: MIT
// The 128-byte lines of a warp's access, without what the load/store unit does with them.
#pragma once

#include <array>
#include <bit>

#include "core/bits.hpp"
#include "core/kernel.hpp"
#include "parts/key_index.hpp"

namespace mergelane::sampling {

inline constexpr std::uint32_t kLineBytes = 128;

/// Whether no lane between two active ones is inactive.
inline bool are_neighbours(std::uint32_t active) {
    if (active == 0xFFFFFFFFu) return true;
    const std::uint32_t from_first = active >> lowest_bit(active);
    return (from_first & (from_first + 1)) == 0;
}

/// Of the sectors from `first` to `last`, those of this line, as a mask.
inline std::uint32_t sectors_between(Addr first, Addr last, Addr line) {
    const Addr base = line * (kLineBytes / kSectorBytes);
    const auto from = static_cast<std::uint32_t>(first > base ? first - base : 0);
    const auto to = static_cast<std::uint32_t>(last < base + 3 ? last - base : 3);
    return (2u << to) - (1u << from);
}

/// Calls add(line, sectors) for the lines between two bytes.
template <class Add>
void add_bytes(Addr from, Addr last, Add&& add) {
    const Addr first_sector = from / kSectorBytes, last_sector = last / kSectorBytes;
    for (Addr line = first_sector / 4; line <= last_sector / 4; ++line) add(line, sectors_between(first_sector, last_sector, line));
}

/// The same for the lanes of an access, in their order: a line comes again when a later lane touches it.
template <class Add>
void add_lanes(const LaneAddresses& lanes, std::uint32_t active, std::uint32_t lane_bytes, Add&& add) {
    const auto add_lane = [&](Addr address) {
        const Addr sector = address / kSectorBytes;
        add(sector / 4, 1u << (sector & 3));
        if (const Addr end = (address + lane_bytes - 1) / kSectorBytes; end != sector) add(end / 4, 1u << (end & 3));
    };
    if (lanes.run_count != 0) {
        for (std::uint32_t r = 0; r < lanes.run_count; ++r) {
            const LaneAddresses::Run& run = lanes.runs[r];
            const Addr last = run.base + static_cast<Addr>(run.stride) * (run.count - 1);
            // Neighbours touch the same sector or the next one.
            if (run.stride >= 0 && run.stride <= static_cast<std::int64_t>(kSectorBytes)) {
                add_bytes(run.base, last + lane_bytes - 1, add);
                continue;
            }
            for (std::uint32_t lane = 0; lane < run.count; ++lane) add_lane(run.base + static_cast<Addr>(run.stride) * lane);
        }
        return;
    }
    for (std::uint32_t left = active; left != 0; left &= left - 1) add_lane(lanes.of(lowest_bit(left)));
}

/// Joins the sectors of a line that is among the last few; a line that leaves them is visited.
template <class Visit>
class LineWindow {
public:
    explicit LineWindow(Visit& visit) : visit_(visit) {}
    void operator()(Addr line, std::uint32_t sectors) {
        if (line == lines_[newest_]) {
            sectors_[newest_] |= sectors;
            return;
        }
        for (std::uint32_t hits = equal_prints(prints_.data(), line); hits != 0; hits &= hits - 1) {
            const std::uint32_t i = lowest_bit(hits) % kLines;
            if (lines_[i] == line) {
                sectors_[i] |= sectors;
                newest_ = i;
                return;
            }
        }
        newest_ = added_++ % kLines;
        if (added_ > kLines) visit_(lines_[newest_], sectors_[newest_]);
        lines_[newest_] = line;
        sectors_[newest_] = sectors;
        prints_[newest_] = fingerprint(line);
    }
    void finish() {
        for (std::uint32_t i = added_ > kLines ? added_ - kLines : 0; i < added_; ++i) visit_(lines_[i % kLines], sectors_[i % kLines]);
    }
    static constexpr std::uint32_t kLines = 8;

private:
    static constexpr Addr kNoLine = ~Addr{0};

    Visit& visit_;
    std::array<Addr, kLines> lines_{kNoLine, kNoLine, kNoLine, kNoLine, kNoLine, kNoLine, kNoLine, kNoLine};
    std::array<std::uint32_t, kLines> sectors_;
    std::array<std::uint8_t, 16> prints_{};
    std::uint32_t added_ = 0;
    std::uint32_t newest_ = 0;
};

/// Whether the lanes touch all sectors between the first one's and the last one's.
inline bool is_contiguous(const LaneAddresses& lanes, std::uint32_t active) {
    return lanes.affine && lanes.stride >= 0 && lanes.stride <= static_cast<std::int64_t>(kSectorBytes) && are_neighbours(active);
}
inline std::uint32_t last_lane(std::uint32_t active) {
    return 31 - static_cast<std::uint32_t>(std::countl_zero(active));
}

/// Calls visit(line, sectors) for every line, in the order of its first lane; `sectors` has a bit for each sector of 32 bytes that a lane
/// touches. A line may be visited twice if lanes far from each other share it.
template <class Visit>
void each_line(const LaneAddresses& lanes, std::uint32_t active, std::uint32_t lane_bytes, Visit&& visit) {
    if (is_contiguous(lanes, active)) return add_bytes(lanes.of(lowest_bit(active)), lanes.of(last_lane(active)) + lane_bytes - 1, visit);
    if (lanes.affine && lanes.stride >= static_cast<std::int64_t>(lane_bytes)) {
        // Every lane begins where the one before has ended, or later.
        Addr line = lanes.of(lowest_bit(active)) / kLineBytes;
        std::uint32_t sectors = 0;
        add_lanes(lanes, active, lane_bytes, [&](Addr next, std::uint32_t more) {
            if (next != line) {
                visit(line, sectors);
                line = next;
                sectors = 0;
            }
            sectors |= more;
        });
        visit(line, sectors);
        return;
    }
    LineWindow window(visit);
    add_lanes(lanes, active, lane_bytes, window);
    window.finish();
}

}  // namespace mergelane::sampling
