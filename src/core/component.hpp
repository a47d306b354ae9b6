// SPDX-License-Identifier: MIT
// The interface of everything that has state in simulated time.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/fields.hpp"
#include "core/types.hpp"

namespace mergelane {

class Component;
class Domain;
class Stages;

/// One edge of the wait-for graph that is printed on deadlock.
struct Wait {
    const Component* who = nullptr;
    const Component* on = nullptr;  ///< nullptr: end of the chain
    std::string why;
    bool no_room = false;  ///< waits for credits of a link
};

/// Aligned to cache lines, because components of different domains may run in different threads.
class alignas(64) Component {
public:
    explicit Component(std::string name) : name_(std::move(name)) {}
    virtual ~Component() = default;
    Component(const Component&) = delete;
    Component& operator=(const Component&) = delete;

    /// Does what can be done at `now`. Returns the next cycle in which to be called, or kNever to be called only when woken. An early call
    /// changes nothing, not even a statistic; a late call is a bug. A step may discard a pending wake-up for a later cycle, so the
    /// component must return whatever it still waits for, such as the arrival of a head packet.
    virtual Cycle step(Cycle now) = 0;

    /// Appends this component's counters. `now` closes open intervals.
    virtual void stats(StatFields& out, Cycle now) const = 0;

    /// What this component waits for, if it holds work.
    virtual void explain(std::vector<Wait>&) const {}

    /// Appends gauges: momentary values such as queue occupancies. Invariants use them. All gauges are zero when a run has completed. They
    /// never appear in a result.
    virtual void gauges(StatFields& /*out*/) const {}

    /// Declares the stages it notes in journeys.
    virtual void stages(Stages& /*out*/) {}

    /// Requests inside the component (not on its links), for conservation checks.
    virtual std::uint64_t held() const { return 0; }

    /// A packet will arrive at the input with this number. Called when the packet is sent; for packets from another domain, at the start of
    /// the next window, and only for the first one.
    virtual void expect(std::uint32_t /*input*/, Cycle at) { wake(at); }

    void wake(Cycle at);
    void attach(Domain& domain, std::uint32_t id) {
        domain_ = &domain;
        id_ = id;
    }
    Domain& domain() const { return *domain_; }
    const std::string& name() const { return name_; }

private:
    std::string name_;
    Domain* domain_ = nullptr;
    std::uint32_t id_ = 0;
};

}  // namespace mergelane
