// SPDX-License-Identifier: MIT
// The contract of every component: under random back-pressure from its neighbours it drains completely, loses and duplicates nothing, and
// being stepped every cycle instead of only on request changes nothing.
//
// A new component adds one Rig: how to build it between mocks, and what must have come out in the end.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <sstream>

#include "cluster/port.hpp"
#include "crossbar_bench.hpp"
#include "dispatch/dispatcher.hpp"
#include "dram/channel.hpp"
#include "dram/detailed_channel.hpp"
#include "l2_bench.hpp"
#include "machines.hpp"
#include "network_bench.hpp"
#include "random_scripts.hpp"
#include "sm/sm.hpp"

namespace mergelane::testing {
namespace {

constexpr Cycle kLongEnough = 120'000;

/// What a run left behind, comparable.
struct Outcome {
    std::string counters;                ///< of the component, with cycle-valued ones
    std::vector<std::string> delivered;  ///< per neighbour: what arrived when
    std::uint64_t held = 0;
    std::uint64_t sent = 0;
    std::uint64_t received = 0;

    bool operator==(const Outcome& other) const { return counters == other.counters && delivered == other.delivered; }
};

std::string counters(const Component& component, Cycle now) {
    StatFields fields;
    component.stats(fields, now);
    std::ostringstream text;
    for (const StatField& field : fields.list()) text << field.group << '.' << field.name << '=' << field.value << '\n';
    return text.str();
}

std::string listing(const Taker<Packet>& taker) {
    std::ostringstream text;
    for (const auto& a : taker.taken)
        text << a.at << ':' << int{a.value.sm} << '/' << a.value.source << '/' << a.value.tag << '/' << static_cast<int>(a.value.kind)
             << ' ';
    return text.str();
}

struct Pressure {
    std::uint64_t seed;
    std::uint32_t in_percent;
    std::uint32_t out_percent;
};

using Rig = std::function<Outcome(const Pressure&, bool sleep)>;

// --- cluster port

Outcome run_port(const Pressure& pressure, bool sleep) {
    TestBench bench;
    ClusterSpec spec;
    spec.injection_buffer = static_cast<std::uint32_t>(1 + pressure.seed % 3);
    const AddressMap map(3, 1, 256, "xor_fold");
    const PacketSizes sizes{32, 8, 128};
    auto& port = bench.add<ClusterPort>("port", spec, map, sizes);
    ClusterPort::Links links;
    std::vector<Feeder<Packet>*> feeders;
    std::vector<Taker<Packet>*> takers;
    Rng rng(pressure.seed);
    for (std::uint32_t s = 0; s < 4; ++s) {
        links.from_sms.push_back(&bench.loose_link<Packet>("up", 2));
        links.to_sms.push_back(&bench.loose_link<Packet>("down", 2));
        feeders.push_back(&bench.add<Feeder<Packet>>("sm", *links.from_sms[s], Gate{pressure.seed + s, pressure.in_percent}));
        takers.push_back(&bench.add<Taker<Packet>>("sm", *links.to_sms[s], Gate{pressure.seed + 50 + s, pressure.out_percent}));
        links.from_sms[s]->connect(*feeders[s], port);
        links.to_sms[s]->connect(port, *takers[s]);
        for (std::uint16_t n = 0; n < 150; ++n) {
            Packet p;
            p.address = rng.next() % 100'000;
            p.sm = s & Packet::kSmMask;
            p.tag = n;
            p.kind = rng.below(2) == 0 ? PacketKind::read : PacketKind::write;
            if (p.kind == PacketKind::write) p.bytes.set_range(rng.below(64), 64);
            feeders[s]->items.push_back({p});
        }
    }
    links.to_networks.push_back(&bench.loose_link<Packet>("out", 6, 3, 4));
    links.from_networks.push_back(&bench.loose_link<Packet>("in", 10, 3, 4));
    auto& network_in = bench.add<Feeder<Packet>>("network", *links.from_networks.front(), Gate{pressure.seed + 90, pressure.in_percent});
    takers.push_back(&bench.add<Taker<Packet>>("network", *links.to_networks.front(), Gate{pressure.seed + 91, pressure.out_percent}));
    links.to_networks.front()->connect(port, *takers.back());
    links.from_networks.front()->connect(network_in, port);
    for (std::uint16_t n = 0; n < 400; ++n) {
        Packet p;
        p.sm = rng.below(4) & Packet::kSmMask;
        p.tag = n;
        p.kind = PacketKind::read_reply;
        network_in.items.push_back({p, 5});
    }
    port.connect(links);
    bench.run(kLongEnough, sleep);
    Outcome outcome{counters(port, bench.now()), {}, port.held(), network_in.sent(), 0};
    for (const auto* feeder : feeders) outcome.sent += feeder->sent();
    for (const auto* taker : takers) {
        outcome.delivered.push_back(listing(*taker));
        outcome.received += taker->taken.size();
    }
    EXPECT_EQ(outcome.sent, 4u * 150 + 400);
    return outcome;
}

// --- crossbars

Rig crossbar_rig(const char* queueing, const char* arbiter, std::uint32_t iterations) {
    return [=](const Pressure& pressure, bool sleep) {
        NetworkSpec spec = noc(queueing, arbiter, iterations);
        spec.input_buffer_flits = 12;
        // So little room behind the outputs that the arbiter's choice often has to wait for it, while its input may be
        // taken by another output.
        CrossbarBench bench(5, 4, spec, Gate{pressure.seed, pressure.in_percent}, Gate{pressure.seed, pressure.out_percent}, 2);
        Rng rng(pressure.seed);
        for (std::uint32_t i = 0; i < 5; ++i) {
            for (int n = 0; n < 250; ++n) bench.offer(i, rng.below(4), rng.below(2) == 0 ? 1 : 5);
        }
        bench.run(kLongEnough, sleep);
        Outcome outcome{counters(*bench.crossbar, bench.now()), {}, bench.crossbar->held(), 0, bench.delivered()};
        for (const auto* feeder : bench.feeders) outcome.sent += feeder->sent();
        for (const auto* taker : bench.takers) outcome.delivered.push_back(listing(*taker));
        EXPECT_EQ(outcome.sent, 5u * 250);
        return outcome;
    };
}

// --- networks of other kinds

Rig network_rig(const char* kind, const char* queueing, const char* arbiter, std::uint32_t links) {
    return [=](const Pressure& pressure, bool sleep) {
        NetworkSpec spec = noc(queueing, arbiter, 2);
        spec.kind = kind;
        spec.input_buffer_flits = 7;  // one long packet and a little: room that is too little for one may do for another
        spec.stage_inputs = 3;
        spec.stage_links = links;
        NetworkBench bench(7, 4, spec, Gate{pressure.seed, pressure.in_percent}, Gate{pressure.seed, pressure.out_percent}, 2);
        Rng rng(pressure.seed);
        for (std::uint32_t i = 0; i < 7; ++i) {
            for (int n = 0; n < 150; ++n) bench.offer(i, rng.below(4), rng.below(2) == 0 ? 1 : 5);
        }
        bench.run(kLongEnough, sleep);
        Outcome outcome{{}, {}, bench.wiring.held("request network"), bench.sent(), bench.delivered()};
        for (const Wiring::Part& part : bench.wiring.parts()) outcome.counters += counters(*part.component, bench.now());
        for (const auto& taker : bench.takers) outcome.delivered.push_back(listing(*taker));
        EXPECT_EQ(outcome.sent, 7u * 150);
        return outcome;
    };
}

// --- L2 slice

Rig slice_rig(std::uint32_t sector_bytes, std::uint32_t output_queue, std::uint32_t merges, std::uint32_t mshrs, std::uint32_t dram_room) {
    return [=](const Pressure& pressure, bool sleep) {
        L2Bench bench(sector_bytes, output_queue, merges, Gate{pressure.seed + 1, pressure.out_percent},
                      Gate{pressure.seed + 2, pressure.in_percent}, mshrs, dram_room, 6);
        Rng rng(pressure.seed);
        for (std::uint32_t n = 0; n < 600; ++n) {
            const Addr address = Addr{rng.below(200)} * 128 + rng.below(128 / sector_bytes) * sector_bytes;
            const auto first = static_cast<std::uint32_t>(address % 128);
            switch (rng.below(4)) {
                case 0: bench.request(PacketKind::write, address, n, 0, first, 1 + rng.below(32)); break;
                case 1: bench.request(PacketKind::atomic, address, n, 0, first, 4); break;
                default: bench.request(PacketKind::read, address, n);
            }
        }
        bench.run(kLongEnough, sleep);
        Outcome outcome{counters(*bench.slice, bench.now()),
                        {listing(*bench.replies)},
                        bench.slice->held(),
                        bench.feeder->sent(),
                        bench.replies->taken.size()};
        std::map<std::uint32_t, int> answers;
        for (const auto& a : bench.replies->taken) ++answers[a.value.tag];
        EXPECT_EQ(answers.size(), 600u);
        for (const auto& [tag, count] : answers) EXPECT_EQ(count, 1) << "request " << tag;
        EXPECT_EQ(bench.slice->mshrs_in_use(), 0u);
        return outcome;
    };
}

// --- DRAM channel

Rig channel_rig(const char* scheduler, std::uint32_t queue, bool hbm, const DramControllerSpec& controller = {}) {
    return [=](const Pressure& pressure, bool sleep) {
        DramSpec spec = hbm ? v100_like().dram : gtx480_like().dram;
        spec.scheduler = scheduler;
        spec.queue = queue;
        Registry registry;
        add_request_orders(registry);
        Sections sections = registry.sections();
        sections.get<DramControllerSpec>() = controller;
        const Policies policies(registry, sections);
        TestBench bench;
        MemoryChannel& channel = controller.enabled() ? static_cast<MemoryChannel&>(bench.add<DetailedChannel>("channel", spec, policies))
                                                      : bench.add<DramChannel>("channel", spec, policies);
        std::vector<Link<DramRequest>*> in, out;
        std::vector<Feeder<DramRequest>*> feeders;
        std::vector<Taker<DramRequest>*> takers;
        Rng rng(pressure.seed);
        std::uint64_t reads = 0;
        Outcome outcome;
        for (std::uint32_t s = 0; s < 3; ++s) {
            in.push_back(&bench.loose_link<DramRequest>("in", 3, 2, 2));
            out.push_back(&bench.loose_link<DramRequest>("out", 512));
            feeders.push_back(&bench.add<Feeder<DramRequest>>("slice", *in[s], Gate{pressure.seed + s, pressure.in_percent}));
            takers.push_back(&bench.add<Taker<DramRequest>>("slice", *out[s], Gate{pressure.seed + 9 + s, pressure.out_percent}));
            in[s]->connect(*feeders[s], channel);
            out[s]->connect(channel, *takers[s]);
            for (std::uint16_t n = 0; n < 300; ++n) {
                DramRequest r;
                r.address = Addr{rng.below(2000)} * 128;
                r.sectors = 1 + rng.below(15);
                r.tag = n;
                r.slice = static_cast<std::uint8_t>(s);
                r.write = rng.below(3) == 0;
                reads += r.write ? 0 : 1;
                feeders[s]->items.push_back({r});
            }
        }
        channel.connect(in, out);
        bench.run(kLongEnough, sleep);
        outcome.counters = counters(channel, bench.now());
        outcome.held = channel.held();
        outcome.sent = reads;
        for (std::uint32_t s = 0; s < 3; ++s) {
            EXPECT_EQ(feeders[s]->held(), 0u);
            std::ostringstream text;
            std::map<std::uint32_t, int> answers;
            for (const auto& a : takers[s]->taken) {
                text << a.at << ':' << a.value.tag << ' ';
                EXPECT_EQ(++answers[a.value.tag], 1) << "slice " << s << " tag " << a.value.tag;
                EXPECT_FALSE(feeders[s]->items[a.value.tag].value.write) << "a write was answered";
            }
            outcome.delivered.push_back(text.str());
            outcome.received += takers[s]->taken.size();
        }
        return outcome;
    };
}

/// With everything that a detailed controller does on its own.
DramControllerSpec busy_controller(DramControllerSpec::Refresh refresh, DramControllerSpec::Page page) {
    DramControllerSpec c;
    c.on = true;
    c.queue = 16, c.write_queue = 16, c.write_high = 12, c.write_low = 4;
    c.refresh = refresh, c.page = page, c.refresh_postpone = 2;
    c.tFAW = 30, c.tREFI = 3000, c.tRFC = 100, c.tRFCpb = 40, c.tRREFD = 8;
    return c;
}

// --- SM

/// Answers the requests of an SM some cycles later, now and then not at all for a while.
class MockMemory final : public Component {
public:
    MockMemory(std::string name, Link<Packet>& in, Link<Packet>& out, Gate in_gate, Gate out_gate)
        : Component(std::move(name)), in_(in), out_(out), in_gate_(in_gate), out_gate_(out_gate) {}
    Cycle step(Cycle now) override {
        if (now >= next_free_) {
            next_free_ = now + 1;
            if (in_gate_.open(now) && in_.has(now)) {
                queue_.push_back({now + 20 + mix64(now) % 60, in_.pop_and_release(now)});
                ++requests;
            }
            if (out_gate_.open(now) && !queue_.empty() && queue_.front().at <= now && out_.can_send(now, 1)) {
                Packet reply = queue_.front().value;
                reply.kind = reply.kind == PacketKind::read    ? PacketKind::read_reply
                             : reply.kind == PacketKind::write ? PacketKind::write_ack
                                                               : PacketKind::atomic_reply;
                out_.send(now, reply);
                queue_.pop_front();
            }
        }
        Cycle next = kNever;
        if (in_.head_arrival() != kNever) next = in_gate_.next_open(std::max(in_.head_arrival(), now + 1));
        if (!queue_.empty()) next = std::min(next, out_gate_.next_open(std::max(queue_.front().at, now + 1)));
        return next;
    }
    void stats(StatFields&, Cycle) const override {}
    std::uint64_t held() const override { return queue_.size(); }

