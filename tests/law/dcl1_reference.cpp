// SPDX-License-Identifier: MIT
// Invariant: for a million random requests of 80 SMs, a node matches a model made of lists and maps: the same hits, misses, merges and
// evictions, the same requests to the L2 in the same order, and one answer per request.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <list>
#include <map>

#include "core/rng.hpp"
#include "mocks.hpp"
#include "nodes/l1_node.hpp"

namespace mergelane::testing {
namespace {

constexpr std::uint32_t kCores = 80;
constexpr std::uint32_t kBlock = 128;

/// Answers what it is asked after a while, in any order.
class Memory final : public Component {
public:
    Memory(Link<Packet>& in, Link<Packet>& out, std::uint64_t seed) : Component("memory"), in_(in), out_(out), rng_(seed) {}

    Cycle step(Cycle now) override {
        while (in_.has(now)) {
            asked.push_back(in_.pop_and_release(now));
            waiting_.push_back({now + 20 + rng_.below(200), asked.back()});
        }
        const auto first =
            std::min_element(waiting_.begin(), waiting_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        if (first != waiting_.end() && first->first <= now && out_.can_send(now, 1)) {
            Packet reply = first->second;
            reply.kind = reply.kind == PacketKind::read    ? PacketKind::read_reply
                         : reply.kind == PacketKind::write ? PacketKind::write_ack
                                                           : PacketKind::atomic_reply;
            out_.send(now, reply);
            answered.push_back(reply);
            waiting_.erase(first);
        }
        return now + 1;
    }
    void stats(StatFields&, Cycle) const override {}

    std::deque<Packet> asked, answered;  ///< for the reference, in their order

private:
    Link<Packet>& in_;
    Link<Packet>& out_;
    Rng rng_;
    std::vector<std::pair<Cycle, Packet>> waiting_;
};

/// Requests of all SMs as they come out of their network.
class Cores final : public Component {
public:
    Cores(Link<Packet>& in, Link<Packet>& out, std::uint64_t seed, const std::vector<std::uint64_t>& lines)
        : Component("cores"), in_(in), out_(out), rng_(seed), lines_(lines) {}

    Cycle step(Cycle now) override {
        if (out_.has(now) && rng_.below(8) != 0) answers.push_back(out_.pop_and_release(now));
        if (left != 0 && rng_.below(6) != 0 && in_.can_send(now, 1)) {
            const Packet packet = random_request();
            in_.send(now, packet);
            sent.push_back(packet);
            --left;
        }
        return now + 1;
    }
    void stats(StatFields&, Cycle) const override {}

    std::uint64_t left = 0;
    std::deque<Packet> sent, answers;

private:
    Packet random_request() {
        Packet packet;
        packet.address = Addr{lines_[rng_.below(static_cast<std::uint32_t>(lines_.size()))]} * kBlock;
        packet.source = static_cast<std::uint16_t>(rng_.below(kCores));
        packet.tag = ++tag_;
        const std::uint32_t kind = rng_.below(20);
        if (kind < 3 || kind == 19) {
            packet.kind = kind == 19 ? PacketKind::atomic : PacketKind::write;
            packet.bytes.set_range(4 * rng_.below(32), 4);
        } else {
            packet.read = {};
            packet.read.wanted = static_cast<std::uint32_t>(rng_.next()) | 1;
            if (kind == 18) packet.read.flags = ReadFields::kBypassesL1;
        }
        return packet;
    }

