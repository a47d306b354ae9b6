// SPDX-License-Identifier: MIT
#include "sampling/signature.hpp"

#include <bit>

#include "core/rng.hpp"
#include "sampling/coalesce.hpp"
#include "sampling/launch_walk.hpp"

namespace mergelane::sampling {

namespace {

Signature::Mix mix_of(const StaticInst& inst) {
    switch (inst.op) {
        case OpClass::int_add:
        case OpClass::int_minmax:
        case OpClass::int_mul:
        case OpClass::int_mad:
        case OpClass::constant: return Signature::integer;
        case OpClass::fp_add:
        case OpClass::fp_minmax:
        case OpClass::fp_mul:
        case OpClass::fp_mad: return Signature::floating;
        case OpClass::int_div:
        case OpClass::fp_div:
        case OpClass::dp_add:
        case OpClass::dp_minmax:
        case OpClass::dp_div:
        case OpClass::sfu: return Signature::heavy;
        case OpClass::tensor: return Signature::tensor;
        case OpClass::load:
        case OpClass::store:
        case OpClass::atomic: return inst.space == Space::shared ? Signature::shared : Signature::global;
        default: return Signature::control;
    }
}

/// Counts executions of static instructions by the ends of their runs.
class Executions {
public:
    explicit Executions(std::span<const StaticInst> list) : list_(list), steps_(list.size() + 1) {}
    void add(const Run& run, Signature& signature) {
        if (std::less_equal<>()(list_.data(), run.first) && std::less<>()(run.first, list_.data() + list_.size())) {
            const auto at = static_cast<std::size_t>(run.first - list_.data());
            ++steps_[at];
            --steps_[at + run.count];
            return;
        }
        for (std::uint32_t i = 0; i < run.count; ++i) ++signature.mix[mix_of(run.first[i])];
    }
    void finish(Signature& signature) const {
        std::uint64_t executions = 0;  // modulo 2^64, as the steps
        for (std::size_t i = 0; i < list_.size(); ++i) {
            executions += steps_[i];
            signature.mix[mix_of(list_[i])] += executions;
        }
    }

private:
    std::span<const StaticInst> list_;
    std::vector<std::uint64_t> steps_;
};

}  // namespace

void SignatureTaker::touch(Signature& signature, Addr line) {
    ++now_;
    const std::uint64_t hash = mix64(line);
    signature.footprint.add(hash);
    if ((hash & mask_) != 0) return;
    std::uint64_t& last = last_[line];
    const std::uint32_t bucket = last == 0
                                     ? Signature::kReuseBuckets - 1
                                     : std::min<std::uint32_t>((64 - static_cast<std::uint32_t>(std::countl_zero(now_ - last)) + 1) / 2,
                                                               Signature::kReuseBuckets - 2);
    ++signature.reuse[bucket];
    last = now_;
    if (last_.size() > kMostLines) thin();
}

/// Samples half as many lines.
void SignatureTaker::thin() {
    mask_ = mask_ * 2 + 1;
    std::erase_if(last_, [&](const auto& entry) { return (mix64(entry.first) & mask_) != 0; });
}

Signature SignatureTaker::take(const KernelSource& kernel) {
    const KernelInfo& info = kernel.info();
    Signature made;
    made.kernel = info.name;
    made.grid = info.grid;
    made.block = info.block;
    made.shared_bytes = info.shared_bytes;
    LaunchWalk walk(kernel);
    Executions executions(walk.instructions());
    const auto on_run = [&](const Run& run) {
        made.warp_instructions += run.count;
        made.thread_instructions += std::uint64_t{run.count} * bit_count(run.active);
        executions.add(run, made);
    };
    const auto note = [&](Signature::Access& access, Addr line, std::uint32_t sectors) {
        ++access.lines;
        access.sectors += bit_count(sectors);
        touch(made, line);
    };
    const auto on_access = [&](const StaticInst& inst, std::uint32_t active, const LaneAddresses& lanes) {
        Signature::Access& access = made.access[static_cast<std::size_t>(inst.op) - static_cast<std::size_t>(OpClass::load)];
        ++access.accesses;
        access.lanes += bit_count(active);
        each_line(lanes, active, inst.lane_bytes, [&](Addr line, std::uint32_t sectors) { note(access, line, sectors); });
    };
    const auto on_bulk = [&](const StaticInst& inst, const BulkBox& box) {
        Signature::Access& access = made.access[static_cast<std::size_t>(inst.op) - static_cast<std::size_t>(OpClass::load)];
        ++access.accesses;
        for (BulkBlocks blocks(box, kLineBytes); !blocks.done(); blocks.next()) note(access, blocks.block() / kLineBytes, 15);
    };
    walk.walk(on_run, on_access, on_bulk);
    executions.finish(made);
    return made;
}

}  // namespace mergelane::sampling
