// SPDX-License-Identifier: MIT
// Invariant: for a million random requests, the pool does what an untimed model of sets and maps allows: every load gets each of its lines
// once, an L1 access serves one line and few requests, and a warp's stores keep their order relative to its loads.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/rng.hpp"
#include "warp_pool_bench.hpp"

namespace mergelane::testing {
namespace {

constexpr Addr kShared = 0;               ///< lines that all warps want
constexpr Addr kPrivate = Addr{1} << 32;  ///< lines that are wanted once: what happens to them happens to one instruction
constexpr std::uint32_t kBlock = 128;

/// How the lanes of one request lie in its line, as the paper's table has it.
enum Pattern { consecutive_lanes, one_word, one_lane, range_of_lanes, anything };

/// Lines of a warp instruction, each with its lanes; from the addresses alone.
std::map<Addr, std::vector<std::uint32_t>> lines_of(const Access& access) {
    std::map<Addr, std::vector<std::uint32_t>> lines;
    for (std::uint32_t lane = 0; lane < kWarpLanes; ++lane) {
        if ((access.active >> lane & 1) == 0) continue;
        const Addr first = access.lanes.of(lane) / kBlock, last = (access.lanes.of(lane) + access.lane_bytes - 1) / kBlock;
        lines[first * kBlock].push_back(lane);
        if (last != first) lines[last * kBlock].push_back(lane);
    }
    return lines;
}

Pattern pattern_of(const Access& access, Addr line, const std::vector<std::uint32_t>& lanes) {
    const std::uint32_t size = access.lane_bytes;
    bool in_order = true, same = true;
    for (std::size_t k = 0; k < lanes.size(); ++k) {
        const Addr address = access.lanes.of(lanes[k]);
        if (address < line || address % size != 0 || address + size > line + kBlock) return anything;
        in_order = in_order && lanes[k] == lanes[0] + k && address == access.lanes.of(lanes[0]) + k * size;
        same = same && address == access.lanes.of(lanes[0]);
    }
    if (in_order && lanes.size() == kWarpLanes && access.lanes.of(lanes[0]) == line) return consecutive_lanes;
    if (lanes.size() == 1) return size <= 4 ? one_lane : anything;
    const bool all = lanes.size() == static_cast<std::size_t>(std::popcount(access.active));
    if (same) return size <= 4 && all ? one_word : anything;
    return in_order ? range_of_lanes : anything;
}

struct Mix {
    std::uint32_t shared_lines;
    std::uint32_t private_percent;  ///< instructions with lines of their own
    std::uint32_t store_percent;
};

/// Every way in which lanes may want lines.
Access random_pattern(Rng& rng, const Mix& mix, Addr& next_private) {
    Access access;
    const auto shared = [&] { return kShared + Addr{rng.below(mix.shared_lines)} * kBlock; };
    const auto own = [&](std::uint32_t lines) {
        next_private += lines * kBlock;
        return next_private - lines * kBlock;
    };
    if (rng.below(100) < mix.private_percent) {
        access.lanes = rng.below(2) == 0 ? affine(own(32), kBlock) : affine(own(1));
        return access;
    }
    if (rng.below(8) == 0) access.lane_bytes = static_cast<std::uint8_t>(1u << rng.below(5));
    const auto anywhere = [&] { return shared() + rng.below(kBlock / access.lane_bytes) * access.lane_bytes; };
    std::vector<Addr> list(kWarpLanes, anywhere());
    switch (rng.below(8)) {
        case 0: access.lanes = affine(shared(), access.lane_bytes); break;
        case 1: access.lanes = affine(anywhere(), 0); break;
        case 2:
            access.lanes = affine(anywhere(), 0);
            access.active = 1u << rng.below(32);
            break;
        case 3: access.lanes = affine(anywhere(), access.lane_bytes); break;                     // two lines, mostly
        case 4: access.lanes = affine(anywhere() + 1 + rng.below(3), access.lane_bytes); break;  // misaligned
        case 5: {
            const Addr first = shared(), second = shared();
            for (Addr& lane : list) lane = (rng.below(2) == 0 ? first : second) + rng.below(32) * 4;
            access.lanes = scattered(list);
            break;
        }
        case 6:
            for (Addr& lane : list) lane = anywhere();
            access.lanes = scattered(list);
            break;
        default:  // half of the lanes want one word, the others another
            std::fill_n(list.begin(), 16, anywhere());
            access.lanes = scattered(list);
    }
    if (rng.below(4) == 0 && access.active == ~0u) access.active = static_cast<std::uint32_t>(rng.next()) | 1u << rng.below(32);
    return access;
}

/// The pool with a reference beside it that checks every cycle.
class Comparison final : public PoolBench {
public:
    Comparison(const PoolSetup& setup, std::uint64_t seed, const Mix& mix)
        : PoolBench(setup), rng_(seed), mix_(mix), next_(setup.sm.warps), before_(setup.sm.warps) {
        for (Next& next : next_) next = random_instruction();
    }

