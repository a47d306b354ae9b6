// SPDX-License-Identifier: MIT
// 2D mesh of routers with virtual channels and credit-based flow control. The whole mesh is one component: routers are one cycle apart,
// so separate domains would gain no parallelism, and one component needs no links between routers. The state is flat arrays and bit
// masks, so idle routers cost nothing.
//
// A router has five stages: buffer write, route computation, VC allocation, switch allocation and link traversal. Both allocators are
// separable, input first, with round-robin priorities that advance on a grant. A packet holds its output virtual channel until its tail
// has passed the switch, so flits of packets on different virtual channels can share a link
// cycle by cycle.
#pragma once

#include <array>
#include <bit>
#include <memory>
#include <string>
#include <vector>

#include "core/component.hpp"
#include "core/link.hpp"
#include "core/observers.hpp"
#include "core/packet.hpp"
#include "noc/mesh_spec.hpp"
#include "noc/network.hpp"
#include "parts/bitset_arbiter.hpp"

namespace mergelane {

class RouterUnit;

class Mesh final : public Component {
public:
    enum Port : std::uint8_t { local, east, west, north, south };
    static constexpr std::uint32_t kPorts = 5;
    static constexpr std::uint32_t kUnitPort = kPorts;  ///< additional input: packets sent by router units
    static constexpr std::uint32_t kInputs = kPorts + 1;
    static constexpr std::uint32_t kChannels = 8;  ///< maximum virtual channels per port; the specification says how many are used
    static constexpr std::uint32_t kClasses = 2;

    /// The number of its packet, with flags for head and tail.
    struct Flit {
        std::uint32_t code;
        std::uint32_t packet() const { return code >> kFlagBits; }
        bool head() const { return (code & kHead) != 0; }
        bool tail() const { return (code & kTail) != 0; }
    };

    /// `classes`: networks that share its links; each has its own virtual channels.
    Mesh(std::string name, const MeshSpec& spec, std::uint32_t width, std::uint32_t height, std::uint32_t classes = 1);
    ~Mesh() override;

    /// Attaches a unit to every router; call before the first packet.
    void add_unit(std::unique_ptr<RouterUnit> unit);
    /// The next network of this mesh: its statistics' name, its links, and the routers they are at. A router has one source and one sink.
    void connect(const std::string& statistics, const std::vector<Link<Packet>*>& sources, const std::vector<std::uint16_t>& source_routers,
                 const std::vector<Link<Packet>*>& sinks, const std::vector<std::uint16_t>& sink_routers);
    /// The network connected last.
    void observe(const Sections& sections);

    Cycle step(Cycle now) override;
    void expect(std::uint32_t input, Cycle at) override;
    void stats(StatFields& out, Cycle now) const override;
    void gauges(StatFields& out) const override;
    void stages(Stages& out) override;
    void explain(std::vector<Wait>& waits) const override;
    std::uint64_t held() const override;

    std::uint32_t routers() const { return width_ * height_; }
    /// Outstanding credits: buffer space in use, or credits in flight.
    std::uint64_t credits_out() const;
    /// Drops credits of an output virtual channel, as broken flow control would. For tests.
    void plant_credit_leak(std::uint32_t router, Port output, std::uint32_t channel, std::uint32_t credits);

private:
    friend class RouterUnit;  // its protected members are the interface of units

    static constexpr std::uint32_t kNone = ~0u;
    static constexpr std::uint32_t kStride = 64;             ///< places of virtual channels of a router's inputs, as of its outputs
    static constexpr std::uint32_t kAtSource = 0x8000'0000;  ///< a credit goes to a source's channel
    static constexpr std::uint32_t kNoChannel = kNone;
    static constexpr std::uint32_t kHead = 1, kTail = 2, kFlagBits = 2;  ///< of the code of a flit

