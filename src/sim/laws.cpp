// SPDX-License-Identifier: MIT
// Conservation: what goes into a station or link comes out or is still inside, at every boundary of every run.
#include <fmt/format.h>

#include "sim/simulation.hpp"

namespace mergelane {

namespace {

class LawBook {
public:
    LawBook(const Machine& machine, const std::vector<StatValue>& totals) : machine_(machine), totals_(totals) {}

    std::uint64_t stat(std::string_view name) const {
        for (const StatValue& value : totals_) {
            if (value.name == name) return value.value;
        }
        return 0;
    }
    /// Everything sent over a boundary was received or is on its links.
    void boundary(std::string_view sent, std::string_view received, std::string_view links) {
        balance(fmt::format("{} = {} + on '{}'", sent, received, links), stat(sent), stat(received) + machine_.in_flight(links));
    }
    void balance(std::string law, std::uint64_t left, std::uint64_t right) {
        if (left != right) broken_.push_back(fmt::format("{}: {} against {}", law, left, right));
    }
    std::vector<std::string> take() { return std::move(broken_); }

private:
    const Machine& machine_;
    const std::vector<StatValue>& totals_;
    std::vector<std::string> broken_;
};

}  // namespace

std::vector<std::string> broken_laws(const Machine& machine, const std::vector<StatValue>& totals, bool drained) {
    LawBook book(machine, totals);
    const auto s = [&](std::string_view name) { return book.stat(name); };
    // Links.
    book.boundary("dispatch.ctas_dispatched", "sm.ctas_started", "dispatch -> sm");
    book.boundary("sm.ctas_finished", "dispatch.ctas_completed", "sm -> dispatch");
    book.boundary("sm.requests_sent", "cluster.requests_in", "sm -> cluster");
    book.boundary("cluster.requests_out", "noc.request.packets_in", "cluster -> request network");
    book.boundary("noc.request.packets", "l2.requests", "request network -> l2");
    book.boundary("l2.replies", "noc.reply.packets_in", "l2 -> reply network");
    const bool icc = machine.spec().cluster.icc.enabled;
    book.boundary("noc.reply.packets", icc ? "icc.network_replies" : "cluster.replies", "reply network -> cluster");
    book.boundary("cluster.replies", "sm.replies_received", "cluster -> sm");
    book.balance("l2.fetches + l2.writebacks = dram.requests + on 'l2 -> dram'", s("l2.fetches") + s("l2.writebacks"),
                 s("dram.requests") + machine.in_flight("l2 -> dram"));
    book.boundary("dram.replies", "l2.fills", "dram -> l2");
    // Stations.
    book.balance("dram.requests = dram.replies + dram.writes + held", s("dram.requests"),
                 s("dram.replies") + s("dram.writes") + machine.held("dram"));
    std::uint64_t queued = 0, waiting = 0, entries = 0;
    for (const ClusterPort& port : machine.ports()) {
        queued += port.queued();
        waiting += port.waiting();
        entries += port.entries_in_use();
    }
    book.balance("cluster.requests_in = cluster.requests_out + icc.merged + cc.hits + queued", s("cluster.requests_in"),
                 s("cluster.requests_out") + s("icc.merged") + s("cc.hits") + queued);
    if (icc) {
        book.balance("cluster.requests_in = icc.reads + icc.bypassed", s("cluster.requests_in"), s("icc.reads") + s("icc.bypassed"));
        book.balance("icc.reads = cc.hits + icc.merged + icc.allocated + icc.untracked_full + icc.untracked_same_sm", s("icc.reads"),
                     s("cc.hits") + s("icc.merged") + s("icc.allocated") + s("icc.untracked_full") + s("icc.untracked_same_sm"));
        book.balance("icc.allocated + icc.merged + cc.hits = icc.answered + cc.answered + waiting",
                     s("icc.allocated") + s("icc.merged") + s("cc.hits"), s("icc.answered") + s("cc.answered") + waiting);
        book.balance("icc.allocated = icc.tracked_replies + entries in use", s("icc.allocated"), s("icc.tracked_replies") + entries);
        book.balance("cluster.replies = icc.network_replies - icc.tracked_replies + icc.answered + cc.answered", s("cluster.replies"),
                     s("icc.network_replies") - s("icc.tracked_replies") + s("icc.answered") + s("cc.answered"));
        book.balance("no reply answers another entry than its own: icc.misdelivered = 0", s("icc.misdelivered"), 0);
    }
    book.balance("noc.request.packets_in = noc.request.packets + held", s("noc.request.packets_in"),
                 s("noc.request.packets") + machine.held("request network"));
    book.balance("noc.reply.packets_in = noc.reply.packets + held", s("noc.reply.packets_in"),
                 s("noc.reply.packets") + machine.held("reply network"));
    book.balance("l2.requests = l2.replies + held", s("l2.requests"), s("l2.replies") + machine.held("l2"));
    book.balance("l2.requests = l2.reads + l2.writes + l2.atomics", s("l2.requests"), s("l2.reads") + s("l2.writes") + s("l2.atomics"));
    book.balance("sm.requests_sent = sm.replies_received + outstanding", s("sm.requests_sent"),
                 s("sm.replies_received") + machine.held("sm"));
    // Every sector lookup is a hit, a miss or on its way.
    book.balance("l2.sector_accesses = hits + misses + pending", s("l2.sector_accesses"),
                 s("l2.sector_hits") + s("l2.sector_misses") + s("l2.sector_pending_hits"));
    book.balance("l1 load sectors = hits + misses + pending", s("l1.sector_accesses") - s("l1.sector_write_accesses"),
                 s("l1.sector_hits") + (s("l1.sector_misses") - s("l1.sector_write_misses")) + s("l1.sector_pending_hits"));
    if (drained) {
        for (const Wiring::NamedLink& named : machine.links()) {
            if (named.link->in_flight() != 0)
                book.balance(fmt::format("'{}' is empty at the end", named.link->name()), named.link->in_flight(), 0);
        }
        for (const std::string_view station : machine.wiring().stations()) {
            book.balance(fmt::format("nothing is held by {} at the end", station), machine.held(station), 0);
        }
        book.balance("every CTA dispatched has finished", s("dispatch.ctas_dispatched"), s("dispatch.ctas_completed"));
        book.balance("every fetch was answered: l2.fetches = dram.replies", s("l2.fetches"), s("dram.replies"));
    }
    return book.take();
}

}  // namespace mergelane
