// SPDX-License-Identifier: MIT
#include "l2/halves_spec.hpp"

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"

namespace mergelane {

void HalvesSpec::fields(SpecFields& f) {
    f.section("l2.halves");
    f.boolean(
        "enabled", on,
        "L2 in two halves: SM clusters and DRAM channels belong to the first or second half by number, and requests for memory of the "
        "other half pass a link between the two slices of the same local number");
    f.enumeration("far", far, {"home", "copy"},
                  "where data of the other half are cached: in their home slice, or also in the slice of the requester's half, which is "
                  "looked up first");
    f.integer("latency", latency, 1, 10000, "core cycles", "latency between the halves, each way");
    f.integer("bytes_per_cycle", bytes_per_cycle, 1, 1024, "bytes",
              "bandwidth between two slices per L2 cycle, each way, for requests and for replies");
    f.integer("queue", queue, 2, 4096, "packets",
              "packets on their way between two slices, each way, requests and replies; also the requests that wait for that");
}

void HalvesSpec::check(const MachineFacts& machine, const Sections&, Problems& problems) const {
    problems.require(machine.channels / machine.groups % 2 == 0, {"l2.halves.enabled", "dram.channels"},
                     fmt::format("l2.halves.enabled divides {} DRAM channels into two halves; make dram.channels even",
                                 machine.channels / machine.groups));
    problems.require(machine.clusters / machine.groups >= 2, {"l2.halves.enabled", "gpu.clusters"},
                     "l2.halves.enabled divides the SM clusters into two halves; set gpu.clusters to at least 2");
    constexpr std::uint32_t kMostSms = 32768;  // their network ports have a bit to spare (l2/half_port.hpp)
    problems.require(
        machine.sms <= kMostSms, {"l2.halves.enabled", "gpu.clusters", "gpu.sms_per_cluster"},
        fmt::format("l2.halves.enabled allows {} SMs, not {}; lower gpu.clusters or gpu.sms_per_cluster", kMostSms, machine.sms));
}

void HalvesSpec::laws(LawBook& s) const {
    s.balance("halves.requests_in = halves.near + halves.far", s("halves.requests_in"), s("halves.near") + s("halves.far"));
    s.balance("halves.far = halves.copy_hits + halves.sent + queued", s("halves.far"),
              s("halves.copy_hits") + s("halves.sent") + s("halves.far_queued"));
    s.balance("every request to the other half gets one reply: halves.far = halves.copy_hits + halves.answered + waiting", s("halves.far"),
              s("halves.copy_hits") + s("halves.answered") + s("halves.far_waiting"));
    s.boundary("halves.sent", "halves.served", "requests between halves");
    s.boundary("halves.served_replies", "halves.answered", "replies between halves");
    s.balance("halves.to_slice = halves.near + halves.served + halves.lookups + halves.copy_fills", s("halves.to_slice"),
              s("halves.near") + s("halves.served") + s("halves.lookups") + s("halves.copy_fills"));
    s.balance("halves.replies_out = replies of the slice for this half + halves.answered",
              s("halves.replies_out") + s("halves.served_replies"),
              s("halves.replies_in") - s("halves.copy_misses") + s("halves.answered"));
}

void HalvesSpec::metrics(Metrics& m) const {
    constexpr std::string_view kHeading = "L2 halves";
    const double requests = m("halves.requests_in");
    m.add(kHeading, "requests for the other half", Metrics::percent(m("halves.far"), requests), "%",
          fmt::format("of {}", grouped(m.count("halves.requests_in"))));
    if (far == Far::copy) {
        m.add(kHeading, "answered by copies", Metrics::percent(m("halves.copy_hits"), m("halves.far")), "%",
              fmt::format("of {} requests for the other half", grouped(m.count("halves.far"))));
    }
    const double link_cycles = m.cycles() * m.machine().slices * m.machine().l2_mhz / m.machine().core_mhz;
    m.add(kHeading, "replies between halves", Metrics::percent(m("halves.reply_cycles"), link_cycles), "%",
          fmt::format("of its peak; requests use {:.1f} %", Metrics::percent(m("halves.request_cycles"), link_cycles)));
}

}  // namespace mergelane
