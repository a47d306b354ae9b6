// SPDX-License-Identifier: MIT
// Configuration of a streaming multiprocessor.
#pragma once

#include <array>
#include <string>

#include "core/fields.hpp"
#include "core/kernel.hpp"
#include "core/law_book.hpp"
#include "core/problems.hpp"
#include "parts/l1_spec.hpp"

namespace mergelane {

/// Names of the execution units an operation class may occupy.
inline constexpr std::array<std::string_view, 5> kUnitNames = {"alu", "fpu", "dpu", "sfu", "tensor"};

struct ExecClassSpec {
    std::uint32_t latency = 4;
    std::uint32_t interval = 1;
    std::string unit = "alu";
};

struct SmSpec {
    enum class SharedPath : std::uint8_t { front, own };

    std::uint32_t warps = 48;
    std::uint32_t cta_slots = 8;
    std::uint32_t registers = 32768;
    std::uint32_t shared_kib = 48;
    std::uint32_t schedulers = 2;
    std::string scheduler = "gto";
    bool sub_cores = false;
    std::uint32_t pipeline_latency = 0;
    std::array<std::uint32_t, kUnitNames.size()> units = {2, 2, 1, 1, 1};
    std::array<ExecClassSpec, kComputeClasses> exec;
    std::uint32_t barrier_latency = 1;
    std::uint32_t shared_banks = 32;
    std::uint32_t shared_latency = 26;
    SharedPath shared_path = SharedPath::front;
    std::uint32_t warp_limit = 0;

    void fields(SpecFields& f);
    void check(Problems& problems) const;
    void laws(LawBook& book) const;
};

struct LsuSpec {
    std::string front = "in_order";
    std::uint32_t queue = 4;
    std::uint32_t block_bytes = 128;
    std::uint32_t blocks_per_cycle = 1;
    std::uint32_t banks = 1;
    bool atomic_rounds = true;
    std::uint32_t issue_limit = 0;

    void fields(SpecFields& f);
    void check(Problems& problems) const;
};

/// How many CTAs of a kernel fit on one SM, and which resource limits them.
struct Residency {
    std::uint32_t ctas = 0;
    std::string_view limited_by;
};
Residency residency(const SmSpec& sm, const KernelInfo& kernel);

}  // namespace mergelane
