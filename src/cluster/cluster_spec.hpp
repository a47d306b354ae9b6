// SPDX-License-Identifier: MIT
#pragma once

#include "core/fields.hpp"
#include "core/law_book.hpp"

namespace mergelane {

struct ClusterSpec {
    std::uint32_t injection_buffer = 8;
    std::uint32_t response_fifo = 8;

    void fields(SpecFields& f);
    void laws(LawBook& book) const;
};

}  // namespace mergelane
