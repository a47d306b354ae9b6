// SPDX-License-Identifier: MIT
// WarpPool: load requests of different warps wait in queues by L1 set. Requests to the same line access the L1 together.
//
//   instruction queues -> coalescers -> line queues -> selector -> L1
//                                  \------- stores -------/
//
// Stages are processed from the L1 backwards, so that everything takes one cycle per stage.
#pragma once

#include <array>
#include <vector>

#include "core/ring.hpp"
#include "parts/index_hash.hpp"
#include "parts/l1_cache.hpp"
#include "sm/memory_front.hpp"
#include "sm/warp_pool_spec.hpp"

namespace mergelane {

class WarpPool final : public MemoryFront {
public:
    WarpPool(const FrontContext& context, const WarpPoolSpec& spec);

    void launch(std::uint32_t shared_kib) override;
    void accept(const MemoryAccess& access, Cycle now) override;
    void step(Cycle now) override;
    void reply(const Packet& packet, Cycle now) override;
    void stats(StatFields& out, Cycle now) const override;
    void gauges(StatFields& out) const override;
    void stages(Stages& out) override;
    L1Cache* l1() override { return &l1_; }
    bool wants_stores() const override { return true; }
    void comes_with_store(std::uint32_t warp, bool store) override;
    bool waits_for_room() const override { return waits_for_room_; }

    /// How the lanes of a request map to the words of its line.
    enum class Mapping : std::uint8_t { consecutive, broadcast, single, range, table };
    static constexpr std::size_t kMappings = 5;

private:
    static constexpr std::uint16_t kDirect = 0x8000;  ///< tag bit: the reply is not for an MSHR entry
    static constexpr std::uint32_t kMostMerges = 8;
    static constexpr std::uint16_t kNoMap = 0xFFFF;
    static constexpr std::uint16_t kNobody = 0xFFFF;

    /// A memory instruction of a warp, with its requests.
    struct Instruction {
        const StaticInst* inst = nullptr;
        std::uint64_t cta = 0;
        std::uint64_t age = 0;
        Cycle ready_at = 0;
        std::uint16_t load = 0;
        std::uint16_t requests = 0;  ///< index of its request list
        std::uint8_t warp = 0;
    };
    struct Requests {
        BlockList blocks;
        std::array<Mapping, BlockList::kMax> mapping;
    };
    struct Coalescer {
        bool busy = false;
        bool pooled = false;      ///< a load that uses the L1
        std::uint32_t next = 0;   ///< next request
        std::uint32_t queue = 0;  ///< queue of that request, if pooled
        Instruction instruction;
    };
    /// A load request that waits for a line together with others.
    struct Member {
        std::uint16_t load = 0;
        std::uint8_t warp = 0;
        std::uint16_t map = kNoMap;  ///< entry of the thread map table
    };
    struct Line {
        Addr block = 0;
        std::uint64_t cta = 0;  ///< of the first request
        const StaticInst* inst = nullptr;
        std::uint32_t words = 0;  ///< requested words, if observed
        std::uint16_t older = kNobody, newer = kNobody;
        std::uint8_t count = 0;  ///< 0: free
        std::array<Member, kMostMerges> members;
    };
    /// Requests that accessed the L1 together and have not been written back.
    struct Access {
        std::uint8_t count = 0;
        std::array<Member, kMostMerges> members;
        Cycle asked = 0;
    };

    void classify(const MemoryAccess& access, Requests& requests) const;
    void look_at_lanes(const MemoryAccess& access, Requests& requests, std::uint32_t active) const;
    void select(Cycle now);
    void drain(std::uint16_t line, Cycle now);
    Coalescer* next_store();
    bool send_store(Cycle now);
    void emit(Cycle now);
    bool insert(Coalescer& coalescer, Cycle now);
    void fetch_instructions(Cycle now);
    void finish(Coalescer& coalescer);
    void find_queue(Coalescer& coalescer);
    void write_back(const Access& access, Arrival arrival, bool followed, Cycle now);
    void forget_bookings(Cycle now);
    Cycle book(Cycle earliest);
    void note_end(Cycle end);
    std::uint16_t chosen_line() const;
    void free_line(std::uint16_t line);
    std::uint16_t take_map(Cycle now);
    void left_for_l1(std::uint32_t warp);
    void look_at_policy(Cycle now);
    void refuse();
    bool is_pooled(const Instruction& i) const { return i.inst->op == OpClass::load && !i.inst->bypass_l1; }
    Requests& requests_of(const Instruction& instruction) { return lists_[instruction.requests]; }

    const WarpPoolSpec& spec_;
    const LsuSpec& lsu_;
    const L1Spec& l1_spec_;
    LoadTable& loads_;
    RequestPort& port_;
    const std::uint32_t warps_per_queue_;
    const std::uint32_t line_shift_;
    const IndexHash set_hash_;

    L1Cache l1_;
    std::vector<Ring<Instruction>> queues_;
    std::uint64_t queues_waiting_ = 0;  ///< non-empty instruction queues
    std::vector<Coalescer> coalescers_;
    std::vector<Line> lines_;  ///< `tags` per line queue, queue after queue
    std::uint16_t oldest_ = kNobody, newest_ = kNobody;
    std::uint16_t refused_line_ = kNobody;  ///< line rejected by the L1, until something returns
    std::uint32_t lines_waiting_ = 0;
    std::vector<Access> accesses_;  ///< indexed by the number that the L1 holds for them
    std::vector<std::uint16_t> free_accesses_;
    std::vector<Requests> lists_;
    std::vector<std::uint16_t> free_lists_;
    std::vector<Cycle> maps_free_at_;  ///< thread map table; kNever: in use, end unknown

    std::array<std::uint16_t, 64> unsent_{};  ///< per warp: instructions and requests between scheduler and L1
    std::uint64_t has_unsent_ = 0;
    std::uint64_t last_was_store_ = 0;
    std::uint64_t store_next_ = 0;  ///< warps whose next instruction is a store
    std::uint64_t queue_full_ = 0;  ///< warps whose queue is full

    // Write-back port: one bit per reserved cycle, starting at `booked_from_`, a multiple of 64.
    std::vector<std::uint64_t> booked_;
    Cycle booked_from_ = 0;
    std::vector<Cycle> last_ends_;  ///< of the reserved accesses, as many as the buffer holds, last first

    bool by_warp_id_ = false;
    Cycle quantum_ends_ = 0;
    Cycle policy_since_ = 0;
    std::uint64_t quantum_accesses_ = 0, quantum_misses_ = 0;
    std::uint64_t ages_ = 0;
    Cycle store_lost_since_ = kNever;  ///< since when a store has been losing to loads
    bool progress_ = false;
    bool waits_for_room_ = false;
    Cycle stopped_until_ = kNever;  ///< until when the write-back buffer is full
    Cycle maps_until_ = kNever;     ///< until when the thread map table is full

    struct Counts {
        std::uint64_t instructions = 0, load_requests = 0, lines = 0, merged = 0, drained = 0, lines_drained = 0, written_back = 0;
        std::uint64_t stores = 0, direct = 0, misses = 0, merged_misses = 0, missed_requests = 0;
        std::uint64_t switches = 0, warp_id_cycles = 0;
        std::array<std::uint64_t, kMappings> mappings{};
    } counts_;
};

}  // namespace mergelane
