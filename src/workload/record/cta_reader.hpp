// SPDX-License-Identifier: MIT
// Decodes the byte string of a recorded CTA, all warps concurrently. The bytes may come from a file, so they are not trusted.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "core/kernel.hpp"
#include "workload/record/recorder.hpp"

namespace mergelane::record {

/// Consecutive static instructions that always execute together.
struct StaticRun {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};

/// What recorded bytes refer to by number.
struct RecordedProgram {
    static constexpr std::uint32_t kNotMemory = ~0u;

    std::vector<StaticInst> instructions;
    std::vector<StaticRun> runs;
    std::vector<std::uint32_t> memory_of;               ///< per instruction: the number of its address prediction, or kNotMemory
    std::uint32_t memory_count = 0;                     ///< of such numbers
    std::shared_ptr<const ProgramText> text = nullptr;  ///< nullptr: unknown
};

class CtaReader {
public:
    using Counter = std::shared_ptr<std::atomic<std::uint64_t>>;
    /// `where` is the prefix of error messages, for example "x.mlt: kernel 2: ". Program and prefix must stay in place. Allocates nothing
    /// before start(): machines make a reader per CTA slot and launch, and small launches use few of them.
    CtaReader(const RecordedProgram& program, std::uint32_t warps, std::string_view where, Counter open_bytes)
        : program_(program), where_(where), warp_count_(warps), open_bytes_(std::move(open_bytes)) {}
    CtaReader(const CtaReader&) = delete;
    ~CtaReader() { open_bytes_->fetch_sub(claimed_, std::memory_order_relaxed); }
    /// Adds to the memory of all open CTAs, which is limited. Streams may outlive their kernel, so they share the counter.
    void claim(std::uint64_t bytes);

    /// Resets all state; no warp has bytes.
    void start(std::uint64_t cta);
    /// The expected first access of a warp at a memory instruction.
    void expect(std::uint32_t warp, std::uint32_t memory, Addr base) {
        predictions_[std::size_t{warp} * program_.memory_count + memory].base = base;
    }
    /// Parses the lengths of the warps' strings and the strings, which must stay in place.
    void open(const char* at, const char* end);

    bool next_run(std::uint32_t warp, Run& run);
    void addresses(std::uint32_t warp, const StaticInst& inst, std::uint32_t active, LaneAddresses& out);
    /// Passes over what addresses() would read. Must then be called for every execution of the instruction.
    void pass(std::uint32_t warp, const StaticInst& inst, std::uint32_t active);

    [[noreturn]] void damaged() const;
    std::uint64_t varint(const char*& at, const char* end) const {
        std::uint64_t value = 0;
        for (std::uint32_t shift = 0; at != end && shift < 64; shift += 7) {
            const auto byte = static_cast<std::uint8_t>(*at++);
            value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
            if (byte < 0x80) return value;
        }
        damaged();
    }

private:
    struct Cursor {
        const char* at = nullptr;
        const char* end = nullptr;
        std::uint32_t run = 0;
        MaskHistory masks;
    };
    void pass_varints(Cursor& warp, std::uint32_t count) const;
    LaneHistory& history_of(std::uint32_t index, std::uint32_t memory) {
        if (!lists_) forget_lists();
        return histories_[index * LaneHistory::kEntries + memory % LaneHistory::kEntries];
    }
    void forget_lists();
    void move_lanes(std::uint32_t index, std::uint32_t memory, std::uint32_t active, LaneAddresses& out);
    void read_values(Cursor& warp, Addr base, const StaticInst& inst, LaneAddresses& out) const;
    void read_pieces(Cursor& warp, std::uint32_t pieces, Addr base, std::uint32_t active, LaneAddresses& out) const;

    const RecordedProgram& program_;
    std::string_view where_;
    std::uint32_t warp_count_;
    const Counter open_bytes_;
    std::uint64_t claimed_ = 0;
    std::uint64_t cta_ = 0;
    std::vector<Cursor> warps_;
    std::vector<Prediction> predictions_;
    std::vector<LaneHistory> histories_;  ///< of the CTA, if `lists_`
    bool lists_ = false;                  ///< the CTA has had a list
};

}  // namespace mergelane::record
