// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "core/fields.hpp"
#include "core/law_book.hpp"
#include "core/problems.hpp"

namespace mergelane {

struct DispatchSpec {
    std::string scheduler = "round_robin";
    std::uint32_t block_ctas = 2;
    bool delayed_launch = true;
    std::uint32_t latency = 16;
    std::uint32_t launch_latency = 0;

    void fields(SpecFields& f);
    void check(Problems& problems) const;
    void laws(LawBook& book) const;
};

}  // namespace mergelane
