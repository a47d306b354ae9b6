// SPDX-License-Identifier: MIT
#include "workload/tracefile/cta_encoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "core/bits.hpp"
#include "core/error.hpp"
#include "workload/tracefile/format.hpp"

namespace mergelane::tracefile {

CtaEncoder::CtaEncoder(RunDictionary& runs, std::uint32_t warps) : runs_(runs), warps_(warps), strings_(warps) {}

const std::string& CtaEncoder::encode(CtaStream& stream) {
    std::fill(seen_.begin(), seen_.end(), 0);
    std::uint64_t size = 0;
    for (std::uint32_t w = 0; w < warps_; ++w) {
        strings_[w].clear();
        encode_warp(stream, w, strings_[w]);
        size += strings_[w].size();
        if (size > kMostCtaBytes / 2) break;
    }
    bytes_.assign(1, '\0');
    put_firsts(bytes_);
    for (const std::string& string : strings_) put_varint(bytes_, string.size());
    if (size > kMostCtaBytes / 2 || bytes_.size() + size > kMostCtaBytes)
        throw InputError(
            fmt::format("a CTA takes more than {} MiB; does its kernel end? Trace files hold no longer ones", kMostCtaBytes >> 21));
    for (const std::string& string : strings_) bytes_ += string;
    return bytes_;
}

void CtaEncoder::encode_warp(CtaStream& stream, std::uint32_t warp, std::string& out) {
    events_.start(0);
    records_.start(runs_.memory_count());
    std::uint32_t node = RunDictionary::kRoot;
    std::uint32_t mask = 0;
    const auto end_run = [&] {
        if (node == RunDictionary::kRoot) return;
        events_.run(runs_.number(node), mask);
        events_.hand_over(out);
        records_.hand_over(out);
        node = RunDictionary::kRoot;
    };
    Run run;
    while (run = {}, stream.next_run(warp, run)) {
        if (run.active != mask) end_run();
        mask = run.active;
        warp_instructions += run.count;
        thread_instructions += std::uint64_t{run.count} * static_cast<std::uint32_t>(std::popcount(mask));
        for (std::uint32_t i = 0; i < run.count; ++i) {
            const StaticInst& inst = run.first[i];
            std::uint32_t next = runs_.follow(node, &inst);
            if (next == RunDictionary::kNone) {
                end_run();
                next = runs_.follow(RunDictionary::kRoot, &inst);
            }
            node = next;
            if (mask != 0 && runs_.memory(node) != RunDictionary::kNone) put_addresses(stream, warp, inst, mask, runs_.memory(node));
            if (runs_.ends(node)) end_run();
        }
        if (out.size() > kMostCtaBytes / 2) return;
    }
    end_run();
}

void CtaEncoder::put_addresses(CtaStream& stream, std::uint32_t warp, const StaticInst& inst, std::uint32_t active, std::uint32_t memory) {
    ++memory_instructions;
    lanes_.run_count = 0;
    stream.addresses(warp, inst, active, lanes_);
    if (has_values(inst)) {
        note_first(memory, warp, lanes_.lane[0]);
        return records_.values(memory, lanes_.lane.data(), lanes_.values);
    }
    Addr base = lanes_.base;
    std::int64_t stride = lanes_.stride;
    if (lanes_.run_count != 0) {
        lanes_.affine = false;
        lanes_.expand(active);
    }
    bool affine = lanes_.affine;
    if (affine && (active & (active - 1)) == 0) {  // one lane has no stride
        base = lanes_.of(lowest_bit(active));
        stride = 0;
    } else if (!affine) {
        affine = record::find_affine(lanes_.lane.data(), active, base, stride);
        if (!affine) base = lanes_.lane[lowest_bit(active)];
    }
    note_first(memory, warp, base);
    if (affine)
        records_.affine(memory, base, stride);
    else
        records_.lanes(memory, active, lanes_.lane.data());
}

void CtaEncoder::note_first(std::uint32_t memory, std::uint32_t warp, Addr base) {
    if (memory >= seen_.size()) {
        seen_.resize(runs_.memory_count());
        firsts_.resize(seen_.size() * warps_);
    }
    if ((seen_[memory] & bit(warp)) != 0) return;
    seen_[memory] |= bit(warp);
    firsts_[std::size_t{memory} * warps_ + warp] = base;
    records_.expect(memory, base);
    if (memory >= references_.size()) {
        references_.resize(runs_.memory_count());
        referenced_.resize(runs_.memory_count());
    }
    if (!referenced_[memory]) references_[memory] = base;
    referenced_[memory] = true;
}

/// Per memory instruction that was reached: its number, which warps (if not all), and their first addresses.
void CtaEncoder::put_firsts(std::string& out) const {
    const std::uint64_t all = low_bits(warps_);
    put_varint(out, static_cast<std::uint64_t>(std::count_if(seen_.begin(), seen_.end(), [](std::uint64_t s) { return s != 0; })));
    std::size_t expected = 0;
    for (std::size_t m = 0; m < seen_.size(); ++m) {
        if (seen_[m] == 0) continue;
        put_varint(out, (m - expected) << 1 | (seen_[m] != all ? 1 : 0));
        if (seen_[m] != all) put_varint(out, seen_[m]);
        expected = m + 1;
        Addr last = references_[m];
        Addr step = 0;
        bool first = true;
        for (std::uint64_t left = seen_[m]; left != 0; left &= left - 1) {
            const Addr base = firsts_[m * warps_ + lowest_bit(left)];
            const Addr now = base - last;
            put_signed(out, static_cast<std::int64_t>(now - step));
            step = first ? 0 : now;
            first = false;
            last = base;
        }
    }
}

}  // namespace mergelane::tracefile
