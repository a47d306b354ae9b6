// SPDX-License-Identifier: MIT
// One crossbar of n inputs and m outputs, any n and m. A packet takes its input and its output for as many network
// cycles as it has flits; its tail then travels on the output's link. Input buffers are counted in flits, what lies
// behind an output in packets. Requests and replies use two separate crossbars.
#pragma once

#include <vector>

#include "core/component.hpp"
#include "core/link.hpp"
#include "core/packet.hpp"
#include "noc/noc_spec.hpp"
#include "parts/bitset_arbiter.hpp"

namespace mergelane {

class Crossbar final : public Component {
public:
    /// `group` names the statistics: "noc.request" or "noc.reply".
    Crossbar(std::string name, std::string_view group, const NocSpec& spec);

    void connect(std::vector<Link<Packet>*> inputs, std::vector<Link<Packet>*> outputs);

    Cycle step(Cycle now) override;
    void stats(StatFields& out, Cycle now) const override;
    void gauges(StatFields& out) const override;
    void explain(std::vector<Wait>& waits) const override;
    std::uint64_t held() const override { return held_; }

private:
    static constexpr std::uint32_t kNone = ~0u;

    struct Node {  ///< a packet in a virtual output queue
        Packet packet;
        Cycle arrived = 0;
        std::uint32_t flits = 0;
        std::uint32_t next = kNone;
    };
    struct Queue {
        std::uint32_t head = kNone;
        std::uint32_t tail = kNone;
    };

    void accept_arrivals(Cycle now);
    void look_at_head(std::uint32_t input, Cycle now);
    void enqueue(std::uint32_t input);
    std::uint32_t head_flits(std::uint32_t input, std::uint32_t output) const;
    void match_round_robin(Cycle now);
    void match_islip(Cycle now);
    void transfer(std::uint32_t input, std::uint32_t output, Cycle now);
    Cycle next_time(Cycle now) const;
    Queue& queue(std::uint32_t input, std::uint32_t output) { return queues_[input * outputs_.size() + output]; }
    const Queue& queue(std::uint32_t input, std::uint32_t output) const { return queues_[input * outputs_.size() + output]; }

    const std::string_view group_;
    const NocSpec& spec_;
    const bool virtual_output_queues_;
    const bool islip_;
    std::vector<Link<Packet>*> inputs_;
    std::vector<Link<Packet>*> outputs_;

    std::vector<std::uint32_t> fifo_destination_;  ///< output wanted by the head of each input, kNone if none
    std::vector<BitSet> requests_;                 ///< per output: inputs with a packet for it
    Cycle next_arrival_ = kNever;                  ///< earliest packet that will become visible at an input
    bool inputs_cut_ = false;                      ///< all inputs come from other domains
    Cycle looked_until_ = 0;                       ///< nothing unknown arrives before
    BitSet expected_;                              ///< inputs with a packet known to arrive
    BitSet active_outputs_;
    BitSet free_inputs_;
    std::vector<Cycle> input_free_at_;
    std::vector<Cycle> output_free_at_;
    std::vector<std::uint32_t> grant_pointer_;
    std::vector<std::uint32_t> accept_pointer_;
    std::uint32_t first_output_ = 0;

    std::vector<Queue> queues_;
    std::vector<Node> nodes_;
    std::uint32_t free_node_ = kNone;
    std::vector<std::uint32_t> granted_;  ///< islip: output that chose this input, per output

    std::uint64_t held_ = 0;
    std::uint64_t packets_in_ = 0;
    std::uint64_t packets_out_ = 0;
    std::uint64_t flits_out_ = 0;
    std::uint64_t read_packets_ = 0;
    std::uint64_t data_packets_ = 0;
    std::uint64_t wait_cycles_ = 0;
};

}  // namespace mergelane
