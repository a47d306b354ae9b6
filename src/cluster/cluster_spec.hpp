// SPDX-License-Identifier: MIT
#pragma once

#include "core/fields.hpp"

namespace mergelane {

struct ClusterSpec {
    std::uint32_t injection_buffer = 8;
    std::uint32_t response_fifo = 8;

    void fields(SpecFields& f) {
        f.section("cluster");
        f.integer("injection_buffer", injection_buffer, 1, 1024, "packets",
                  "requests of a cluster's SMs waiting at the shared network port");
        f.integer("response_fifo", response_fifo, 1, 1024, "packets",
                  "replies waiting to be handed to a cluster's SMs, beyond those still on the link");
    }
};

}  // namespace mergelane
