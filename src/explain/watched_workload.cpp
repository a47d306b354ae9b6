// SPDX-License-Identifier: MIT
#include "explain/watched_workload.hpp"

#include <algorithm>
#include <bit>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "explain/wrapped_kernel.hpp"

namespace mergelane::explain {

namespace {

constexpr std::uint32_t kSector = 32, kLine = 128, kBanks = 32, kWord = 4;
constexpr std::size_t kMostWords = std::size_t{1} << 16;  ///< whose atomics are counted; of a kernel with more, none is hot

using Lanes = std::array<Addr, kWarpLanes>;

std::uint32_t active_lanes(const LaneAddresses& lanes, std::uint32_t active, Lanes& out) {
    LaneAddresses list = lanes;
    if (list.run_count != 0) list.affine = false;
    list.expand(active);
    std::uint32_t count = 0;
    for (; active != 0; active &= active - 1) out[count++] = list.of(static_cast<std::uint32_t>(std::countr_zero(active)));
    return count;
}

std::uint64_t distinct(Lanes lanes, std::uint32_t count, std::uint32_t bytes) {
    for (std::uint32_t i = 0; i < count; ++i) lanes[i] /= bytes;
    std::sort(lanes.begin(), lanes.begin() + count);
    return static_cast<std::uint64_t>(std::unique(lanes.begin(), lanes.begin() + count) - lanes.begin());
}

std::uint64_t divided_up(std::uint64_t a, std::uint64_t b) {
    return (a + b - 1) / b;
}

void count_access(Coalescing& counts, const Lanes& lanes, std::uint32_t active, std::uint32_t lane_bytes) {
    const std::uint64_t bytes = std::uint64_t{active} * lane_bytes;
    const std::uint64_t sectors = distinct(lanes, active, kSector), lines = distinct(lanes, active, kLine);
    ++counts.accesses;
    counts.sectors += sectors;
    counts.least += std::min(sectors, divided_up(bytes, kSector));
    counts.lines += lines;
    counts.least_lines += std::min(lines, divided_up(bytes, kLine));
}

/// Different words of one bank take a pass each; lanes that read the same word share it.
std::uint64_t passes(Lanes lanes, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) lanes[i] /= kWord;
    std::sort(lanes.begin(), lanes.begin() + count);
    const auto end = std::unique(lanes.begin(), lanes.begin() + count);
    std::array<std::uint32_t, kBanks> of_bank{};
    for (auto word = lanes.begin(); word != end; ++word) ++of_bank[*word % kBanks];
    return *std::max_element(of_bank.begin(), of_bank.end());
}

void add(Coalescing& sum, const Coalescing& more) {
    sum.accesses += more.accesses;
    sum.sectors += more.sectors;
    sum.least += more.least;
    sum.lines += more.lines;
    sum.least_lines += more.least_lines;
}

}  // namespace

/// The sum over streams, which run in several threads; the order does not matter.
class WatchedWorkload::Sink {
public:
    using Words = std::unordered_map<Addr, std::uint64_t>;

    void add(const AccessFacts& more, const Words& words) {
        const std::lock_guard lock(mutex_);
        explain::add(sum_.loads, more.loads);
        explain::add(sum_.stores, more.stores);
        sum_.shared_accesses += more.shared_accesses;
        sum_.shared_passes += more.shared_passes;
        sum_.least_shared_passes += more.least_shared_passes;
        sum_.atomics += more.atomics;
        sum_.barriers += more.barriers;
        for (const auto& [word, count] : words) words_[word] += count;
    }
    AccessFacts sum() const {
        AccessFacts sum = sum_;
        for (const auto& [word, count] : words_) sum.hottest_atomics = std::max(sum.hottest_atomics, count);
        return sum;
    }

private:
    std::mutex mutex_;
    AccessFacts sum_;
    Words words_;
};

class WatchedWorkload::Stream final : public WrappedStream {
public:
    Stream(std::unique_ptr<CtaStream> inner, std::shared_ptr<Sink> sink) : WrappedStream(std::move(inner)), sink_(std::move(sink)) {}
    ~Stream() override { sink_->add(counts_, words_); }

    bool next_run(std::uint32_t warp, Run& run) override {
        if (!WrappedStream::next_run(warp, run)) return false;
        for (std::uint32_t i = 0; i < run.count; ++i) counts_.barriers += run.first[i].op == OpClass::barrier;
        return true;
    }
    void addresses(std::uint32_t warp, const StaticInst& inst, std::uint32_t active, LaneAddresses& out) override {
        WrappedStream::addresses(warp, inst, active, out);
        if (has_values(inst)) return;
        Lanes lanes;
        const std::uint32_t count = active_lanes(out, active, lanes);
        if (inst.space == Space::shared) {
            const std::uint64_t least = divided_up(std::uint64_t{count} * inst.lane_bytes, kBanks * kWord);
            const std::uint64_t needed = passes(lanes, count) * divided_up(inst.lane_bytes, kWord);
            ++counts_.shared_accesses;
            counts_.shared_passes += std::max(needed, least);
            counts_.least_shared_passes += least;
        } else if (inst.op == OpClass::atomic) {
            counts_.atomics += count;
            for (std::uint32_t i = 0; i < count; ++i) {
                if (words_.size() < kMostWords || words_.contains(lanes[i])) ++words_[lanes[i]];
            }
        } else {
            count_access(inst.op == OpClass::store ? counts_.stores : counts_.loads, lanes, count, inst.lane_bytes);
        }
    }

private:
    std::shared_ptr<Sink> sink_;
    AccessFacts counts_;
    Sink::Words words_;
};

class WatchedWorkload::Kernel final : public WrappedKernel {
public:
    Kernel(const KernelSource& inner, std::shared_ptr<Sink> sink) : WrappedKernel(inner), sink_(std::move(sink)) {}
    std::unique_ptr<CtaStream> make_stream() const override { return std::make_unique<Stream>(inner().make_stream(), sink_); }

private:
    std::shared_ptr<Sink> sink_;
};

WatchedWorkload::WatchedWorkload(std::unique_ptr<Workload> inner) : inner_(std::move(inner)), sink_(std::make_shared<Sink>()) {}
WatchedWorkload::~WatchedWorkload() = default;

const KernelSource* WatchedWorkload::next_kernel() {
    const KernelSource* const next = inner_->next_kernel();
    kernel_ = next == nullptr ? nullptr : std::make_unique<Kernel>(*next, sink_);
    if (next != nullptr) warps_per_cta_.push_back(next->info().warps_per_cta());
    return kernel_.get();
}

AccessFacts WatchedWorkload::facts() const {
    AccessFacts facts = sink_->sum();
    facts.warps_per_cta = warps_per_cta_;
    return facts;
}

}  // namespace mergelane::explain
