// SPDX-License-Identifier: MIT
// A WarpPool in isolation, cycle by cycle: the test specifies what warps issue and when the memory answers.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "core/link.hpp"
#include "parts/replacement.hpp"
#include "scripted.hpp"
#include "sm/warp_pool.hpp"

namespace mergelane::testing {

/// Remembers which line of the L1 was used, because a hit leaves no other trace of its address. Gives up lines in turn.
class SpyReplacement final : public Replacement {
public:
    struct Seen {
        std::uint32_t line = kNoSlot;
        bool filled = false;  ///< with something new
    };

    explicit SpyReplacement(Seen& seen) : seen_(seen) {}
    void touched(std::uint32_t line) override { seen_ = {line, false}; }
    void filled(std::uint32_t line) override { seen_ = {line, true}; }
    std::uint32_t victim(std::uint32_t first, std::uint32_t ways, const std::uint8_t* locked) override {
        for (std::uint32_t k = 0; k < ways; ++k) {
            const std::uint32_t line = first + (next_ + k) % ways;
            if (locked[line] != 0) continue;
            ++next_;
            return line;
        }
        return kNoSlot;
    }

private:
    Seen& seen_;
    std::uint32_t next_ = 0;
};

/// What the pool of a test is like: nothing in its way but what the test puts there.
struct PoolSetup {
    PoolSetup() {
        sm.shared_path = SmSpec::SharedPath::own;
        lsu.atomic_rounds = false;
        lsu.front = "warp_pool";
        l1.set_hash = "plain";
        pool.added_latency = 0;
    }

    SmSpec sm;
    LsuSpec lsu;
    L1Spec l1;
    WarpPoolSpec pool;
    std::uint32_t room = 1000;                                                              ///< for requests on their way
    std::function<Cycle(const Packet&)> answer = [](const Packet&) { return Cycle{100}; };  ///< so many cycles later
    std::function<Cycle()> make_room = [] { return Cycle{0}; };                             ///< a request that was taken leaves so late
    bool patient = true;                                                                    ///< else it is stepped in every cycle
};

class PoolBench : public MemoryListener {
public:
    static constexpr Cycle kToL1 = 3;  ///< from issue to lookup: out of the instruction queue, into the line queue, to the L1

    struct Sent {
        Cycle at;
        Packet packet;
    };
    struct Finished {
        std::uint32_t id;  ///< as issue() returned it
        std::uint32_t warp;
        Cycle ready;  ///< values can be used
    };
    /// What the selector did in the last cycle.
    struct Lookup {
        bool stepped = false;  ///< the front was
        bool happened = false;
        bool hit = false;
        Addr block = 0;
        std::uint64_t requests = 0;
    };

    explicit PoolBench(PoolSetup setup) : setup_(std::move(setup)), link_("requests", setup_.room, LinkTiming{{}, {}, 1, 1, false}) {
        domain_.add(sender_);
        domain_.add(receiver_);
        link_.connect(sender_, receiver_);
        port_.connect(link_);
        add_replacements(registry_);
        registry_.add<Replacement>("spy", "tells the test",
                                   [this](std::uint32_t, const Sections&) { return std::make_unique<SpyReplacement>(seen_); });
        setup_.l1.replacement = "spy";
        front_ = std::make_unique<WarpPool>(
            FrontContext{setup_.sm, setup_.lsu, setup_.l1, Policies(registry_, registry_.sections()), loads_, port_, shared_}, setup_.pool);
        front_->launch(0);
        block_of_.resize(std::size_t{setup_.l1.sets()} * setup_.l1.ways);
    }

    Cycle now() const { return now_; }
    bool refuses(std::uint32_t warp, OpClass op) {
        front_->comes_with_store(warp, op != OpClass::load);
        return (front_->refused() >> warp & 1) != 0;
    }
    /// Issues now, after everything else of this cycle. Returns the instruction's number.
    std::uint32_t issue(std::uint32_t warp, OpClass op, Access access) {
        EXPECT_FALSE(refuses(warp, op)) << "warp " << warp << " in cycle " << now_;
        StaticInst& inst = insts_.emplace_back();
        inst.pc = static_cast<std::uint32_t>(insts_.size() - 1);
        inst.op = op;
        inst.space = access.space;
        inst.lane_bytes = access.lane_bytes;
        inst.bypass_l1 = access.bypass_l1;
        front_->accept({&inst, &access.lanes, 0, now_, access.active, warp}, now_);
        return inst.pc;
    }
    std::uint32_t load(std::uint32_t warp, const Access& access) { return issue(warp, OpClass::load, access); }
    std::uint32_t store(std::uint32_t warp, const Access& access) { return issue(warp, OpClass::store, access); }

    /// The next cycle: replies, then the front, as in an SM.
    void tick() {
        ++now_;
        for (; !rooms_.empty() && *rooms_.begin() <= now_; rooms_.erase(rooms_.begin())) link_.release(now_, 1);
        while (!replies_.empty() && replies_.begin()->first <= now_) {
            const Packet packet = replies_.begin()->second;
            replies_.erase(replies_.begin());
            port_.answered(packet.kind, now_);
            before_reply(packet);
            front_->reply(packet, now_);
            after_reply(packet);
        }
        lookup_ = {};
        if (setup_.patient && front_->due() > now_) return;
        const std::uint64_t before = drained_, lines_before = lines_drained_, hits_before = hits_;
        seen_ = {};
        front_->step(now_);
        read_stats();
        lookup_.stepped = true;
        lookup_.happened = lines_drained_ != lines_before;
        lookup_.requests = drained_ - before;
        lookup_.hit = hits_ != hits_before;
        while (link_.has(now_ + 1)) take(link_.pop());
        if (lookup_.happened) lookup_.block = block_of_[seen_.line];
    }
    void run(Cycle cycles) {
        for (const Cycle end = now_ + cycles; now_ < end;) tick();
    }
    /// Until everything that was issued has been answered.
    void finish(Cycle limit = 100'000) {
        for (const Cycle end = now_ + limit; now_ < end && (outstanding_stores != 0 || finished.size() < loads_issued());) tick();
        EXPECT_EQ(finished.size(), loads_issued());
        EXPECT_EQ(outstanding_stores, 0);
    }

