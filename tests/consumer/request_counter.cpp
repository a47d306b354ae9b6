// SPDX-License-Identifier: MIT
// A user-defined cluster unit: counts requests that cross the bus, by SM, in a small table that costs energy.
#include "outside.hpp"

using namespace mergelane;

namespace outside {

namespace {

class RequestCounter final : public ClusterUnit {
public:
    explicit RequestCounter(std::uint32_t sms) : by_sm_(sms) {}

    bool request(Packet& packet, Cycle) override {
        ++requests_;
        if (packet.kind == PacketKind::read) ++reads_;
        ++by_sm_[packet.sm];
        return true;
    }
    void end_delivery(const Packet&, Cycle) override { ++replies_; }
    void stats(StatFields& f, Cycle) const override {
        f.group("request_counter");
        f.add("requests", requests_, "requests", "requests seen on the bus of a cluster");
        f.add("reads", reads_, "requests", "reads among them");
        f.add("replies", replies_, "packets", "replies of the network handed out");
        f.add("busiest_sm", *std::max_element(by_sm_.begin(), by_sm_.end()), "requests", "of the SM of each cluster that had most");
    }

private:
    std::vector<std::uint64_t> by_sm_;
    std::uint64_t requests_ = 0;
    std::uint64_t reads_ = 0;
    std::uint64_t replies_ = 0;
};

struct RequestCounterSpec final : ClusterUnitSpec<RequestCounterSpec> {
    bool on = false;
    std::uint32_t counter_bits = 32;

    void fields(SpecFields& f) override {
        f.section("request_counter");
        f.boolean("enabled", on, "count what crosses the bus of each cluster");
        f.integer("counter_bits", counter_bits, 8, 64, "bits", "of the counter of each SM");
    }
    bool enabled() const override { return on; }
    void check(const MachineFacts& machine, const Sections&, Problems& problems) const override {
        problems.require(machine.sms_per_cluster <= 32, {"request_counter.enabled", "gpu.sms_per_cluster"},
                         "request_counter has room for 32 SMs; lower gpu.sms_per_cluster");
    }
    void laws(LawBook& book) const override {
        book.balance("request_counter.requests = cluster.requests_in", book("request_counter.requests"), book("cluster.requests_in"));
        book.balance("request_counter.replies = cluster.network_replies", book("request_counter.replies"), book("cluster.network_replies"));
    }
    void metrics(Metrics& m) const override {
        m.add("Request counter", "reads", Metrics::percent(m("request_counter.reads"), m("request_counter.requests")), "%");
    }
    void structures(const MachineFacts& machine, Structures& out) const override {
        Structure table;
        table.component = "cluster";
        table.name = "request counter";
        table.plural = "request counters";
        table.kind = Structure::Kind::ram;
        table.instances = machine.clusters;
        table.entries = machine.sms_per_cluster;
        table.data_bits = counter_bits;
        table.uses = {{"updates", Structure::Access::write, {"request_counter.requests"}}};
        out.add(table);
    }
    std::unique_ptr<ClusterUnit> make(const ClusterContext& context) const override {
        return std::make_unique<RequestCounter>(context.sms);
    }
};

}  // namespace

void add_request_counter(Registry& registry) {
    registry.add_section<RequestCounterSpec>();
}

}  // namespace outside
