// SPDX-License-Identifier: MIT
// A fabric of a user's own: the network for requests has ports of its own width, the one for replies a clock of its own.
#include <limits>

#include "outside.hpp"

using namespace mergelane;

namespace outside {

namespace {

struct SplitSpec final : FabricSpec<SplitSpec> {
    bool on = false;
    std::uint32_t request_flit_bytes = 16;
    std::uint32_t reply_mhz = 2800;
    std::uint32_t expected_requests = 0;

    void fields(SpecFields& f) override {
        f.section("split");
        f.boolean("enabled", on, "networks for requests and replies that differ");
        f.integer("request_flit_bytes", request_flit_bytes, 1, 1024, "bytes", "width of a port for requests");
        f.integer("reply_mhz", reply_mhz, 1, 10000, "MHz", "clock of the network for replies");
        f.integer("expected_requests", expected_requests, 0, 1u << 30, "packets", "a run with another number fails; 0: any number");
    }
    bool enabled() const override { return on; }
    void check(const MachineFacts& machine, const Sections&, Problems& problems) const override {
        problems.require(!machine.network_wants_one_clock, {"split.enabled", "noc.kind"},
                         "split.enabled needs networks with clocks of their own; set noc.kind = \"crossbar\"");
    }
    /// What lies at its edge; inside, networks have laws of their own.
    void laws(LawBook& book) const override {
        book.boundary("cluster.requests_out", "noc.request.packets_in", "cluster -> request network");
        book.boundary("noc.reply.packets", "cluster.network_replies", "reply network -> cluster");
        if (expected_requests != 0) book.balance("split.expected_requests", book("noc.request.packets"), expected_requests);
    }
    void metrics(Metrics& m) const override {
        m.add("Split networks", "request flits per packet", Metrics::ratio(m("noc.request.flits"), m("noc.request.packets")), "flits");
    }
    void structures(const MachineFacts& machine, Structures& out) const override {
        const std::uint32_t ports = machine.clusters / machine.groups, slices = machine.slices / machine.groups;
        out.add({"narrow request", "noc.request", machine.groups, ports, slices, request_flit_bytes, machine.input_buffer_flits,
                 machine.noc_mhz, 0, true});
        out.add(
            {"fast reply", "noc.reply", machine.groups, slices, ports, machine.flit_bytes, machine.input_buffer_flits, reply_mhz, 0, true});
    }
    std::unique_ptr<Fabric> make(const FabricBuild& build) const override;
    std::string description() const override { return "requests and replies on networks that differ"; }
    std::vector<std::uint32_t> clocks_mhz() const override { return {reply_mhz}; }
    Time borrowed_from_l2(const FabricTiming&) const override { return 0; }
    Time shortest_link(const FabricTiming&) const override { return std::numeric_limits<Time>::max(); }  // none but the usual
    L1Spec cache(const L1Spec& l1, std::uint32_t) const override { return l1; }
    std::uint32_t caches() const override { return 0; }
    PacketSizes port_sizes(std::uint32_t block_bytes) const override { return {request_flit_bytes, 8, block_bytes}; }
    AddressMap port_map(const AddressMap& to_slices, std::uint32_t) const override { return to_slices; }
};

class SplitFabric final : public Fabric {
public:
    SplitFabric(const SplitSpec& spec, const FabricBuild& build) : build_(build), request_(build.request), reply_(build.reply) {
        request_.flit_bytes = spec.request_flit_bytes;
        reply_.clock = build.timing.clock_of(spec.reply_mhz);
        request_domain_ = &build.wiring.domain(build.prefix + "request_network", request_.clock);
        reply_domain_ = &build.wiring.domain(build.prefix + "reply_network", reply_.clock);
    }
    FabricPorts connect(const std::vector<Component*>& ports, const std::vector<Component*>& slices) override {
        const auto in_flight = static_cast<std::uint32_t>((build_.reply_out + build_.credit) / reply_.clock.period);
        const NetworkPorts there =
            build_.network(*request_domain_, request_, build_.prefix,
                           {"cluster -> request network", ports, request_.input_buffer_flits, build_.request_in, build_.credit},
                           {"request network -> l2", slices, build_.l2_input, build_.request_out, build_.credit});
        const NetworkPorts back = build_.network(*reply_domain_, reply_, build_.prefix,
                                                 {"l2 -> reply network", slices, reply_.input_buffer_flits, build_.reply_in, build_.credit},
                                                 {"reply network -> cluster", ports, 8 + in_flight, build_.reply_out, build_.credit});
        return {there.from_sources, back.to_sinks, there.to_sinks, back.from_sources};
    }

private:
    const FabricBuild build_;
    NetworkSpec request_, reply_;
    Domain* request_domain_;
    Domain* reply_domain_;
};

std::unique_ptr<Fabric> SplitSpec::make(const FabricBuild& build) const {
    return std::make_unique<SplitFabric>(*this, build);
}

}  // namespace

void add_split_fabric(Registry& registry) {
    registry.add_section<SplitSpec>();
}

}  // namespace outside
