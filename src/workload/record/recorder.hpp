// SPDX-License-Identifier: MIT
// Encodes what a CTA executes in compact form. Per warp a byte string of events:
//
//   run event      varint: zigzag(run - previous run) * 4 + mask code
//                  mask code 0: as in the previous event, 1: as before the last change, 2: all lanes, 3: four bytes follow
//   address record for every memory instruction of the run, in order (none when the mask is empty); one byte:
//                  bit 7 set: the base moved by as much as the last time (per warp and instruction); else a zigzag
//                  varint with the move follows. Bits 0-6, the shape:
//                  0-5: base + lane * {0, 4, 8, 1, 2, 16}    6: stride follows as zigzag varint
//                  7: a zigzag varint per further active lane, the difference to the one before
//                  8 + n: n affine pieces: per piece its lanes - 1 (varint), its stride (if more than one lane) and,
//                  from the second on, its start relative to the piece before
//                  18: as 7, the differences divided by 4
//                  19: of instructions with values: their number less one (varint), and a zigzag varint per further
//                  one; the base is the first
//                  17: every active lane moved by as much, the move, from where it was the last time; refers to the
//                  list (7, 17 or 18) written last with this number modulo 8, which must be of this instruction
//
// A CTA is the varint lengths of its warps' strings followed by the strings.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/types.hpp"

namespace mergelane::record {

inline constexpr std::array<std::int64_t, 6> kStrides = {0, 4, 8, 1, 2, 16};
inline constexpr std::uint8_t kStrideFollows = 6;
inline constexpr std::uint8_t kDeltas = 7;
inline constexpr std::uint8_t kPieces = 8;
inline constexpr std::uint32_t kMostPieces = 8;
inline constexpr std::uint8_t kAllMoved = 17;
inline constexpr std::uint8_t kWordDeltas = 18;
inline constexpr std::uint8_t kValues = 19;
inline constexpr std::uint8_t kSameMove = 0x80;

inline std::uint64_t zigzag(std::int64_t value) {
    return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
}
inline std::int64_t unzigzag(std::uint64_t value) {
    return static_cast<std::int64_t>(value >> 1 ^ (0 - (value & 1)));
}

inline void put_varint(std::string& to, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) to.push_back(static_cast<char>(value | 0x80));
    to.push_back(static_cast<char>(value));
}

/// Bytes that grow at their end. Unlike a string's, they are written without a look at the room for each.
class EventBytes {
public:
    static constexpr std::size_t kMostVarint = 10;

    std::string_view view() const { return {data_.get(), size_}; }
    std::size_t size() const { return size_; }
    void clear() { size_ = 0; }
    void cut(std::size_t size) { size_ = size; }
    /// Where to write at most so many bytes; then take() those before `end`.
    char* room(std::size_t bytes) {
        if (room_ - size_ < bytes) grow(bytes);
        return data_.get() + size_;
    }
    void take(const char* end) { size_ = static_cast<std::size_t>(end - data_.get()); }
    static char* write_varint(char* at, std::uint64_t value) {
        for (; value >= 0x80; value >>= 7) *at++ = static_cast<char>(value | 0x80);
        *at++ = static_cast<char>(value);
        return at;
    }

private:
    void grow(std::size_t bytes);

    std::unique_ptr<char[]> data_;
    std::size_t size_ = 0;
    std::size_t room_ = 0;
};

/// The state of a warp's address prediction, per memory instruction.
struct Prediction {
    Addr base = 0;
    std::int64_t move = 0;
};

/// The address that the next lane of a list is compared with. It follows the previous lanes but ignores a single outlier (an element of a
/// sparse matrix far from the diagonal), so that an outlier costs its distance once and not twice.
class LaneReference {
public:
    explicit LaneReference(Addr start) : at_(start) {}
    Addr at() const { return at_; }
    void saw(Addr address) {
        const auto distance = static_cast<std::int64_t>(address - at_);
        const bool far = distance >= kNear || distance < -kNear;
        if (!far)
            at_ += static_cast<Addr>((distance / 8) * 4);
        else if (last_was_far_)
            at_ = address;
        last_was_far_ = far;
    }

private:
    static constexpr std::int64_t kNear = 16384;  ///< bytes
    Addr at_;
    bool last_was_far_ = false;
};