    void compare(std::uint64_t requests) {
        while (asked_ < requests || !instructions_.empty()) {
            tick();
            selected();
            for (int scheduler = 0; scheduler < 2 && asked_ < requests; ++scheduler) {
                const std::uint32_t warp = rng_.below(static_cast<std::uint32_t>(next_.size()));
                if (!refuses(warp, next_[warp].op)) issue_next(warp);
            }
            if (::testing::Test::HasFatalFailure()) return;
            ASSERT_LT(now(), requests * 30) << "something never ends";
        }
        compare_totals();
    }

private:
    struct Next {
        OpClass op = OpClass::load;
        Access access;
    };
    /// Between issue and its last answer.
    struct Instruction {
        std::uint32_t warp = 0;
        OpClass op = OpClass::load;
        bool pooled = false;  ///< its requests wait in the line queues; others are seen to leave one by one
        Cycle issued = 0;
        std::vector<Addr> lines;
        std::set<Addr> unsent;         ///< if they are seen
        std::uint64_t unanswered = 0;  ///< of a store
    };
    /// Of requests from the line queues.
    struct Line {
        std::uint64_t wanted = 0;    ///< requests that did not go to the L1 yet
        std::uint64_t fetching = 0;  ///< requests that did and wait for memory
        Cycle looked_up = 0;         ///< last time
    };
    using Whose = std::pair<Addr, std::uint32_t>;  ///< a line, and for stores the warp

    Next random_instruction() {
        Next next;
        next.access = random_pattern(rng_, mix_, private_);
        const std::uint32_t dice = rng_.below(100);
        next.op = dice < mix_.store_percent ? OpClass::store : dice < mix_.store_percent + 3 ? OpClass::atomic : OpClass::load;
        next.access.bypass_l1 = next.op == OpClass::load && dice >= 97;
        if (next.op == OpClass::atomic || next.access.bypass_l1) {  // lines of its own, so that a packet tells whose it is
            const std::uint32_t lines = rng_.below(4) == 0 ? 32 : 1;
            next.access.lanes = affine(private_, lines == 1 ? 4 : kBlock);
            next.access.lane_bytes = 4;
            private_ += lines * kBlock;
        }
        return next;
    }

    void issue_next(std::uint32_t warp) {
        const Next next = std::exchange(next_[warp], random_instruction());
        // A load may follow loads that have not reached the L1; nothing else may pass anything.
        std::vector<std::uint32_t>& before = before_[warp];
        bool all_loads = next.op == OpClass::load;
        for (const std::uint32_t id : before) {
            const auto at = instructions_.find(id);
            if (at == instructions_.end()) continue;
            if (next.op == OpClass::load && at->second.op == OpClass::load) continue;
            ASSERT_TRUE(reached_l1(at->second)) << "warp " << warp << " went too early";
            all_loads = false;
        }
        if (!all_loads) before.clear();
        const std::uint32_t id = issue(warp, next.op, next.access);
        before.push_back(id);
        Instruction& instruction = instructions_[id];
        instruction.warp = warp;
        instruction.op = next.op;
        instruction.pooled = next.op == OpClass::load && !next.access.bypass_l1;
        instruction.issued = now();
        for (const auto& [line, lanes] : lines_of(next.access)) {
            instruction.lines.push_back(line);
            ++asked_;
            if (instruction.pooled) {
                ++lines_[line].wanted;
                ++patterns_[pattern_of(next.access, line, lanes)];
            } else {
                instruction.unsent.insert(line);
                ++instruction.unanswered;
                leaving_[{line, next.op == OpClass::store ? warp : kNobodys}].push_back(id);
                (next.op == OpClass::store ? stores_ : direct_) += 1;
            }
        }
    }

    /// As far as can be seen: a line that others want, too, was looked up since; a line of its own went.
    bool reached_l1(const Instruction& instruction) {
        if (!instruction.pooled) return instruction.unsent.empty();
        return std::all_of(instruction.lines.begin(), instruction.lines.end(), [&](Addr line) {
            const Line& state = lines_[line];
            return state.looked_up > instruction.issued && (line < kPrivate || state.wanted == 0);
        });
    }

