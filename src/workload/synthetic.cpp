// SPDX-License-Identifier: MIT
#include "workload/synthetic.hpp"

#include <fmt/format.h>

#include <charconv>

#include "core/error.hpp"
#include "core/rng.hpp"
#include "core/text.hpp"
#include "workload/revisit.hpp"

namespace mergelane {

namespace {

/// Arrays of a kernel never overlap, and do not all start in the same DRAM bank.
constexpr Addr kArrayStride = (Addr{1} << 36) + 9 * 4096;
constexpr std::uint32_t kLine = 128;
constexpr std::uint32_t kLoadGroups = 8;
constexpr std::string_view kRevisit = "revisit";  ///< in its own file

enum class Pattern : std::uint8_t { stream, tiled, divergent, bins, chase, strided, none };

struct Recipe {
    std::string_view name;
    std::string_view meaning;
    Pattern pattern;
    SyntheticParams defaults = {};
    OpClass memory_op = OpClass::load;  ///< what the first memory instructions of a body are; after loads, the last one is a store
    Space space = Space::global;
    std::uint32_t memory_ops = kLoadGroups;
    bool barrier = false;
    bool endless = false;

    bool store_last() const { return memory_op == OpClass::load; }
};

const std::vector<Recipe>& recipes() {
    static const std::vector<Recipe> list = {
        {"compute", "arithmetic with L1-resident tiles: issue-bound", Pattern::tiled, {.iterations = 24, .alu = 20, .reuse = 8}},
        {"stream", "every line read or written once: bandwidth-bound", Pattern::stream},
        {"tiled", "tiles shared by the CTAs of a row and of a column", Pattern::tiled, {.reuse = 2}},
        {"divergent", "every lane reads its own line, half of them from a hot region", Pattern::divergent, {.iterations = 4}},
        {"atomic", "atomics on random bins of a table", Pattern::bins, {.iterations = 4, .footprint_kib = 64}, OpClass::atomic},
        {"chase",
         "one warp per CTA, each load depends on the previous one: latency-bound",
         Pattern::chase,
         {.warps = 1, .iterations = 64, .alu = 1}},
        {.name = "shared",
         .meaning = "shared memory with bank conflicts set by stride, and a barrier",
         .pattern = Pattern::strided,
         .defaults = {.shared_bytes = 4096, .stride = 2},
         .space = Space::shared,
         .barrier = true},
        {"store", "every line written once", Pattern::stream, {}, OpClass::store},
        {.name = "barrier",
         .meaning = "tiled reads with a CTA barrier in every iteration",
         .pattern = Pattern::tiled,
         .defaults = {.shared_bytes = 2048},
         .barrier = true},
        {kRevisit,
         "one lane per CTA reads its SM's line, after n x alu divisions in CTA n; tests which CTAs hit",
         Pattern::none,
         {.ctas = 480, .warps = 1, .iterations = 1, .alu = 0, .registers = 8}},
        {.name = "spin",
         .meaning = "never terminates: for testing the livelock watchdog",
         .pattern = Pattern::none,
         .defaults = {.ctas = 60, .warps = 1},
         .memory_ops = 0,
         .endless = true},
    };
    return list;
}

const Recipe& find_recipe(std::string_view kind) {
    std::vector<std::string_view> names;
    for (const Recipe& r : recipes()) {
        if (r.name == kind) return r;
        names.push_back(r.name);
    }
    throw InputError(unknown_word("synthetic workload", kind, names));
}

/// The loop body: groups of one memory instruction and some arithmetic, of which half depends on the previous result, and one instruction
/// per group on the previous group's load.
std::vector<StaticInst> make_body(const Recipe& recipe, const SyntheticParams& params) {
    constexpr std::uint16_t kFirstAlu = 8;
    constexpr std::uint16_t kAluRegs = 24;
    constexpr OpClass kMix[] = {OpClass::int_add, OpClass::fp_mad, OpClass::int_mad, OpClass::fp_add};
    std::vector<StaticInst> body;
    Rng rng(12345);
    std::uint16_t alu = 0;
    const auto reg = [&](StaticInst& inst, std::uint16_t r) { inst.regs[inst.reg_count++] = r; };
    const std::uint32_t groups = std::max(recipe.memory_ops, 1u);
    for (std::uint16_t g = 0; g < groups; ++g) {
        if (recipe.memory_ops != 0) {
            StaticInst memory;
            const bool store = recipe.store_last() && g + 1u == groups;
            memory.op = store ? OpClass::store : recipe.memory_op;
            memory.space = recipe.space;
            if (memory.op == OpClass::store) {
                reg(memory, kFirstAlu + alu);
            } else {
                memory.dst_count = 1;
                reg(memory, recipe.pattern == Pattern::chase ? 0 : g);
            }
            memory.pc = g;  // names the access pattern's array
            body.push_back(memory);
        }
        for (std::uint32_t k = 0; k < params.alu; ++k) {
            StaticInst inst;
            inst.op = kMix[k % std::size(kMix)];
            inst.dst_count = 1;
            const std::uint16_t previous = kFirstAlu + alu;
            alu = static_cast<std::uint16_t>((alu + 1) % kAluRegs);
            reg(inst, kFirstAlu + alu);
            if ((rng.next() & 1) != 0) reg(inst, previous);
            if (k == 0 && recipe.memory_ops != 0) {
                const std::uint16_t load =
                    recipe.pattern == Pattern::chase ? std::uint16_t{0} : static_cast<std::uint16_t>((g + groups - 1) % groups);
                if (!(recipe.store_last() && load + 1u == groups)) reg(inst, load);
            }
            inst.pc = 16;
            body.push_back(inst);
        }
    }
    if (recipe.barrier) {
        StaticInst barrier;
        barrier.op = OpClass::barrier;
        barrier.lane_bytes = 0;
        body.push_back(barrier);
    }
    return body;
}

class SyntheticKernel final : public KernelSource {
public:
    SyntheticKernel(const Recipe& kind, const SyntheticParams& values, std::uint32_t index)
        : recipe(kind), params(values), body(make_body(kind, values)) {
        const std::string name = fmt::format("{}#{}", recipe.name, index);
        info_ = {name, {params.ctas, 1, 1}, {params.warps * kWarpLanes, 1, 1}, params.registers, 1, params.shared_bytes};
        for (const StaticInst& inst : body) {
            for (std::uint32_t r = 0; r < std::max(inst.dst_count, inst.reg_count); ++r) {
                info_.register_slots = std::max(info_.register_slots, inst.regs[r] + 1u);
            }
        }
    }
    const KernelInfo& info() const override { return info_; }
    std::unique_ptr<CtaStream> make_stream() const override;
    Listing listing() const override { return {body, nullptr}; }

