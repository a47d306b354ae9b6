// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "core/fields.hpp"
#include "core/law_book.hpp"
#include "core/problems.hpp"

namespace mergelane {

struct NocSpec {
    std::uint32_t flit_bytes = 32;
    std::uint32_t header_bytes = 8;
    std::uint32_t injection_latency = 2;
    std::uint32_t traversal_latency = 8;
    std::uint32_t ejection_latency = 2;
    std::uint32_t credit_latency = 8;
    std::uint32_t input_buffer_flits = 32;
    std::string queueing = "fifo";
    std::string arbiter = "round_robin";
    std::uint32_t islip_iterations = 1;

    void fields(SpecFields& f);
    void check(Problems& problems) const;
    void laws(LawBook& book) const;
};

}  // namespace mergelane
