// SPDX-License-Identifier: MIT
// A slow second implementation of PTX instructions, written from their description alone: one lane at a time, floating point in integers.
// What the executor computes is compared with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "workload/ptx/module.hpp"

namespace mergelane::ptx::reference {

/// One lane's part of an instruction. Values are in the low bits; predicates are 0 or 1.
struct Lane {
    const std::uint64_t* in;
    std::uint64_t* out;
    bool* carry;  ///< CC.CF
};
/// An instruction in which lanes see each other; `in` and `out` as of Lane, for each lane.
struct Lanes {
    std::uint32_t active;  ///< mask
    const std::uint64_t (*in)[8];
    std::uint64_t (*out)[8];
};

/// A row of the table of instructions. To add an instruction is to add a row.
struct Rule {
    enum class Form : std::uint8_t { plain, pair, vector_result, vector_source };
    std::string opcode;                       ///< with all modifiers
    std::vector<Type> results;                ///< several: a pair p|q or a vector {a, b}
    std::vector<Type> sources;                ///< those of a vector come first
    std::function<void(const Lane&)> lane;    ///< either this
    std::function<void(const Lanes&)> lanes;  ///< or this one
    Form form = Form::plain;
    bool divides = false;          ///< the second source must not be 0
    bool member_mask = false;      ///< a mask of the participating lanes is the last operand; not among the sources
    bool needs_all_lanes = false;  ///< undefined if a lane that is read is inactive
    int byte_source = -1;          ///< this source is a number from 0 to 255
};

/// All instructions that have a reference, whether or not the decoder accepts them.
const std::vector<Rule>& rules();
/// The rule for an opcode with so many results and sources, each part of a vector counted; nullptr: there is none.
const Rule* find_rule(std::string_view opcode, std::size_t results, std::size_t sources);

/// Memory of a launch: one array of global memory, and shared memory of a CTA at addresses from 0 on.
struct Memory {
    std::uint64_t global_base = 0;
    std::vector<std::byte> global;
    std::vector<std::byte> shared;
};

/// Executes warp after warp of one CTA. Lanes whose next instruction is the first in text order execute together, so that structured code
/// reconverges where its blocks end. `params` are the kernel's parameters, all of 64 bits. Returns the executed warp instructions.
/// Throws std::runtime_error for an instruction without a rule and for an access outside of memory.
std::uint64_t run(const Function& kernel, std::uint32_t threads, const std::vector<std::uint64_t>& params, Memory& memory);

}  // namespace mergelane::ptx::reference
