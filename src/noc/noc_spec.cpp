// SPDX-License-Identifier: MIT
#include "noc/noc_spec.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "noc/network.hpp"

namespace mergelane {

void NocSpec::fields(SpecFields& f) {
    f.section("noc");
    f.policy<NetworkKind>("kind", kind,
                          "how a network is built: one crossbar, two stages of them, queues at the outputs alone, or a mesh of routers");
    f.integer("flit_bytes", flit_bytes, 1, 1024, "bytes", "width of every network port: one flit per network cycle");
    f.integer("header_bytes", header_bytes, 0, 64, "bytes", "header of every packet");
    f.integer("injection_latency", injection_latency, 2, 1000, "core cycles", "from SM (or L2) to the network port");
    f.integer("traversal_latency", traversal_latency, 1, 1000, "network cycles",
              "crossbar traversal without contention (a mesh has its own, and one cycle from its rim)");
    f.integer("ejection_latency", ejection_latency, 1, 1000, "core cycles", "from network port to its consumer");
    f.integer("credit_latency", credit_latency, 1, 1000, "network cycles", "from room becoming free until the sender may use it");
    f.integer("input_buffer_flits", input_buffer_flits, 1, 65536, "flits",
              "buffer of every crossbar input, or in front of a source's router");
    f.enumeration("queueing", queueing, {"fifo", "voq"}, "input buffers: one FIFO with head-of-line blocking, or one queue per output");
    f.enumeration("arbiter", arbiter, {"round_robin", "islip"}, "how inputs are matched to outputs");
    f.integer("islip_iterations", islip_iterations, 1, 16, "iterations", "request-grant-accept rounds per network cycle (islip)");
    f.integer("stage_inputs", stage_inputs, 1, 1024, "ports", "sources that share a crossbar of the first stage (two_stage)");
    f.integer(
        "stage_links", stage_links, 1, 1024, "links",
        "from each crossbar of the first stage to the second, one flit wide; a packet's destination decides which it takes (two_stage)");
}

NetworkSpec NocSpec::network(std::string name, Clock clock) const {
    NetworkSpec network;
    static_cast<NetworkShape&>(network) = *this;
    network.name = std::move(name);
    network.clock = clock;
    return network;
}

void NocMeterSpec::fields(SpecFields& f) {
    f.section("noc.meter");
    f.boolean("enabled", on, "count the flits of every port, and tell those of the busiest; changes nothing");
}

/// A port moves one flit per network cycle.
void NocMeterSpec::metrics(Metrics& m) const {
    if (!m.machine().network_counts_ports) return;
    const double cycles = m.cycles() * m.machine().noc_mhz / m.machine().core_mhz;
    m.add("Network ports", "busiest link to a cluster", Metrics::percent(double(m.highest("noc.reply.busiest_output")), cycles), "%",
          "of network cycles with a reply flit");
    m.add("Network ports", "busiest link from an L2", Metrics::percent(double(m.highest("noc.reply.busiest_input")), cycles), "%",
          "of network cycles with a reply flit");
}

namespace {

class PortMeter final : public NetworkObserver {
public:
    explicit PortMeter(const NetworkPlace& place) : sources_(place.sources), sinks_(place.sinks) {}

    void entered(std::uint32_t source, const Packet&, std::uint32_t flits, Cycle) override { sources_[source] += flits; }
    void left(std::uint32_t sink, const Packet&, std::uint32_t flits, Cycle) override { sinks_[sink] += flits; }
    void stats(StatFields& f) const override {
        const auto most = [](const std::vector<std::uint64_t>& ports) { return *std::max_element(ports.begin(), ports.end()); };
        if (!sources_.empty())
            f.add("busiest_input", most(sources_), "flits",
                  "flits of the busiest source; summed over crossbars, see highest for the maximum");
        if (!sinks_.empty())
            f.add("busiest_output", most(sinks_), "flits", "flits of the busiest sink; summed over crossbars, see highest for the maximum");
    }

private:
    std::vector<std::uint64_t> sources_, sinks_;  ///< flits
};

}  // namespace

std::unique_ptr<NetworkObserver> NocMeterSpec::at_network(const NetworkPlace& place) const {
    return std::make_unique<PortMeter>(place);
}

void NocSpec::laws(LawBook& book) const {
    book.balance("noc.request.packets_in = noc.request.packets + held", book("noc.request.packets_in"),
                 book("noc.request.packets") + book("noc.request.held"));
    book.balance("noc.reply.packets_in = noc.reply.packets + held", book("noc.reply.packets_in"),
                 book("noc.reply.packets") + book("noc.reply.held"));
}

}  // namespace mergelane
