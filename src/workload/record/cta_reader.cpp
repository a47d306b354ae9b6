// SPDX-License-Identifier: MIT
#include "workload/record/cta_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/bits.hpp"
#include "core/error.hpp"

namespace mergelane::record {

void CtaReader::damaged() const {
    throw InputError(fmt::format("{}CTA {}: its recording is damaged; record it again", where_, cta_));
}

void CtaReader::claim(std::uint64_t bytes) {
    constexpr std::uint64_t kMost = std::uint64_t{4} << 30;
    claimed_ += bytes;
    if (open_bytes_->fetch_add(bytes, std::memory_order_relaxed) + bytes > kMost)
        throw InputError(
            fmt::format("{}the CTAs that are open at the same time need more than {} GiB; is the file damaged?", where_, kMost >> 30));
}

void CtaReader::start(std::uint64_t cta) {
    cta_ = cta;
    if (predictions_.empty()) claim(std::uint64_t{warp_count_} * program_.memory_count * sizeof(Prediction));
    predictions_.assign(std::size_t{warp_count_} * program_.memory_count, Prediction{});
    warps_.assign(warp_count_, Cursor{});
    lists_ = false;
}

/// Most CTAs have no lists, and these are large.
void CtaReader::forget_lists() {
    histories_.resize(std::size_t{warp_count_} * LaneHistory::kEntries);
    for (LaneHistory& history : histories_) history.memory = ~0u;
    lists_ = true;
}

void CtaReader::open(const char* at, const char* const end) {
    if (at == end) return;
    const char* strings = at;
    for (std::size_t w = 0; w < warps_.size(); ++w) varint(strings, end);
    for (Cursor& warp : warps_) {
        const std::uint64_t bytes = varint(at, end);
        if (bytes > static_cast<std::uint64_t>(end - strings)) damaged();
        warp.at = strings;
        strings += bytes;
        warp.end = strings;
    }
    if (strings != end) damaged();
}

bool CtaReader::next_run(std::uint32_t index, Run& run) {
    Cursor& warp = warps_[index];
    if (warp.at == warp.end) return false;
    const std::uint64_t head = varint(warp.at, warp.end);
    const std::uint32_t code = head & 3;
    warp.run = static_cast<std::uint32_t>(warp.run + unzigzag(head >> 2));
    if (code != 0) {
        std::uint32_t mask = code == 1 ? warp.masks.before : 0xFFFFFFFFu;
        if (code == 3) {
            if (warp.end - warp.at < 4) damaged();
            mask = 0;
            for (std::uint32_t i = 0; i < 4; ++i) mask |= std::uint32_t{static_cast<std::uint8_t>(*warp.at++)} << 8 * i;
        }
        warp.masks.before = warp.masks.now;
        warp.masks.now = mask;
    }
    if (warp.run >= program_.runs.size()) damaged();
    const StaticRun& fixed = program_.runs[warp.run];
    run = {program_.instructions.data() + fixed.first, fixed.count, warp.masks.now};
    return true;
}

void CtaReader::addresses(std::uint32_t index, const StaticInst& inst, std::uint32_t active, LaneAddresses& out) {
    Cursor& warp = warps_[index];
    if (warp.at == warp.end) damaged();
    const auto head = static_cast<std::uint8_t>(*warp.at++);
    const std::uint8_t shape = head & 0x7F;
    const std::uint32_t memory = program_.memory_of[static_cast<std::size_t>(&inst - program_.instructions.data())];
    Prediction& last = predictions_[std::size_t{index} * program_.memory_count + memory];
    if ((head & kSameMove) == 0) last.move = unzigzag(varint(warp.at, warp.end));
    out.affine = shape <= kStrideFollows;
    out.run_count = 0;
    if (shape == kAllMoved) return move_lanes(index, memory, active, out);
    last.base += static_cast<Addr>(last.move);
    if (out.affine) {
        out.base = last.base;
        out.stride = shape < kStrideFollows ? kStrides[shape] : unzigzag(varint(warp.at, warp.end));
        return;
    }
    if (shape == kValues) return read_values(warp, last.base, inst, out);
    if (shape != kDeltas && shape != kWordDeltas) return read_pieces(warp, shape - std::uint32_t{kPieces}, last.base, active, out);
    LaneHistory& history = history_of(index, memory);
    const Addr base = last.base;
    LaneReference reference(history.memory == memory && (history.reference - base) % 4 == 0 ? history.reference : base);
    reference.saw(base);
    history.memory = memory;
    history.mask = active;
    const std::uint32_t shift = shape == kWordDeltas ? 2 : 0;
    history.lane[lowest_bit(active)] = out.lane[lowest_bit(active)] = base;
    const char* at = warp.at;
    const auto read_lane = [&](std::uint32_t lane) {
        const bool one_byte = at != warp.end && static_cast<std::uint8_t>(*at) < 0x80;  // as most are
        const std::uint64_t value = one_byte ? static_cast<std::uint8_t>(*at++) : varint(at, warp.end);
        const Addr here = reference.at() + (static_cast<Addr>(unzigzag(value)) << shift);
        reference.saw(here);
        history.lane[lane] = out.lane[lane] = here;
    };
    if (active == 0xFFFFFFFFu) {
        for (std::uint32_t lane = 1; lane < kWarpLanes; ++lane) read_lane(lane);
    } else {
        for (std::uint32_t left = active & (active - 1); left != 0; left &= left - 1) read_lane(lowest_bit(left));
    }
    warp.at = at;
    history.reference = reference.at();
}

/// So many numbers end with so many bytes below 128.
void CtaReader::pass_varints(Cursor& warp, std::uint32_t count) const {
    constexpr std::uint64_t kGoesOn = 0x8080808080808080u;
    while (warp.end - warp.at >= 8) {
        std::uint64_t bytes = 0;
        std::memcpy(&bytes, warp.at, sizeof bytes);
        const std::uint32_t ends = bit_count(~bytes & kGoesOn);
        if (ends >= count) break;
        count -= ends;
        warp.at += 8;
    }
    for (; count != 0; ++warp.at) {
        if (warp.at == warp.end) damaged();
        count -= static_cast<std::uint8_t>(*warp.at) < 0x80;
    }
}

void CtaReader::pass(std::uint32_t index, const StaticInst& inst, std::uint32_t active) {
    Cursor& warp = warps_[index];
    if (warp.at == warp.end) damaged();
    const auto head = static_cast<std::uint8_t>(*warp.at++);
    const std::uint8_t shape = head & 0x7F;
    if ((head & kSameMove) == 0) pass_varints(warp, 1);
    if (shape < kStrideFollows || shape == kAllMoved) return;
    if (shape == kStrideFollows) return pass_varints(warp, 1);
    if (shape == kValues) {
        const std::uint64_t more = varint(warp.at, warp.end);
        if (more >= kWarpLanes) damaged();
        return pass_varints(warp, static_cast<std::uint32_t>(more));
    }
    if (shape == kDeltas || shape == kWordDeltas) {
        // It takes the place of another instruction's list.
        const std::uint32_t memory = program_.memory_of[static_cast<std::size_t>(&inst - program_.instructions.data())];
        history_of(index, memory).memory = memory;
        return pass_varints(warp, bit_count(active) - 1);
    }
    const std::uint32_t pieces = shape - std::uint32_t{kPieces};
    if (pieces > kMostPieces) damaged();
    for (std::uint32_t p = 0; p < pieces; ++p) {
        if (p > 0) pass_varints(warp, 1);
        if (varint(warp.at, warp.end) != 0) pass_varints(warp, 1);
    }
}

void CtaReader::move_lanes(std::uint32_t index, std::uint32_t memory, std::uint32_t active, LaneAddresses& out) {
    Prediction& last = predictions_[std::size_t{index} * program_.memory_count + memory];
    LaneHistory& history = history_of(index, memory);
    if (history.memory != memory || (active & ~history.mask) != 0) damaged();
    for (std::uint32_t left = active; left != 0; left &= left - 1) {
        const std::uint32_t lane = lowest_bit(left);
        out.lane[lane] = history.lane[lane] += static_cast<Addr>(last.move);
    }
    history.mask = active;
    last.base = out.lane[lowest_bit(active)];
}

void CtaReader::read_values(Cursor& warp, Addr base, const StaticInst& inst, LaneAddresses& out) const {
    const std::uint64_t more = varint(warp.at, warp.end);
    if (more >= kWarpLanes || !has_values(inst)) damaged();
    out.values = static_cast<std::uint32_t>(more) + 1;
    out.lane[0] = base;
    for (std::uint32_t v = 1; v < out.values; ++v) out.lane[v] = static_cast<Addr>(unzigzag(varint(warp.at, warp.end)));
}

/// A few pieces stay runs; more become a list.
void CtaReader::read_pieces(Cursor& warp, std::uint32_t pieces, Addr base, std::uint32_t active, LaneAddresses& out) const {
    std::array<LaneAddresses::Run, kMostPieces> list;
    if (pieces > list.size()) damaged();
    auto left = static_cast<std::uint32_t>(std::popcount(active));
    Addr here = base;
    for (std::uint32_t p = 0; p < pieces; ++p) {
        if (p > 0) here += static_cast<Addr>(unzigzag(varint(warp.at, warp.end)));
        const std::uint64_t more = varint(warp.at, warp.end);
        if (more >= left) damaged();
        left -= static_cast<std::uint32_t>(more) + 1;
        const std::int64_t stride = more == 0 ? 0 : unzigzag(varint(warp.at, warp.end));
        list[p] = {here, stride, static_cast<std::uint32_t>(more) + 1};
        here += static_cast<Addr>(stride) * more;
    }
    if (left != 0) damaged();
    if (pieces <= LaneAddresses::kMostRuns) {
        std::copy_n(list.begin(), pieces, out.runs.begin());
        out.run_count = pieces;
        return;
    }
    for (std::uint32_t p = 0; p < pieces; ++p) {
        Addr address = list[p].base;
        for (std::uint32_t k = 0; k < list[p].count; ++k, active &= active - 1, address += static_cast<Addr>(list[p].stride))
            out.lane[lowest_bit(active)] = address;
    }
}

}  // namespace mergelane::record