    /// Not a byte type: bytes may alias anything, so the compiler would reload other members after each store.
    using Small = std::uint16_t;
    struct alignas(64) Router {
        std::uint64_t ready = 0;                                 ///< input channels with a flit ready for the switch
        std::array<std::uint64_t, kPorts * kClasses> wanting{};  ///< per output and class: input channels with a waiting head
        std::uint32_t allocate = 0;                              ///< outputs and classes with a waiting head and a free virtual channel
        std::array<Small, kPorts> free{};                        ///< free channels of each output
        std::array<Small, kPorts> open{};                        ///< channels of each output with a credit
        std::array<Small, kInputs> input_turn{};                 ///< of the switch: next channel of an input
        std::array<Small, kPorts> output_turn{};                 ///< of the switch: next input of an output
        Small x = 0, y = 0;
    };
    struct InputChannel {         ///< a ring of flits in flits_
        std::uint32_t first = 0;  ///< number of its first flit
        std::uint32_t count = 0;
        std::uint32_t back = kNone;  ///< receiver of credits: an output channel, or a source's channel
        std::uint32_t turn = 0;      ///< next channel to request
        // Of the packet at its head:
        std::uint32_t output = 0;            ///< port
        std::uint32_t channel = kNoChannel;  ///< allocated virtual channel of that port, if any
        std::uint32_t to = 0;                ///< the same among all output channels
        std::uint32_t next = kNone;          ///< input channel behind it; kNone: the sink
    };
    struct OutputChannel {
        std::uint16_t credits = 0;
        Small owner = 0;  ///< input channel whose packet holds it
        Small turn = 0;   ///< next input channel to be granted
    };
    /// A packet in the mesh.
    struct alignas(64) Traveller {
        Packet packet;
        Cycle entered = 0;
        std::uint32_t flits = 0;
        std::uint32_t next_free = kNone;
        std::uint16_t router = 0;  ///< destination
        Small x = 0, y = 0;
        Small network = 0;
        std::uint16_t hops = 0;  ///< routers on its path
    };
    /// What units do with a packet, under the number of its Traveller.
    struct Ride {
        std::uint32_t flits = 0;     ///< on a wire
        std::uint32_t packets = 1;   ///< merged into this one, including itself
        std::uint32_t joined = 0;    ///< further packets that will be, once it is sent
        std::uint32_t next = kNone;  ///< next merged packet after this one
        std::uint32_t last = kNone;
        std::uint32_t within = kNone;   ///< the packet it was merged into, or itself
        std::uint32_t arriving = 0;     ///< held packets merged into this one whose tail has not arrived
        std::uint32_t held_at = kNone;  ///< router whose unit holds it
        std::uint32_t delayed = 0;      ///< cycles for which units have delayed it
    };

    struct Event {
        Cycle at;
        std::uint32_t where;  ///< input channel, output channel or router
        std::uint32_t flit;
    };
    /// All events of a kind have the same latency, so a FIFO keeps them in order.
    class Events {
    public:
        void reserve(std::size_t most) {
            places_.resize(std::bit_ceil(most));
            mask_ = static_cast<std::uint32_t>(places_.size() - 1);
        }
        Cycle next() const { return head_ == tail_ ? kNever : places_[head_ & mask_].at; }
        Event pop() { return places_[head_++ & mask_]; }
        void push(Cycle at, std::uint32_t where, std::uint32_t flit) { places_[tail_++ & mask_] = {at, where, flit}; }

    private:
        std::vector<Event> places_;
        std::uint32_t mask_ = 0, head_ = 0, tail_ = 0;
    };

    struct Source {
        Link<Packet>* link = nullptr;
        std::uint32_t router = 0;
        Small network = 0;
        Small channel = 0;                ///< of the packet that enters
        Small with_credit = 0;            ///< channels
        Small turn = 0;                   ///< next channel to use
        std::uint32_t traveller = kNone;  ///< enters at the moment
        std::uint32_t left = 0;           ///< its flits
        std::array<Small, kChannels> credits{};
    };
    struct Sink {
        Link<Packet>* link = nullptr;
        std::uint32_t promised = 0;                           ///< packets with an allocated channel that are not on its link yet
        std::uint32_t waiting = kNone, last_waiting = kNone;  ///< packets of a merged packet, delivered one by one
        Cycle next_from = 0;                                  ///< earliest cycle of the next delivery
    };
    struct Network {
        std::string statistics;
        std::string router_statistics;
        Small channels = 0;                       ///< mask
        std::vector<std::uint16_t> destinations;  ///< router of each sink
        std::vector<std::uint32_t> sources;       ///< numbers in sources_
        std::array<std::uint64_t, 6> packets{};   ///< delivered, by kind
        std::uint64_t packets_in = 0, packets_out = 0, flits = 0, data_packets = 0, wait = 0, latency = 0;
        std::uint64_t hops = 0, shortest_hops = 0, switch_flits = 0;
        Stage traversal, delayed, contention;
        std::vector<std::unique_ptr<NetworkObserver>> observers;
    };

    // The stages, in the order in which step() calls them.
    void allocate_switch(std::uint32_t router, Cycle now);
    void traverse(std::uint32_t router, std::uint32_t input, Cycle now);
    void free_channel(std::uint32_t router, InputChannel& in);
    void deliver(Cycle now);
    void hand_over(std::uint32_t router, std::uint32_t index, std::uint32_t flits, Cycle now);
    void return_credits(Cycle now);
    void take_flits(Events& events, Cycle now);
    std::uint32_t channel_for(const Router& at, std::uint32_t output, std::uint32_t free, std::uint32_t turn) const;
    void inject(Cycle now);
    bool begin_packet(Source& source, Cycle now);
    void send_flit(Source& source, Cycle now);
    void look_at_link(std::uint32_t source, Cycle now);
    void look_at_sinks(Cycle now);
    void allocate_channels(std::uint32_t router, Cycle now);
    void allocate_output(std::uint32_t router, std::uint32_t wanted, Cycle now);
    void grant(std::uint32_t router, std::uint32_t input, std::uint32_t wanted, std::uint32_t channel);
    Cycle next_time(Cycle now) const;

