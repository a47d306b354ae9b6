// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <set>

#include "cluster/icc_spec.hpp"
#include "cluster/locality_meter.hpp"
#include "cluster/network_ports_spec.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "dram/bank_meter.hpp"
#include "dram/controller_spec.hpp"
#include "dram/reuse_meter.hpp"
#include "gpc/gpc_spec.hpp"
#include "l2/halves_spec.hpp"
#include "l2/request_coalescer_spec.hpp"
#include "l2/residency_spec.hpp"
#include "machines.hpp"
#include "noc/packet_coalescing_spec.hpp"
#include "nodes/dcl1_spec.hpp"
#include "run.hpp"
#include "sim/declared.hpp"
#include "sim/process_spec.hpp"
#include "sm/hopper_spec.hpp"
#include "sm/warp_pool_spec.hpp"
#include "workload/synthetic.hpp"

namespace mergelane::testing {
namespace {

/// A change of a value changes the hash if the value is part of the machine, and only then.
void expect_active_fields_count(const MachineSpec& base, std::set<std::string>& seen) {
    std::set<std::string> hashes = {config_hash(base)};
    MachineSpec probe = base;
    const std::size_t fields = probe.fields().list().size();
    EXPECT_GT(fields, 100u);
    for (std::size_t i = 0; i < fields; ++i) {
        MachineSpec changed = base;
        const SpecFields all = changed.fields();
        const SpecField& field = all.list()[i];
        // Another choice is another machine, with other fields.
        if (field.kind == SpecField::Kind::choice && field.text != nullptr) continue;
        if (field.active) seen.insert(field.key);
        switch (field.kind) {
            case SpecField::Kind::integer: ++*field.integer; break;
            case SpecField::Kind::boolean: *field.boolean = !*field.boolean; break;
            case SpecField::Kind::integers: field.integers->push_back(7); break;
            default: field.enumerator != nullptr ? * field.enumerator ^= 1 : (field.text->push_back('x'), 0);
        }
        const bool counts = field.active || changed.fields().list()[i].active;  // before or, if it switches something on, after
        EXPECT_EQ(hashes.insert(config_hash(changed)).second, counts) << field.key;
    }
}

TEST(ConfigHash, ChangesWithEveryFieldOfTheMachine) {
    std::set<std::string> seen;
    expect_active_fields_count(icc60_like(), seen);
    const std::size_t plain = seen.size();
    MachineSpec all_on = icc60_like();
    all_on.section<IccSpec>().on = all_on.section<CoalescedCacheSpec>().on = all_on.section<LocalitySpec>().on = true;
    all_on.section<DcL1Spec>().on = all_on.section<DramMeterSpec>().on = all_on.section<PacketCoalescingSpec>().on = true;
    all_on.section<DramControllerSpec>().on = all_on.section<ReuseMeterSpec>().on = true;
    all_on.section<RequestCoalescerSpec>().on = all_on.section<HalvesSpec>().on = all_on.section<ResidencySpec>().on = true;
    all_on.section<ClusterSizesSpec>().sizes = {4, 2};
    all_on.section<ClusterWidthSpec>().packets_per_cycle = 2;
    all_on.section<NetworkPortsSpec>().ports = 2;
    all_on.section<ProcessSpec>().process_nm = 7;
    all_on.section<TmaSpec>().blocks_per_cycle = 2;
    all_on.section<WgmmaSpec>().rate = 512;
    all_on.section<GpcSpec>().on = true;
    all_on.dram.bank_hash = true;
    all_on.dram.scheduler = "fr_fcfs_cap";
    all_on.lsu.front = "warp_pool";
    all_on.noc.kind = "mesh";
    all_on.dispatch.transform = "agents";
    expect_active_fields_count(all_on, seen);
    EXPECT_GT(seen.size(), plain + 40);
    all_on.lsu.front = "banked";
    all_on.dispatch.transform = "redirect";
    expect_active_fields_count(all_on, seen);
    all_on.lsu.front = "mrpb";
    expect_active_fields_count(all_on, seen);
    for (const SpecField& field : all_on.fields().list()) {
        const bool by_name = field.kind == SpecField::Kind::choice && field.text != nullptr;
        EXPECT_TRUE(by_name || field.key.ends_with(".meter.enabled") || seen.contains(field.key)) << field.key << " is never used";
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

TEST(ConfigHash, KeysBelongToAChoiceUntilTheNextSection) {
    std::string kind = "plain";
    std::uint32_t a = 1, b = 2, c = 3;
    const auto active = [&] {
        SpecFields f(built_in());
        f.section("x.pool");
        f.belongs_to("x.kind", {"pool", "pond"});
        f.integer("a", a, 0, 9, "things", "of the pool");
        f.belongs_to("x.kind", {"pond"});
        f.integer("b", b, 0, 9, "things", "of the pond alone");
        f.section("x");
        f.integer("c", c, 0, 9, "things", "a neighbour");
        f.choice("kind", kind, {"plain", "pool", "pond"}, "a choice");
        f.settle();
        std::string list;
        for (const SpecField& field : f.list()) list += field.active ? field.key.back() : '-';
        return list;
    };
    EXPECT_EQ(active(), "--cd");
    kind = "pool";
    EXPECT_EQ(active(), "a-cd");
    kind = "pond";
    EXPECT_EQ(active(), "abcd");
    SpecFields f(built_in());
    f.section("x");
    f.belongs_to("x.knd", {"pool"});
    f.integer("a", a, 0, 9, "things", "of nothing");
    EXPECT_THROW(f.settle(), std::logic_error);
}

TEST(MachineSpec, SectionsAreActiveWithTheirChoice) {
    const auto has_hardware = [](const MachineSpec& s) { return !structures_of(s).empty(); };
    MachineSpec s = icc60_like();
    s.section<WarpPoolSpec>().line_queues = 12;  // no power of two
    EXPECT_TRUE(check(s).empty());
    EXPECT_FALSE(has_hardware(s));
    s.lsu.front = "warp_pool";
    EXPECT_TRUE(has_hardware(s));
    const std::vector<SpecProblem> problems = check(s);
    ASSERT_EQ(problems.size(), 2u);
    EXPECT_EQ(problems[0].keys.front(), "lsu.warp_pool.line_queues");
    EXPECT_EQ(problems[1].text, "lsu.front = \"warp_pool\" requires sm.shared_path = \"own\"");
}

TEST(MachineSpec, IsDescribedAsItIsBuilt) {
    const auto fact = [](const MachineSpec& s, std::string_view name) {
        for (const auto& [key, value] : machine_description(s)) {
            if (key == name) return value;
        }
        return std::string();
    };
    MachineSpec s = icc60_like();
    EXPECT_EQ(fact(s, "network"), "12 x 8 crossbar, 64-byte flits");
    EXPECT_NE(fact(s, "L1").find(" KiB, "), std::string::npos);
    s.noc.kind = "mesh";
    s.l1.enabled = s.l2.enabled = false;
    EXPECT_EQ(fact(s, "network"), "mesh of 5 x 4 routers, 4 virtual channels of 8 flits, XY routing, 64-byte flits");
    EXPECT_EQ(fact(s, "L1"), "none");
    EXPECT_EQ(fact(s, "L2"), "none");
    MachineSpec nodes = icc60_like();
    nodes.section<DcL1Spec>().on = true;
    EXPECT_EQ(fact(nodes, "network").substr(0, 29), "40 nodes in 10 node clusters,");
    EXPECT_EQ(fact(nodes, "L1").substr(0, 12), "40 nodes of ");
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

/// Every key is within its range, but their product is not something that a host holds.
TEST(MachineSpec, AMachineThatNoHostHoldsIsRefused) {
    using Change = void (*)(MachineSpec&);
    const Change changes[] = {
        [](MachineSpec& s) { s.dram.channels = 256, s.l2.slices_per_channel = 4, s.l2.size_kib = 65536; },
        [](MachineSpec& s) { s.gpu.groups = 1024, s.l2.size_kib = 8192; },
        [](MachineSpec& s) { s.gpu.groups = 8, s.gpu.clusters = 1024, s.gpu.sms_per_cluster = 8, s.l1.size_kib = 1024; },
        [](MachineSpec& s) { s.gpu.clusters = 1024, s.gpu.sms_per_cluster = 64, s.lsu.queue = 256; },
        [](MachineSpec& s) {
            s.gpu.groups = 64, s.gpu.clusters = 1024, s.gpu.sms_per_cluster = 1, s.l1.mshrs = 512, s.l1.mshr_merges = 31;
        },
    };
    for (const Change& change : changes) {
        MachineSpec s = icc60_like();
        change(s);
        const std::vector<SpecProblem> problems = check(s);
        ASSERT_EQ(problems.size(), 1u) << &change - changes;
        EXPECT_NE(problems.front().text.find("at most 60000000 are supported: lower l1.size_kib"), std::string::npos)
            << problems.front().text;
    }
    MachineSpec large = icc60_like();
    large.gpu.groups = 64, large.gpu.clusters = 1024, large.gpu.sms_per_cluster = 1;
    EXPECT_TRUE(check(large).empty()) << check(large).front().text;
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
