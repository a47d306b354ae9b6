// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <set>

#include "cluster/icc_spec.hpp"
#include "cluster/locality_meter.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "dram/bank_meter.hpp"
#include "machines.hpp"
#include "noc/packet_coalescing_spec.hpp"
#include "nodes/dcl1_spec.hpp"
#include "run.hpp"
#include "workload/synthetic.hpp"

namespace mergelane::testing {
namespace {

TEST(ConfigHash, ChangesWithEveryField) {
    MachineSpec base = icc60_like();
    base.section<IccSpec>().on = base.section<CoalescedCacheSpec>().on = base.section<LocalitySpec>().on = true;
    base.section<DcL1Spec>().on = base.section<DramMeterSpec>().on = base.section<PacketCoalescingSpec>().on = true;
    std::set<std::string> hashes = {config_hash(base)};
    MachineSpec probe = base;
    const std::size_t fields = probe.fields().list().size();
    EXPECT_GT(fields, 100u);
    for (std::size_t i = 0; i < fields; ++i) {
        MachineSpec changed = base;
        const SpecFields all = changed.fields();
        const SpecField& field = all.list()[i];
        switch (field.kind) {
            case SpecField::Kind::integer: ++*field.integer; break;
            case SpecField::Kind::boolean: *field.boolean = !*field.boolean; break;
            case SpecField::Kind::integers: field.integers->push_back(7); break;
            default: field.enumerator != nullptr ? * field.enumerator ^= 1 : (field.text->push_back('x'), 0);
        }
        EXPECT_TRUE(hashes.insert(config_hash(changed)).second) << field.key;
    }
}

TEST(ConfigHash, WhatIsSwitchedOffDoesNotCount) {
    const MachineSpec off = icc60_like();
    MachineSpec changed = off;
    changed.section<IccSpec>().entries = 7;
    changed.section<CoalescedCacheSpec>().replacement = "fifo";
    EXPECT_EQ(config_hash(changed), config_hash(off));
    changed.section<IccSpec>().on = true;
    MachineSpec on = off;
    on.section<IccSpec>().on = true;
    EXPECT_NE(config_hash(on), config_hash(off));
    EXPECT_NE(config_hash(changed), config_hash(on)) << "the entries count now";
    on.section<IccSpec>().entries = 7;
    EXPECT_EQ(config_hash(changed), config_hash(on)) << "and the coalesced cache still does not";
    // Without an L1 its line and sector sizes still shape requests: l1.enabled is a value like any other.
    MachineSpec bare = off;
    bare.l1.enabled = false;
    MachineSpec wider = bare;
    wider.l1.miss_queue += 1;
    EXPECT_NE(config_hash(wider), config_hash(bare));
}

TEST(ConfigHash, SwitchesReachSectionsBelowAndNoNeighbours) {
    std::uint32_t a = 1, b = 2, c = 3;
    SpecFields f(built_in());
    f.section("x.pool");
    f.switched_by(false);
    f.integer("a", a, 0, 9, "things", "below the switch");
    f.section("x.pool.inner");
    f.integer("b", b, 0, 9, "things", "below it as well");
    f.section("x.pool2");
    f.integer("c", c, 0, 9, "things", "a neighbour");
    EXPECT_FALSE(f.counts(f.list()[0]));
    EXPECT_FALSE(f.counts(f.list()[1]));
    EXPECT_TRUE(f.counts(f.list()[2]));
}

TEST(ConfigHash, ANeutralValueDoesNotCount) {
    std::string front = "in_order";
    SpecFields f(built_in());
    f.section("lsu");
    f.choice("front", front, {"in_order", "warp_pool"}, "a key that came later");
    EXPECT_TRUE(f.counts(f.list()[0]));
    f.neutral("in_order");
    EXPECT_FALSE(f.counts(f.list()[0]));
    front = "warp_pool";
    EXPECT_TRUE(f.counts(f.list()[0]));
}

TEST(ConfigHash, IsStableAndIgnoresTheName) {
    MachineSpec a = icc60_like();
    const std::string hash = config_hash(a);
    a.name = "renamed";
    EXPECT_EQ(config_hash(a), hash);
    EXPECT_EQ(hash.size(), 32u);
    EXPECT_EQ(run_on(a, WarpScript().use(0)).config_hash, hash);
}

TEST(ConfigHash, FieldsHaveUniqueKeysUnitsAndMeanings) {
    MachineSpec s;
    std::set<std::string> keys;
    const SpecFields all = s.fields();
    for (const SpecField& field : all.list()) {
        EXPECT_TRUE(keys.insert(field.key).second) << field.key;
        EXPECT_FALSE(field.meaning.empty()) << field.key;
        if (field.kind == SpecField::Kind::integer) {
            EXPECT_FALSE(field.unit.empty()) << field.key;
            EXPECT_LE(field.min, *field.integer) << field.key;
            EXPECT_GE(field.max, *field.integer) << field.key;
        }
        if (field.kind == SpecField::Kind::choice) {
            EXPECT_NE(std::find(field.choices.begin(), field.choices.end(), field.value()), field.choices.end()) << field.key;
        }
    }
}

TEST(MachineSpec, UnloadedSumIsUnchangedByBorrowing) {
    // Latency moved from the L2's pipeline onto short links must not change the round trip.
    for (const std::uint32_t credit : {1u, 4u, 8u, 20u, 100u, 1000u}) {
        MachineSpec s = icc60_like(2);
        s.noc.credit_latency = credit;
        s.noc.input_buffer_flits = 4096;
        s.cluster.response_fifo = 1024;
        s.l2.dram_queue = 4096;
        valid(s);
        const MachineTiming t(s);
        EXPECT_EQ(t.sm_to_port + t.core.time_of(1) + t.request_in + t.request_out + t.reply_in + t.reply_out + t.port_to_sm,
                  Time{2} + 8 + 2 + 120 + 2 + 8 + 2)
            << "credit latency " << credit;
        EXPECT_GT(t.window, 0u);
        for (const Time cut : {t.request_in, t.request_out, t.reply_in, t.reply_out, t.to_dram, t.from_dram, t.credit, t.dispatch})
            EXPECT_LE(t.window, cut);
    }
}

struct BadField {
    const char* key;
    void (*change)(MachineSpec&);
};

TEST(MachineSpec, ContradictionsNameTheFieldToLookAt) {
    const BadField bad[] = {
        {"lsu.block_bytes", [](MachineSpec& s) { s.lsu.block_bytes = 96; }},
        {"l1.sector_bytes", [](MachineSpec& s) { s.l1.sector_bytes = 32; }},
        {"l2.line_bytes", [](MachineSpec& s) { s.l2.line_bytes = 64, s.l2.sector_bytes = 64; }},
        {"l1.size_kib", [](MachineSpec& s) { s.l1.ways = 5; }},
        {"l2.size_kib", [](MachineSpec& s) { s.l2.ways = 7; }},
        {"sm.cta_slots", [](MachineSpec& s) { s.sm.warps = 16; }},
        {"units.alu",
         [](MachineSpec& s) {
             s.sm.sub_cores = true, s.sm.units = {3, 2, 2, 2, 2};
         }},
        {"l1.unified_kib", [](MachineSpec& s) { s.l1.unified_kib = 8; }},
        {"l1.carveouts_kib",
         [](MachineSpec& s) {
             s.l1.carveouts_kib = {8, 0};
         }},
        {"l1.mshrs", [](MachineSpec& s) { s.l1.mshrs = 4096; }},
        {"l2.output_queue", [](MachineSpec& s) { s.l2.output_queue = 4; }},
        {"dram.bus_bytes", [](MachineSpec& s) { s.dram.bus_bytes = 48; }},
        {"dram.bank_groups", [](MachineSpec& s) { s.dram.bank_groups = 5; }},
        {"dram.timing.tRC", [](MachineSpec& s) { s.dram.timing.tRC = 39; }},
        {"dram.timing.tCCDL", [](MachineSpec& s) { s.dram.timing.tCCD = 4; }},
        {"dram.address_map", [](MachineSpec& s) { s.dram.address_map = "RBBBCCCCSSSSSSS"; }},
        {"noc.input_buffer_flits", [](MachineSpec& s) { s.noc.input_buffer_flits = 15; }},
        {"l2.dram_queue", [](MachineSpec& s) { s.l2.dram_queue = 5; }},
    };
    for (const BadField& b : bad) {
        MachineSpec s = icc60_like();
        b.change(s);
        const std::vector<SpecProblem> problems = check(s);
        ASSERT_FALSE(problems.empty()) << b.key;
        EXPECT_EQ(problems.front().keys.front(), b.key) << problems.front().text;
        EXPECT_THROW(Machine{s}, InputError) << b.key;
    }
}

TEST(MachineSpec, WhatTheCheckAcceptsCanMoveTheLongestPacket) {
    // Room sized in packets but counted in flits would never take a whole-line write over narrow flits.
    MachineSpec s = icc60_like(1);
    s.noc.flit_bytes = 8;  // a whole-line write has 17 flits
    s.noc.credit_latency = 1;
    s.noc.traversal_latency = 1;
    s.noc.ejection_latency = 1;
    s.l2.latency = 1;
    s.l2.input_queue = 1;
    s.cluster.response_fifo = 8;
    if (!check(s).empty()) return;  // refusing it is just as good
    Access line;
    EXPECT_NO_THROW(run_on(s, WarpScript().store(line).fence().use(0)));
}

TEST(Text, SuggestsTheNearestWord) {
    const std::string_view known[] = {"round_robin", "greedy", "clustered"};
    EXPECT_EQ(nearest("greddy", known), "greedy");
    EXPECT_EQ(nearest("rond_robin", known), "round_robin");
    EXPECT_EQ(nearest("zzzzzzzzzz", known), "");
    EXPECT_EQ(edit_distance("abcd", "abdc"), 1u) << "a swap is one edit";
    EXPECT_EQ(edit_distance("", "abc"), 3u);
    EXPECT_EQ(unknown_word("cta scheduler", "greddy", known),
              "unknown cta scheduler 'greddy'; did you mean 'greedy'? known: round_robin, greedy, clustered");
}

}  // namespace
}  // namespace mergelane::testing
