// SPDX-License-Identifier: MIT
// The [noc] section of a configuration, and the networks that follow from it.
#pragma once

#include <string>

#include "core/clock.hpp"
#include "core/fields.hpp"
#include "core/law_book.hpp"
#include "core/packet_sizes.hpp"
#include "core/section.hpp"

namespace mergelane {

/// What all networks of a machine have in common.
struct NetworkShape {
    std::string kind = "crossbar";
    std::uint32_t flit_bytes = 32;
    std::uint32_t header_bytes = 8;
    std::uint32_t input_buffer_flits = 32;
    std::string queueing = "fifo";
    std::string arbiter = "round_robin";
    std::uint32_t islip_iterations = 1;
    std::uint32_t stage_inputs = 8;
    std::uint32_t stage_links = 4;
};

/// One network, one way.
struct NetworkSpec : NetworkShape {
    std::string name = "noc.request";  ///< of its statistics
    Clock clock;
    std::uint32_t hop_cycles = 1;  ///< between its own parts, in cycles of its clock

    /// What messages and names of components call it: "request" of "noc.request".
    std::string short_name() const { return name.substr(name.rfind('.') + 1); }
    std::string station() const { return short_name() + " network"; }
    /// A packet's length is that of the network it is on: whoever injects it counts flits with these.
    PacketSizes sizes(std::uint32_t block_bytes) const { return {flit_bytes, header_bytes, block_bytes}; }
};

struct NocSpec : NetworkShape {
    std::uint32_t injection_latency = 2;
    std::uint32_t traversal_latency = 8;
    std::uint32_t ejection_latency = 2;
    std::uint32_t credit_latency = 8;

    void fields(SpecFields& f);
    void laws(LawBook& book) const;
    /// The request and the reply network are built alike.
    NetworkSpec network(std::string name, Clock clock) const;
};

/// noc.meter
struct NocMeterSpec final : SectionOf<NocMeterSpec> {
    bool on = false;

    void fields(SpecFields& f) override;
    bool enabled() const override { return on; }
    void metrics(Metrics& metrics) const override;
};

}  // namespace mergelane