    std::uint32_t route(const Router& at, const Traveller& traveller) const;
    void want_channel(std::uint32_t router, std::uint32_t input);
    void set_ready(std::uint32_t router, std::uint32_t input) {
        routers_[router].ready |= bit(input);
        switching_.set(router);
    }
    void set_allocating(std::uint32_t router, std::uint32_t wanted) {
        routers_[router].allocate |= 1u << wanted;
        allocating_.set(router);
    }
    bool sink_has_room(std::uint32_t router, Cycle now);
    std::uint32_t enter(const Packet& packet, std::uint32_t flits, const Source& source, Cycle arrived);
    /// Place of a flit in flits_, counted from when the channel was made.
    std::size_t place(std::uint32_t channel, std::uint32_t number) const {
        return std::size_t{channel} << buffer_shift_ | (number & ((1u << buffer_shift_) - 1));
    }
    std::uint32_t front(std::uint32_t channel) const { return flits_[place(channel, inputs_[channel].first)]; }
    std::uint32_t class_of(std::uint32_t channel) const { return channel >= request_channels_ ? 1 : 0; }
    void build_routers();
    static std::uint64_t inside(const Network& network) { return network.packets_in - network.packets_out; }
    // With router units: mesh_units.cpp.
    void begin_ride(std::uint32_t index);
    bool unit_takes(const Event& event, Cycle now);
    bool offer_to_units(std::uint32_t router, std::uint32_t index, Cycle now);
    void join(std::uint32_t leader, std::uint32_t index);
    bool send_from_unit(std::uint32_t router, std::uint32_t index, std::uint32_t flits);
    void note_passing(std::uint32_t index);
    std::uint64_t may_switch(std::uint32_t router);
    void note_switched(std::uint32_t router, std::uint32_t input, std::uint32_t flit);
    void separate(std::uint32_t router, std::uint32_t index, Cycle now);
    void hand_over_waiting(std::uint32_t router, Cycle now);
    void step_units(Cycle now);
    Cycle next_of_units(Cycle now) const;

    struct Chain;
    void follow(std::uint32_t channel, Chain& chain) const;
    std::string where(std::uint32_t router) const;

    const std::uint32_t width_;
    const std::uint32_t height_;
    const std::uint32_t channels_;
    const std::uint32_t buffer_flits_;
    const std::uint32_t buffer_shift_;  ///< a buffer has a power of two of places
    const std::uint32_t classes_;
    const std::uint32_t request_channels_;  ///< of two classes: the first ones are of the first class
    const bool column_first_;
    // In network cycles from switch allocation: until the flit may request a virtual channel at the next router, is at its sink, and its
    // credit has returned.
    const Cycle to_next_, to_sink_, credit_back_;
    const Cycle entry_;  ///< from a source's link until it may request a channel
    const Cycle hop_;

    std::vector<Router> routers_;
    std::vector<InputChannel> inputs_;    ///< router by router, port by port
    std::vector<std::uint32_t> flits_;    ///< their buffers
    std::vector<OutputChannel> outputs_;  ///< likewise
    std::vector<std::uint32_t> ahead_;    ///< per router and output: first input channel behind it
    std::vector<Traveller> travellers_;
    std::uint32_t free_traveller_ = kNone;

    BitSet switching_;   ///< routers with something for the switch
    BitSet allocating_;  ///< routers with a waiting head and a free virtual channel
    BitSet full_sinks_;  ///< routers whose sink has no credits for a waiting head
    Events arriving_, entering_, credits_, leaving_;

    std::vector<Source> sources_;
    std::vector<Sink> sinks_;               ///< per router
    std::vector<std::uint32_t> source_at_;  ///< per router
    std::vector<Cycle> link_arrives_;       ///< per source: when its next packet is there, if it is expected
    BitSet expected_;                       ///< sources whose next packet is in flight
    BitSet entering_now_;                   ///< sources with a flit that can enter
    Cycle next_link_arrival_ = kNever;

    std::vector<Network> networks_;

    bool has_units_ = false;
    std::vector<std::unique_ptr<RouterUnit>> units_;
    std::vector<Ride> rides_;
    BitSet separating_;  ///< routers whose sink has packets waiting
};

NetworkPorts mesh_network(const NetworkBuild& build, const Sections& sections);

}  // namespace mergelane
