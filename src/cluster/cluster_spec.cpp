// SPDX-License-Identifier: MIT
#include "cluster/cluster_spec.hpp"

#include <fmt/format.h>

#include "parts/replacement.hpp"

namespace mergelane {

void ClusterSpec::fields(SpecFields& f) {
    f.section("cluster");
    f.integer("injection_buffer", injection_buffer, 1, 1024, "packets", "requests of a cluster's SMs waiting at the shared network port");
    f.integer("response_fifo", response_fifo, 1, 1024, "packets",
              "replies waiting to be handed to a cluster's SMs, beyond those still on the link");
    icc.fields(f);
    cc.fields(f);
    locality.fields(f);
}

void ClusterSpec::check(Problems& problems) const {
    problems.require(!cc.enabled || icc.enabled, {"cluster.cc.enabled", "cluster.icc.enabled"},
                     "cluster.cc.enabled needs cluster.icc.enabled: only lines whose requests merged are kept; switch both on");
    problems.require(cc.entries % cc.ways_per_set() == 0, {"cluster.cc.ways", "cluster.cc.entries"},
                     fmt::format("cluster.cc.entries ({}) is not a whole number of sets of {} ways; use a divisor, or 0 for fully "
                                 "associative",
                                 cc.entries, cc.ways));
    problems.require(icc.match == "tracked" || icc.on_store == "ignore", {"cluster.icc.on_store", "cluster.icc.match"},
                     "cluster.icc.match = \"address\" cannot find the reply of a closed entry; set cluster.icc.on_store = \"ignore\" as "
                     "well");
}

void ClusterSpec::laws(LawBook& s) const {
    if (!icc.enabled) {
        s.balance("cluster.requests_in = cluster.requests_out + queued", s("cluster.requests_in"),
                  s("cluster.requests_out") + s("cluster.queued"));
        return;
    }
    s.balance("cluster.requests_in = cluster.requests_out + icc.merged + cc.hits + queued", s("cluster.requests_in"),
              s("cluster.requests_out") + s("icc.merged") + s("cc.hits") + s("cluster.queued"));
    s.balance("cluster.requests_in = icc.reads + icc.bypassed", s("cluster.requests_in"), s("icc.reads") + s("icc.bypassed"));
    s.balance("icc.reads = cc.hits + icc.merged + icc.allocated + icc.untracked_full + icc.untracked_same_sm", s("icc.reads"),
              s("cc.hits") + s("icc.merged") + s("icc.allocated") + s("icc.untracked_full") + s("icc.untracked_same_sm"));
    s.balance("icc.allocated + icc.merged + cc.hits = icc.answered + cc.answered + waiting",
              s("icc.allocated") + s("icc.merged") + s("cc.hits"), s("icc.answered") + s("cc.answered") + s("icc.waiting"));
    s.balance("icc.allocated = icc.tracked_replies + entries in use", s("icc.allocated"), s("icc.tracked_replies") + s("icc.entries"));
    s.balance("cluster.replies = icc.network_replies - icc.tracked_replies + icc.answered + cc.answered", s("cluster.replies"),
              s("icc.network_replies") - s("icc.tracked_replies") + s("icc.answered") + s("cc.answered"));
    s.balance("no reply answers another entry than its own: icc.misdelivered = 0", s("icc.misdelivered"), 0);
}

void IccSpec::fields(SpecFields& f) {
    f.section("cluster.icc");
    f.switched_by(enabled);
    f.boolean("enabled", enabled, "merge global reads of a cluster's SMs while the line they want is on its way");
    f.integer("entries", entries, 1, 4096, "entries", "merge table: lines on their way that further SMs can join");
    f.integer("request_cycles", request_cycles, 0, 64, "core cycles", "the lookup adds to the way of every request");
    f.integer("reply_cycles", reply_cycles, 0, 64, "core cycles", "the lookup adds to the way of every reply");
    f.choice("match", match, {"tracked", "address"},
             "how a reply finds its entry: by the number it carries, or by its address alone, which loses replies when the table has "
             "been full");
    f.choice("on_store", on_store, {"close", "ignore"},
             "a store or atomic to a line on its way: nobody may join its entry any more, or nothing happens");
    f.boolean("l1_bypassing_loads", l1_bypassing_loads, "global loads that bypass the L1 take part too");
}

void CoalescedCacheSpec::fields(SpecFields& f) {
    f.section("cluster.cc");
    f.switched_by(enabled);
    f.boolean("enabled", enabled, "keep lines that more than one SM of the cluster had asked for; needs cluster.icc.enabled");
    f.integer("entries", entries, 1, 65536, "lines", "lines of the coalesced cache");
    f.integer("ways", ways, 0, 65536, "lines", "lines of a set; 0: fully associative");
    f.policy<Replacement>("replacement", replacement, "which line of a set makes room");
    f.boolean("invalidate_on_store", invalidate_on_store, "a store or atomic of the cluster removes its line");
    f.integer("hit_queue", hit_queue, 1, 1024, "replies", "hits waiting to be handed to their SM; the bus stops while it is full");
}

void LocalitySpec::fields(SpecFields& f) {
    f.section("cluster.locality");
    f.switched_by(enabled);
    f.boolean("enabled", enabled, "measure which part of a cluster's L1 read misses asks again for a line of the last 500 to 2000 cycles");
}

}  // namespace mergelane
