// SPDX-License-Identifier: MIT
#include "workload/record/recorder.hpp"

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

void WarpRecorder::start(std::uint32_t memory_instructions) {
    bytes_.clear();
    predictions_.assign(memory_instructions, {});
    for (LaneHistory& history : histories_) history.memory = ~0u;
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
    varint(zigzag(step) << 2 | code);
    if (code == 3) {
        for (std::uint32_t i = 0; i < 4; ++i) bytes_.push_back(static_cast<char>(mask >> 8 * i));
    }
}

void WarpRecorder::head(Prediction& last, std::uint8_t shape, std::int64_t move) {
    ++records_;
    if (move == last.move) {
        bytes_.push_back(static_cast<char>(shape | kSameMove));
        return;
    }
    last.move = move;
    bytes_.push_back(static_cast<char>(shape));
    varint(zigzag(move));
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
    if (history.memory != memory || (mask & ~history.mask) != 0) return false;
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
        bytes_.resize(spin_.bytes);
        predictions_[memory] = spin_.prediction;
        masks_ = spin_.masks;
        last_run_ = spin_.last_run;
        records_ = spin_.records;
    }
    spin_ = {memory, mask, bytes_.size(), records_, predictions_[memory], masks_, last_run_, false};
}

void WarpRecorder::affine(std::uint32_t memory, Addr base, std::int64_t stride) {
    for (std::uint8_t code = 0; code < kStrides.size(); ++code) {
        if (kStrides[code] == stride) return head(memory, code, base);
    }
    head(memory, kStrideFollows, base);
    varint(zigzag(stride));
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
    LaneHistory& history = histories_[memory % LaneHistory::kEntries];
    LaneReference reference(history.memory == memory && (history.reference - base) % 4 == 0 ? history.reference : base);
    reference.saw(base);
    history.memory = memory;
    history.mask = mask;
    history.lane[lowest_bit(mask)] = base;
    for (std::uint32_t left = mask & (mask - 1); left != 0; left &= left - 1) {
        const Addr here = address[lowest_bit(left)];
        varint(zigzag(static_cast<std::int64_t>(here - reference.at()) >> shift));
        reference.saw(here);
        history.lane[lowest_bit(left)] = here;
    }
    history.reference = reference.at();
}

}  // namespace mergelane::record
