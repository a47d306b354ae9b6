// SPDX-License-Identifier: MIT
// Functions that call themselves, directly or not. A function has one place for its registers, parameters and local variables. A call of
// one that is active already puts the lanes' values aside, and the return restores them.
#include <algorithm>
#include <cstring>

#include "core/bits.hpp"
#include "workload/ptx/decode.hpp"
#include "workload/ptx/executor.hpp"

namespace mergelane::ptx {

namespace {

constexpr std::uint32_t kRecursionBytes = 32u << 10;  ///< of local memory per thread, for the variables of further activations
constexpr std::size_t kMostKept = std::size_t{256} << 20;

/// Copies the lanes' part of a register; `bytes` 0: a predicate.
void copy_lanes(std::byte* to, const std::byte* from, std::uint32_t bytes, std::uint32_t mask) {
    if (bytes == 0) {
        std::uint32_t old, fresh;
        std::memcpy(&old, to, sizeof old);
        std::memcpy(&fresh, from, sizeof fresh);
        old = (old & ~mask) | (fresh & mask);
        std::memcpy(to, &old, sizeof old);
        return;
    }
    for (std::uint32_t left = mask; left != 0; left &= left - 1) {
        const std::size_t lane = lowest_bit(left);
        std::memcpy(to + lane * bytes, from + lane * bytes, bytes);
    }
}
std::size_t row_bytes(const RecursiveFrame::Register& one) {
    return one.bytes == 0 ? sizeof(std::uint32_t) : std::size_t{one.bytes} * kWarpLanes;
}

}  // namespace

/// Marks the functions that may be active twice in a thread.
void Decoder::find_recursion() {
    std::vector<std::vector<std::size_t>> calls(frames_.size());
    for (std::size_t f = 0; f < frames_.size(); ++f) {
        const Function& function = *frames_[f]->function;
        for (const Instruction& instruction : function.code) {
            if (instruction.words[0] != "call") continue;
            for (const Function* callee : called_at(function, instruction).functions) calls[f].push_back(frame_of_.at(callee->name));
        }
    }
    for (std::size_t f = 0; f < frames_.size(); ++f) {
        std::vector<bool> seen(frames_.size(), false);
        std::vector<std::size_t> open = calls[f];
        while (!open.empty() && !seen[f]) {
            const std::size_t next = open.back();
            open.pop_back();
            if (seen[next]) continue;
            seen[next] = true;
            open.insert(open.end(), calls[next].begin(), calls[next].end());
        }
        if (!seen[f]) continue;
        frames_[f]->recursive = static_cast<std::uint32_t>(program_->recursive.size());
        program_->recursive.emplace_back();
    }
}

/// After all frames have been placed: local memory for further activations of the recursive ones, whose variables start at `first_local`.
void Decoder::place_recursion(std::uint32_t first_local) {
    program_->recursion_stride = program_->local_bytes - first_local;
    if (program_->recursion_stride != 0) program_->local_bytes += kRecursionBytes / program_->recursion_stride * program_->recursion_stride;
}

/// The address of a local variable. Where activations have their own variables, it is a register.
Slot Decoder::local_address(std::uint64_t value, std::uint32_t bytes) {
    if (frame_->recursive == kNone) return constant(value, bytes);
    RecursiveFrame& kept = program_->recursive[frame_->recursive];
    for (const RecursiveFrame::Address& known : kept.addresses) {
        if (known.first == value && known.bytes == bytes) return known.slot;
    }
    const Slot slot = new_register(bytes);
    kept.addresses.push_back({slot, static_cast<std::uint8_t>(bytes), value});
    kept.registers.push_back({slot, static_cast<std::uint8_t>(bytes)});
    return slot;
}

void Executor::start_addresses(Warp& warp) const {
    for (const RecursiveFrame& frame : program_.recursive) {
        for (const RecursiveFrame::Address& address : frame.addresses) {
            for (std::size_t lane = 0; lane < kWarpLanes; ++lane)
                std::memcpy(warp.regs + address.slot + lane * address.bytes, &address.first, address.bytes);
        }
    }
    warp.kept.clear();
    warp.kept_bytes = 0;
}

/// Whether some lanes of the warp have not returned from the function yet.
bool Executor::is_active(const Warp& warp, std::uint32_t first_block) const {
    return std::any_of(warp.stack.begin(), warp.stack.end(),
                       [&](const Level& level) { return level.call != kNone && program_.calls[level.call].callee == first_block; });
}

/// Puts aside what the lanes have in the function, and moves its local variables on.
void Executor::keep_frame(Warp& warp, std::uint32_t number, std::uint32_t mask, std::uint32_t line) {
    const RecursiveFrame& frame = program_.recursive[number];
    KeptFrame kept{number, mask, {}};
    for (const RecursiveFrame::Register& one : frame.registers)
        kept.data.insert(kept.data.end(), warp.regs + one.slot, warp.regs + one.slot + row_bytes(one));
    for (std::size_t lane = 0; lane < kWarpLanes; ++lane) {
        const std::byte* const params = warp.call_params + lane * program_.parameter_bytes;
        kept.data.insert(kept.data.end(), params + frame.params, params + frame.params_end);
    }
    warp.kept_bytes += kept.data.size();
    if (warp.kept_bytes > kMostKept)
        fail_in(line, "a function calls itself so often that {} MiB of registers wait for its return; does it end?", kMostKept >> 20);
    warp.kept.push_back(std::move(kept));
    for (const RecursiveFrame::Address& address : frame.addresses) {
        for (std::uint32_t left = mask; left != 0; left &= left - 1) {
            std::byte* const at = warp.regs + address.slot + std::size_t{lowest_bit(left)} * address.bytes;
            std::uint64_t value = 0;
            std::memcpy(&value, at, address.bytes);
            value += program_.recursion_stride;
            if (value - address.first > kRecursionBytes / program_.recursion_stride * std::uint64_t{program_.recursion_stride})
                fail_in(line, "a function calls itself so often that its local variables need more than {} KiB; does it end?",
                        kRecursionBytes >> 10);
            std::memcpy(at, &value, address.bytes);
        }
    }
}

/// Restores what lanes that return had in the function before they called it; nothing if they called it once.
void Executor::restore_frame(Warp& warp, std::uint32_t number, std::uint32_t mask) {
    const RecursiveFrame& frame = warp.launch->program.recursive[number];
    const std::size_t lane_bytes = warp.launch->program.parameter_bytes;
    for (std::size_t k = warp.kept.size(); k-- > 0 && mask != 0;) {
        KeptFrame& kept = warp.kept[k];
        const std::uint32_t lanes = kept.number == number ? kept.mask & mask : 0;
        if (lanes == 0) continue;
        const std::byte* from = kept.data.data();
        for (const RecursiveFrame::Register& one : frame.registers) {
            copy_lanes(warp.regs + one.slot, from, one.bytes, lanes);
            from += row_bytes(one);
        }
        const std::size_t bytes = frame.params_end - frame.params;
        for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
            const std::size_t lane = lowest_bit(left);
            std::memcpy(warp.call_params + lane * lane_bytes + frame.params, from + lane * bytes, bytes);
        }
        kept.mask &= ~lanes;
        mask &= ~lanes;
    }
    while (!warp.kept.empty() && warp.kept.back().mask == 0) {
        warp.kept_bytes -= warp.kept.back().data.size();
        warp.kept.pop_back();
    }
}

/// Lanes return: results leave the function before its earlier values come back, and reach the caller, which may be the same function,
/// after.
void Executor::return_results(Warp& warp, const CallSite& site, std::uint32_t mask) {
    if (site.recursive == kNone || warp.kept.empty()) return copy_params(warp, site.results, mask);
    std::vector<std::byte> results;
    const auto each = [&](const auto& use) {
        for (const Copy& copy : site.results) {
            for (std::uint32_t left = mask; left != 0; left &= left - 1)
                use(copy, warp.call_params + std::size_t{lowest_bit(left)} * program_.parameter_bytes);
        }
    };
    each([&](const Copy& copy, const std::byte* lane) { results.insert(results.end(), lane + copy.from, lane + copy.from + copy.bytes); });
    restore_frame(warp, site.recursive, mask);
    const std::byte* from = results.data();
    each([&](const Copy& copy, std::byte* lane) {
        std::memcpy(lane + copy.to, from, copy.bytes);
        from += copy.bytes;
    });
}

}  // namespace mergelane::ptx
