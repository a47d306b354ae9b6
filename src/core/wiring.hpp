// SPDX-License-Identifier: MIT
// The parts of a machine: domains, their components, and the links between components. Builders of stages, networks and mechanisms add them
// here. Everything that depends on the whole machine is derived from it: the window, the order of statistics, packets in flight at a
// boundary, and the wait-for graph.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <typeindex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "core/component.hpp"
#include "core/domain.hpp"
#include "core/link.hpp"

namespace mergelane {

class Wiring {
public:
    struct Part {
        Component* component;
        Clock clock;  ///< clock of its cycle-valued statistics
        std::string_view station;
    };
    struct NamedLink {
        std::string boundary;
        LinkBase* link;
    };

    Wiring() = default;
    Wiring(const Wiring&) = delete;
    Wiring& operator=(const Wiring&) = delete;

    /// Reports follow the order in which domains are created and components are added to them.
    Domain& domain(std::string name, Clock clock) { return rooms_.emplace_back(std::move(name), clock).domain; }

    /// Constructs a component. `station`: the stage of a request while this component holds it.
    template <class C, class... Args>
    C& add(Domain& domain, std::string_view station, Args&&... args) {
        C& component = all<C>().emplace_back(std::forward<Args>(args)...);
        place(component, domain, station);
        return component;
    }

    /// Connects two components of this wiring. `boundary` is the name that invariants use for all links of this kind, for example "sm ->
    /// cluster". `room` is the number of credits, in the units of the senders' costs; latencies are in engine units. A link between domains
    /// bounds the window.
    template <class M>
    Link<M>& link(std::string_view boundary, Component& from, Component& to, std::uint32_t room, Time forward, Time credit) {
        Link<M>& made = all<Link<M>>().emplace_back(name_of(from, to), room, timing_of(from, to, forward, credit));
        connect(made, boundary, from, to);
        return made;
    }

    /// All components of one type, in creation order. They are stored contiguously, which matters for speed.
    template <class T>
    std::deque<T>& all() {
        std::shared_ptr<void>& store = stores_[typeid(T)];
        if (store == nullptr) store = std::make_shared<std::deque<T>>();
        return *static_cast<std::deque<T>*>(store.get());
    }

    /// After all components and links were added: declares the stages of journeys.
    void declare_stages();
    const Stages& stages() const { return stages_; }

    std::vector<Domain*> domains();
    /// Sets of domains connected by links, directly or indirectly. There are no links between islands.
    std::vector<std::vector<Domain*>> islands();
    std::vector<Part> parts() const;
    const std::vector<NamedLink>& links() const { return links_; }
    /// nullptr if there is none of this name ("from -> to").
    LinkBase* find_link(std::string_view name) const;

    /// How long domains may run without synchronisation: the smallest forward or credit latency of a cut link.
    Time window() const;

    // Both throw std::logic_error for an unknown name: an invariant about nothing would always hold.
    /// Messages on all links of a boundary.
    std::uint64_t in_flight(std::string_view boundary) const;
    /// Requests inside all components of a stage.
    std::uint64_t held(std::string_view station) const;

    /// After a deadlock: the chain of waiting components, one per line.
    std::string who_waits() const;

private:
    struct Placed {
        Component* component;
        std::string station;
    };
    struct Room {
        Room(std::string name, Clock clock) : domain(std::move(name), clock) {}
        Domain domain;
        std::vector<Placed> parts;
    };

    void place(Component& component, Domain& domain, std::string_view station);
    void connect(LinkBase& link, std::string_view boundary, Component& from, Component& to);
    static std::string name_of(const Component& from, const Component& to) { return from.name() + " -> " + to.name(); }
    static LinkTiming timing_of(const Component& from, const Component& to, Time forward, Time credit);

    std::deque<Room> rooms_;
    std::unordered_map<std::type_index, std::shared_ptr<void>> stores_;  ///< a deque per type
    std::vector<NamedLink> links_;
    Stages stages_;
};

}  // namespace mergelane
