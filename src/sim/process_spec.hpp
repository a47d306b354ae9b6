// SPDX-License-Identifier: MIT
// gpu.process_nm: the process that a GPU is made in. It changes no result; energy tables of another process are refused.
#pragma once

#include "core/section.hpp"

namespace mergelane {

struct ProcessSpec final : SectionOf<ProcessSpec> {
    std::uint32_t process_nm = 0;

    void fields(SpecFields& f) override {
        f.section("gpu");
        f.integer(
            "process_nm", process_nm, 0, 1000, "nm",
            "process of the GPU, whose chip is priced by energy tables of that process only; 0: by any, as a chip of the table's process");
    }
    bool enabled() const override { return process_nm != 0; }
};

}  // namespace mergelane
