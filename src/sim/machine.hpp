// SPDX-License-Identifier: MIT
// The wiring: the only place that sees every station. Builds components, links and domains from a MachineSpec.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "cluster/port.hpp"
#include "core/domain.hpp"
#include "core/packet_sizes.hpp"
#include "dispatch/dispatcher.hpp"
#include "dram/channel.hpp"
#include "l2/slice.hpp"
#include "noc/crossbar.hpp"
#include "parts/address_map.hpp"
#include "sim/machine_spec.hpp"
#include "sm/sm.hpp"

namespace mergelane {

class Machine {
public:
    /// Throws InputError when `spec` contradicts itself.
    explicit Machine(const MachineSpec& spec);

    const MachineSpec& spec() const { return spec_; }
    const MachineTiming& timing() const { return timing_; }
    std::vector<Domain*> domains();

    /// Starts a kernel at `start` (core cycles); everything of the previous one has finished. Throws InputError when
    /// not even one CTA fits on an SM.
    void launch(const KernelSource& kernel, Cycle start);

    bool finished() const;
    /// Core cycle at which the last dispatcher knew that its CTAs were done.
    Cycle finished_at() const;
    /// Core cycle in which the last CTA finished on its SM.
    Cycle last_cta_end() const;
    std::uint64_t ctas_completed() const;
    std::uint64_t warp_instructions() const;

    /// Components in a fixed order, each with the clock its cycle-valued statistics are in.
    struct Part {
        const Component* component;
        Clock clock;
    };
    const std::vector<Part>& parts() const { return parts_; }

    // For laws and tests.
    std::uint64_t in_flight(std::string_view boundary) const;
    std::uint64_t held(std::string_view station) const;
    std::deque<Sm>& sms() { return sms_; }
    const std::deque<ClusterPort>& ports() const { return ports_; }
    std::deque<L2Slice>& slices() { return slices_; }
    std::deque<DramChannel>& channels() { return channels_; }
    LinkBase* find_link(std::string_view name);
    /// Every link with the boundary it crosses.
    struct NamedLink {
        std::string_view boundary;
        LinkBase* link;
    };
    const std::vector<NamedLink>& links() const { return links_; }

private:
    void build_group(std::uint32_t group);
    template <class T>
    Link<T>& make_link(std::deque<Link<T>>& pool, std::string_view boundary, std::string name, std::uint32_t capacity,
                       const LinkTiming& timing);

    const MachineSpec spec_;
    const MachineTiming timing_;
    const MachineBuffers buffers_;
    const PacketSizes sizes_;
    const AddressMap map_;

    std::deque<Domain> domains_;
    std::deque<Dispatcher> dispatchers_;
    std::deque<Sm> sms_;
    std::deque<ClusterPort> ports_;
    std::deque<Crossbar> crossbars_;
    std::deque<L2Slice> slices_;
    std::deque<DramChannel> channels_;
    std::deque<Link<Packet>> packet_links_;
    std::deque<Link<DramRequest>> dram_links_;
    std::deque<Link<CtaMessage>> cta_links_;
    std::vector<NamedLink> links_;
    std::vector<Part> parts_;
};

}  // namespace mergelane
