// SPDX-License-Identifier: MIT
// Law: a meter from outside the library sees all that happens at SMs, L1s, networks and DRAM channels, as much as these count themselves,
// and changes nothing.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/meter.hpp"
#include "core/wiring.hpp"
#include "machines.hpp"
#include "nodes/dcl1_spec.hpp"
#include "parts/l1_cache.hpp"
#include "run.hpp"
#include "sim/built_in.hpp"
#include "variants.hpp"
#include "workload/synthetic.hpp"

namespace mergelane::testing {
namespace {

class AtSm final : public SmObserver {
public:
    void memory_issued(const StaticInst&, const LaneAddresses&, std::uint32_t) override { ++memory_; }
    void issued(std::uint64_t computed, bool) override { computed_ = computed; }
    void queued(std::uint32_t, Addr, Cycle) override { ++queued_; }
    void accessed(std::uint32_t, Addr, Cycle) override { ++accessed_; }
    void sent(const Packet&, std::uint64_t, Cycle now) override { wait_ -= now, ++sent_; }
    void answered(PacketKind, Cycle now) override { wait_ += now, ++answered_; }
    void stats(StatFields& f, Cycle) const override {
        f.group("tally");
        f.add("memory", memory_, "", "");
        f.add("computed", computed_, "", "");
        f.add("queued", queued_, "", "");
        f.add("accessed", accessed_, "", "");
        f.add("sent", sent_, "", "");
        f.add("answered", answered_, "", "");
        f.add("wait", wait_, "", "");
    }

private:
    std::uint64_t memory_ = 0, computed_ = 0, queued_ = 0, accessed_ = 0, sent_ = 0, answered_ = 0, wait_ = 0;
};

/// One for each group: L1s of different domains must not write to one place.
class AtL1s final : public Component, public L1Meter {
public:
    explicit AtL1s(std::string name) : Component(std::move(name)) {}

    void watch(L1Cache& cache, Clock) override { cache.observe(*l1s_.emplace_back(std::make_unique<One>())); }
    void merge() override { ++merges_; }
    void begin_kernel(Cycle) override { ++kernels_; }
    void end_kernel(Cycle) override { ++kernels_; }

    Cycle step(Cycle) override { return kNever; }
    void stats(StatFields& f, Cycle) const override {
        std::uint64_t missed = 0, filled = 0, held = 0;
        for (const auto& l1 : l1s_) missed += l1->misses, filled += l1->fills, held += l1->held;
        f.group("tally");
        f.add("missed", missed, "", "");
        f.add("filled", filled, "", "");
        f.add("held", held, "", "");
        f.add("merged", merges_ > 0 ? 1 : 0, "", "");
        f.add("kernels", kernels_, "", "");
    }

private:
    struct alignas(64) One final : L1Observer {
        void missed(Addr, Cycle) override { ++misses; }
        void filled(Addr, Cycle) override { ++fills; }
        void gained(Addr, Cycle) override { ++held; }
        void lost(Addr, Cycle) override { --held; }
        void flushed(Addr) override { --held; }
        std::uint64_t misses = 0, fills = 0, held = 0;
    };
    std::vector<std::unique_ptr<One>> l1s_;
    std::uint64_t merges_ = 0, kernels_ = 0;
};

class AtNetwork final : public NetworkObserver {
public:
    explicit AtNetwork(const NetworkPlace& place) : in_(place.sources), out_(place.sinks) {}
    void entered(std::uint32_t source, const Packet&, std::uint32_t flits, Cycle) override { in_.at(source) += flits; }
    void left(std::uint32_t sink, const Packet& packet, std::uint32_t flits, Cycle) override {
        EXPECT_EQ(packet.destination, sink);
        out_.at(sink) += flits;
    }
    void stats(StatFields& f) const override {
        std::uint64_t in = 0, out = 0;
        for (const std::uint64_t flits : in_) in += flits;
        for (const std::uint64_t flits : out_) out += flits;
        f.add("tally_in", in, "", "");
        f.add("tally_out", out, "", "");
    }

private:
    std::vector<std::uint64_t> in_, out_;
};

class AtDram final : public DramObserver {
public:
    explicit AtDram(const DramPlace& place) : banks_(place.banks) {}
    void arrived(std::uint32_t bank, std::uint64_t, std::uint32_t, bool, Cycle) override { ++banks_.at(bank); }
    void busy(std::uint64_t banks, Cycle) override { seen_ |= banks; }
    void stats(StatFields& f, Cycle) const override {
        std::uint64_t requests = 0, unseen = 0;
        for (std::size_t bank = 0; bank < banks_.size(); ++bank) {
            requests += banks_[bank];
            unseen += banks_[bank] != 0 && (seen_ >> bank & 1) == 0 ? 1 : 0;
        }
        f.add("tally_requests", requests, "", "");
        f.add("tally_unseen_banks", unseen, "", "");
    }

private:
    std::vector<std::uint64_t> banks_;
    std::uint64_t seen_ = 0;
};

struct TallySpec final : MeterSpec<TallySpec> {
    bool on = false;

