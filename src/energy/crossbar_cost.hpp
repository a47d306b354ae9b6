// SPDX-License-Identifier: MIT
// Area, leakage and energy of a crossbar router by part: closed forms fitted to runs of a public tool.
#pragma once

#include <cstdint>

namespace mergelane {

struct CrossbarShape {
    std::uint32_t inputs = 1;
    std::uint32_t outputs = 1;
    std::uint32_t flit_bits = 256;
    std::uint32_t virtual_channels = 1;
    std::uint32_t buffer_flits = 16;  ///< of one input, all its virtual channels together

    /// The other direction of the same network.
    CrossbarShape transposed() const { return {outputs, inputs, flit_bits, virtual_channels, buffer_flits}; }
};

struct CrossbarPart {
    double area_mm2 = 0;
    double leak_mw = 0;
    double flit_pj = 0;
};

/// The total is the sum of the parts, in this order.
struct CrossbarCost {
    CrossbarPart buffers;  ///< input buffers of flip-flops
    CrossbarPart registers;
    CrossbarPart switch_fabric;
    CrossbarPart allocator;
    double clock_pj = 0;  ///< per network cycle, with or without flits

    double area_mm2() const { return buffers.area_mm2 + registers.area_mm2 + switch_fabric.area_mm2 + allocator.area_mm2; }
    double leak_mw() const { return buffers.leak_mw + registers.leak_mw + switch_fabric.leak_mw + allocator.leak_mw; }
    double flit_pj() const { return buffers.flit_pj + registers.flit_pj + switch_fabric.flit_pj + allocator.flit_pj; }
};

/// How another process differs from 22 nm.
struct NodeScale {
    double logic_area = 1;
    double wire_area = 1;  ///< the switch fabric is wires
    double leakage = 1;
    double energy = 1;
};

/// 22 nm, 0.8 V, 340 K, minimum-size gates, then scaled.
CrossbarCost crossbar_cost(const CrossbarShape& shape, const NodeScale& scale = {});

/// The shortest cycle such a router can be built for at 22 nm.
double crossbar_min_delay_ns(std::uint32_t inputs, std::uint32_t outputs);

}  // namespace mergelane
