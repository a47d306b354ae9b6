// SPDX-License-Identifier: MIT
// The tensor memory accelerator of an SM (ADR 0048): takes bulk copies, one instruction of one thread each, and sends their requests past
// the load/store unit and the L1. Copies begin in order; their replies may come in any order.
#pragma once

#include <cstdint>
#include <vector>

#include "core/bulk_box.hpp"
#include "sm/hopper_spec.hpp"
#include "sm/request_port.hpp"
#include "sm/shared_memory.hpp"

namespace mergelane {

/// One bulk copy. `last_piece`: bytes that its end brings to other CTAs.
struct BulkCopy {
    AsyncOp op = AsyncOp::bulk_load;
    std::uint8_t warp = 0;
    std::uint8_t context = 0;
    std::uint64_t cta = 0;
    std::uint64_t group = 0;  ///< of its warp, if it stores
    BulkBox box;
    Cycle issued = 0;
    std::uint32_t last_piece = 0;
    const StaticInst* inst = nullptr;
};

class BulkListener {
public:
    /// All requests of a copy have been sent: what it reads in shared memory may be overwritten.
    virtual void bulk_sent(const BulkCopy& copy, Cycle now) = 0;
    /// So many bytes of a copy for several CTAs have arrived, and more will.
    virtual void bulk_arrived(const BulkCopy& copy, std::uint32_t bytes, Cycle now) = 0;
    /// The last byte is where it belongs at `at`.
    virtual void bulk_finished(const BulkCopy& copy, Cycle at, Cycle now) = 0;

protected:
    ~BulkListener() = default;
};

class BulkEngine {
public:
    static constexpr std::uint16_t kFirstTag = 0xFF00;  ///< tags from here on are those of bulk copies
    static constexpr std::uint32_t kMostInFlight = 0x100;

    /// `spec`: nullptr if there is none; then nothing may be accepted.
    BulkEngine(const TmaSpec* spec, std::uint32_t block_bytes, RequestPort& port, SharedMemory& shared, BulkListener& listener)
        : spec_(spec), block_bytes_(block_bytes), port_(port), shared_(shared), listener_(listener) {}

    void accept(const BulkCopy& copy) { waiting_.push_back(copy); }
    void step(Cycle now);
    /// A reply with one of its tags.
    void answered(const Packet& packet, Cycle now);
    /// The cycle in which it must be stepped.
    Cycle next(Cycle now) const;
    void stats(StatFields& f) const;
    /// The copy whose requests go next; nullptr: there is none.
    const StaticInst* current() const {
        if (busy_) return flights_[sending_].copy.inst;
        return waiting_.empty() ? nullptr : waiting_.front().inst;
    }
    std::uint64_t in_flight() const { return blocks_ - answered_; }

private:
    struct Flight {
        BulkCopy copy;
        std::uint64_t outstanding = 0;
        std::uint32_t bytes = 0;   ///< arrived, and not yet written to shared memory
        std::uint32_t passed = 0;  ///< arrived, and not yet passed on to other CTAs
        bool all_sent = false;
    };
    static constexpr std::uint32_t kPiece = 1024;  ///< bytes that are passed on at a time
    bool begin(Cycle now);
    void send(Cycle now);
    void finish(std::uint16_t tag, Cycle now);

    const TmaSpec* spec_;
    const std::uint32_t block_bytes_;
    RequestPort& port_;
    SharedMemory& shared_;
    BulkListener& listener_;
    std::vector<BulkCopy> waiting_;  ///< not begun, oldest first
    std::vector<Flight> flights_;    ///< by tag
    std::vector<std::uint16_t> free_;
    BulkBlocks blocks_left_;  ///< of the copy that sends its requests
    std::uint16_t sending_ = 0;
    std::uint32_t gathered_ = 0;  ///< bytes read from shared memory for blocks that are sent
    bool busy_ = false;           ///< a copy sends its requests
    bool no_room_ = false;
    Cycle stepped_ = kNever;  ///< the last cycle in which it sent
    std::uint64_t boxes_ = 0, blocks_ = 0, answered_ = 0, bytes_ = 0;
};

}  // namespace mergelane
