// SPDX-License-Identifier: MIT
// The [noc] section of a configuration, and the networks that follow from it.
#pragma once

#include <string>

#include "core/clock.hpp"
#include "core/fields.hpp"
#include "core/law_book.hpp"
#include "core/meter.hpp"
#include "parts/network.hpp"

namespace mergelane {

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
struct NocMeterSpec final : MeterSpec<NocMeterSpec> {
    bool on = false;

    void fields(SpecFields& f) override;
    bool enabled() const override { return on; }
    void metrics(Metrics& metrics) const override;
    std::unique_ptr<NetworkObserver> at_network(const NetworkPlace& place) const override;
};

}  // namespace mergelane
