// SPDX-License-Identifier: MIT
// Prints what happens to every load of five tiny kernels, each on the machine of a mechanism, without it and with it: the data of the
// pictures that draw.py makes. Mergelane as a library, with a recorder at every place where a request can be seen.
//   mergelane_picture_events icc > icc.json
#include <fmt/format.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cluster/cluster_unit.hpp"
#include "config/config.hpp"
#include "core/error.hpp"
#include "core/meter.hpp"
#include "core/wiring.hpp"
#include "noc/router_unit.hpp"
#include "parts/dram_rows.hpp"
#include "parts/l1_cache.hpp"
#include "sim/built_in.hpp"
#include "sim/simulation.hpp"
#include "workload/array/array_kernel.hpp"

using namespace mergelane;

namespace {

// --- the recorder

/// Events of a run as rows of JSON; runs have one thread.
class Log {
public:
    template <class... Values>
    void add(const char* kind, Cycle at, const Values&... values) {
        std::string row = fmt::format("[\"{}\", {}", kind, at);
        ((row += fmt::format(", {}", values)), ...);
        rows_.push_back(row + "]");
    }
    std::vector<std::string> take() { return std::exchange(rows_, {}); }

private:
    std::vector<std::string> rows_;
};
Log events;
std::uint32_t observed_sms, observed_ports;  // counted while a machine is built

class AtSm final : public SmObserver {
public:
    bool wants_words() const override { return true; }  // and with them the CTA of the original grid
    void queued(std::uint32_t warp, Addr block, Cycle now) override { events.add("queued", now, sm_, warp, block); }
    void accessed(std::uint32_t warp, Addr block, Cycle now) override { events.add("accessed", now, sm_, warp, block); }
    void sent(const Packet& packet, std::uint64_t cta, Cycle now) override { events.add("sent", now, sm_, cta, packet.address); }

private:
    const std::uint32_t sm_ = observed_sms++;
};

/// L1s in the order in which they are built: of SMs, or nodes.
class AtL1s final : public Component, public L1Meter {
public:
    explicit AtL1s(std::string name) : Component(std::move(name)) {}
    void watch(L1Cache& cache, Clock) override {
        l1s_.push_back(std::make_unique<One>(l1s_.size()));
        cache.observe(*l1s_.back());
    }
    void merge() override {}
    void begin_kernel(Cycle) override {}
    void end_kernel(Cycle) override {}
    Cycle step(Cycle) override { return kNever; }
    void stats(StatFields&, Cycle) const override {}

private:
    struct One final : L1Observer {
        explicit One(std::size_t n) : number(n) {}
        void missed(Addr block, Cycle now) override { events.add("missed", now, number, block); }
        void filled(Addr block, Cycle now) override { events.add("filled", now, number, block); }
        const std::size_t number;
    };
    std::vector<std::unique_ptr<One>> l1s_;
};

struct MeterPart final : MeterSpec<MeterPart> {
    void fields(SpecFields& f) override { f.section("picture.meter"); }
    bool enabled() const override { return true; }
    std::unique_ptr<SmObserver> at_sm(const SmPlace&) const override { return std::make_unique<AtSm>(); }
    L1Meter* at_l1s(const L1Place& place) const override {
        return &place.wiring.add<AtL1s>(place.domain, "meter", place.prefix + "events");
    }
};

/// Before all other units: what crosses the bus of a cluster. Behind them: what goes on to the network, and the replies.
class AtPort final : public ClusterUnit {
public:
    explicit AtPort(bool first) : first_(first), port_(observed_ports++ / 2) {}
    bool request(Packet& packet, Cycle now) override {
        events.add(first_ ? "bus" : "out", now, port_, packet.sm, packet.address);
        return true;
    }
    void end_delivery(const Packet& reply, Cycle now) override {
        if (!first_) events.add("in", now, port_, reply.sm, reply.address);
    }
    void stats(StatFields&, Cycle) const override {}

private:
    const bool first_;
    const std::uint32_t port_;
};

template <bool kFirst>
struct PortPart final : ClusterUnitSpec<PortPart<kFirst>> {
    void fields(SpecFields& f) override { f.section(kFirst ? "picture.bus" : "picture.port"); }
    bool enabled() const override { return true; }
    std::unique_ptr<ClusterUnit> make(const ClusterContext&) const override { return std::make_unique<AtPort>(kFirst); }
};

/// Heads of read requests that pass the switch of a router, with the requests that travel within them.
class AtRouters final : public RouterUnit {
public:
    explicit AtRouters(const RouterContext& context) : RouterUnit(context), rows_(*context.rows) {}
    void switched(Router router, std::uint32_t input, Flit flit) override {
        if (flit.head() && packet(flit.packet()).kind == PacketKind::read)
            passing_.push_back({router, output(router, input), flit.packet()});
    }
    /// In the cycle in which they passed.
    void step(Cycle now) override {
        for (const Passing& p : passing_) {
            std::string members;
            for (PacketId id = p.packet; id != kNoPacket; id = next_within(id))
                members += fmt::format("{}[{}, {}, {}]", members.empty() ? "" : ", ", packet(id).source, rows_.row_of(packet(id).address),
                                       packet(id).address);
            events.add("switched", now, p.router, p.output, flits(p.packet), destination(p.packet), "[" + members + "]");
        }
        passing_.clear();
    }
    void stats(StatFields&, Cycle) const override {}

private:
    struct Passing {
        Router router;
        std::uint32_t output;
        PacketId packet;
    };
    const DramRows& rows_;
    std::vector<Passing> passing_;
};

struct RouterPart final : RouterUnitSpec<RouterPart> {
    void fields(SpecFields& f) override { f.section("picture.router"); }
    bool enabled() const override { return true; }
    std::unique_ptr<RouterUnit> make(const RouterContext& context) const override {
        return context.network.name == "noc.request" ? std::make_unique<AtRouters>(context) : nullptr;
    }
};

// --- the kernels

/// The address that a lane reads.
using Pattern = std::function<Addr(std::uint64_t cta, std::uint32_t warp, std::uint32_t access, std::uint32_t lane)>;

struct Kernel {
    std::uint32_t ctas, warps, accesses, lanes;
    Pattern address;
};

std::unique_ptr<Workload> workload(const std::string& name, const Kernel& kernel) {
    ArrayParams params;
    params.name = name;
    params.ctas = kernel.ctas;
    params.warps = kernel.warps;
    params.instructions = kernel.accesses;
    params.write = {false};
    params.compute = {0};
    const auto cta = [kernel](std::uint64_t number) {
        const auto list = std::make_shared<std::vector<Addr>>();
        for (std::uint32_t w = 0; w < kernel.warps; ++w) {
            for (std::uint32_t a = 0; a < kernel.accesses; ++a) {
                for (std::uint32_t l = 0; l < kernel.lanes; ++l) list->push_back(kernel.address(number, w, a, l));
            }
        }
        return ArrayCta{list->data(), nullptr, kernel.warps, kernel.accesses, kernel.lanes, list};
    };
    return make_kernel_list(name, {make_array_kernel(params, cta)});
}

constexpr Addr kBase = 1 << 20;

/// CTA n reads the first line of three rows of an image: its own, the next and the one after, as a stencil does.
Kernel stencil(std::uint32_t ctas) {
    return {ctas, 1, 3, 32, [](std::uint64_t cta, std::uint32_t, std::uint32_t access, std::uint32_t lane) {
                return kBase + (cta + access) * 2048 + lane * 4;
            }};
}

/// Warp n reads column n of a matrix: lane by lane another row, and so another line. Neighbouring columns share these lines.
Kernel columns(std::uint32_t warps, std::uint32_t rows) {
    return {1, warps, 1, rows,
            [](std::uint64_t, std::uint32_t warp, std::uint32_t, std::uint32_t lane) { return kBase + lane * 4096 + warp * 4; }};
}

/// Even CTAs read matrix A, odd CTAs matrix B, all of them from one DRAM channel: two rows of one bank.
Kernel two_rows(std::uint32_t ctas) {
    return {ctas, 1, 1, 32, [](std::uint64_t cta, std::uint32_t, std::uint32_t, std::uint32_t lane) {
                const Addr matrix = kBase + cta % 2 * (128 << 10);
                const std::uint64_t number = cta / 2;
                return matrix + number / 2 * 2048 + number % 2 * 128 + lane * 4;
            }};
}

struct Picture {
    std::string name, gpu;
    std::vector<std::string> always, mechanism;  ///< overrides of both runs, and of the second
    Kernel kernel;
};

std::vector<Picture> pictures() {
    return {
        {"icc", "icc60", {}, {"cluster.icc.enabled=true"}, stencil(60)},
        {"warppool", "gtx480", {}, {"lsu.front=warp_pool"}, columns(6, 4)},
        {"dcl1", "dcl1-80", {}, {"dcl1.enabled=true"}, stencil(80)},
        {"cta-clustering", "gtx570", {"gpu.clusters=4"}, {"dispatch.transform=agents", "clustering.order=rows"}, stencil(16)},
        {"packet-coalescing", "pkt28", {}, {"noc.coalescing.enabled=true"}, two_rows(28)},
    };
}

// --- output

void print_run(const Picture& picture, bool on) {
    Registry registry;
    registry.add_section<PortPart<true>>();
    add_built_in(registry);
    registry.add_section<MeterPart>();
    registry.add_section<PortPart<false>>();
    registry.add_section<RouterPart>();
    std::vector<std::string> overrides = picture.always;
    if (on) overrides.insert(overrides.end(), picture.mechanism.begin(), picture.mechanism.end());
    observed_sms = observed_ports = 0;
    const LoadedConfig config = load_config(picture.gpu, overrides, default_preset_dirs(), registry);
    Simulation simulation(config.spec, {});
    const RunResult result = simulation.run(*workload(picture.name, picture.kernel));
    std::string set, rows, stats;
    for (const std::string& one : overrides) set += fmt::format("{}\"{}\"", set.empty() ? "" : ", ", one);
    for (const std::string& row : events.take()) rows += fmt::format("{}\n{}", rows.empty() ? "" : ",", row);
    for (const StatValue& stat : result.stats) stats += fmt::format("{}\"{}\": {}", stats.empty() ? "" : ", ", stat.name, stat.value);
    fmt::print("{{\"gpu\": \"{}\", \"set\": [{}], \"cycles\": {},\n\"stats\": {{{}}},\n\"events\": [{}]}}", picture.gpu, set, result.cycles,
               stats, rows);
}

}  // namespace

int main(int argc, char** argv) {
    std::string known;
    for (const Picture& picture : pictures()) {
        known += (known.empty() ? "" : ", ") + picture.name;
        if (argc != 2 || argv[1] != picture.name) continue;
        try {
            fmt::print("[");
            print_run(picture, false);
            fmt::print(",\n");
            print_run(picture, true);
            fmt::print("]\n");
            return 0;
        } catch (const std::exception& error) {
            fmt::print(stderr, "{}: {}\n", picture.name, error.what());
            return 2;
        }
    }
    fmt::print(stderr, "usage: mergelane_picture_events NAME, where NAME is one of {}\n", known);
    return 2;
}