    const Recipe& recipe;
    const SyntheticParams params;
    const std::vector<StaticInst> body;

private:
    KernelInfo info_;
};

class SyntheticStream final : public CtaStream {
public:
    explicit SyntheticStream(const SyntheticKernel& kernel) : kernel_(kernel), iteration_(kernel.params.warps) {}

    void open(std::uint64_t cta) override {
        cta_ = cta;
        std::fill(iteration_.begin(), iteration_.end(), 0);
    }
    bool next_run(std::uint32_t warp, Run& run) override {
        if (iteration_[warp] == kernel_.params.iterations && !kernel_.recipe.endless) return false;
        ++iteration_[warp];
        run = {kernel_.body.data(), static_cast<std::uint32_t>(kernel_.body.size()), 0xFFFFFFFFu};
        return true;
    }
    void addresses(std::uint32_t warp, const StaticInst& inst, std::uint32_t active, LaneAddresses& out) override;

private:
    const SyntheticKernel& kernel_;
    std::uint64_t cta_ = 0;
    std::vector<std::uint32_t> iteration_;
};

std::unique_ptr<CtaStream> SyntheticKernel::make_stream() const {
    return std::make_unique<SyntheticStream>(*this);
}

void SyntheticStream::addresses(std::uint32_t warp, const StaticInst& inst, std::uint32_t active, LaneAddresses& out) {
    const SyntheticParams& p = kernel_.params;
    const std::uint32_t m = inst.pc;
    const std::uint64_t iteration = iteration_[warp] - 1;
    const std::uint64_t global_warp = cta_ * p.warps + warp;
    const Addr array = kArrayStride * (m + 1);
    out.affine = true;
    out.stride = 4;
    switch (kernel_.recipe.pattern) {
        case Pattern::stream: out.base = array + (iteration * p.ctas * p.warps + global_warp) * kLine; return;
        case Pattern::tiled: {
            // Even arrays are shared along a row of 16 CTAs, odd ones along a column.
            const std::uint64_t step = iteration / p.reuse;
            const std::uint64_t tile = m % 2 == 0 ? cta_ / 16 : cta_ % 16;
            out.base = kArrayStride * (m % 2 + 1) + ((tile * 4096 + step % 4096) * 8 + (warp + m) % 8) * kLine;
            return;
        }
        case Pattern::chase: {
            const std::uint64_t lines = std::uint64_t{p.footprint_kib} * 1024 / kLine;
            out.base = array + mix64(mix64(global_warp + p.seed) + iteration * kLoadGroups + m) % lines * kLine;
            return;
        }
        case Pattern::strided:
            out.base = std::uint64_t{warp} * kLine;
            out.stride = 4 * static_cast<std::int64_t>(p.stride);
            return;
        case Pattern::divergent:
        case Pattern::bins: {
            out.affine = false;
            const std::uint64_t words = std::uint64_t{p.footprint_kib} * 1024 / 4;
            const std::uint64_t hot = 8192 * kLine / 4;
            std::uint64_t key = mix64(p.seed + global_warp * 0x10001 + (iteration * kLoadGroups + m) * 0x1000193);
            for (std::uint32_t lane = 0; lane < kWarpLanes; ++lane) {
                if ((active >> lane & 1) == 0) continue;
                key = mix64(key);
                const bool in_hot = kernel_.recipe.pattern == Pattern::divergent && (key & 1) != 0;
                const std::uint64_t word = (key >> 8) % (in_hot ? std::min(hot, words) : words);
                out.lane[lane] = (in_hot ? kArrayStride : 2 * kArrayStride) + word * 4;
            }
            return;
        }
        case Pattern::none: out.base = array; return;
    }
}

class SyntheticWorkload final : public Workload {
public:
    SyntheticWorkload(const Recipe& recipe, const SyntheticParams& params) : name_(fmt::format("synthetic:{}", recipe.name)) {
        for (const SyntheticParamInfo& info : synthetic_params()) {
            if (params.*info.member != recipe.defaults.*info.member) name_ += fmt::format(" {}={}", info.name, params.*info.member);
        }
        for (std::uint32_t k = 0; k < params.kernels; ++k) kernels_.push_back(std::make_unique<SyntheticKernel>(recipe, params, k));
    }
    const std::string& name() const override { return name_; }
    const KernelSource* next_kernel() override { return next_ < kernels_.size() ? kernels_[next_++].get() : nullptr; }

private:
    std::string name_;
    std::vector<std::unique_ptr<SyntheticKernel>> kernels_;
    std::size_t next_ = 0;
};

}  // namespace

const std::vector<SyntheticKind>& synthetic_kinds() {
    static const std::vector<SyntheticKind> list = [] {
        std::vector<SyntheticKind> kinds;
        for (const Recipe& r : recipes()) kinds.push_back({r.name, r.meaning});
        return kinds;
    }();
    return list;
}

const std::vector<SyntheticParamInfo>& synthetic_params() {
    static const std::vector<SyntheticParamInfo> list = {
        {"ctas", &SyntheticParams::ctas, 1, 100'000'000, "CTAs of the grid"},
        {"warps", &SyntheticParams::warps, 1, 32, "warps per CTA"},
        {"iterations", &SyntheticParams::iterations, 1, 1'000'000'000, "iterations of the loop body"},
        {"alu", &SyntheticParams::alu, 0, 1000, "arithmetic instructions per memory instruction"},
        {"registers", &SyntheticParams::registers, 1, 255, "registers per thread (occupancy)"},
        {"shared_bytes", &SyntheticParams::shared_bytes, 0, 1 << 20, "shared memory per CTA (occupancy)"},
        {"reuse", &SyntheticParams::reuse, 1, 1'000'000, "iterations that touch the same tile (tiled, compute, barrier)"},
        {"stride", &SyntheticParams::stride, 0, 1024, "words between lanes (shared)"},
        {"footprint_kib", &SyntheticParams::footprint_kib, 1, 1 << 24, "footprint of the random patterns (divergent, atomic, chase)"},
        {"kernels", &SyntheticParams::kernels, 1, 1000, "number of launches"},
        {"seed", &SyntheticParams::seed, 0, 1 << 30, "seed of the random patterns"},
    };
    return list;
}

SyntheticParams synthetic_defaults(std::string_view kind) {
    return find_recipe(kind).defaults;
}

void apply_synthetic_param(SyntheticParams& params, std::string_view assignment) {
    const std::size_t equals = assignment.find('=');
    const std::string_view name = assignment.substr(0, equals);
    std::vector<std::string_view> names;
    for (const SyntheticParamInfo& info : synthetic_params()) {
        names.push_back(info.name);
        if (info.name != name) continue;
        const std::string_view text = equals == std::string_view::npos ? std::string_view{} : assignment.substr(equals + 1);
        std::uint32_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc{} || end != text.data() + text.size() || value < info.min || value > info.max) {
            throw InputError(fmt::format("--param {}: '{}' is not a whole number from {} to {} ({}); write --param {}={}", name,
                                         text.substr(0, 80), info.min, info.max, info.meaning, name, info.min));
        }
        params.*info.member = value;
        return;
    }
    throw InputError(unknown_word("synthetic parameter", name, names));
}

std::unique_ptr<Workload> make_synthetic(std::string_view kind, const SyntheticParams& params) {
    const Recipe& recipe = find_recipe(kind);
    if (kind == kRevisit) return make_revisit(params.ctas, params.alu, params.kernels);
    if (recipe.memory_ops == 0 && params.alu == 0)
        throw InputError(fmt::format("--param alu=0 leaves '{}' without instructions; use alu=1 or more", kind));
    return std::make_unique<SyntheticWorkload>(recipe, params);
}

}  // namespace mergelane
