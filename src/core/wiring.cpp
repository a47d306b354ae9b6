// SPDX-License-Identifier: MIT
#include "core/wiring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace mergelane {

void Wiring::place(Component& component, Domain& domain, std::string_view station) {
    const auto room = std::find_if(rooms_.rbegin(), rooms_.rend(), [&](const Room& r) { return &r.domain == &domain; });
    if (room == rooms_.rend()) throw std::logic_error(fmt::format("{}: its domain belongs to another wiring", component.name()));
    domain.add(component);
    room->parts.push_back({&component, std::string(station)});
}

LinkTiming Wiring::timing_of(const Component& from, const Component& to, Time forward, Time credit) {
    if (forward == 0 || credit == 0)
        throw std::logic_error(fmt::format("'{}': the forward and credit latencies of a link must not be 0", name_of(from, to)));
    return {from.domain().clock(), to.domain().clock(), forward, credit, &from.domain() != &to.domain()};
}

void Wiring::connect(LinkBase& link, std::string_view boundary, Component& from, Component& to) {
    link.connect(from, to);
    links_.push_back({std::string(boundary), &link});
}

void Wiring::declare_stages() {
    for (const Part& part : parts()) {
        stages_.set_clock(part.clock);
        part.component->stages(stages_);
    }
}

std::vector<Domain*> Wiring::domains() {
    std::vector<Domain*> list;
    for (Room& room : rooms_) list.push_back(&room.domain);
    return list;
}

std::vector<std::vector<Domain*>> Wiring::islands() {
    std::unordered_map<const Domain*, std::size_t> number;
    for (const Room& room : rooms_) number.emplace(&room.domain, number.size());
    std::vector<std::size_t> first(rooms_.size());  // an earlier domain of the same island, or the domain itself
    std::iota(first.begin(), first.end(), std::size_t{0});
    const auto first_of = [&](std::size_t d) {
        while (first[d] != d) d = first[d] = first[first[d]];
        return d;
    };
    for (const NamedLink& named : links_) {
        const std::size_t a = first_of(number.at(&named.link->sender()->domain()));
        const std::size_t b = first_of(number.at(&named.link->receiver()->domain()));
        first[std::max(a, b)] = std::min(a, b);
    }
    std::vector<std::vector<Domain*>> islands;
    std::vector<std::size_t> island(rooms_.size());
    for (std::size_t d = 0; d < rooms_.size(); ++d) {
        if (first_of(d) == d) {
            island[d] = islands.size();
            islands.emplace_back();
        }
        islands[island[first_of(d)]].push_back(&rooms_[d].domain);
    }
    return islands;
}

std::vector<Wiring::Part> Wiring::parts() const {
    std::vector<Part> list;
    for (const Room& room : rooms_) {
        for (const Placed& placed : room.parts) list.push_back({placed.component, room.domain.clock(), placed.station});
    }
    return list;
}

LinkBase* Wiring::find_link(std::string_view name) const {
    for (const NamedLink& named : links_) {
        if (named.link->name() == name) return named.link;
    }
    return nullptr;
}

Time Wiring::window() const {
    Time smallest = kEndOfTime;
    for (const NamedLink& named : links_) {
        if (named.link->cut()) smallest = std::min({smallest, named.link->forward_latency(), named.link->credit_latency()});
    }
    return smallest;
}

std::uint64_t Wiring::in_flight(std::string_view boundary) const {
    std::uint64_t sum = 0;
    bool found = false;
    for (const NamedLink& named : links_) {
        if (named.boundary != boundary) continue;
        sum += named.link->in_flight();
        found = true;
    }
    if (!found) throw std::logic_error(fmt::format("no link crosses a boundary '{}'", boundary));
    return sum;
}

std::uint64_t Wiring::held(std::string_view station) const {
    std::uint64_t sum = 0;
    bool found = false;
    for (const Room& room : rooms_) {
        for (const Placed& placed : room.parts) {
            if (placed.station != station) continue;
            sum += placed.component->held();
            found = true;
        }
    }
    if (!found) throw std::logic_error(fmt::format("no component at stage '{}'", station));
    return sum;
}

std::string Wiring::who_waits() const {
    std::vector<Wait> waits;
    for (const Part& part : parts()) part.component->explain(waits);
    std::string text;
    std::vector<const Component*> seen;
    const auto is_new = [&](const Wait& wait) { return std::find(seen.begin(), seen.end(), wait.who) == seen.end(); };
    const Component* at = waits.empty() ? nullptr : waits.front().who;
    while (at != nullptr) {
        const auto wait = std::find_if(waits.begin(), waits.end(), [&](const Wait& w) { return w.who == at && is_new(w); });
        seen.push_back(at);
        if (wait != waits.end()) {
            text += fmt::format("  {}: {}\n", at->name(), wait->why);
            at = wait->on;
            if (at != nullptr && std::find(seen.begin(), seen.end(), at) != seen.end()) {
                text += fmt::format("  {}: closes the cycle\n", at->name());
                break;
            }
            continue;
        }
        // This component only forwards packets: continue with the sender that is stalled for credits.
        const auto held_up = std::find_if(waits.begin(), waits.end(), [&](const Wait& w) { return w.no_room && is_new(w); });
        text += fmt::format("  {} has nothing to send{}\n", at->name(), held_up == waits.end() ? ": the chain ends here" : "; upstream:");
        at = held_up == waits.end() ? nullptr : held_up->who;
    }
    return text;
}

}  // namespace mergelane
