// SPDX-License-Identifier: MIT
// The header of a kernel's trace, "-key = value" lines up to the first one that begins with '#', and the lines that name a CTA.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/kernel.hpp"

namespace mergelane::accelsim {

struct TraceHeader {
    std::string kernel_name;
    Dim3 grid{0, 0, 0};
    Dim3 block{0, 0, 0};
    std::uint32_t shared_bytes = 0;
    std::uint32_t registers = 0;
    std::uint32_t sm_version = 0;
    Addr shared_base = 0;
    Addr local_base = 0;
    std::uint32_t version = 0;       ///< of the tracer; 0: the header does not say
    std::uint32_t cluster_ctas = 1;  ///< largest thread-block cluster; complete when the whole file has been indexed
    bool warp_prefix = true;         ///< lines begin with CTA and warp (tracer before version 3)
    bool line_numbers = false;

    std::uint32_t warps() const { return static_cast<std::uint32_t>((block.count() + kWarpLanes - 1) / kWarpLanes); }
};

/// One "-key = value" line. Returns what is wrong with it; empty if valid. Unknown keys are ignored.
std::string parse_header_line(std::string_view line, TraceHeader& header);
/// What a header still lacks after its last line; empty if nothing.
std::string missing_in(const TraceHeader& header);

constexpr std::uint32_t kMostClusterRank = 1023;
/// A line "cluster id", "cluster cta" or "cluster rank" (version 6). Returns what is wrong with it; empty if valid.
std::string parse_cluster_line(std::string_view line, TraceHeader& header);

std::string_view trimmed(std::string_view text);
bool parse_number(std::string_view text, std::uint64_t most, std::uint32_t& value);
/// "(x,y,z)" or "x,y,z".
bool parse_triple(std::string_view text, Dim3& value);

}  // namespace mergelane::accelsim
