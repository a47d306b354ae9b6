// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "core/fields.hpp"
#include "core/law_book.hpp"

namespace mergelane {

struct DispatchSpec {
    std::string scheduler = "round_robin";
    std::string transform = "none";
    std::uint32_t block_ctas = 2;
    bool delayed_launch = true;
    std::uint32_t latency = 16;
    std::uint32_t launch_latency = 0;
    bool continue_round = false;
    std::uint32_t seed = 1;

    void fields(SpecFields& f);
    void laws(LawBook& book) const;
};

}  // namespace mergelane
