// SPDX-License-Identifier: MIT
// A router unit of a user's own: the first router on the path of one cluster's read requests delays them, in a queue that costs energy.
#include <deque>

#include "outside.hpp"

using namespace mergelane;

namespace outside {

namespace {

struct ReadDelaySpec final : RouterUnitSpec<ReadDelaySpec> {
    bool on = false;
    std::uint32_t cluster = 0;
    std::uint32_t cycles = 40;
    std::uint32_t entries = 16;

    void fields(SpecFields& f) override {
        f.section("read_delay");
        f.boolean("enabled", on, "delay the read requests of one cluster at their first router");
        f.integer("cluster", cluster, 0, 4095, "", "whose read requests are delayed");
        f.integer("cycles", cycles, 1, 10000, "network cycles", "of delay");
        f.integer("entries", entries, 1, 1024, "requests", "of the queue; who finds it full passes without delay");
    }
    bool enabled() const override { return on; }
    void check(const MachineFacts& machine, const Sections&, Problems& problems) const override {
        problems.require(machine.network_has_routers, {"read_delay.enabled", "noc.kind"},
                         "read_delay is a part of a mesh's routers; set noc.kind = \"mesh\"");
    }
    void laws(LawBook& book) const override {
        book.balance("read_delay.held = read_delay.sent + waiting", book("read_delay.held"),
                     book("read_delay.sent") + book("read_delay.waiting"));
        if (book.drained())
            book.balance("read_delay.delivered = noc.request.packets", book("read_delay.delivered"), book("noc.request.packets"));
    }
    void metrics(Metrics& m) const override {
        m.add("Read delay", "delay", Metrics::ratio(m("read_delay.cycles"), m("read_delay.sent")), "network cycles", "per delayed request");
    }
    void structures(const MachineFacts& machine, Structures& out) const override {
        Structure queue;
        queue.component = "noc";
        queue.name = "read delay queue";
        queue.plural = "read delay queues";
        queue.per = "router";
        queue.entries = entries;
        queue.data_bits = block_tag_bits(machine.block_bytes);
        queue.uses = {{"writes", Structure::Access::write, {"read_delay.held"}}, {"reads", Structure::Access::read, {"read_delay.sent"}}};
        out.add(queue);
    }
    std::unique_ptr<RouterUnit> make(const RouterContext& context) const override;
};

class ReadDelay final : public RouterUnit {
public:
    ReadDelay(const ReadDelaySpec& spec, const RouterContext& context) : RouterUnit(context), spec_(spec) {}

    void enter(PacketId id) override {
        if (new_.size() <= id) new_.resize(id + 1);
        new_[id] = true;
    }
    bool arrive(Router router, PacketId id, Cycle now) override {
        const bool first = new_[id];
        new_[id] = false;
        if (!first || packet(id).kind != PacketKind::read || packet(id).source != spec_.cluster || network(id) != 0) return false;
        if (queue_.size() == spec_.entries || flits(id) > buffer_flits()) return false;
        queue_.push_back({router, id, now});
        ++held_;
        return true;
    }
    void step(Cycle now) override {
        if (next(now) > now || !whole(queue_.front().packet)) return;
        const Held& oldest = queue_.front();
        if (!send(oldest.router, oldest.packet, flits(oldest.packet))) return;  // tried again in the next cycle
        ++sent_;
        cycles_ += now - oldest.since;
        queue_.pop_front();
    }
    Cycle next(Cycle) const override { return queue_.empty() ? kNever : queue_.front().since + spec_.cycles; }
    void switched(Router, std::uint32_t, Flit flit) override { flits_ += flit.head() || flit.tail() ? 1 : 0; }
    void leave(Router, PacketId id) override { delivered_ += network(id) == 0 ? packets(id) : 0; }
    void stats(StatFields& f, Cycle) const override {
        f.group("read_delay");
        f.add("held", held_, "packets", "read requests that were delayed");
        f.add("sent", sent_, "packets", "delayed read requests that went on");
        f.add("cycles", cycles_, "network cycles", "sum over these of their delay");
        f.add("delivered", delivered_, "packets", "requests that came to their sink");
        f.add("flits", flits_, "flits", "first and last flits of packets that passed a switch");
    }
    void gauges(StatFields& f) const override {
        f.group("read_delay");
        f.add("waiting", queue_.size(), "packets", "read requests in the queue");
    }

private:
    struct Held {
        Router router;
        PacketId packet;
        Cycle since;
    };
    const ReadDelaySpec spec_;
    std::vector<bool> new_;  ///< packets that have not arrived at a router yet
    std::deque<Held> queue_;
    std::uint64_t held_ = 0, sent_ = 0, cycles_ = 0, delivered_ = 0, flits_ = 0;
};

std::unique_ptr<RouterUnit> ReadDelaySpec::make(const RouterContext& context) const {
    return context.network.name == "noc.request" ? std::make_unique<ReadDelay>(*this, context) : nullptr;
}

}  // namespace

void add_read_delay(Registry& registry) {
    registry.add_section<ReadDelaySpec>();
}

}  // namespace outside
