// SPDX-License-Identifier: MIT
#include "sm/hopper_spec.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/bits.hpp"
#include "core/result.hpp"
#include "core/text.hpp"

namespace mergelane {

void TmaSpec::fields(SpecFields& f) {
    f.section("sm.tma");
    f.integer("blocks_per_cycle", blocks_per_cycle, 0, 32, "blocks/cycle",
              "tensor memory accelerator: requests of lsu.block_bytes that the bulk copies of an SM send per cycle; 0: it has none");
    f.integer("latency", latency, 1, 10000, "cycles", "from the issue of a bulk copy to its first request");
}

void TmaSpec::laws(LawBook& s) const {
    s.balance("every request of a bulk copy is answered: tma.blocks = tma.answered + in flight", s("tma.blocks"),
              s("tma.answered") + s("tma.in_flight"));
}

void TmaSpec::metrics(Metrics& m) const {
    constexpr std::string_view kHeading = "Bulk copies";
    m.add(kHeading, "requests per bulk copy", Metrics::ratio(m("tma.blocks"), m("tma.boxes")), "requests",
          fmt::format("{} copies", grouped(m.count("tma.boxes"))));
}

void WgmmaSpec::fields(SpecFields& f) {
    f.section("sm.wgmma");
    f.integer("rate", rate, 0, 65536, "multiply-adds",
              "products of matrices by warpgroups: multiply-adds of f16 per cycle and tensor unit; 0: it has none");
}

void WgmmaSpec::metrics(Metrics& m) const {
    const double unit_cycles = m.cycles() * m.machine().sms * m.machine().schedulers_per_sm;
    m.add("Products of warpgroups", "tensor units busy", Metrics::percent(m("wgmma.unit_cycles"), unit_cycles), "%",
          fmt::format("{} products of a warp", grouped(m.count("wgmma.products"))));
}

std::uint32_t WgmmaSpec::cycles(std::uint32_t columns, bool a_from_registers, std::uint32_t shared_bytes_per_cycle) const {
    constexpr std::uint32_t kRows = 16, kDepth = 16;  // of a warp, in elements of f16
    constexpr std::uint32_t kRowsOfA = 64, kRowBytes = 32;
    const std::uint64_t computing = divide_up(kRows * columns * kDepth, rate);
    const std::uint64_t reading = divide_up(kRowBytes * (columns + (a_from_registers ? 0 : kRowsOfA)), shared_bytes_per_cycle);
    return static_cast<std::uint32_t>(std::max(computing, reading));
}

}  // namespace mergelane
