// SPDX-License-Identifier: MIT
// Microbenchmarks of the pieces that every simulated cycle consists of, and of engine designs: a bit calendar, a heap of closures, ticking
// every component. Times vary with the host; compare ratios within one run.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <numeric>
#include <queue>
#include <string>
#include <vector>

#include "bare_loop.hpp"
#include "core/domain.hpp"
#include "core/link.hpp"
#include "core/rng.hpp"
#include "dram/channel.hpp"
#include "noc/crossbar.hpp"
#include "parts/mshr_file.hpp"
#include "parts/tag_array.hpp"
#include "sm/coalescer.hpp"
#include "workload/synthetic.hpp"

namespace mergelane {
namespace {

/// Stands at the other end of links.
class Nobody final : public Component {
public:
    explicit Nobody(std::string name) : Component(std::move(name)) {}
    Cycle step(Cycle) override { return kNever; }
    void stats(StatFields&, Cycle) const override {}
};

constexpr Time kCutLatency = 8;

LinkTiming cut_timing() {
    return {Clock{}, Clock{}, kCutLatency, kCutLatency, true};
}

benchmark::Counter per_item(std::uint64_t items) {
    return benchmark::Counter(static_cast<double>(items), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// --- core

/// A saturated link: one packet per cycle goes in, one comes out, credits circulate.
void link_send_pop(benchmark::State& state) {
    const bool cut = state.range(0) != 0;
    Domain here("here", Clock{});
    Domain there("there", Clock{});
    Nobody sender("sender"), idle("idle"), receiver("receiver");
    here.add(sender);
    here.add(idle);
    (cut ? there : here).add(receiver);
    Link<Packet> link("link", 32, {Clock{}, Clock{}, kCutLatency, kCutLatency, cut});
    link.connect(sender, receiver);
    Packet packet;
    Cycle now = 0;
    std::uint64_t taken = 0;
    for (auto _ : state) {
        if (link.can_send(now, 1)) link.send(now, packet, 1);
        if (link.has(now)) {
            packet = link.pop_and_release(now);
            ++taken;
        }
        ++now;
        if (now % 32 == 0) here.skip_to(now);
    }
    benchmark::DoNotOptimize(packet);
    state.counters["s/packet"] = per_item(taken);
}
BENCHMARK(link_send_pop)->ArgName("cut")->Arg(0)->Arg(1);

// --- parts

constexpr const char* kHashes[] = {"plain", "xor_fold", "ipoly"};

/// Three of four lookups hit, as in a cache that works.
void tag_array_find_touch(benchmark::State& state) {
    const auto ways = static_cast<std::uint32_t>(state.range(0));
    const std::uint32_t sets = std::max(4u, 2048u / ways);
    TagArray tags({sets, ways, kHashes[state.range(1)], "lru"});
    for (std::uint64_t line = 0; line < tags.lines(); ++line) {
        if (const std::uint32_t slot = tags.candidate(tags.set_of(line)); slot != kNoSlot) tags.install(slot, line);
    }
    std::vector<std::uint64_t> wanted(4096);
    Rng rng(7);
    for (std::uint64_t& line : wanted) line = rng.below(tags.lines() * 4 / 3);
    std::size_t i = 0;
    std::uint64_t hits = 0;
    for (auto _ : state) {
        const std::uint64_t line = wanted[i++ % wanted.size()];
        const std::uint32_t slot = tags.find(tags.set_of(line), line);
        if (slot != kNoSlot) {
            tags.touch(slot);
            ++hits;
        }
    }
    benchmark::DoNotOptimize(hits);
    state.SetLabel(kHashes[state.range(1)]);
    state.counters["hits"] = benchmark::Counter(static_cast<double>(hits), benchmark::Counter::kAvgIterations);
}
BENCHMARK(tag_array_find_touch)->ArgNames({"ways", "hash"})->ArgsProduct({{4, 8, 64, 256}, {0, 1, 2}});

/// A full set gives up its least recently used line and takes a new tag.
void tag_array_replace(benchmark::State& state) {
    const auto ways = static_cast<std::uint32_t>(state.range(0));
    TagArray tags({std::max(4u, 2048u / ways), ways, "xor_fold", "lru"});
    std::uint64_t line = 0;
    for (auto _ : state) {
        tags.install(tags.candidate(tags.set_of(line)), line);
        ++line;
    }
}
BENCHMARK(tag_array_replace)->ArgName("ways")->Arg(4)->Arg(8)->Arg(64)->Arg(256);

void mshr_find(benchmark::State& state) {
    const auto entries = static_cast<std::uint32_t>(state.range(0));
    MshrFile<std::uint16_t> mshrs(entries, 8);
    for (std::uint32_t i = 0; i < entries; ++i) mshrs.allocate(std::uint64_t{i} * 128, 0, kNoSlot, 0);
    std::vector<std::uint64_t> wanted(1024);
    Rng rng(7);
    for (std::uint64_t& block : wanted) block = std::uint64_t{rng.below(entries * 2)} * 128;  // half are there
    std::size_t i = 0;
    std::uint64_t sum = 0;
    for (auto _ : state) sum += mshrs.find(wanted[i++ % wanted.size()]);
    benchmark::DoNotOptimize(sum);
}
BENCHMARK(mshr_find)->ArgName("entries")->Arg(8)->Arg(32)->Arg(64)->Arg(256);

// --- sm

enum class Shape { dense, strided, random };

void coalesce_lanes(benchmark::State& state, Shape shape, bool want_bytes) {
    LaneAddresses lanes;
    lanes.base = 1 << 20;
    lanes.stride = shape == Shape::dense ? 4 : 64;
    lanes.affine = shape != Shape::random;
    Rng rng(7);
    for (Addr& address : lanes.lane) address = std::uint64_t{rng.below(1 << 24)} * 4;
    BlockList blocks;
    std::uint64_t made = 0;
    for (auto _ : state) {
        lanes.base ^= 4096;
        coalesce(lanes, 0xFFFFFFFFu, 4, 128, 128, want_bytes, blocks);
        benchmark::DoNotOptimize(blocks.block.data());
        made += blocks.count;
    }
    state.counters["s/block"] = per_item(made);
}
BENCHMARK_CAPTURE(coalesce_lanes, load_dense, Shape::dense, false);
BENCHMARK_CAPTURE(coalesce_lanes, load_strided, Shape::strided, false);
BENCHMARK_CAPTURE(coalesce_lanes, load_random, Shape::random, false);
BENCHMARK_CAPTURE(coalesce_lanes, store_dense, Shape::dense, true);
BENCHMARK_CAPTURE(coalesce_lanes, store_random, Shape::random, true);

// --- noc

/// Every input always has packets for uniformly random outputs, every output is emptied at once.
void crossbar_saturated(benchmark::State& state, std::uint32_t inputs, std::uint32_t outputs, NetworkShape::Queueing queueing,
                        NetworkShape::Arbiter arbiter) {
    NetworkSpec spec;
    spec.queueing = queueing;
    spec.arbiter = arbiter;
    Domain net("net", Clock{}), edge("edge", Clock{});
    Crossbar crossbar("crossbar", spec);
    net.add(crossbar);
    Nobody world("world");
    edge.add(world);
    std::deque<Link<Packet>> links;
    std::vector<Link<Packet>*> in, out;
    const auto connect = [&](Component& from, Component& to) {
        Link<Packet>& link = links.emplace_back("link", spec.input_buffer_flits, cut_timing());
        link.connect(from, to);
        return &link;
    };
    for (std::uint32_t i = 0; i < inputs; ++i) in.push_back(connect(world, crossbar));
    for (std::uint32_t o = 0; o < outputs; ++o) out.push_back(connect(crossbar, world));
    Crossbar::Routes routes(outputs);
    std::iota(routes.begin(), routes.end(), std::uint16_t{0});
    crossbar.connect(in, out, routes);
    Rng rng(7);
    Cycle now = 0;
    std::uint64_t crossed = 0;
    for (auto _ : state) {
        for (Link<Packet>* link : in) {
            if (!link->can_send(now, 1)) continue;
            Packet packet;
            packet.destination = static_cast<std::uint16_t>(rng.below(outputs));
            link->send(now, packet, 1);
        }
        benchmark::DoNotOptimize(crossbar.step(now));
        for (Link<Packet>* link : out) {
            for (; link->has(now); ++crossed) link->pop_and_release(now);
        }
        ++now;
    }
    state.counters["packets/cycle"] = benchmark::Counter(static_cast<double>(crossed), benchmark::Counter::kAvgIterations);
    state.counters["s/packet"] = per_item(crossed);
}
BENCHMARK_CAPTURE(crossbar_saturated, 12x8_fifo_round_robin, 12, 8, NetworkShape::Queueing::fifo, NetworkShape::Arbiter::round_robin);
BENCHMARK_CAPTURE(crossbar_saturated, 80x32_voq_islip, 80, 32, NetworkShape::Queueing::voq, NetworkShape::Arbiter::islip);

// --- dram

/// The request queue is kept full; `random` draws lines from 64 MiB, streaming walks through them.
void dram_channel(benchmark::State& state, bool random) {
    DramSpec spec;
    Domain dram("dram", Clock{}), edge("edge", Clock{});
    DramChannel channel("channel", spec);
    dram.add(channel);
    Nobody slice("slice");
    edge.add(slice);
    Link<DramRequest> down("down", 64, cut_timing()), up("up", 256, cut_timing());
    down.connect(slice, channel);
    up.connect(channel, slice);
    channel.connect({&down}, {&up});
    Rng rng(7);
    Cycle now = 0;
    Addr line = 0;
    std::uint64_t served = 0;
    std::uint64_t window = 0;
    for (auto _ : state) {                 // one iteration is one window of kCutLatency DRAM cycles
        edge.run(now, now, true, window);  // nobody steps, but mail sent from here belongs to this window
        while (down.can_send(now, 1)) {
            line = random ? rng.below(1 << 19) : line + 1;
            down.send(now, {line * 128, 15, 0, 0, false});
        }
        dram.run(now, now + kCutLatency, true, window++);
        now += kCutLatency;
        for (; up.has(now); ++served) up.pop_and_release(now);
    }
    state.counters["requests/cycle"] = benchmark::Counter(static_cast<double>(served) / kCutLatency, benchmark::Counter::kAvgIterations);
    state.counters["s/request"] = per_item(served);
}
BENCHMARK_CAPTURE(dram_channel, streaming, false);
BENCHMARK_CAPTURE(dram_channel, random, true);

// --- workload

void synthetic_addresses(benchmark::State& state, const char* kind) {
    const std::unique_ptr<Workload> workload = make_synthetic(kind, synthetic_defaults(kind));
    const KernelSource& kernel = *workload->next_kernel();
    const std::unique_ptr<CtaStream> stream = kernel.make_stream();
    stream->open(0);
    Run run;
    stream->next_run(0, run);
    const StaticInst* const load =
        std::find_if(run.first, run.first + run.count, [](const StaticInst& inst) { return inst.op >= OpClass::load; });
    LaneAddresses lanes;
    std::uint64_t sum = 0;
    for (auto _ : state) {
        stream->addresses(0, *load, 0xFFFFFFFFu, lanes);
        sum += lanes.of(31);
    }
    benchmark::DoNotOptimize(sum);
}
BENCHMARK_CAPTURE(synthetic_addresses, stream, "stream");
BENCHMARK_CAPTURE(synthetic_addresses, tiled, "tiled");
BENCHMARK_CAPTURE(synthetic_addresses, divergent, "divergent");

// --- the engine argument: the same toy under three schedulers

constexpr std::uint32_t kToys = 60;
constexpr std::uint32_t kGaps = 32;  ///< a toy sleeps 1 to kGaps cycles

/// What every toy does when its time has come; returns when it wants to run next.
struct ToyState {
    Rng rng{0};
    std::uint64_t wakes = 0;
    std::uint64_t work = 0;

    Cycle run(Cycle now) {
        ++wakes;
        work += now;
        return now + 1 + rng.below(kGaps);
    }
};

class Toy final : public Component {
public:
    explicit Toy(std::uint64_t seed) : Component("toy"), toy{Rng(seed)} {}
    Cycle step(Cycle now) override { return toy.run(now); }
    void stats(StatFields&, Cycle) const override {}
    ToyState toy;
};

constexpr Cycle kToyWindow = 4096;

void report_toys(benchmark::State& state, std::uint64_t wakes, std::uint64_t work) {
    benchmark::DoNotOptimize(work);
    state.counters["wakes"] = benchmark::Counter(static_cast<double>(wakes), benchmark::Counter::kAvgIterations);
    state.counters["s/wake"] = per_item(wakes);
}

/// (a) ours: a wheel of component bits, `components` of them per domain.
void engine_calendar(benchmark::State& state) {
    const auto per_domain = static_cast<std::uint32_t>(state.range(0));
    std::deque<Toy> toys;
    std::deque<Domain> domains;
    for (std::uint32_t i = 0; i < kToys; ++i) {
        if (i % per_domain == 0) domains.emplace_back("domain", Clock{});
        domains.back().add(toys.emplace_back(i));
    }
    for (Toy& toy : toys) toy.wake(0);
    Cycle now = 0;
    std::uint64_t window = 0;
    for (auto _ : state) {
        for (Domain& domain : domains) domain.run(now, now + kToyWindow, true, window);
        ++window;
        now += kToyWindow;
    }
    std::uint64_t wakes = 0, work = 0;
    for (const Toy& toy : toys) wakes += toy.toy.wakes, work += toy.toy.work;
    report_toys(state, wakes, work);
}
BENCHMARK(engine_calendar)->ArgName("per_domain")->Arg(60)->Arg(6);

/// (b) the textbook event queue: a heap of closures.
void engine_closure_heap(benchmark::State& state) {
    struct Event {
        Cycle at;
        std::uint32_t id;
        std::function<Cycle()> run;
        bool operator<(const Event& other) const { return at != other.at ? at > other.at : id > other.id; }
    };
    std::vector<ToyState> toys(kToys);
    std::priority_queue<Event> queue;
    Cycle now = 0;
    const auto schedule = [&](std::uint32_t id, Cycle at) {
        ToyState* const toy = &toys[id];
        const Cycle* const clock = &now;
        const std::uint64_t reason = id;  // three words: what a real event carries no longer fits into std::function itself
        queue.push({at, id, [toy, clock, reason] { return toy->run(*clock) + 0 * reason; }});
    };
    for (std::uint32_t i = 0; i < kToys; ++i) {
        toys[i].rng = Rng(i);
        schedule(i, 0);
    }
    Cycle end = 0;
    for (auto _ : state) {
        end += kToyWindow;
        while (queue.top().at < end) {
            now = queue.top().at;
            const std::uint32_t id = queue.top().id;
            const std::function<Cycle()> run = std::move(const_cast<Event&>(queue.top()).run);
            queue.pop();
            schedule(id, run());
        }
    }
    std::uint64_t wakes = 0, work = 0;
    for (const ToyState& toy : toys) wakes += toy.wakes, work += toy.work;
    report_toys(state, wakes, work);
}
BENCHMARK(engine_closure_heap);

/// (c) the classic simulator: a virtual call to everyone in every cycle.
void engine_tick_all(benchmark::State& state) {
    class Ticked final : public Component {
    public:
        explicit Ticked(std::uint64_t seed) : Component("ticked"), toy{Rng(seed)} {}
        Cycle step(Cycle now) override {
            if (now >= due_) due_ = toy.run(now);
            return now + 1;
        }
        void stats(StatFields&, Cycle) const override {}
        ToyState toy;

    private:
        Cycle due_ = 0;
    };
    std::deque<Ticked> toys;
    std::vector<Component*> everyone;
    for (std::uint32_t i = 0; i < kToys; ++i) everyone.push_back(&toys.emplace_back(i));
    Cycle now = 0;
    for (auto _ : state) {
        for (const Cycle end = now + kToyWindow; now < end; ++now) {
            for (Component* component : everyone) component->step(now);
        }
    }
    std::uint64_t wakes = 0, work = 0;
    for (const Ticked& toy : toys) wakes += toy.toy.wakes, work += toy.toy.work;
    report_toys(state, wakes, work);
}
BENCHMARK(engine_tick_all);

/// What is left when everything but the road itself is taken away.
void bare_loop(benchmark::State& state, const char* kind) {
    BareResult total;
    for (auto _ : state) {
        const BareResult result = run_bare_loop(kind, 20000);
        total.cycles += result.cycles;
        total.warp_instructions += result.warp_instructions;
        total.lines += result.lines;
    }
    state.counters["cycles/s"] = benchmark::Counter(static_cast<double>(total.cycles), benchmark::Counter::kIsRate);
    state.counters["s/warp_inst"] = per_item(total.warp_instructions);
    state.counters["s/line"] = per_item(total.lines);
}
BENCHMARK_CAPTURE(bare_loop, compute, "compute")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(bare_loop, stream, "stream")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(bare_loop, divergent, "divergent")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace mergelane

BENCHMARK_MAIN();
