// SPDX-License-Identifier: MIT
// Invariants checked in every run: everything that enters a component or link leaves it or is still inside. Components and mechanisms
// define their own invariants; these are the ones that depend on the wiring.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include <stdexcept>
#include <unordered_map>

#include "core/law_book.hpp"
#include "sim/simulation.hpp"

namespace mergelane {

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

namespace {

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

/// Between the networks and the slices, past what lies in front of the slices.
void slice_laws(LawBook& book, const MachineSpec& spec) {
    std::string sent = "noc.request.packets", received = "noc.reply.packets_in", outer;
    const auto reach = [&](const std::string& name, const char* requests_in, const char* replies_out) {
        book.boundary(sent, name + requests_in, outer.empty() ? "request network -> l2" : outer + " -> " + name);
        book.boundary(name + replies_out, received, outer.empty() ? "l2 -> reply network" : name + " -> " + outer);
    };
    const auto pass = [&](const std::string& name, const char* requests_out) {
        reach(name, ".requests_in", ".replies_out");
        sent = name + requests_out;
        received = name + ".replies_in";
        outer = name;
    };
    if (spec.section<RequestCoalescerSpec>().enabled()) pass("lrc", ".requests_out");
    if (spec.section<HalvesSpec>().enabled()) pass("halves", ".to_slice");
    reach("l2", ".requests", ".replies");
}

/// `own_fabric`: the fabric between SM clusters and L2 defines its own invariants.
void boundary_laws(LawBook& book, bool own_fabric, const MachineSpec& spec) {
    book.boundary("dispatch.ctas_dispatched", "sm.ctas_started", "dispatch -> sm");
    book.boundary("sm.ctas_finished", "dispatch.ctas_completed", "sm -> dispatch");
    book.boundary("sm.requests_sent", "cluster.requests_in", "sm -> cluster");
    if (!own_fabric) {
        book.boundary("cluster.requests_out", "noc.request.packets_in", "cluster -> request network");
        book.boundary("noc.reply.packets", "cluster.network_replies", "reply network -> cluster");
    }
    slice_laws(book, spec);
    book.boundary("cluster.replies", "sm.replies_received", "cluster -> sm");
    book.balance("l2.fetches + l2.writebacks = dram.requests + on 'l2 -> dram'", book("l2.fetches") + book("l2.writebacks"),
                 book("dram.requests") + book.on_links("l2 -> dram"));
    book.boundary("dram.replies", "l2.fills", "dram -> l2");
    if (book.drained()) book.balance("every fetch was answered: l2.fetches = dram.replies", book("l2.fetches"), book("dram.replies"));
}

/// The stages of loads account for all of their time, and for all loads.
void latency_laws(LawBook& book, const Machine& machine) {
    std::uint64_t loads = 0;
    Time total = 0, parts = 0, stalled = 0, impossible = 0;
    for (const Sm& sm : machine.sms()) {
        loads += sm.latency().loads;
        total += sm.latency().total;
        parts = std::accumulate(sm.latency().spent.begin(), sm.latency().spent.end(), parts);
        for (const Time spent : sm.latency().spent) impossible += spent > sm.latency().total ? 1 : 0;
        stalled = std::accumulate(sm.latency().stalled.begin(), sm.latency().stalled.end(), stalled);
    }
    book.balance("the time of loads is that of their stages", total, parts);
    book.balance("no stage takes more than all of the time of loads", impossible, 0);
    if (machine.sms().front().follows_all()) {
        book.balance("sm.loads have their time accounted for", book("sm.loads"), loads);
        book.balance("sm.load_latency is the time of loads", machine.timing().core.time_of(book("sm.load_latency")), total);
    }
    const Time waited = machine.timing().core.time_of(book("sm.stall_memory"));
    book.balance("loads explain no more than sm.stall_memory", std::min(stalled, waited), stalled);
}

}  // namespace

std::vector<std::string> broken_laws(const Machine& machine, const std::vector<StatValue>& totals, bool drained) {
    const MachineSpec& spec = machine.spec();
    const std::vector<StatValue> gauges = gauges_of(machine);
    LawBook book = open_book(machine, totals, gauges, drained);
    const FabricSection* const fabric = fabric_of(spec.sections);
    boundary_laws(book, fabric != nullptr, spec);
    latency_laws(book, machine);
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

std::vector<std::string> broken_instruction_laws(const Machine& machine, const std::vector<StatValue>& totals,
                                                 const std::vector<KernelInstructions>& kernels, bool drained) {
    InstructionCounts all, shared;
    std::vector<Time> spent(Stages::kMost);
    for (const KernelInstructions& kernel : kernels) {
        for (const InstructionResult& instruction : kernel.instructions) {
            all.add(instruction.counts);
            if (instruction.shared) shared.add(instruction.counts);
            for (std::size_t s = 0; s < instruction.spent.size(); ++s) spent[s] += instruction.spent[s];
        }
    }
    L1Stats l1;
    std::vector<Time> accounted(Stages::kMost);
    for (const Sm& sm : machine.sms()) {
        const L1Stats own = sm.l1_stats();
        l1.sector_accesses += own.sector_accesses;
        l1.sector_hits += own.sector_hits;
        l1.sector_pending_hits += own.sector_pending_hits;
        l1.sector_misses += own.sector_misses;
        for (std::size_t s = 0; s < accounted.size(); ++s) accounted[s] += sm.latency().spent[s];
    }
    LawBook book = open_book(machine, totals, {}, false);
    const auto sum = [&](std::string_view what, std::uint64_t counted, InstCount which) {
        book.balance(fmt::format("{} is the sum over instructions", what), counted, all[which]);
    };
    for (const auto& [name, which] : {std::pair<const char*, InstCount>{"sm.warp_instructions", InstCount::executions},
                                      {"sm.thread_instructions", InstCount::lanes},
                                      {"sm.requests_sent", InstCount::requests},
                                      {"sm.loads", InstCount::loads},
                                      {"sm.load_latency", InstCount::latency}})
        sum(name, book(name), which);
    sum("l1.sector_accesses of SMs", l1.sector_accesses, InstCount::l1_sectors);
    sum("l1.sector_hits of SMs", l1.sector_hits, InstCount::l1_hits);
    sum("l1.sector_pending_hits of SMs", l1.sector_pending_hits, InstCount::l1_merged);
    sum("l1.sector_misses of SMs", l1.sector_misses, InstCount::l1_misses);
    // Accesses of a run that was stopped may still wait in the front end.
    if (drained) {
        sum("sm.memory_instructions + sm.shared_instructions", book("sm.memory_instructions") + book("sm.shared_instructions"),
            InstCount::accesses);
        book.balance("sm.shared_bank_cycles is the sum over instructions", book("sm.shared_bank_cycles"), shared[InstCount::transactions]);
    }
    const std::uint64_t stalled = std::min(book("sm.stall_memory"), all[InstCount::stalled]);
    book.balance("instructions explain no more than sm.stall_memory", stalled, all[InstCount::stalled]);
    for (std::size_t s = 0; s < spent.size(); ++s) {
        if (spent[s] != accounted[s]) book.balance(fmt::format("time of stage {} is the sum over instructions", s), accounted[s], spent[s]);
    }
    return book.broken();
}

}  // namespace mergelane
