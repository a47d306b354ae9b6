// SPDX-License-Identifier: MIT
// What a machine is made of: domains, the components in them, and the links between components. Whoever builds a part of a machine
// (its stations, a network, a mechanism with nodes of its own) adds it here, and what follows from the whole follows from it: the
// window, who is asked for statistics and in which order, what is under way at a boundary, and who waits for whom.
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
        Clock clock;  ///< its cycle-valued statistics are in
        std::string_view station;
    };
    struct NamedLink {
        std::string boundary;
        LinkBase* link;
    };

    Wiring() = default;
    Wiring(const Wiring&) = delete;
    Wiring& operator=(const Wiring&) = delete;

    /// The order in which domains are made, and components added to each, is the order of everything that is reported.
    Domain& domain(std::string name, Clock clock);

    /// Makes a component from its constructor's arguments. `station`: where on its way a request is while this component holds it.
    template <class C, class... Args>
    C& add(Domain& domain, std::string_view station, Args&&... args) {
        C& component = all<C>().emplace_back(std::forward<Args>(args)...);
        place(component, domain, station);
        return component;
    }

    /// Connects two components of this wiring. `boundary` is what conservation laws call all links of this kind, for example
    /// "sm -> cluster"; `room` is in units of what senders say a message costs; latencies are in engine units. A link between
    /// domains bounds the window.
    template <class M>
    Link<M>& link(std::string_view boundary, Component& from, Component& to, std::uint32_t room, Time forward, Time credit) {
        Link<M>& made = all<Link<M>>().emplace_back(name_of(from, to), room, timing_of(from, to, forward, credit));
        connect(made, boundary, from, to);
        return made;
    }

    /// Everything of one type, in the order it was made. Components of a kind are stored together: the simulation's speed is in it.
    template <class T>
    std::deque<T>& all() {
        std::shared_ptr<void>& store = stores_[typeid(T)];
        if (store == nullptr) store = std::make_shared<std::deque<T>>();
        return *static_cast<std::deque<T>*>(store.get());
    }

    std::vector<Domain*> domains();
    /// Domains that links connect, however indirectly; between islands there is no link.
    std::vector<std::vector<Domain*>> islands();
    std::vector<Part> parts() const;
    const std::vector<NamedLink>& links() const { return links_; }
    /// nullptr if there is none of this name ("from -> to").
    LinkBase* find_link(std::string_view name) const;

    /// How long a domain may run alone: the smallest forward or credit latency of a link between domains.
    Time window() const;

    // Both throw std::logic_error for a name that does not exist: a law about nothing would always hold.
    /// Messages on all links of a boundary.
    std::uint64_t in_flight(std::string_view boundary) const;
    /// Requests inside all components of a station.
    std::uint64_t held(std::string_view station) const;

    /// When nothing can move any more: the chain of who waits for whom, a line for each.
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
    static std::string name_of(const Component& from, const Component& to);
    static LinkTiming timing_of(const Component& from, const Component& to, Time forward, Time credit);

    std::deque<Room> rooms_;
    std::unordered_map<std::type_index, std::shared_ptr<void>> stores_;  ///< a deque per type
    std::vector<NamedLink> links_;
};

}  // namespace mergelane