    std::uint64_t stat(std::string_view name) const {
        StatFields fields;
        front_->stats(fields, now_);
        front_->gauges(fields);
        for (const StatField& field : fields.list()) {
            if (field.name == name) return field.value;
        }
        ADD_FAILURE() << "no statistic " << name;
        return 0;
    }
    const Lookup& lookup() const { return lookup_; }
    /// Requests of loads whose registers were given their turn until the front was stepped last.
    std::uint64_t written_back() const { return written_back_; }
    const WarpPool& front() const { return *front_; }
    const PoolSetup& setup() const { return setup_; }
    std::size_t loads_issued() const {
        return static_cast<std::size_t>(
            std::count_if(insts_.begin(), insts_.end(), [](const StaticInst& inst) { return inst.op != OpClass::store; }));
    }
    Cycle ready(std::uint32_t id) const {
        for (const Finished& f : finished) {
            if (f.id == id) return f.ready;
        }
        ADD_FAILURE() << "instruction " << id << " has not finished";
        return 0;
    }

    std::vector<Sent> sent;
    std::vector<Finished> finished;
    std::int64_t outstanding_stores = 0;  ///< requests of stores that have not been acknowledged

protected:
    virtual void before_reply(const Packet&) {}
    virtual void after_reply(const Packet&) {}

    void load_finished(const Load& load, const LoadHistory*, Cycle) override {
        finished.push_back({load.inst->pc, load.warp, load.latest});
    }
    void store_split(std::uint32_t, std::uint32_t further) override { outstanding_stores += 1 + further; }
    void store_answered(std::uint32_t, Cycle) override { --outstanding_stores; }

private:
    struct End final : Component {
        using Component::Component;
        Cycle step(Cycle) override { return kNever; }
        void stats(StatFields&, Cycle) const override {}
    };

    void take(const Packet& packet) {
        if (seen_.filled && packet.kind == PacketKind::read && packet.tag < 0x8000) block_of_[seen_.line] = packet.address;
        sent.push_back({now_, packet});
        rooms_.insert(now_ + 1 + setup_.make_room());
        Packet reply = packet;
        reply.kind = packet.kind == PacketKind::read    ? PacketKind::read_reply
                     : packet.kind == PacketKind::write ? PacketKind::write_ack
                                                        : PacketKind::atomic_reply;
        replies_.emplace(now_ + setup_.answer(packet), reply);
    }
    /// What the selector did; the places of the statistics are found once, because a long test reads them in every cycle.
    void read_stats() {
        fields_.clear();
        front_->stats(fields_, now_);
        const auto value = [&](std::size_t& at, std::string_view name) {
            if (at == 0) {
                while (fields_.list()[at].name != name) ++at;
            }
            return fields_.list()[at].value;
        };
        drained_ = value(at_drained_, "load_requests_drained");
        lines_drained_ = value(at_lines_, "lines_drained");
        written_back_ = value(at_written_, "written_back");
        hits_ = value(at_hits_, "sector_hits");
    }

    PoolSetup setup_;
    Domain domain_{"bench", Clock{}};
    End sender_{"sender"}, receiver_{"receiver"};
    Link<Packet> link_;
    RequestPort port_{0, 0};
    SharedMemory shared_{setup_.sm};
    LoadTable loads_{256, *this};
    Registry registry_;
    SpyReplacement::Seen seen_;
    std::unique_ptr<WarpPool> front_;
    std::deque<StaticInst> insts_;  ///< the front keeps pointers
    std::vector<Addr> block_of_;    ///< each line of the L1
    std::multimap<Cycle, Packet> replies_;
    std::multiset<Cycle> rooms_;
    Lookup lookup_;
    StatFields fields_;
    std::size_t at_drained_ = 0, at_lines_ = 0, at_written_ = 0, at_hits_ = 0;
    std::uint64_t drained_ = 0, lines_drained_ = 0, written_back_ = 0, hits_ = 0;
    Cycle now_ = 0;
};

// Accesses of one warp, in words of 4 bytes.

inline Addr line_at(std::uint64_t number) {
    return number * 128;
}
inline Access broadcast_of(std::uint64_t line, std::uint32_t word = 0) {
    Access access;
    access.lanes = affine(line_at(line) + word * 4, 0);
    return access;
}
inline Access consecutive(std::uint64_t line) {
    Access access;
    access.lanes = affine(line_at(line));
    return access;
}
/// Each lane a line of its own.
inline Access divergent(std::uint64_t first_line, std::uint32_t lanes = kWarpLanes) {
    Access access;
    access.lanes = affine(line_at(first_line), 128);
    access.active = static_cast<std::uint32_t>(low_bits(lanes));
    return access;
}
/// Words of one line backwards: follows no pattern.
inline Access backwards(std::uint64_t line) {
    Access access;
    access.lanes = affine(line_at(line) + 124, -4);
    return access;
}

}  // namespace mergelane::testing
