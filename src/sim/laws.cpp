// SPDX-License-Identifier: MIT
// Invariants checked in every run: everything that enters a component or link leaves it or is still inside. Components and mechanisms
// define their own invariants; these are the ones that depend on the wiring.
#include <fmt/format.h>

#include <stdexcept>
#include <unordered_map>

#include "core/law_book.hpp"
#include "sim/simulation.hpp"

namespace mergelane {

namespace {

/// Gauges of all components, summed by name, in the order of the machine.
std::vector<StatValue> gauges_of(const Machine& machine) {
    StatFields fields;
    for (const Wiring::Part& part : machine.parts()) part.component->gauges(fields);
    std::vector<StatValue> list;
    std::unordered_map<std::string, std::size_t> index;
    for (const StatField& field : fields.list()) {
        std::string name = fmt::format("{}.{}", field.group, field.name);
        const auto [at, is_new] = index.try_emplace(name, list.size());
        if (is_new) list.push_back({std::move(name), field.unit, field.meaning, 0});
        list[at->second].value += field.value;
    }
    return list;
}

LawBook open_book(const Machine& machine, const std::vector<StatValue>& totals, const std::vector<StatValue>& gauges, bool drained) {
    std::unordered_map<std::string, std::uint64_t> values;
    for (const auto* list : {&totals, &gauges}) {
        for (const StatValue& value : *list) {
            if (!values.emplace(value.name, value.value).second)
                throw std::logic_error(fmt::format("'{}' is the name of a statistic and of a gauge", value.name));
        }
    }
    return {std::move(values), [&machine](std::string_view boundary) { return machine.in_flight(boundary); }, drained};
}

/// `own_fabric`: the fabric between SM clusters and L2 defines its own invariants.
void boundary_laws(LawBook& book, bool own_fabric) {
    book.boundary("dispatch.ctas_dispatched", "sm.ctas_started", "dispatch -> sm");
    book.boundary("sm.ctas_finished", "dispatch.ctas_completed", "sm -> dispatch");
    book.boundary("sm.requests_sent", "cluster.requests_in", "sm -> cluster");
    if (!own_fabric) {
        book.boundary("cluster.requests_out", "noc.request.packets_in", "cluster -> request network");
        book.boundary("noc.reply.packets", "cluster.network_replies", "reply network -> cluster");
    }
    book.boundary("noc.request.packets", "l2.requests", "request network -> l2");
    book.boundary("l2.replies", "noc.reply.packets_in", "l2 -> reply network");
    book.boundary("cluster.replies", "sm.replies_received", "cluster -> sm");
    book.balance("l2.fetches + l2.writebacks = dram.requests + on 'l2 -> dram'", book("l2.fetches") + book("l2.writebacks"),
                 book("dram.requests") + book.on_links("l2 -> dram"));
    book.boundary("dram.replies", "l2.fills", "dram -> l2");
    if (book.drained()) book.balance("every fetch was answered: l2.fetches = dram.replies", book("l2.fetches"), book("dram.replies"));
}

}  // namespace

std::vector<std::string> broken_laws(const Machine& machine, const std::vector<StatValue>& totals, bool drained) {
    const MachineSpec& spec = machine.spec();
    const std::vector<StatValue> gauges = gauges_of(machine);
    LawBook book = open_book(machine, totals, gauges, drained);
    const FabricSection* const fabric = fabric_of(spec.sections);
    boundary_laws(book, fabric != nullptr);
    spec.dispatch.laws(book);
    spec.sm.laws(book);
    if (*spec.front_traits().has_l1 || (fabric != nullptr && fabric->caches() != 0)) spec.l1.laws(book);
    spec.cluster.laws(book);
    spec.noc.laws(book);
    spec.l2.laws(book);
    spec.dram.laws(book);
    for (const Section* section : spec.active_sections()) section->laws(book);
    if (drained) {
        for (const Wiring::NamedLink& named : machine.links()) {
            if (named.link->in_flight() != 0)
                book.balance(fmt::format("'{}' is empty at the end", named.link->name()), named.link->in_flight(), 0);
        }
        for (const StatValue& gauge : gauges) book.balance(fmt::format("nothing is left of {} at the end", gauge.name), gauge.value, 0);
    }
    return book.broken();
}

}  // namespace mergelane
