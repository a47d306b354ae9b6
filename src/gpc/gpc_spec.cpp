// SPDX-License-Identifier: MIT
#include "gpc/gpc_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/result.hpp"
#include "core/text.hpp"

namespace mergelane {

void GpcSpec::fields(SpecFields& f) {
    f.section("gpc");
    f.boolean("enabled", on, "GPCs: the CTAs of a cluster run in one of them, and a network connects its SMs");
    f.integers("sms", sms, 0, kMostSms, "SMs", "SMs of each GPC, by number; 0: one GPC has all SMs");
    f.integer("latency", latency, 1, 10000, "cycles",
              "from an SM to the switch of its GPC, and from there to an SM; a remote load passes both twice");
    f.integer("bytes_per_cycle", bytes_per_cycle, 1, 1024, "bytes", "bandwidth between an SM and the switch of its GPC, each way");
    f.integer("multicast_bytes_per_cycle", multicast_bytes_per_cycle, 1, 1024, "bytes",
              "bandwidth at which an SM receives bulk copies that another SM requested");
    f.integer("barrier_latency", barrier_latency, 0, 10000, "cycles",
              "from the last arrival at the barrier of a cluster, at the switch, until its release leaves");
}

void GpcSpec::check(const MachineFacts& machine, const Sections&, Problems& problems) const {
    problems.require(machine.groups == 1, {"gpc.enabled", "gpu.groups"},
                     "gpc.enabled places clusters of CTAs by one dispatcher; set gpu.groups = 1, or gpc.enabled = false");
    const bool one = sms == std::vector<std::uint32_t>{0};
    problems.require(
        !one || machine.sms <= kMostSms, {"gpc.sms", "gpu.clusters"},
        fmt::format("one GPC has at most {} SMs, but there are {}; list the SMs of each GPC in gpc.sms", kMostSms, machine.sms));
    if (one) return;
    problems.require(std::find(sms.begin(), sms.end(), 0u) == sms.end(), {"gpc.sms"}, "gpc.sms lists a GPC without SMs; leave it out");
    const std::uint32_t sum = std::accumulate(sms.begin(), sms.end(), 0u);
    problems.require(sum == machine.sms, {"gpc.sms", "gpu.clusters", "gpu.sms_per_cluster"},
                     fmt::format("gpc.sms lists {} SMs, but the machine has {}; make them equal", sum, machine.sms));
}

void GpcSpec::laws(LawBook& s) const {
    s.boundary("dsm.sent", "gpc.received", "sm -> gpc");
    s.boundary("gpc.sent", "dsm.received", "gpc -> sm");
}

void GpcSpec::metrics(Metrics& m) const {
    m.add("Clusters of CTAs", "data between SMs", m("gpc.bytes") / 1024, "KiB", fmt::format("{} messages", grouped(m.count("gpc.sent"))));
}

std::vector<std::uint32_t> GpcSpec::first_sms(std::uint32_t all) const {
    if (sms == std::vector<std::uint32_t>{0}) return {0, all};
    std::vector<std::uint32_t> firsts(sms.size() + 1, 0);
    std::partial_sum(sms.begin(), sms.end(), firsts.begin() + 1);
    return firsts;
}

}  // namespace mergelane
