// SPDX-License-Identifier: MIT
// A crossbar with n inputs and m outputs. A packet occupies its input and its output for as many network cycles as it has flits; a table
// maps destinations to outputs. Input buffers are counted in flits. Buffers behind the network are counted in packets, and a packet arrives
// with its tail. Towards a further stage a packet keeps its length, and that stage may start with its head.
#pragma once

#include <array>
#include <memory>
#include <numeric>
#include <vector>

#include "core/component.hpp"
#include "core/link.hpp"
#include "core/observers.hpp"
#include "core/packet.hpp"
#include "noc/noc_spec.hpp"
#include "parts/bitset_arbiter.hpp"

namespace mergelane {

/// How many crossbars a packet passes in its network, and which of them this is.
struct CrossbarStage {
    std::uint32_t number = 1;
    std::uint32_t of = 1;

    bool first() const { return number == 1; }
    bool last() const { return number == of; }
};

class Crossbar final : public Component {
public:
    using Routes = std::vector<std::uint16_t>;  ///< per destination: the output that leads to it

    /// The network's statistics and observers count packets that enter its first stage and leave its last.
    Crossbar(std::string name, const NetworkSpec& spec, CrossbarStage stage = {});

    void connect(std::vector<Link<Packet>*> inputs, std::vector<Link<Packet>*> outputs, Routes routes);
    /// Called after connect().
    void observe(const Sections& sections);

    Cycle step(Cycle now) override;
    void expect(std::uint32_t input, Cycle at) override;
    void stats(StatFields& out, Cycle now) const override;
    void explain(std::vector<Wait>& waits) const override;
    void gauges(StatFields& out) const override;
    void stages(Stages& out) override;
    /// Includes packets in flight to the next stage, because they are inside the network as well.
    std::uint64_t held() const override;

private:
    static constexpr std::uint32_t kNone = ~0u;

    std::uint64_t packets_in() const;
    std::uint64_t packets_out() const { return std::accumulate(packets_out_.begin(), packets_out_.end(), std::uint64_t{0}); }
    std::uint64_t flits_out() const;

    struct alignas(64) Node {  ///< a packet in a virtual output queue
        Packet packet;
        Cycle arrived = 0;
        std::uint32_t flits = 0;
        std::uint32_t next = kNone;
    };
    struct Queue {
        std::uint32_t head = kNone;
        std::uint32_t tail = kNone;
    };
    struct alignas(32) Input {
        Link<Packet>* link = nullptr;
        Cycle free_at = 0;
        std::uint32_t head_output = kNone;  ///< without virtual output queues: output requested by the head
        std::uint16_t accept_pointer = 0;
        std::uint16_t granted = 0;  ///< islip: output that granted this input, if any
    };
    struct alignas(32) Output {
        Link<Packet>* link = nullptr;
        Cycle free_at = 0;
        std::uint64_t flits = 0;
        std::uint32_t grant_pointer = 0;
        std::uint32_t requests = 0;  ///< inputs with a packet for it
    };

    void accept_arrivals(Cycle now);
    void look_at_head(std::uint32_t input, Cycle now);
    void enqueue(std::uint32_t input);
    void request(std::uint32_t input, std::uint32_t output);
    bool has_room(std::uint32_t input, std::uint32_t output, Cycle now);
    std::uint32_t choose(std::uint32_t output, Cycle now);
    bool match_round_robin(Cycle now);
    bool match_islip(Cycle now);
    void fetch_offered();
    void accept_offers(bool first_round, Cycle now);
    void transfer(std::uint32_t input, std::uint32_t output, Cycle now);
    void leave(std::uint32_t input, std::uint32_t output, const Packet& packet, std::uint32_t flits, Cycle now);
    [[gnu::noinline, gnu::cold]] void tell(std::uint32_t input, std::uint32_t output, const Packet& packet, std::uint32_t flits, Cycle now);
    void answered(std::uint32_t input, std::uint32_t output);
    Cycle next_time(Cycle now) const;
    Cycle next_time_of(std::uint32_t output, Cycle now) const;
    Queue& queue(std::uint32_t input, std::uint32_t output) { return queues_[input * output_count_ + output]; }

    const std::string group_;
    const std::string stage_group_;  ///< statistics of a stage that is not the last
    const CrossbarStage stage_;
    const bool leaves_network_;  ///< the outputs lead to the sinks
    const bool virtual_output_queues_;
    const bool islip_;
    const std::uint32_t islip_iterations_;
    const std::uint32_t input_buffer_flits_;
    std::vector<Input> inputs_;
    std::vector<Output> outputs_;
    std::uint32_t output_count_ = 0;
    Routes routes_;

    BitSets requests_;             ///< per output: inputs with a packet for it
    std::vector<Cycle> arrives_;   ///< per expected input: arrival of its packet
    BitSet expected_;              ///< inputs with a packet in flight
    Cycle next_arrival_ = kNever;  ///< the earliest arrival
    BitSet active_outputs_;        ///< with a request
    BitSet busy_inputs_;
    Cycle all_free_at_ = 0;  ///< when all inputs are free
    BitSet offered_;         ///< islip: inputs with a grant
    std::uint32_t first_output_ = 0;

    std::vector<Queue> queues_;
    std::vector<Node> nodes_;  ///< grows to the number needed at once; capacity is reserved for all
    std::uint32_t free_node_ = kNone;

    std::array<std::uint64_t, 6> packets_out_{};  ///< of each kind
    std::uint64_t data_packets_ = 0;
    std::uint64_t wait_cycles_ = 0;
    std::vector<std::unique_ptr<NetworkObserver>> observers_;
    bool observed_ = false;
    Stage contention_;
};

}  // namespace mergelane
