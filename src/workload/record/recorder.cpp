// SPDX-License-Identifier: MIT
#include "workload/record/recorder.hpp"

#include <algorithm>
#include <utility>

#include "core/bits.hpp"

namespace mergelane::record {

bool find_affine(const Addr* lanes, std::uint32_t mask, Addr& base, std::int64_t& stride) {
    const std::uint32_t first = lowest_bit(mask);
    const std::uint32_t rest = mask & (mask - 1);
    if (rest == 0) {
        base = lanes[first];
        stride = 0;
        return true;
    }
    const std::uint32_t second = lowest_bit(rest);
    const auto gap = static_cast<std::int64_t>(lanes[second] - lanes[first]);
    const auto apart = static_cast<std::int64_t>(second - first);
    if (apart == 1) {
        stride = gap;
    } else {
        stride = gap / apart;
        if (stride * apart != gap) return false;
    }
    base = lanes[first] - static_cast<Addr>(stride) * first;
    Addr wrong = 0;
    if (mask == 0xFFFFFFFFu) {
        for (std::uint32_t lane = 0; lane < kWarpLanes; ++lane) wrong |= lanes[lane] ^ (base + static_cast<Addr>(stride) * lane);
    } else {
        for (std::uint32_t left = rest; left != 0; left &= left - 1) {
            const std::uint32_t lane = lowest_bit(left);
            wrong |= lanes[lane] ^ (base + static_cast<Addr>(stride) * lane);
        }
    }
    return wrong == 0;
}

namespace {
/// By stride: its place in kStrides.
constexpr auto kStrideCodes = [] {
    std::array<std::uint8_t, 17> codes{};
    codes.fill(kStrideFollows);
    for (std::uint8_t code = 0; code < kStrides.size(); ++code) codes[static_cast<std::size_t>(kStrides[code])] = code;
    return codes;
}();
}  // namespace

void EventBytes::grow(std::size_t bytes) {
    constexpr std::size_t kLeast = 256;
    room_ = std::max({kLeast, 2 * room_, size_ + bytes});
    auto data = std::make_unique_for_overwrite<char[]>(room_);
    std::copy_n(data_.get(), size_, data.get());
    data_ = std::move(data);
}

void WarpRecorder::start(std::uint32_t memory_instructions) {
    bytes_.clear();
    predictions_.assign(memory_instructions, {});
    lists_ = false;
    masks_ = {};
    last_run_ = 0;
    records_ = 0;
    spin_ = {};
}

void WarpRecorder::run(std::uint32_t run, std::uint32_t mask) {
    std::uint32_t code = 0;
    if (mask != masks_.now) {
        code = mask == masks_.before ? 1 : mask == 0xFFFFFFFFu ? 2 : 3;
        masks_.before = masks_.now;
        masks_.now = mask;
    }
    const std::int64_t step = static_cast<std::int64_t>(run) - static_cast<std::int64_t>(last_run_);
    last_run_ = run;
    char* at = EventBytes::write_varint(bytes_.room(EventBytes::kMostVarint + sizeof mask), zigzag(step) << 2 | code);
    if (code == 3) {
        for (std::uint32_t i = 0; i < 4; ++i) *at++ = static_cast<char>(mask >> 8 * i);
    }
    bytes_.take(at);
}

char* WarpRecorder::write_head(char* at, Prediction& last, std::uint8_t shape, std::int64_t move) {
    ++records_;
    const bool same = move == last.move;
    *at++ = static_cast<char>(same ? shape | kSameMove : shape);
    if (!same) at = EventBytes::write_varint(at, zigzag(move));
    last.move = move;
    return at;
}

void WarpRecorder::head(Prediction& last, std::uint8_t shape, std::int64_t move) {
    bytes_.take(write_head(bytes_.room(1 + EventBytes::kMostVarint), last, shape, move));
}

void WarpRecorder::head(std::uint32_t memory, std::uint8_t shape, Addr base) {
    Prediction& last = predictions_[memory];
    const auto move = static_cast<std::int64_t>(base - last.base);
    last.base = base;
    head(last, shape, move);
}

/// Writes the short form if every lane moved by the same distance since the last list.
bool WarpRecorder::all_moved(std::uint32_t memory, std::uint32_t mask, const Addr* address) {
    LaneHistory& history = histories_[memory % LaneHistory::kEntries];
    if (!has_list(memory) || (mask & ~history.mask) != 0) return false;
    const std::uint32_t first = lowest_bit(mask);
    const Addr move = address[first] - history.lane[first];
    for (std::uint32_t left = mask & (mask - 1); left != 0; left &= left - 1) {
        const std::uint32_t lane = lowest_bit(left);
        if (address[lane] - history.lane[lane] != move) return false;
    }
    for (std::uint32_t left = mask; left != 0; left &= left - 1) history.lane[lowest_bit(left)] += move;
    history.mask = mask;
    Prediction& last = predictions_[memory];
    last.base = address[first];
    head(last, kAllMoved, static_cast<std::int64_t>(move));
    return true;
}

void WarpRecorder::values(std::uint32_t memory, const Addr* value, std::uint32_t count) {
    head(memory, kValues, value[0]);
    varint(count - 1);
    for (std::uint32_t v = 1; v < count; ++v) varint(zigzag(static_cast<std::int64_t>(value[v])));
}

void WarpRecorder::begin_wait(std::uint32_t memory, std::uint32_t mask) {
    if (spin_.failed && spin_.memory == memory && spin_.mask == mask && records_ == spin_.records + 1) {
        bytes_.cut(spin_.bytes);
        predictions_[memory] = spin_.prediction;
        masks_ = spin_.masks;
        last_run_ = spin_.last_run;
        records_ = spin_.records;
    }
    spin_ = {memory, mask, bytes_.size(), records_, predictions_[memory], masks_, last_run_, false};
}

void WarpRecorder::affine(std::uint32_t memory, Addr base, std::int64_t stride) {
    const std::uint8_t code =
        static_cast<std::uint64_t>(stride) < kStrideCodes.size() ? kStrideCodes[static_cast<std::size_t>(stride)] : kStrideFollows;
    if (code != kStrideFollows) return head(memory, code, base);
    head(memory, kStrideFollows, base);
    varint(zigzag(stride));
}

LaneHistory& WarpRecorder::history_of(std::uint32_t memory) {
    if (!lists_) {
        for (LaneHistory& history : histories_) history.memory = ~0u;
        lists_ = true;
    }
    return histories_[memory % LaneHistory::kEntries];
}

void WarpRecorder::rows(std::uint32_t memory, const Addr* row) {
    constexpr std::uint32_t kRows = 8, kWords = 4, kWordBytes = 4, kRowBytes = kWords * kWordBytes;
    std::uint32_t joined = 0;  // rows that begin where the one before ends
    for (std::uint32_t r = 1; r < kRows; ++r) joined |= row[r] - row[r - 1] == kRowBytes ? 1u << r : 0;
    if (joined == (1u << kRows) - 2) return affine(memory, row[0], kWordBytes);
    if (has_list(memory)) {
        std::array<Addr, kWarpLanes> address;
        for (std::uint32_t lane = 0; lane < kWarpLanes; ++lane) address[lane] = row[lane / kWords] + lane % kWords * kWordBytes;
        return lanes(memory, 0xFFFFFFFFu, address.data());
    }
    char* at = bytes_.room((1 + 3 * kRows) * EventBytes::kMostVarint);
    Prediction& last = predictions_[memory];
    const auto move = static_cast<std::int64_t>(row[0] - last.base);
    last.base = row[0];
    at = write_head(at, last, static_cast<std::uint8_t>(kPieces + kRows - bit_count(joined)), move);
    for (std::uint32_t first = 0; first < kRows;) {
        const std::uint32_t end = lowest_bit(~joined & ~((2u << first) - 1));
        if (first != 0)
            at = EventBytes::write_varint(at, zigzag(static_cast<std::int64_t>(row[first] - (row[first - 1] + kRowBytes - kWordBytes))));
        *at++ = static_cast<char>((end - first) * kWords - 1);
        *at++ = static_cast<char>(zigzag(kWordBytes));
        first = end;
    }
    bytes_.take(at);
}

void WarpRecorder::lanes(std::uint32_t memory, std::uint32_t mask, const Addr* address) {
    struct Piece {
        Addr start;
        std::int64_t stride;
        std::uint32_t lanes;
        Addr last;
    };
    if (all_moved(memory, mask, address)) return;
    std::array<Piece, kMostPieces> pieces;
    std::uint32_t count = 0;
    bool fits = true;
    for (std::uint32_t left = mask; left != 0; left &= left - 1) {
        const Addr here = address[lowest_bit(left)];
        if (count > 0) {
            Piece& piece = pieces[count - 1];
            const auto step = static_cast<std::int64_t>(here - piece.last);
            if (piece.lanes == 1 || step == piece.stride) {
                piece.stride = step;
                piece.last = here;
                ++piece.lanes;
                continue;
            }
        }
        if (count == kMostPieces) {
            fits = false;
            break;
        }
        pieces[count++] = {here, 0, 1, here};
    }
    const Addr base = address[lowest_bit(mask)];
    if (fits) {
        head(memory, static_cast<std::uint8_t>(kPieces + count), base);
        for (std::uint32_t p = 0; p < count; ++p) {
            if (p > 0) varint(zigzag(static_cast<std::int64_t>(pieces[p].start - pieces[p - 1].last)));
            varint(pieces[p].lanes - 1);
            if (pieces[p].lanes > 1) varint(zigzag(pieces[p].stride));
        }
        return;
    }
    Addr odd = 0;
    for (std::uint32_t left = mask; left != 0; left &= left - 1) odd |= address[lowest_bit(left)] - base;
    const std::uint32_t shift = (odd & 3) == 0 ? 2 : 0;
    head(memory, shift != 0 ? kWordDeltas : kDeltas, base);
    LaneHistory& history = history_of(memory);
    LaneReference reference(history.memory == memory && (history.reference - base) % 4 == 0 ? history.reference : base);
    reference.saw(base);
    history.memory = memory;
    history.mask = mask;
    history.lane[lowest_bit(mask)] = base;
    char* at = bytes_.room(kWarpLanes * EventBytes::kMostVarint);
    for (std::uint32_t left = mask & (mask - 1); left != 0; left &= left - 1) {
        const Addr here = address[lowest_bit(left)];
        at = EventBytes::write_varint(at, zigzag(static_cast<std::int64_t>(here - reference.at()) >> shift));
        reference.saw(here);
        history.lane[lowest_bit(left)] = here;
    }
    bytes_.take(at);
    history.reference = reference.at();
}

}  // namespace mergelane::record