    Link<Packet>& in_;
    Link<Packet>& out_;
    Rng rng_;
    const std::vector<std::uint64_t>& lines_;
    std::uint16_t tag_ = 0;
};

struct NodeSetup {
    std::uint32_t lines;
    std::uint32_t queue;
    std::uint32_t hit_cycles;
    std::uint32_t mshrs;
    std::uint32_t merges;
    LineShare share;
};

/// The first lines, in their order, that the second of the nodes with this share is the home of; of all, when one has all.
std::vector<std::uint64_t> lines_of(const NodeSetup& setup) {
    std::vector<std::uint64_t> lines;
    const LineShare& share = setup.share;
    for (std::uint64_t line = 0; lines.size() < setup.lines; ++line) {
        if (share.all() || line / share.unit % share.turn / share.kept == 1) lines.push_back(line);
    }
    return lines;
}

class NodeBench : public TestBench {
public:
    NodeBench(const NodeSetup& setup, std::uint64_t seed)
        : lines(lines_of(setup)),
          shared{spec_of(setup),
                 cache_of(setup),
                 {32, 0, kBlock},
                 {32, 0, kBlock},
                 setup.hit_cycles,
                 kCores,
                 false,
                 AddressMap(1, 1, 256, "plain"),
                 AddressMap(4, 2, 256, "plain"),
                 policies_of<add_replacements>()},
          node(add<L1Node>("node", shared, 0u)),
          from_cores(loose_link<Packet>("q1", setup.queue)),
          to_cores(loose_link<Packet>("q2", 16)),
          to_l2(loose_link<Packet>("q3", 16)),
          from_l2(loose_link<Packet>("q4", setup.queue)),
          cores(add<Cores>(from_cores, to_cores, seed, lines)),
          memory(add<Memory>(to_l2, from_l2, seed + 1)) {
        from_cores.connect(cores, node);
        to_cores.connect(node, cores);
        to_l2.connect(node, memory);
        from_l2.connect(memory, node);
        node.connect({{&from_cores, &to_cores, &to_l2, &from_l2, 7}});
        node.cache().share_lines(setup.share);
    }
    static DcL1Spec spec_of(const NodeSetup& setup) {
        DcL1Spec spec;
        spec.queue = setup.queue;
        return spec;
    }
    static L1Spec cache_of(const NodeSetup& setup) {
        L1Spec cache;
        cache.size_kib = 4;
        cache.ways = 4;
        cache.set_hash = "plain";
        cache.mshrs = setup.mshrs;
        cache.mshr_merges = setup.merges;
        return cache;
    }

    const std::vector<std::uint64_t> lines;
    const L1Node::Shared shared;
    L1Node& node;
    Link<Packet>&from_cores, &to_cores, &to_l2, &from_l2;
    Cores& cores;
    Memory& memory;
};

/// The node without time: it is told in which cycle something was taken, and says what must have come of it.
class Reference {
public:
    Reference(const L1Spec& cache, const std::vector<std::uint64_t>& lines) : cache_(cache), sets_(cache.sets()) {
        for (const std::uint64_t line : lines) place_.emplace(line, place_.size() % sets_.size());  // its lines, one set after the other
    }

    struct Outcome {
        std::uint64_t hits = 0, merged = 0, misses = 0, evictions = 0, invalidations = 0, fills = 0;
        bool operator==(const Outcome&) const = default;
    };

    void look_up(const Packet& packet) {
        owed_[{packet.source, packet.tag}] = packet;
        const std::uint64_t line = packet.address / kBlock;
        std::list<Line>& set = sets_[place_.at(line)];
        const auto at = std::find_if(set.begin(), set.end(), [&](const Line& l) { return l.number == line; });
        if (packet.kind == PacketKind::read && (packet.read.flags & ReadFields::kBypassesL1) == 0) return read(packet, line, set, at);
        if (packet.kind == PacketKind::write && at != set.end() && at->valid) {
            ++so_far.invalidations;
            if (at->pending)
                at->valid = false;
            else
                set.erase(at);
        }
        out.push_back(packet);
    }

    /// A reply of the memory was taken.
    void reply(const Packet& packet) {
        const std::uint64_t line = packet.address / kBlock;
        const auto waiting = waiting_.find(line);
        if (packet.kind == PacketKind::read_reply && (packet.read.flags & ReadFields::kBypassesL1) == 0) {
            ASSERT_NE(waiting, waiting_.end());
            std::list<Line>& set = sets_[place_.at(line)];
            const auto at = std::find_if(set.begin(), set.end(), [&](const Line& l) { return l.number == line; });
            ASSERT_NE(at, set.end());
            at->valid = true;
            at->pending = false;
            ++so_far.fills;
            for (const Packet& p : waiting->second) ready_[{p.source, p.tag}] = true;
            waiting_.erase(waiting);
            return;
        }
        // Which of several alike it was shows in the answer.
        ++passed_back_;
    }

    void answer(const Packet& packet) {
        const auto asked = owed_.find({packet.destination, packet.tag});
        ASSERT_NE(asked, owed_.end()) << "nobody asked, or was answered already";
        EXPECT_EQ(packet.address, asked->second.address);
        const bool read = asked->second.kind == PacketKind::read;
        EXPECT_EQ(packet.kind, read                                      ? PacketKind::read_reply
                               : asked->second.kind == PacketKind::write ? PacketKind::write_ack
                                                                         : PacketKind::atomic_reply);
        if (read) {
            EXPECT_EQ(packet.read.wanted, asked->second.read.wanted);
        }
        const auto ready = ready_.find(asked->first);
        if (ready != ready_.end()) {
            ready_.erase(ready);
        } else {
            ASSERT_GT(passed_back_, 0u) << "answered before the L2 had";
            --passed_back_;
        }
        owed_.erase(asked);
    }
    bool owes_nothing() const { return owed_.empty() && ready_.empty() && waiting_.empty() && passed_back_ == 0; }

