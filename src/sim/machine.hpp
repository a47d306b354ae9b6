// SPDX-License-Identifier: MIT
// Builds components, links and domains from a MachineSpec. The only place that includes every stage of the memory path.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/port.hpp"
#include "core/meter.hpp"
#include "core/packet_sizes.hpp"
#include "core/wiring.hpp"
#include "dispatch/dispatcher.hpp"
#include "dispatch/kernel_transform.hpp"
#include "dram/channel.hpp"
#include "dram/detailed_channel.hpp"
#include "gpc/gpc_switch.hpp"
#include "l2/half_port.hpp"
#include "l2/request_coalescer.hpp"
#include "l2/slice.hpp"
#include "noc/network.hpp"
#include "parts/address_map.hpp"
#include "parts/dram_rows.hpp"
#include "sim/engine.hpp"
#include "sim/machine_spec.hpp"
#include "sm/sm.hpp"

namespace mergelane {

class Machine {
public:
    /// Throws InputError if `spec` is inconsistent.
    explicit Machine(const MachineSpec& spec);

    const MachineSpec& spec() const { return spec_; }
    const MachineTiming& timing() const { return timing_; }
    std::vector<Domain*> domains() { return wiring_.domains(); }
    /// Groups share nothing but the kernel. An island is busy while one of its dispatchers is.
    std::vector<Island> islands();
    /// Lookahead: how long a domain may run without synchronization.
    Time window() const { return wiring_.window(); }

    /// Starts a kernel at `start` (core cycles); everything of the previous one has finished. Throws InputError when
    /// not even one CTA fits on an SM.
    void launch(const KernelSource& kernel, Cycle start);
    /// Reads marked() later: cycles in which so many CTAs of the kernel that was just launched had completed. Only for one group.
    void mark(std::vector<std::uint64_t> completed) { dispatchers_.front().mark(std::move(completed)); }
    const std::vector<Cycle>& marked() const { return dispatchers_.front().marked(); }
    /// Whether CTAs are dispatched in the order of their numbers, to any SM that has space.
    bool dispatches_in_order() const { return dispatchers_.front().scheduler().in_order(); }
    /// Whether a transform changes the kernel.
    bool transforms(const KernelSource& kernel) const;
    /// The kernel that runs is done, or given up, at `end` (core cycles).
    void end_kernel(Cycle end);
    /// Whether meters need the state between windows. If so, all domains must synchronize after each, and merge_logs() must be called.
    bool keeps_logs() const { return !l1_meters_.empty(); }
    void merge_logs();

    bool finished() const;
    /// Core cycle at which the last dispatcher knew that its CTAs were done.
    Cycle finished_at() const;
    /// Core cycle in which the last CTA finished on its SM.
    Cycle last_cta_end() const;
    std::uint64_t ctas_completed() const;
    /// CTAs of the kernel that runs, after what a transform made of it.
    std::uint64_t ctas_total() const;
    std::uint64_t warp_instructions() const;

    const Wiring& wiring() const { return wiring_; }
    std::vector<Wiring::Part> parts() const { return wiring_.parts(); }

    // For laws and tests.
    std::uint64_t in_flight(std::string_view boundary) const { return wiring_.in_flight(boundary); }
    std::uint64_t held(std::string_view station) const { return wiring_.held(station); }
    std::deque<Sm>& sms() { return sms_; }
    const std::deque<Sm>& sms() const { return sms_; }
    const std::deque<ClusterPort>& ports() const { return ports_; }
    std::deque<L2Slice>& slices() { return slices_; }
    /// From addresses to the slices of a group.
    const AddressMap& map() const { return map_; }
    /// In the order of their numbers, group by group.
    const std::vector<MemoryChannel*>& channels() const { return channels_; }
    LinkBase* find_link(std::string_view name) { return wiring_.find_link(name); }
    const std::vector<Wiring::NamedLink>& links() const { return wiring_.links(); }

private:
    struct Group;
    std::vector<AddressMap> port_maps() const;
    void add_stations(Group& group);
    void add_cluster(Group& group, std::uint32_t index);
    void add_slice(Group& group, std::uint32_t index);
    MemoryChannel& add_channel(const std::string& name);
    void connect_dispatch(Group& group);
    void connect_clusters(Group& group);
    void connect_gpcs(Group& group);
    void check_clusters(const KernelInfo& info, bool transformed) const;
    void connect_networks(Group& group);
    void connect_fabric(Group& group);
    void take_rim(Group& group, const FabricPorts& rim);
    std::pair<Link<Packet>*, Link<Packet>*> link_before_slice(std::string_view outer, Component& from, std::string_view inner,
                                                              Component& to);
    void connect_coalescers(Group& group);
    void connect_half_ports(Group& group);
    std::unique_ptr<Fabric> make_fabric(Group& group);
    NetworkPorts network(Domain& domain, const NetworkSpec& spec, const std::string& prefix, NetworkSide sources, NetworkSide sinks);
    void connect_memory(Group& group);
    static void hand_out_links(Group& group);

    const MachineSpec spec_;
    const MachineTiming timing_;
    const MachineBuffers buffers_;
    const NetworkSpec request_network_;
    const NetworkSpec reply_network_;
    const PacketSizes request_sizes_;
    const PacketSizes reply_sizes_;
    const AddressMap map_;
    const DramRows rows_;
    const FabricSection* const fabric_;  ///< nullptr: clusters and L2 meet on two networks
    const L1Spec sm_l1_;
    const PacketSizes port_sizes_;
    const std::vector<AddressMap> port_maps_;
    const std::uint32_t port_width_;
    const std::uint32_t network_ports_;  ///< of each SM cluster
    const std::unique_ptr<KernelTransform> transform_;
    std::unique_ptr<KernelSource> transformed_;  ///< of the kernel that runs, if anything has changed it

    Wiring wiring_;
    std::vector<std::unique_ptr<Fabric>> fabrics_;  ///< of each group
    std::deque<Dispatcher>& dispatchers_;
    std::deque<Sm>& sms_;
    std::deque<ClusterPort>& ports_;
    std::deque<L2Slice>& slices_;
    std::vector<MemoryChannel*> channels_;
    std::vector<L1Meter*> l1_meters_;  ///< of all groups
};

}  // namespace mergelane