    /// The selector does one thing in a cycle: one line for a few loads, or a request that goes past the line queues.
    void selected() {
        const bool left = !sent.empty();
        ASSERT_LE(sent.size(), 1u);
        const bool pooled = left && sent[0].packet.kind == PacketKind::read && (sent[0].packet.read.flags & ReadFields::kBypassesL1) == 0;
        if (lookup().happened) {
            ASSERT_EQ(left, pooled);
            ASSERT_FALSE(left && lookup().hit);
            if (left) {
                ASSERT_EQ(sent[0].packet.address, lookup().block);
            }
            Line& line = lines_[lookup().block];
            ASSERT_GE(lookup().requests, 1u);
            ASSERT_LE(lookup().requests, setup().pool.merges);
            ASSERT_LE(lookup().requests, line.wanted) << "nobody asked for it so often";
            line.wanted -= lookup().requests;
            line.looked_up = now();
            (lookup().hit ? got_theirs_ : line.fetching) += lookup().requests;
            ++accesses_;
            shared_accesses_ += lookup().requests > 1 ? 1 : 0;
            ++(lookup().hit ? hits_ : left ? misses_ : joins_);
        } else {
            ASSERT_FALSE(pooled);
            ASSERT_EQ(lookup().requests, 0u);
            if (left) left_alone(sent[0].packet);
        }
        ASSERT_TRUE(!lookup().stepped || written_back() == got_theirs_) << "those who want a line get it when it is there, and nobody else";
        // Loads whose last line hit.
        for (const std::uint32_t id : ended_) {
            ASSERT_TRUE(lookup().hit);
            ended(id, lookup().block);
        }
        ended_.clear();
        sent.clear();
    }

    void left_alone(const Packet& packet) {
        const Whose whose{packet.address, packet.kind == PacketKind::write ? packet.tag : kNobodys};
        std::vector<std::uint32_t>& waiting = leaving_[whose];
        ASSERT_FALSE(waiting.empty()) << "nobody asked for it";
        const std::uint32_t id = waiting.front();
        waiting.erase(waiting.begin());
        if (waiting.empty()) leaving_.erase(whose);
        ASSERT_EQ(instructions_.at(id).unsent.erase(packet.address), 1u);
        if (packet.kind == PacketKind::write) answers_[whose].push_back(id);
    }

    void before_reply(const Packet& packet) override {
        reply_ = packet.address;
        if (packet.kind == PacketKind::read_reply && packet.tag < 0x8000) got_theirs_ += std::exchange(lines_[packet.address].fetching, 0);
    }
    void after_reply(const Packet& packet) override {
        reply_ = kNoReply;
        if (packet.kind != PacketKind::write_ack) return;
        std::vector<std::uint32_t>& waiting = answers_[{packet.address, packet.tag}];
        const std::uint32_t id = waiting.front();
        waiting.erase(waiting.begin());
        if (waiting.empty()) answers_.erase({packet.address, packet.tag});
        if (--instructions_.at(id).unanswered == 0) instructions_.erase(id);
    }
    void load_finished(const Load& load, const LoadHistory*, Cycle time) override {
        ASSERT_GE(load.latest, time);
        if (reply_ == kNoReply)
            ended_.push_back(load.inst->pc);
        else
            ended(load.inst->pc, reply_);
    }
    /// With this line.
    void ended(std::uint32_t id, Addr line) {
        const auto at = instructions_.find(id);
        ASSERT_NE(at, instructions_.end()) << "answered twice";
        const Instruction& instruction = at->second;
        ASSERT_NE(std::find(instruction.lines.begin(), instruction.lines.end(), line), instruction.lines.end()) << "it did not want that";
        ASSERT_TRUE(reached_l1(instruction));
        for (const Addr own : instruction.lines) {
            ASSERT_TRUE(own < kPrivate || !instruction.pooled || lines_[own].fetching == 0) << "one of its lines is still on its way";
        }
        ++loads_ended_;
        instructions_.erase(at);
    }

