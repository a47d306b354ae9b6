// SPDX-License-Identifier: MIT
// A network without a central component: every sink has one queue, in order of arrival, and accepts one flit per cycle. A source sends one
// flit per cycle; packets that have not been accepted occupy the source's buffer. Sources contend only at a sink, where the earlier packet
// goes first; packets of the same cycle are served round robin. Source, network and sink share one clock.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/component.hpp"
#include "core/link.hpp"
#include "core/observers.hpp"
#include "core/packet.hpp"
#include "noc/network.hpp"

namespace mergelane {

class OutputQueues final : public Component, public SlotRouter {
public:
    OutputQueues(std::string name, const NetworkSpec& spec);

    /// `forward`: cycles from source to sink without contention. `credit`: cycles until the source may reuse the buffer space.
    void connect(std::vector<Link<Packet>*> sources, std::vector<Link<Packet>*> sinks, Cycle forward, Cycle credit);
    /// Called after connect().
    void observe(const Sections& sections);

    void sent(std::uint32_t source, Slot& slot) override;
    Slot* taken(std::uint32_t sink, Slot& slot, Cycle now) override;

    /// It has no work of its own: packets are moved by their senders and receivers.
    Cycle step(Cycle) override { return kNever; }
    void stats(StatFields& out, Cycle now) const override;
    void gauges(StatFields& out) const override;
    void stages(Stages& out) override;
    void explain(std::vector<Wait>& waits) const override;
    std::uint64_t held() const override;

private:
    /// Packets from a source to a sink that were sent in windows of either parity and not fetched yet, and the flag that announces them.
    struct Box {
        Slot* sent[2] = {nullptr, nullptr};
        std::uint8_t* flag = nullptr;
    };
    /// Aligned to cache lines, because each belongs to its sink's domain.
    struct alignas(64) Queue final : CutInput {
        void look(std::uint32_t source, std::uint32_t turn, Cycle begin) override;
        void insert(Slot& slot);

        OutputQueues* network = nullptr;
        Link<Packet>* link = nullptr;
        std::uint32_t number = 0;
        Slot end{};             ///< sentinel behind the last packet; never arrives
        Slot* tail = nullptr;   ///< last packet; nullptr: none
        Slot* first = nullptr;  ///< head of the queue or `end`
        Slot* older = nullptr;  ///< last packet before those of this window
        Cycle looked_at = kNever;
        Cycle last_available = 0;  ///< arrival of the most recently accepted packet
        std::uint64_t packets = 0;
        std::uint64_t flits = 0;
        std::uint64_t read_packets = 0;
        std::uint64_t data_packets = 0;
        std::uint64_t wait_cycles = 0;
    };

    Box& box(std::uint32_t source, std::uint32_t sink) { return boxes_[std::size_t{source} * queues_.size() + sink]; }
    bool before(const Slot& a, const Slot& b) const;

    const std::string group_;
    std::vector<Link<Packet>*> sources_;
    std::vector<const Domain*> source_domains_;
    std::vector<std::unique_ptr<Queue>> queues_;
    std::vector<Box> boxes_;
    Cycle forward_ = 0;
    Cycle credit_ = 0;
    std::vector<std::unique_ptr<NetworkObserver>> observers_;
    Stage contention_;
};

NetworkPorts output_queues(const NetworkBuild& build, const Sections& sections);

}  // namespace mergelane