    std::uint64_t requests = 0;

private:
    struct Waiting {
        Cycle at;
        Packet value;
    };
    Link<Packet>& in_;
    Link<Packet>& out_;
    Gate in_gate_, out_gate_;
    std::deque<Waiting> queue_;
    Cycle next_free_ = 0;
};

Rig sm_rig(MachineSpec (*machine)(), bool tiny) {
    return [=](const Pressure& pressure, bool sleep) {
        MachineSpec spec = machine();
        if (tiny) spec = with_tiny_buffers(spec);
        std::vector<CtaScript> programs;
        for (std::uint32_t c = 0; c < 6; ++c) programs.push_back(random_cta(pressure.seed * 10 + c, {}));
        const ScriptedKernel kernel(programs, 12);
        TestBench bench;
        auto& sm = bench.add<Sm>("sm", spec.sm, spec.lsu, spec.l1, 0, 0);
        auto& work = bench.loose_link<CtaMessage>("work", 64, 4, 4);
        auto& done = bench.loose_link<CtaMessage>("done", 64, 4, 4);
        auto& requests = bench.loose_link<Packet>("requests", spec.l1.miss_queue);
        auto& replies = bench.loose_link<Packet>("replies", 2);
        auto& dispatcher = bench.add<Feeder<CtaMessage>>("dispatcher", work);
        auto& finished = bench.add<Taker<CtaMessage>>("dispatcher", done);
        auto& memory = bench.add<MockMemory>("memory", requests, replies, Gate{pressure.seed + 3, pressure.out_percent},
                                             Gate{pressure.seed + 4, pressure.in_percent});
        work.connect(dispatcher, sm);
        done.connect(sm, finished);
        requests.connect(sm, memory);
        replies.connect(memory, sm);
        sm.connect({&work, &done, &requests, &replies});
        sm.launch(kernel, 12, 0);
        for (std::uint64_t c = 0; c < 12; ++c) dispatcher.items.push_back({CtaMessage{c}, 1, c * 150});
        bench.run(kLongEnough, sleep);
        Outcome outcome{counters(sm, bench.now()), {}, sm.held(), 12, finished.taken.size()};
        std::ostringstream text;
        for (const auto& f : finished.taken) text << f.at << ':' << f.value.cta << ' ';
        outcome.delivered.push_back(text.str());
        EXPECT_EQ(memory.held(), 0u);
        EXPECT_EQ(stat_of(sm, "requests_sent"), memory.requests);
        EXPECT_EQ(gauge_of(sm, "l1", "mshrs"), 0u);
        return outcome;
    };
}

// --- dispatcher

/// Runs CTAs for a while, as an SM would.
class MockSm final : public Component {
public:
    MockSm(std::string name, Link<CtaMessage>& in, Link<CtaMessage>& out) : Component(std::move(name)), in_(in), out_(out) {}
    Cycle step(Cycle now) override {
        while (in_.has(now)) {
            const CtaMessage cta = in_.pop_and_release(now);
            running_.push_back({now + 5 + mix64(cta.cta) % 90, cta});
            ran.push_back(cta.cta);
            most = std::max(most, running_.size());
        }
        for (std::size_t i = 0; i < running_.size();) {
            if (running_[i].first > now) {
                ++i;
                continue;
            }
            out_.can_send(now, 1);
            out_.send(now, running_[i].second);
            running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
        }
        Cycle next = in_.head_arrival();
        for (const auto& [end, cta] : running_) next = std::min(next, end);
        return next;
    }
    void stats(StatFields&, Cycle) const override {}
    std::vector<std::uint64_t> ran;
    std::size_t most = 0;

private:
    Link<CtaMessage>& in_;
    Link<CtaMessage>& out_;
    std::vector<std::pair<Cycle, CtaMessage>> running_;
};

Outcome run_dispatcher(const Pressure& pressure, bool sleep) {
    TestBench bench;
    DispatchSpec spec;
    auto& dispatcher = bench.add<Dispatcher>("dispatcher", spec, 3, 2);
    std::vector<Link<CtaMessage>*> to, from;
    std::vector<MockSm*> sms;
    const auto contexts = static_cast<std::uint32_t>(1 + pressure.seed % 4);
    for (std::uint32_t s = 0; s < 6; ++s) {
        to.push_back(&bench.loose_link<CtaMessage>("to", 2 * contexts + 2, 16, 16));
        from.push_back(&bench.loose_link<CtaMessage>("from", 2 * contexts + 2, 16, 16));
        sms.push_back(&bench.add<MockSm>("sm", *to[s], *from[s]));
        to[s]->connect(dispatcher, *sms[s]);
        from[s]->connect(*sms[s], dispatcher);
    }
    dispatcher.connect(to, from);
    dispatcher.launch({10, 310, contexts, 40});
    bench.run(kLongEnough, sleep);
    Outcome outcome{counters(dispatcher, bench.now()), {}, dispatcher.held(), 300, 0};
    std::map<std::uint64_t, int> runs;
    for (const MockSm* sm : sms) {
        std::ostringstream text;
        for (const std::uint64_t cta : sm->ran) {
            text << cta << ' ';
            EXPECT_EQ(++runs[cta], 1) << "CTA " << cta;
        }
        EXPECT_LE(sm->most, contexts);
        outcome.delivered.push_back(text.str());
        outcome.received += sm->ran.size();
    }
    EXPECT_TRUE(dispatcher.finished());
    outcome.delivered.push_back(std::to_string(dispatcher.finished_at()));
    return outcome;
}

struct NamedRig {
    const char* name;
    Rig rig;
};

const std::vector<NamedRig>& rigs() {
    static const std::vector<NamedRig> list = {
        {"cluster_port", run_port},
        {"crossbar_fifo_round_robin", crossbar_rig("fifo", "round_robin", 1)},
        {"crossbar_fifo_islip", crossbar_rig("fifo", "islip", 1)},
        {"crossbar_voq_round_robin", crossbar_rig("voq", "round_robin", 1)},
        {"crossbar_voq_islip", crossbar_rig("voq", "islip", 1)},
        {"crossbar_voq_islip_3", crossbar_rig("voq", "islip", 3)},
        {"two_stage_fifo_round_robin", network_rig("two_stage", "fifo", "round_robin", 1)},
        {"two_stage_fifo_islip", network_rig("two_stage", "fifo", "islip", 2)},
        {"two_stage_voq_round_robin", network_rig("two_stage", "voq", "round_robin", 2)},
        {"two_stage_voq_islip", network_rig("two_stage", "voq", "islip", 3)},
        {"output_queues", network_rig("output_queues", "fifo", "round_robin", 1)},
        {"mesh", network_rig("mesh", "fifo", "round_robin", 1)},
        {"l2_slice", slice_rig(128, 16, 8, 16, 8)},
        {"l2_slice_sectored", slice_rig(32, 8, 4, 8, 4)},
        {"l2_slice_tiny", slice_rig(128, 1, 1, 1, 2)},
        {"l2_slice_output_as_merges", slice_rig(128, 4, 4, 2, 2)},
        {"dram_fr_fcfs", channel_rig("fr_fcfs", 16, false)},
        {"dram_fifo", channel_rig("fifo", 64, false)},
        {"dram_fifo_serial", channel_rig("fifo_serial", 64, false)},
        {"dram_banked_fifo", channel_rig("banked_fifo", 64, false)},
        {"dram_banked_fifo_hbm2", channel_rig("banked_fifo", 64, true)},
        {"dram_hbm2_short_queue", channel_rig("fr_fcfs", 2, true)},
        {"dram_detailed",
         channel_rig("fr_fcfs_cap", 64, false, busy_controller(DramControllerSpec::Refresh::all_bank, DramControllerSpec::Page::adaptive))},
        {"dram_detailed_hbm2",
         channel_rig("fr_fcfs_bank", 64, true, busy_controller(DramControllerSpec::Refresh::per_bank, DramControllerSpec::Page::closed))},
        {"sm_whole_lines", sm_rig([] { return icc60_like(1); }, false)},
        {"sm_sectored", sm_rig(v100_like, false)},
        {"sm_tiny", sm_rig([] { return icc60_like(1); }, true)},
        {"sm_sectored_tiny", sm_rig(v100_like, true)},
        {"dispatcher", run_dispatcher},
    };
    return list;
}

class Contract : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Components, Contract, ::testing::Range<std::size_t>(0, 23),
                         [](const auto& rig) { return std::string(rigs()[rig.param].name); });

TEST(Contract, CoversEveryRig) {
    EXPECT_EQ(rigs().size(), 29u);
}

constexpr Pressure kPressures[] = {{1, 100, 100}, {2, 60, 30}, {3, 15, 80}, {4, 30, 10}, {5, 100, 15}, {6, 20, 100}};

TEST_P(Contract, DrainsToEmptyUnderBackPressure) {
    for (const Pressure& pressure : kPressures) {
        const Outcome outcome = rigs()[GetParam()].rig(pressure, true);
        EXPECT_EQ(outcome.held, 0u) << "seed " << pressure.seed;
        EXPECT_EQ(outcome.received, outcome.sent) << "seed " << pressure.seed;
    }
}

TEST_P(Contract, EarlyWakesChangeNothing) {
    for (const Pressure& pressure : kPressures) {
        const Outcome asked = rigs()[GetParam()].rig(pressure, true);
        const Outcome always = rigs()[GetParam()].rig(pressure, false);
        EXPECT_EQ(asked.counters, always.counters) << "seed " << pressure.seed;
        EXPECT_TRUE(asked == always) << "seed " << pressure.seed << ": something arrived at another time";
    }
}

}  // namespace
}  // namespace mergelane::testing
