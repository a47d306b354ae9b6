// SPDX-License-Identifier: MIT
// The fields that version 6 of the tracer added to a line: those of bulk copies, and what follows the addresses. Text ends with a line
// break and zeros, as for text_scan.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/types.hpp"

namespace mergelane::accelsim {

/// A bulk copy of the tensor memory accelerator.
struct BulkCopy {
    Addr mbarrier = 0;
    std::uint32_t cta_mask = 0;  ///< CTAs of the cluster that receive it; 0: no multicast
    std::uint64_t bytes = 0;
    std::uint64_t bytes_out_of_bounds = 0;
    std::vector<Addr> addresses;
};

/// Reads what follows mem_width of a bulk copy. Returns where it ends; on error nullptr, `problem`, and in `at` where it was found.
const char* scan_bulk_copy(const char*& at, BulkCopy& copy, std::string& problem);

/// Reads what follows the addresses: up to two immediates, Val or NoVal, and the values of `registers`. Returns as above; at success the
/// end of the line.
const char* scan_line_end(const char*& at, std::uint32_t registers, std::string& problem);

}  // namespace mergelane::accelsim
