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

void SignatureTaker::touch_new(Signature& signature, Addr line, Known& known) {
    const std::uint64_t hash = mix64(line);
    signature.footprint.add(hash);
    const bool sampled = (hash & mask_) == 0;
    known.line = sampled ? line | kSampled : line;
    if (!sampled) return;
    std::uint64_t& last = last_.of(line, hash);
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
    last_.keep_if([&](std::uint64_t hash) { return (hash & mask_) == 0; });
}

void SignatureTaker::count(Signature& signature, Signature::Access& access, const LaneAddresses& lanes, std::uint32_t active,
                           std::uint32_t lane_bytes) {
    // Every lane has a sector of its own: none straddles two.
    const bool aligned = is_power_of_two(lane_bytes) && ((lanes.base | static_cast<Addr>(lanes.stride)) & (lane_bytes - 1)) == 0;
    if (lanes.affine && aligned && lanes.stride >= static_cast<std::int64_t>(kSectorBytes)) {
        Addr before = ~Addr{0};
        std::uint64_t lines = 0;
        for (std::uint32_t left = active; left != 0; left &= left - 1) {
            const Addr line = (lanes.base + static_cast<Addr>(lanes.stride) * lowest_bit(left)) / kLineBytes;
            if (line == before) continue;
            touch(signature, line);
            before = line;
            ++lines;
        }
        access.lines += lines;
        access.sectors += bit_count(active);
        return;
    }
    count_scattered(signature, access, lanes, active, lane_bytes);
}

/// As each_line() with its window: a line counts again when so many others came in between.
void SignatureTaker::count_scattered(Signature& signature, Signature::Access& access, const LaneAddresses& lanes, std::uint32_t active,
                                     std::uint32_t lane_bytes) {
    constexpr std::uint64_t kWindow = 8;
    struct Held {
        Addr line;
        std::uint32_t sectors;
    };
    std::array<Held, kWindow> held;  // by time
    const std::uint64_t start = now_;
    bool displaced = false;  // a line of this access is no longer in `known_`
    std::uint64_t sectors = 0;
    add_lanes(lanes, active, lane_bytes, [&](Addr line, std::uint32_t more) {
        Known& known = known_[line % kKnown];
        Held* place = nullptr;
        const bool is_known = (known.line & ~kSampled) == line;
        if (is_known) {
            if (known.time > start && now_ - known.time < kWindow) place = &held[known.time % kWindow];
        } else if (displaced) {
            for (std::uint64_t time = now_; time > start && now_ - time < kWindow; --time) {
                if (held[time % kWindow].line == line) place = &held[time % kWindow];
            }
        }
        if (place != nullptr) {
            sectors += bit_count(more & ~place->sectors);
            place->sectors |= more;
            return;
        }
        displaced = displaced || (!is_known && known.time > start);
        touch(signature, line);
        known.time = now_;
        held[now_ % kWindow] = {line, more};
        sectors += bit_count(more);
    });
    access.lines += now_ - start;
    access.sectors += sectors;
}

void Signature::merge(const Signature& more) {
    warp_instructions += more.warp_instructions;
    thread_instructions += more.thread_instructions;
    for (std::size_t m = 0; m < mix.size(); ++m) mix[m] += more.mix[m];
    for (std::size_t a = 0; a < access.size(); ++a) {
        access[a].accesses += more.access[a].accesses;
        access[a].lanes += more.access[a].lanes;
        access[a].lines += more.access[a].lines;
        access[a].sectors += more.access[a].sectors;
    }
    footprint.merge(more.footprint);
    for (std::size_t b = 0; b < reuse.size(); ++b) reuse[b] += more.reuse[b];
}

Signature SignatureTaker::take(const KernelSource& kernel, const CtaRange& range) {
    const KernelInfo& info = kernel.info();
    Signature made;
    made.kernel = info.name;
    made.grid = info.grid;
    made.block = info.block;
    made.shared_bytes = info.shared_bytes;
    known_.fill({});
    LaunchWalk walk(kernel, 1, range);
    Executions executions(walk.instructions());
    const auto on_run = [&](const Run& run) {
        made.warp_instructions += run.count;
        made.thread_instructions += std::uint64_t{run.count} * bit_count(run.active);
        executions.add(run, made);
    };
    const auto on_access = [&](const StaticInst& inst, std::uint32_t active, const LaneAddresses& lanes) {
        Signature::Access& access = made.access[static_cast<std::size_t>(inst.op) - static_cast<std::size_t>(OpClass::load)];
        ++access.accesses;
        access.lanes += bit_count(active);
        if (!is_contiguous(lanes, active)) return count(made, access, lanes, active, inst.lane_bytes);
        const Addr from = lanes.of(lowest_bit(active)), last = lanes.of(last_lane(active)) + inst.lane_bytes - 1;
        access.lines += last / kLineBytes - from / kLineBytes + 1;
        access.sectors += last / kSectorBytes - from / kSectorBytes + 1;
        for (Addr line = from / kLineBytes; line <= last / kLineBytes; ++line) touch(made, line);
    };
    const auto on_bulk = [&](const StaticInst& inst, const BulkBox& box) {
        Signature::Access& access = made.access[static_cast<std::size_t>(inst.op) - static_cast<std::size_t>(OpClass::load)];
        ++access.accesses;
        for (BulkBlocks blocks(box, kLineBytes); !blocks.done(); blocks.next()) {
            ++access.lines;
            access.sectors += kLineBytes / kSectorBytes;
            touch(made, blocks.block() / kLineBytes);
        }
    };
    walk.walk(on_run, on_access, on_bulk);
    executions.finish(made);
    return made;
}

}  // namespace mergelane::sampling