/// The last list of addresses of one memory instruction: loops over matrix rows move all lanes by the same amount.
struct LaneHistory {
    static constexpr std::uint32_t kEntries = 8;  ///< per warp, indexed by the instruction's number
    std::uint32_t memory = ~0u;
    std::uint32_t mask = 0;
    Addr reference = 0;  ///< final value of its LaneReference
    std::array<Addr, kWarpLanes> lane;
};

/// The most recent masks of a warp.
struct MaskHistory {
    std::uint32_t now = 0xFFFFFFFFu;
    std::uint32_t before = 0xFFFFFFFFu;
};

/// Whether all lanes of the mask are base + lane * stride; if so, sets base (of lane 0) and stride.
bool find_affine(const Addr* lanes, std::uint32_t mask, Addr& base, std::int64_t& stride);

class WarpRecorder {
public:
    void start(std::uint32_t memory_instructions);
    void run(std::uint32_t run, std::uint32_t mask);
    /// `base` is the address lane 0 has or would have.
    void affine(std::uint32_t memory, Addr base, std::int64_t stride);
    /// For lanes that are not affine.
    void lanes(std::uint32_t memory, std::uint32_t mask, const Addr* address);
    /// Eight rows of four words, a lane each: as affine() or lanes() with all lanes.
    void rows(std::uint32_t memory, const Addr* row);
    /// Of an instruction with values: 1 to 32 of them.
    void values(std::uint32_t memory, const Addr* value, std::uint32_t count);
    /// A wait is going to record its values. If the last one of this instruction was not over (`failed`), and nothing but computation lies
    /// in between, the warp spins: the failed attempt is forgotten, since the timing model holds the warp instead.
    void begin_wait(std::uint32_t memory, std::uint32_t mask);
    void end_wait(bool failed) { spin_.failed = failed; }
    /// The next access of `memory` starts from here; for formats that store first addresses elsewhere.
    void expect(std::uint32_t memory, Addr base) {
        if (memory >= predictions_.size()) predictions_.resize(std::size_t{memory} + 1);
        predictions_[memory].base = base;
    }
    std::string_view bytes() const { return bytes_.view(); }
    /// Moves what was written so far to the end of `to`.
    void hand_over(std::string& to) {
        to += bytes_.view();
        bytes_.clear();
    }

private:
    void varint(std::uint64_t value) { bytes_.take(EventBytes::write_varint(bytes_.room(EventBytes::kMostVarint), value)); }
    void head(std::uint32_t memory, std::uint8_t shape, Addr base);
    void head(Prediction& last, std::uint8_t shape, std::int64_t move);
    char* write_head(char* at, Prediction& last, std::uint8_t shape, std::int64_t move);
    bool has_list(std::uint32_t memory) const { return lists_ && histories_[memory % LaneHistory::kEntries].memory == memory; }
    LaneHistory& history_of(std::uint32_t memory);
    bool all_moved(std::uint32_t memory, std::uint32_t mask, const Addr* address);

    /// The state before the values of a wait.
    struct Spin {
        std::uint32_t memory = 0;
        std::uint32_t mask = 0;
        std::size_t bytes = 0;
        std::uint64_t records = 0;
        Prediction prediction;
        MaskHistory masks;
        std::uint32_t last_run = 0;
        bool failed = false;
    };

    EventBytes bytes_;
    std::uint64_t records_ = 0;  ///< address records so far
    Spin spin_;
    std::vector<Prediction> predictions_;
    std::array<LaneHistory, LaneHistory::kEntries> histories_;  ///< if `lists_`
    bool lists_ = false;                                        ///< there has been a list
    MaskHistory masks_;
    std::uint32_t last_run_ = 0;
};

}  // namespace mergelane::record
