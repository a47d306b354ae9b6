// SPDX-License-Identifier: MIT
// A cluster port between SMs and a memory that answers each request when the test says so.
#pragma once

#include <functional>
#include <vector>

#include "cluster/icc_unit.hpp"
#include "cluster/port.hpp"
#include "mocks.hpp"
#include "run.hpp"

namespace mergelane::testing {

/// Takes requests as they come and answers the n-th of them `delay(n, packet)` cycles later, in order of time.
class Memory final : public Component {
public:
    using Delay = std::function<Cycle(std::size_t, const Packet&)>;

    Memory(std::string name, Link<Packet>& requests, Link<Packet>& replies, Delay delay)
        : Component(std::move(name)), requests_(requests), replies_(replies), delay_(std::move(delay)) {}

    std::vector<Packet> seen;

    Cycle step(Cycle now) override {
        while (requests_.has(now)) {
            Packet packet = requests_.pop_and_release(now);
            pending_.push_back({now + delay_(seen.size(), packet), packet});
            seen.push_back(packet);
        }
        Cycle next = requests_.head_arrival();
        for (;;) {
            const auto first = std::min_element(pending_.begin(), pending_.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
            if (first == pending_.end()) return next;
            if (first->at > now || now < free_at_) return std::min(next, std::max(first->at, free_at_));
            if (!replies_.can_send(now, 1)) return next;  // woken by the port
            Packet reply = first->packet;
            reply.kind = reply.kind == PacketKind::read    ? PacketKind::read_reply
                         : reply.kind == PacketKind::write ? PacketKind::write_ack
                                                           : PacketKind::atomic_reply;
            replies_.send(now, reply);
            free_at_ = now + 1;
            pending_.erase(first);
        }
    }
    void stats(StatFields&, Cycle) const override {}

private:
    struct Pending {
        Cycle at;
        Packet packet;
    };
    Link<Packet>& requests_;
    Link<Packet>& replies_;
    Delay delay_;
    std::vector<Pending> pending_;
    Cycle free_at_ = 0;
};

/// Takes nothing before a given cycle.
class LateTaker final : public Component {
public:
    LateTaker(std::string name, Link<Packet>& link, Gate gate) : Component(std::move(name)), link_(link), gate_(gate) {}

    Cycle opens_at = 0;
    std::vector<Taker<Packet>::Arrival> taken;

    Cycle step(Cycle now) override {
        if (now >= opens_at && gate_.open(now)) {
            while (link_.has(now)) taken.push_back({now, link_.pop_and_release(now)});
        }
        const Cycle head = link_.head_arrival();
        return head == kNever ? kNever : gate_.next_open(std::max({head, now + 1, opens_at}));
    }
    void stats(StatFields&, Cycle) const override {}

private:
    Link<Packet>& link_;
    Gate gate_;
};

/// How willing the neighbours are.
struct IccGates {
    Gate sms;
    std::uint32_t injection = 8;
    std::uint32_t network_room = 16;
};

struct IccBench : TestBench {
    explicit IccBench(const Sections& wanted, std::uint32_t sms = 5, Memory::Delay delay = {}, IccGates gates = {}) {
        if (!delay) delay = [](std::size_t, const Packet&) { return Cycle{100}; };
        spec.injection_buffer = gates.injection;
        port = &add<ClusterPort>("port", spec, map, sizes, make_cluster_units({sms, sizes.block_bytes, Policies(registry, wanted)}));
        ClusterPort::Links links;
        for (std::uint32_t s = 0; s < sms; ++s) {
            links.from_sms.push_back(&loose_link<Packet>("up", 4));
            links.to_sms.push_back(&loose_link<Packet>("down", 2));
            feeders.push_back(&add<Feeder<Packet>>("sm", *links.from_sms[s]));
            takers.push_back(&add<LateTaker>("sm", *links.to_sms[s], Gate{gates.sms.seed + s, gates.sms.open_percent}));
            links.from_sms[s]->connect(*feeders[s], *port);
            links.to_sms[s]->connect(*port, *takers[s]);
        }
        auto& out = loose_link<Packet>("out", gates.network_room);
        auto& in = loose_link<Packet>("in", 16);
        memory = &add<Memory>("memory", out, in, std::move(delay));
        out.connect(*port, *memory);
        in.connect(*memory, *port);
        links.to_networks = {&out};
        links.from_networks = {&in};
        port->connect(links);
    }

    /// A request of one SM at a cycle; tags count up over all requests.
    std::uint16_t ask(std::uint32_t sm, std::uint64_t line, Cycle at, PacketKind kind = PacketKind::read, std::uint16_t flags = 0) {
        Packet p;
        p.address = line * 128;
        p.sm = sm & Packet::kSmMask;
        p.tag = next_tag++;
        p.kind = kind;
        if (kind == PacketKind::read)
            p.read = {flags, 0, 0, nullptr};
        else
            p.bytes.set_range(0, 4);
        feeders[sm]->items.push_back({p, 1, at});
        return p.tag;
    }
    std::uint16_t read(std::uint32_t sm, std::uint64_t line, Cycle at) { return ask(sm, line, at); }
    std::uint16_t store(std::uint32_t sm, std::uint64_t line, Cycle at) { return ask(sm, line, at, PacketKind::write); }

    /// Tags an SM has received, in order.
    std::vector<std::uint16_t> answers(std::uint32_t sm) const {
        std::vector<std::uint16_t> tags;
        for (const auto& arrival : takers[sm]->taken) tags.push_back(arrival.value.tag);
        return tags;
    }
    std::uint64_t stat(std::string_view group, std::string_view name) const {
        StatFields fields;
        port->stats(fields, now());
        for (const StatField& field : fields.list()) {
            if (field.group == group && field.name == name) return field.value;
        }
        ADD_FAILURE() << "no statistic " << group << "." << name;
        return 0;
    }
    /// Requests inside the port and its units.
    std::uint64_t held() const { return port->held() + gauge_of(*port, "icc", "waiting"); }
    const IccUnit& unit() const { return dynamic_cast<const IccUnit&>(*port->units().back()); }
    std::uint64_t icc(std::string_view name) const { return stat("icc", name); }
    std::uint64_t cc(std::string_view name) const { return stat("cc", name); }

    static Registry filled() {
        Registry registry;
        add_cluster_units(registry);
        add_replacements(registry);
        return registry;
    }

    Registry registry = filled();
    ClusterSpec spec;
    AddressMap map{4, 1, 256, "plain"};
    PacketSizes sizes{64, 8, 128};
    ClusterPort* port;
    Memory* memory;
    std::vector<Feeder<Packet>*> feeders;
    std::vector<LateTaker*> takers;
    std::uint16_t next_tag = 0;
};

inline Sections icc_only(std::uint32_t entries = 48) {
    Registry registry;
    add_cluster_units(registry);
    Sections sections = registry.sections();
    sections.get<IccSpec>().on = true;
    sections.get<IccSpec>().entries = entries;
    return sections;
}
inline Sections icc_and_cc(std::uint32_t entries = 48, std::uint32_t lines = 24) {
    Sections sections = icc_only(entries);
    sections.get<CoalescedCacheSpec>().on = true;
    sections.get<CoalescedCacheSpec>().entries = lines;
    return sections;
}

}  // namespace mergelane::testing
