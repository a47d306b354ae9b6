// SPDX-License-Identifier: MIT
// A meter is a section of the configuration that makes observers while it is switched on. Components ask the sections for them, so a new
// meter is its own file and the line that registers its section.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/observers.hpp"
#include "core/section.hpp"

namespace mergelane {

class Domain;
class L1Cache;
class Wiring;

/// Compares the L1s of a group, which run in different domains and threads. Called between windows, when all of them have got equally far.
class L1Meter {
public:
    /// Observes one more L1, from before its first access on. `clock`: that of the cycles its owner tells it.
    virtual void watch(L1Cache& cache, Clock clock) = 0;
    /// No line may be in more L1s at a time.
    virtual void allow(std::uint32_t /*copies*/) {}
    /// Takes over what has happened since.
    virtual void merge() = 0;
    /// Core cycles. L1s may be flushed after begin_kernel().
    virtual void begin_kernel(Cycle start) = 0;
    virtual void end_kernel(Cycle end) = 0;

protected:
    ~L1Meter() = default;
};

// What an observer is made from.
struct SmPlace {
    std::uint32_t block_bytes = 0;
};
struct L1Place {
    Wiring& wiring;  ///< the meter is a component of it
    Domain& domain;
    const std::string& prefix;  ///< of names
    Clock core;
};
struct NetworkPlace {
    std::uint32_t sources = 0;  ///< of the network at this component; 0: others have them
    std::uint32_t sinks = 0;
};
struct DramPlace {
    std::uint32_t banks = 0;
    std::uint32_t burst = 0;  ///< DRAM cycles of the data of one column command
};

class MeterSection : public Section {
public:
    virtual std::unique_ptr<SmObserver> at_sm(const SmPlace&) const { return nullptr; }
    virtual L1Meter* at_l1s(const L1Place&) const { return nullptr; }
    virtual std::unique_ptr<NetworkObserver> at_network(const NetworkPlace&) const { return nullptr; }
    virtual std::unique_ptr<DramObserver> at_dram(const DramPlace&) const { return nullptr; }
};

/// struct MySpec : MeterSpec<MySpec> { ... };
template <class T>
using MeterSpec = SectionOf<T, MeterSection>;

/// What the meters that are on have at a place: observers(sections, &MeterSection::at_sm, place).
template <class Made, class Place>
std::vector<Made> observers(const Sections& sections, Made (MeterSection::*make)(const Place&) const, const Place& place) {
    std::vector<Made> list;
    for (const MeterSection* meter : sections.enabled<MeterSection>()) {
        if (Made made = (meter->*make)(place); made != nullptr) list.push_back(std::move(made));
    }
    return list;
}

}  // namespace mergelane
