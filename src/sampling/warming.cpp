// SPDX-License-Identifier: MIT
#include "sampling/warming.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "sampling/coalesce.hpp"

namespace mergelane::sampling {

Warming::Warming(Machine& machine) : machine_(machine), line_bytes_(machine.spec().l2.line_bytes), whole_lines_(line_bytes_ == kLineBytes) {
    if (machine.spec().gpu.groups == 1) return;
    throw InputError(
        fmt::format("{} has {} groups with an L2 each, which sampling does not warm; set gpu.groups = 1, or simulate the whole "
                    "workload",
                    machine.spec().name, machine.spec().gpu.groups));
}

/// The lines of the L2 are shorter.
void Warming::read_parts(Addr line, std::uint32_t sectors, bool atomic) {
    const std::uint32_t width = line_bytes_ / kSectorBytes;
    for (std::uint32_t first = 0; first < kLineBytes / kSectorBytes; first += width) {
        const std::uint32_t part = sectors >> first & static_cast<std::uint32_t>(low_bits(width));
        if (part == 0) continue;
        const Addr address = line * kLineBytes + first * kSectorBytes;
        L2Slice& slice = slice_of(address);
        push_read(&slice, slice.warm_place(address), part, atomic);
    }
}

void Warming::finish_all() {
    const std::uint64_t first = pushed_ > kPending ? pushed_ - kPending : 0;
    for (std::uint64_t number = first; number < pushed_; ++number) finish(pending_[number % kPending]);
    pushed_ = 0;
}

void Warming::write_bytes(Addr from, Addr to) {
    while (from < to) {
        const Addr line = from & ~Addr{line_bytes_ - 1};
        const Addr end = std::min(to, line + line_bytes_);
        ByteMask bytes;
        bytes.set_range(static_cast<std::uint32_t>(from - line), static_cast<std::uint32_t>(end - from));
        Known other;
        if (!whole_lines_) {
            other.slice = &slice_of(line);
            other.place = other.slice->warm_place(line);
        }
        const Known& known = whole_lines_ ? known_line(line / kLineBytes) : other;
        Pending& entry = push(known.slice, known.place);
        entry.sectors = 0;
        entry.written = bytes;
        from = end;
    }
}

void Warming::write(const LaneAddresses& lanes, std::uint32_t active, std::uint32_t lane_bytes) {
    const auto adjacent = [&](std::int64_t stride) { return stride >= 0 && stride <= static_cast<std::int64_t>(lane_bytes); };
    if (lanes.affine && adjacent(lanes.stride) && are_neighbours(active))
        return write_bytes(lanes.of(lowest_bit(active)), lanes.of(last_lane(active)) + lane_bytes);
    Addr from = 0, to = 0;  // bytes of neighbouring lanes that are adjacent, or the same
    const auto add = [&](Addr first, Addr end) {
        if (first >= from && first <= to && to != 0) {
            to = std::max(to, end);
            return;
        }
        write_bytes(from, to);
        from = first;
        to = end;
    };
    for (std::uint32_t r = 0; r < lanes.run_count; ++r) {
        const LaneAddresses::Run& run = lanes.runs[r];
        const auto lane = [&](std::uint32_t number) { return run.base + static_cast<Addr>(run.stride) * number; };
        if (adjacent(run.stride))
            add(run.base, lane(run.count - 1) + lane_bytes);
        else
            for (std::uint32_t number = 0; number < run.count; ++number) add(lane(number), lane(number) + lane_bytes);
    }
    for (std::uint32_t left = lanes.run_count != 0 ? 0 : active; left != 0; left &= left - 1) {
        const Addr address = lanes.of(lowest_bit(left));
        add(address, address + lane_bytes);
    }
    write_bytes(from, to);
}

L2Traffic Warming::warm(const KernelSource& kernel, const CtaRange& range) {
    traffic_ = {};
    pushed_ = 0;
    // As many CTAs take turns as would run at a time, within reason.
    constexpr std::uint64_t kMostAtATime = 512;
    const MachineSpec& spec = machine_.spec();
    const std::uint64_t resident = std::uint64_t{residency(spec.sm, kernel.info()).ctas} * spec.sms();
    LaunchWalk walk(kernel, std::clamp<std::uint64_t>(resident, 1, kMostAtATime), range);
    const auto on_access = [&](const StaticInst& inst, std::uint32_t active, const LaneAddresses& lanes) {
        if (inst.op == OpClass::store) {
            write(lanes, active, inst.lane_bytes);
            return;
        }
        const bool atomic = inst.op == OpClass::atomic;
        each_line(lanes, active, inst.lane_bytes, [&](Addr line, std::uint32_t sectors) { read(line, sectors, atomic); });
    };
    const auto on_bulk = [&](const StaticInst& inst, const BulkBox& box) {
        for (BulkBlocks blocks(box, kLineBytes); !blocks.done(); blocks.next()) {
            std::uint32_t first = 0, count = 0;
            blocks.bytes(first, count);
            if (inst.op == OpClass::store)
                write_bytes(blocks.block() + first, blocks.block() + first + count);
            else
                read(blocks.block() / kLineBytes,
                     sectors_between((blocks.block() + first) / kSectorBytes, (blocks.block() + first + count - 1) / kSectorBytes,
                                     blocks.block() / kLineBytes),
                     inst.op == OpClass::atomic);
        }
    };
    walk.walk([](const Run&) {}, on_access, on_bulk);
    finish_all();
    return traffic_;
}

std::uint64_t l2_lines(const MachineSpec& spec) {
    return spec.l2.enabled ? std::uint64_t{spec.slices()} * (spec.l2.size_kib * 1024 / spec.l2.line_bytes) : 0;
}

}  // namespace mergelane::sampling