    void fields(SpecFields& f) override {
        f.section("tally");
        f.boolean("enabled", on, "counts what passes");
    }
    bool enabled() const override { return on; }
    std::unique_ptr<SmObserver> at_sm(const SmPlace&) const override { return std::make_unique<AtSm>(); }
    L1Meter* at_l1s(const L1Place& place) const override { return &place.wiring.add<AtL1s>(place.domain, "meter", place.prefix + "tally"); }
    std::unique_ptr<NetworkObserver> at_network(const NetworkPlace& place) const override { return std::make_unique<AtNetwork>(place); }
    std::unique_ptr<DramObserver> at_dram(const DramPlace& place) const override { return std::make_unique<AtDram>(place); }
};

const Registry& with_tally() {
    static const Registry registry = [] {
        Registry filled = built_in_registry();
        filled.add_section<TallySpec>();
        return filled;
    }();
    return registry;
}

MachineSpec machine(const std::string& kind) {
    const MachineSpec usual = icc60_like(4);
    MachineSpec spec(with_tally());
    spec.name = kind;
    spec.gpu = usual.gpu;
    spec.sm = usual.sm;
    spec.l1 = usual.l1;
    spec.dram = usual.dram;
    spec.noc = usual.noc;
    spec.dram.channels = 4;
    if (kind == "nodes") {
        spec.gpu.sms_per_cluster = 1;
        spec.section<DcL1Spec>().on = true;
        spec.section<DcL1Spec>().nodes = spec.section<DcL1Spec>().clusters = 2;
    } else {
        spec.noc.kind = kind;
        spec.noc.stage_inputs = 2;
    }
    return spec;
}

RunResult run_some(const MachineSpec& spec) {
    SyntheticParams params = synthetic_defaults("tiled");
    params.ctas = 24;
    params.warps = 2;
    const auto workload = make_synthetic("tiled", params);
    return run_on(valid(spec), *workload);
}

TEST(Meters, FromOutsideSeeWhatComponentsCount) {
    for (const char* kind : {"crossbar", "two_stage", "output_queues", "mesh", "nodes"}) {
        MachineSpec spec = machine(kind);
        const RunResult without = run_some(spec);
        EXPECT_FALSE(without.has_stat("tally.sent"));
        spec.section<TallySpec>().on = true;
        const RunResult with = run_some(spec);
        EXPECT_EQ(with.cycles, without.cycles) << kind;
        for (const StatValue& stat : without.stats) EXPECT_EQ(with.stat(stat.name), stat.value) << kind << ' ' << stat.name;
        const auto same = [&](const std::string& seen, const std::string& counted) {
            EXPECT_EQ(with.stat(seen), with.stat(counted)) << kind << ": " << seen << " and " << counted;
        };
        EXPECT_GT(with.stat("tally.sent"), 0u);
        same("tally.sent", "sm.requests_sent");
        same("tally.answered", "sm.replies_received");
        same("tally.wait", "sm.fetch_latency");
        same("tally.memory", "sm.memory_instructions");
        EXPECT_EQ(with.stat("tally.computed"),
                  with.stat("sm.warp_instructions") - with.stat("sm.memory_instructions") - with.stat("sm.shared_instructions"));
        EXPECT_GT(with.stat("tally.missed"), 0u) << kind;
        same("tally.filled", "l1.fills");
        same("tally.missed", "tally.filled");
        EXPECT_GT(with.stat("tally.held"), 0u) << kind;
        EXPECT_EQ(with.stat("tally.merged"), 1u) << kind;
        EXPECT_EQ(with.stat("tally.kernels"), 2u) << kind;
        for (const std::string network : {"noc.request", "noc.reply"}) {
            same(network + ".tally_in", network + ".flits");
            same(network + ".tally_out", network + ".flits");
        }
        same("dram.tally_requests", "dram.requests");
        EXPECT_EQ(with.stat("dram.tally_unseen_banks"), 0u) << kind;
    }
}

/// Load requests on their way to the L1, whatever the front end does with them.
TEST(Meters, SeeLoadRequestsBeforeTheL1) {
    const auto run_with = [](const char* front) {
        return run_some(configured(machine("crossbar"), {{"sm.shared_path", "own"}, {"lsu.front", front}, {"tally.enabled", "true"}}));
    };
    const RunResult pool = run_with("warp_pool");
    EXPECT_GT(pool.stat("tally.queued"), 0u);
    EXPECT_EQ(pool.stat("tally.queued"), pool.stat("warp_pool.load_requests"));
    EXPECT_EQ(pool.stat("tally.accessed"), pool.stat("warp_pool.load_requests_drained"));
    const RunResult mrpb = run_with("mrpb");
    EXPECT_EQ(mrpb.stat("tally.queued"), mrpb.stat("mrpb.queued"));
    EXPECT_EQ(mrpb.stat("tally.accessed"), mrpb.stat("mrpb.drained"));
    for (const char* front : {"in_order", "banked"}) {
        const RunResult result = run_with(front);
        EXPECT_EQ(result.stat("tally.queued"), 0u) << front;
        EXPECT_EQ(result.stat("tally.accessed"), pool.stat("tally.accessed")) << front;
    }
}

/// Each bank is served in order of arrival, so its rows are opened as the stream asks for them.
TEST(Meters, FifoOpensTheRowsThatTheReuseMeterCounts) {
    for (const std::string scheduler : {"fifo", "fifo_serial", "banked_fifo"}) {
        const MachineSpec spec = configured(icc60_like(4), {{"dram.reuse_meter.enabled", "true"}, {"dram.scheduler", scheduler}});
        SyntheticParams params = synthetic_defaults("divergent");
        params.ctas = 24;
        const RunResult result = run_on(spec, *make_synthetic("divergent", params));
        EXPECT_EQ(result.stat("dram.stream_requests"), result.stat("dram.requests")) << scheduler;
        EXPECT_EQ(result.stat("dram.stream_activates"), result.stat("dram.activates")) << scheduler;
        EXPECT_LT(result.stat("dram.stream_activates_512"), result.stat("dram.stream_activates")) << scheduler;
        EXPECT_LE(result.stat("dram.stream_rows"), result.stat("dram.stream_activates_512")) << scheduler;
    }
}

}  // namespace
}  // namespace mergelane::testing
