// SPDX-License-Identifier: MIT
// The [noc.coalescing] section of a configuration: routers of a mesh that hold read requests for one DRAM row back and merge them.
#pragma once

#include "noc/router_unit.hpp"

namespace mergelane {

struct PacketCoalescingSpec final : RouterUnitSpec<PacketCoalescingSpec> {
    enum class Policy : std::uint8_t { dynamic, fixed };
    enum class Hops : std::uint8_t { routers, links };

    bool on = false;
    Policy policy = Policy::dynamic;
    std::uint32_t delay_per_hop = 5;
    bool merge = true;
    std::uint32_t table_entries = 16;
    std::uint32_t most_requests = 0;
    std::uint32_t request_bytes = 8;
    Hops hops = Hops::routers;

    void fields(SpecFields& f) override;
    bool enabled() const override { return on; }
    void check(const MachineFacts& machine, const Sections& others, Problems& problems) const override;
    void laws(LawBook& book) const override;
    void metrics(Metrics& metrics) const override;
    void structures(const MachineFacts& machine, Structures& out) const override;
    /// On the request network in front of the L2.
    std::unique_ptr<RouterUnit> make(const RouterContext& context) const override;
    std::optional<Publication> publication() const override;

    /// Hops that count of a way through `routers`.
    std::uint32_t counted(std::uint32_t routers) const { return hops == Hops::routers ? routers : routers - 1; }
    /// All that a request may be held on its way.
    std::uint32_t slack(std::uint32_t routers) const { return delay_per_hop * counted(routers); }
    /// How long the router that is the `number`-th of `routers` on a request's way holds it; they add up to the slack.
    std::uint32_t hold(std::uint32_t routers, std::uint32_t number) const;
    /// Requests that fit into a buffer of so many flits, or fewer if so configured.
    std::uint32_t requests_that_fit(std::uint32_t buffer_flits, std::uint32_t flit_bytes, std::uint32_t header_bytes) const;
};

}  // namespace mergelane
