// SPDX-License-Identifier: MIT
// The contract of everything that lives in simulated time.
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

/// One edge of the wait-for graph printed when nothing can move any more.
struct Wait {
    const Component* who = nullptr;
    const Component* on = nullptr;  ///< nullptr: the chain ends here
    std::string why;
    bool no_room = false;  ///< waits for room on a link
};

/// On cache lines of its own: components of different domains may run in different threads.
class alignas(64) Component {
public:
    explicit Component(std::string name) : name_(std::move(name)) {}
    virtual ~Component() = default;
    Component(const Component&) = delete;
    Component& operator=(const Component&) = delete;

    /// Does what can be done at `now` and returns the next cycle it wants to be called, kNever for "only when
    /// woken". Being called early is harmless and changes nothing, not even a statistic; late is a bug. A step may make its domain
    /// forget that the component was woken for a later cycle, so what it still waits for, such as a head's arrival, it returns.
    virtual Cycle step(Cycle now) = 0;

    /// Appends this component's counters; `now` closes intervals that are still open.
    virtual void stats(StatFields& out, Cycle now) const = 0;

    /// What this component waits for, if it holds work.
    virtual void explain(std::vector<Wait>&) const {}

    /// Appends what is inside right now, such as requests in its queues. Laws balance with it; when a run has come to its end, every
    /// gauge is zero. Never part of a result.
    virtual void gauges(StatFields& out) const { static_cast<void>(out); }

    /// Requests inside the component (not on its links), for conservation checks.
    virtual std::uint64_t held() const { return 0; }

    /// A packet will be at the input that was numbered so. Told when it is sent; of packets from another domain at the start of the
    /// next window, and only of the first.
    virtual void expect(std::uint32_t input, Cycle at) {
        static_cast<void>(input);
        wake(at);
    }

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