    Outcome so_far;
    std::deque<Packet> out;  ///< requests to the L2 that have not been seen

private:
    struct Line {
        std::uint64_t number;
        bool valid, pending;
    };
    using Who = std::pair<std::uint32_t, std::uint32_t>;

    void read(const Packet& packet, std::uint64_t line, std::list<Line>& set, std::list<Line>::iterator at) {
        if (at != set.end()) set.splice(set.end(), set, at);  // used last
        if (at != set.end() && at->valid) {
            ++so_far.hits;
            ready_[{packet.source, packet.tag}] = true;
            return;
        }
        if (at != set.end() && at->pending) {
            ++so_far.merged;
            waiting_[line].push_back(packet);
            EXPECT_LE(waiting_[line].size(), cache_.mshr_merges);
            return;
        }
        if (at == set.end()) {
            if (set.size() == cache_.ways) {
                const auto victim = std::find_if(set.begin(), set.end(), [](const Line& l) { return !l.pending; });
                ASSERT_NE(victim, set.end());
                set.erase(victim);
                ++so_far.evictions;
            }
            set.push_back({line, false, true});
        }
        ++so_far.misses;
        out.push_back(packet);
        waiting_[line] = {packet};
        EXPECT_LE(waiting_.size(), cache_.mshrs);
    }

    const L1Spec& cache_;
    std::vector<std::list<Line>> sets_;  ///< each in the order of use
    std::map<std::uint64_t, std::size_t> place_;
    std::map<std::uint64_t, std::vector<Packet>> waiting_;
    std::map<Who, Packet> owed_;
    std::map<Who, bool> ready_;
    std::uint64_t passed_back_ = 0;
};

void compare(NodeBench& bench, std::uint64_t requests) {
    Reference reference(bench.shared.cache, bench.lines);
    bench.cores.left = requests;
    std::uint64_t looked_up = 0, replied = 0;
    const L1Stats& stats = bench.node.cache().stats();
    for (std::uint64_t answered = 0; answered < requests;) {
        bench.run(bench.now() + 1);
        ASSERT_LT(bench.now(), requests * 40 + 10000) << "something never ends";
        // In the order of a step.
        for (; replied < bench.node.counts().network_replies; ++replied) {
            reference.reply(bench.memory.answered.front());
            bench.memory.answered.pop_front();
        }
        for (; looked_up < bench.node.counts().requests; ++looked_up) {
            reference.look_up(bench.cores.sent.front());
            bench.cores.sent.pop_front();
        }
        const Reference::Outcome found = {
            stats.sector_hits / 4, stats.sector_pending_hits / 4, (stats.sector_misses - stats.sector_write_misses) / 4,
            stats.evictions,       stats.write_invalidations,     stats.fills};
        ASSERT_TRUE(found == reference.so_far) << "in cycle " << bench.now() << ", after " << looked_up << " requests";
        for (; !bench.memory.asked.empty(); bench.memory.asked.pop_front(), reference.out.pop_front()) {
            const Packet& asked = bench.memory.asked.front();
            ASSERT_FALSE(reference.out.empty());
            ASSERT_EQ(asked.address, reference.out.front().address);
            ASSERT_EQ(asked.kind, reference.out.front().kind);
            ASSERT_EQ(asked.destination, bench.shared.far.slice(asked.address));
            ASSERT_EQ(asked.source, 7);
        }
        for (; !bench.cores.answers.empty(); bench.cores.answers.pop_front(), ++answered) reference.answer(bench.cores.answers.front());
        if (::testing::Test::HasFatalFailure()) return;
    }
    EXPECT_TRUE(reference.owes_nothing());
    EXPECT_EQ(bench.node.held(), 0u);
    EXPECT_GT(stats.sector_hits, 0u);
    EXPECT_GT(stats.sector_pending_hits, 0u);
    EXPECT_GT(stats.evictions, 0u);
    EXPECT_GT(stats.write_invalidations, 0u);
}

TEST(NodeReference, AgreesOnAMillionRequests) {
    const NodeSetup setups[] = {
        {200, 4, 30, 64, 8, {2, 32, 8}}, {40, 4, 30, 16, 4, {}},       {60, 1, 0, 2, 2, {1, 3, 1}},
        {1000, 4, 3, 64, 8, {2, 48, 8}}, {48, 2, 60, 8, 3, {1, 4, 1}},
    };
    for (std::size_t k = 0; k < std::size(setups); ++k) {
        NodeBench bench(setups[k], 100 + k);
        compare(bench, 200000);
        if (HasFatalFailure()) FAIL() << "setup " << k;
    }
}

}  // namespace
}  // namespace mergelane::testing
