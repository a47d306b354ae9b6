// SPDX-License-Identifier: MIT
// Invariant: for a million random requests, the merge table and the coalesced cache match a model made of lists and maps, and every request
// is answered exactly once.
#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <map>
#include <set>

#include "core/rng.hpp"
#include "icc_bench.hpp"
#include "machines.hpp"
#include "random_scripts.hpp"
#include "run.hpp"

namespace mergelane::testing {
namespace {

using Waiter = std::pair<std::uint32_t, std::uint16_t>;  ///< SM and its tag

/// The rules, written down without regard to speed.
class Reference {
public:
    Reference(std::size_t entries, std::size_t lines) : entries_(entries), lines_(lines) {}

    /// 0: goes out untracked or by-passing, 1: goes out with an entry, 2: merged, 3: answered from the cache
    int request(const Packet& p, std::uint64_t id) {
        if (p.kind != PacketKind::read || p.read.flags != 0) {
            if (p.kind == PacketKind::read) return 0;
            cache_.remove(p.address);
            for (auto& [owner, entry] : table_) {
                if (entry.line == p.address) entry.closed = true;
            }
            return 0;
        }
        if (const auto at = std::find(cache_.begin(), cache_.end(), p.address); at != cache_.end()) {
            cache_.splice(cache_.begin(), cache_, at);
            return 3;
        }
        for (auto& [owner, entry] : table_) {
            if (entry.line != p.address || entry.closed) continue;
            const bool there = std::any_of(entry.waiters.begin(), entry.waiters.end(), [&](const Waiter& w) { return w.first == p.sm; });
            if (there) return 0;
            entry.waiters.insert({p.sm, p.tag});
            return 2;
        }
        if (table_.size() == entries_) return 0;
        table_[id] = {p.address, false, {{p.sm, p.tag}}};
        return 1;
    }
    std::set<Waiter> reply(const Packet& p, std::uint64_t id) {
        const auto at = table_.find(id);
        if (at == table_.end()) return {{p.sm, p.tag}};
        const Entry entry = at->second;
        table_.erase(at);
        if (entry.waiters.size() > 1 && !entry.closed && lines_ != 0) {
            cache_.push_front(entry.line);
            if (cache_.size() > lines_) cache_.pop_back();
        }
        return entry.waiters;
    }
    std::size_t in_use() const { return table_.size(); }
    bool caches(Addr line) const { return std::find(cache_.begin(), cache_.end(), line) != cache_.end(); }

private:
    struct Entry {
        Addr line = 0;
        bool closed = false;
        std::set<Waiter> waiters;
    };
    std::size_t entries_, lines_;
    std::map<std::uint64_t, Entry> table_;  ///< by the request that started it
    std::list<Addr> cache_;                 ///< used last first
};

void compare(std::uint64_t seed, std::uint64_t requests, std::uint32_t entries, std::uint32_t lines, std::uint32_t sms,
             std::uint32_t region) {
    IccSpec icc;
    icc.entries = entries;
    CoalescedCacheSpec cc;
    cc.on = lines != 0;
    cc.entries = std::max(lines, 1u);
    IccUnit unit(icc, cc, sms, 128);
    Reference reference(entries, lines);
    struct OnItsWay {
        Packet packet;
        std::uint64_t id;
    };
    std::vector<OnItsWay> network;
    std::set<Waiter> outstanding;
    Rng rng(seed);
    std::uint64_t asked = 0, outcomes[4] = {};
    Cycle now = 0;
    for (std::uint64_t id = 0; asked < requests || !network.empty(); ++id, ++now) {
        // Phases of growth and shrinking, so that the table is full at times and empty at others.
        const bool grow = id % 4096 < 2048;
        if (asked < requests && network.size() < 4 * entries && (network.empty() || rng.below(10) < (grow ? 6u : 4u))) {
            Packet p;
            p.sm = rng.below(sms) & Packet::kSmMask;
            p.tag = static_cast<std::uint16_t>(asked);
            p.address = Addr{rng.below(region)} * 128;
            const std::uint32_t dice = rng.below(32);
            p.kind = dice == 0 ? PacketKind::write : dice == 1 ? PacketKind::atomic : PacketKind::read;
            if (dice == 2) p.read = {ReadFields::kOtherSpace, 0, 0, nullptr};
            ++asked;
            const int expected = reference.request(p, id);
            const std::uint8_t sm = p.sm;  // a bit field
            ASSERT_TRUE(outstanding.insert({sm, p.tag}).second);
            Packet sent = p;
            const bool passed = unit.request(sent, now);
            const bool tracked = sent.kind == PacketKind::read && (sent.read.flags & ReadFields::kTracked) != 0;
            const int got = !passed ? unit.own_reply() == nullptr ? 2 : 3 : tracked ? 1 : 0;
            ASSERT_EQ(got, expected) << "request " << id << " seed " << seed;
            ++outcomes[got];
            if (got < 2) network.push_back({sent, id});
            if (got == 3) {
                const Packet hit = *unit.own_reply();
                ASSERT_EQ(hit.tag, p.tag);
                ASSERT_EQ(hit.kind, PacketKind::read_reply);
                ASSERT_EQ(outstanding.erase({hit.sm, hit.tag}), 1u);
                unit.own_reply_sent();
            }
        } else {
            const std::size_t pick = rng.below(static_cast<std::uint32_t>(network.size()));
            std::swap(network[pick], network.back());
            OnItsWay reply = network.back();
            network.pop_back();
            reply.packet.kind = reply.packet.kind == PacketKind::read ? PacketKind::read_reply : PacketKind::write_ack;
            const std::set<Waiter> expected = reference.reply(reply.packet, reply.id);
            const std::uint64_t named = unit.begin_delivery(reply.packet);
            const std::uint64_t receivers = named == 0 ? std::uint64_t{1} << reply.packet.sm : named;
            std::set<Waiter> got;
            for (std::uint32_t sm = 0; sm < sms; ++sm) {
                if ((receivers >> sm & 1) == 0) continue;
                const Packet copy = named == 0 ? reply.packet : unit.copy_for(reply.packet, sm);
                got.insert({copy.sm, copy.tag});
                ASSERT_EQ(outstanding.erase({copy.sm, copy.tag}), 1u) << "answered twice or never asked";
            }
            unit.end_delivery(reply.packet, now);
            ASSERT_EQ(got, expected) << "reply to request " << reply.id << " seed " << seed;
        }
        ASSERT_EQ(unit.in_use(), reference.in_use());
        const Addr probe = Addr{rng.below(region)} * 128;
        ASSERT_EQ(unit.caches(probe), reference.caches(probe));
    }
    EXPECT_TRUE(outstanding.empty());
    EXPECT_EQ(unit.waiting(), 0u);
    for (int k = 0; k < 4; ++k) {
        if (k != 3 || lines != 0) {
            EXPECT_GT(outcomes[k], requests / 1000) << "outcome " << k << " hardly happened, seed " << seed;
        }
    }
}

TEST(IccReference, AMillionRequestsWithoutDifference) {
    compare(1, 400'000, 48, 24, 5, 150);
    compare(2, 200'000, 160, 8, 5, 400);
    compare(3, 150'000, 8, 96, 10, 300);
    compare(4, 150'000, 48, 0, 4, 100);
    compare(5, 100'000, 1, 1, 64, 6);
}

/// The port around it: nothing is lost under back-pressure, and sleeping changes nothing.
TEST(IccReference, ThePortAnswersEveryRequestOnceUnderPressure) {
    for (std::uint32_t seed = 1; seed <= 12; ++seed) {
        std::vector<std::vector<Cycle>> when[2];
        for (const bool sleep : {true, false}) {
            Sections spec = seed % 3 == 0 ? icc_only(1 + seed % 5) : icc_and_cc(1 + seed, 1 + seed % 4);
            spec.get<CoalescedCacheSpec>().hit_queue = 1 + seed % 2;
            const IccGates gates{{seed, seed % 2 == 0 ? 100u : 25u}, 1 + seed % 3, 3};
            IccBench bench(
                spec, 4, [=](std::size_t n, const Packet&) { return Cycle{20 + mix64(seed + n) % 200}; }, gates);
            Rng rng(seed);
            std::vector<std::vector<std::uint16_t>> asked(4);
            for (std::uint32_t n = 0; n < 2000; ++n) {
                const std::uint32_t sm = rng.below(4), dice = rng.below(20);
                const PacketKind kind = dice == 0 ? PacketKind::write : dice == 1 ? PacketKind::atomic : PacketKind::read;
                asked[sm].push_back(bench.ask(sm, rng.below(40), n / 2, kind, dice == 2 ? ReadFields::kOtherSpace : std::uint16_t{0}));
            }
            bench.run(80'000, sleep);
            for (std::uint32_t sm = 0; sm < 4; ++sm) {
                std::vector<std::uint16_t> answered = bench.answers(sm);
                std::vector<Cycle> times;
                for (const auto& arrival : bench.takers[sm]->taken) times.push_back(arrival.at);
                when[sleep ? 0 : 1].push_back(times);
                std::sort(answered.begin(), answered.end());
                EXPECT_EQ(answered, asked[sm]) << "SM " << sm << " seed " << seed;
            }
            EXPECT_EQ(bench.held(), 0u);
            EXPECT_GT(bench.icc("merged"), 0u);
        }
        EXPECT_EQ(when[0], when[1]) << "seed " << seed << ": sleeping changed a time";
    }
}

}  // namespace
}  // namespace mergelane::testing