    void compare_totals() {
        std::uint64_t pooled = 0;
        for (const std::uint64_t count : patterns_) pooled += count;
        for (const auto& [line, state] : lines_) ASSERT_TRUE(state.wanted == 0 && state.fetching == 0);
        EXPECT_EQ(stat("load_requests"), pooled);
        EXPECT_EQ(stat("load_requests_drained"), pooled);
        EXPECT_EQ(stat("written_back"), pooled);
        EXPECT_EQ(stat("lines_drained"), accesses_);
        EXPECT_EQ(stat("line_requests"), accesses_ + stores_) << "of the L1";
        EXPECT_EQ(stat("misses"), misses_);
        EXPECT_EQ(stat("merged_misses"), joins_);
        EXPECT_EQ(stat("stores"), stores_);
        EXPECT_EQ(stat("direct"), direct_);
        EXPECT_EQ(loads_ended_, loads_issued());
        EXPECT_EQ(stat("queued_requests") + stat("waiting_requests") + stat("queued_instructions") + stat("mshrs"), 0u);
        const char* const names[] = {"map_consecutive", "map_broadcast", "map_single", "map_range", "map_table"};
        for (std::size_t k = 0; k < patterns_.size(); ++k) {
            EXPECT_EQ(stat(names[k]), patterns_[k]) << names[k];
            EXPECT_GT(patterns_[k], asked_ / 500) << names[k] << " hardly happened";
        }
        for (const std::uint64_t count : {hits_, misses_, joins_, stores_, direct_}) EXPECT_GT(count, asked_ / 500) << "hardly happened";
        EXPECT_EQ(shared_accesses_ > asked_ / 500, setup().pool.merges > 1);
        for (std::uint32_t warp = 0; warp < next_.size(); ++warp) EXPECT_FALSE(refuses(warp, OpClass::store)) << "warp " << warp;
    }

    static constexpr std::uint32_t kNobodys = ~0u;
    static constexpr Addr kNoReply = ~Addr{0};

    Rng rng_;
    const Mix mix_;
    Addr private_ = kPrivate;
    std::vector<Next> next_;
    std::vector<std::vector<std::uint32_t>> before_;  ///< each warp's loads since its last store, or that store
    std::unordered_map<std::uint32_t, Instruction> instructions_;
    std::unordered_map<Addr, Line> lines_;
    std::map<Whose, std::vector<std::uint32_t>> leaving_, answers_;
    std::vector<std::uint32_t> ended_;  ///< in the pool's own step
    Addr reply_ = kNoReply;             ///< is being delivered
    std::uint64_t got_theirs_ = 0;      ///< requests of loads
    std::array<std::uint64_t, 5> patterns_{};
    std::uint64_t asked_ = 0, accesses_ = 0, shared_accesses_ = 0, hits_ = 0, misses_ = 0, joins_ = 0, stores_ = 0, direct_ = 0;
    std::uint64_t loads_ended_ = 0;
};

/// Memory that takes and answers requests in its own time.
PoolSetup with_memory(std::uint64_t seed, std::uint32_t room, Cycle latency) {
    PoolSetup s;
    s.room = room;
    s.answer = [rng = Rng(seed), latency](const Packet&) mutable {
        return 1 + latency / 4 + rng.below(static_cast<std::uint32_t>(latency));
    };
    s.make_room = [rng = Rng(~seed)]() mutable { return Cycle{rng.below(8) == 0 ? rng.below(20) : 0}; };
    return s;
}

TEST(WarpPoolReference, AMillionRequestsWithoutDifference) {
    {
        PoolSetup s = with_memory(1, 8, 60);
        s.pool.added_latency = 4;
        s.l1.size_kib = 4;
        Comparison(s, 1, {48, 4, 10}).compare(500'000);
    }
    {
        PoolSetup s = with_memory(2, 16, 100);
        s.pool.policy = WarpPoolSpec::Policy::warp_id;
        s.pool.merges = 8;
        s.pool.tags = 4;
        s.pool.map_entries = 64;
        s.pool.writeback_buffer = 1;
        s.l1.size_kib = 4;
        s.l1.mshrs = 16;
        Comparison(s, 2, {30, 4, 5}).compare(200'000);
    }
    {
        PoolSetup s = with_memory(3, 2, 20);
        s.pool.instruction_queues = 2;
        s.pool.queue_entries = 1;
        s.pool.line_queues = 2;
        s.pool.tags = 1;
        s.pool.merges = 2;
        s.pool.map_entries = 1;
        s.l1.size_kib = 1;
        s.l1.mshrs = 2;
        s.l1.mshr_merges = 2;
        Comparison(s, 3, {6, 4, 10}).compare(50'000);
    }
    {
        PoolSetup s = with_memory(4, 32, 60);
        s.pool.coalescers = 4;
        s.pool.instruction_queues = 48;
        s.pool.map_entries = 300;
        s.pool.quantum = 1000;
        s.pool.switch_percent = 40;
        s.pool.writeback_per_cycle = 0;
        s.l1.set_hash = "xor_fold";
        Comparison(s, 4, {150, 4, 10}).compare(150'000);
    }
    {
        PoolSetup s = with_memory(5, 8, 40);
        s.pool.merges = 1;
        s.pool.store_patience = 3;
        s.l1.size_kib = 4;
        Comparison(s, 5, {48, 8, 40}).compare(100'000);
    }
}

}  // namespace
}  // namespace mergelane::testing
