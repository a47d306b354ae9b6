// SPDX-License-Identifier: MIT
// Configuration of a whole machine, and the quantities derived from it.
#pragma once

#include <string>
#include <vector>

#include "cluster/cluster_spec.hpp"
#include "core/clock.hpp"
#include "core/policies.hpp"
#include "core/problems.hpp"
#include "core/result.hpp"
#include "dispatch/dispatch_spec.hpp"
#include "dram/dram_spec.hpp"
#include "l2/l2_spec.hpp"
#include "noc/network.hpp"
#include "parts/fabric.hpp"
#include "sim/built_in.hpp"
#include "sm/memory_front.hpp"

namespace mergelane {

struct GpuSpec {
    std::uint32_t groups = 1;
    std::uint32_t clusters = 12;
    std::uint32_t sms_per_cluster = 5;
    std::uint32_t core_mhz = 1400;
    std::uint32_t noc_mhz = 1400;
    std::uint32_t l2_mhz = 1400;
    std::uint32_t dram_mhz = 1400;

    void fields(SpecFields& f);
    void check(Problems& problems) const;
};

struct MachineSpec {
    MachineSpec() : MachineSpec(built_in()) {}
    /// With the policies and sections of `names`, which must outlive everything created from it.
    explicit MachineSpec(const Registry& names) : sections(names.sections()), registry(&names) {}

    std::string name = "unnamed";
    std::string validated;  ///< what the preset was compared with, and how well it did
    GpuSpec gpu;
    DispatchSpec dispatch;
    SmSpec sm;
    LsuSpec lsu;
    L1Spec l1;
    ClusterSpec cluster;
    NocSpec noc;
    L2Spec l2;
    DramSpec dram;
    Sections sections;  ///< of mechanisms
    const Registry* registry;

    /// All configuration values, in the order of the memory path; a section follows the component that its name begins with.
    SpecFields fields();
    /// Sections of the mechanisms of this machine, in order of registration.
    std::vector<const Section*> active_sections() const;
    template <class T>
    T& section() {
        return sections.get<T>();
    }
    template <class T>
    const T& section() const {
        return sections.get<T>();
    }
    Policies policies() const { return {*registry, sections}; }
    const NetworkTraits& network_traits() const { return registry->traits<NetworkKind>(noc.kind); }
    const FrontTraits& front_traits() const { return registry->traits<MemoryFront>(lsu.front); }

    /// Of the machine.
    std::uint32_t sms() const { return gpu.groups * first_sm(gpu.clusters); }
    /// Of an SM cluster, within its group.
    std::uint32_t first_sm(std::uint32_t index) const;
    std::uint32_t sms_in(std::uint32_t index) const { return first_sm(index + 1) - first_sm(index); }
    std::uint32_t slices() const { return dram.channels * l2.slices_per_channel; }
};

MachineFacts facts(const MachineSpec& spec);
/// In its SMs or elsewhere.
bool has_l1(const MachineSpec& spec);

/// Clocks and link latencies that follow from a MachineSpec, in engine units.
struct MachineTiming {
    Clock core, noc, l2, dram;
    Time sm_to_port = 0;
    Time port_to_sm = 0;
    Time request_in = 0;   ///< cluster port to request crossbar
    Time request_out = 0;  ///< request crossbar to L2 lookup, or to what lies in front of the slice
    Time to_slice = 0;     ///< from the first unit in front of a slice to the next one or the lookup
    Time reply_in = 0;     ///< L2 to reply crossbar
    Time reply_out = 0;    ///< reply crossbar to cluster port
    Time to_dram = 0;
    Time from_dram = 0;
    Time credit = 0;  ///< of every cut link except the dispatcher's
    Time dispatch = 0;
    FabricTiming fabric;
    Time window = 0;  ///< lookahead: the smallest forward or credit latency of a cut link

    explicit MachineTiming(const MachineSpec& spec);

private:
    std::uint64_t set_clocks(const GpuSpec& gpu, const FabricSection* own_fabric);
};

/// Buffer sizes of the links between domains, in packets unless noted.
struct MachineBuffers {
    std::uint32_t miss_queue = 0;
    std::uint32_t l2_input = 0;
    std::uint32_t slice_input = 0;  ///< if something lies between the network and the slice
    std::uint32_t response_fifo = 0;
    std::uint32_t dram_return = 0;

    MachineBuffers(const MachineSpec& spec, const MachineTiming& timing);
};

/// All inconsistencies; empty for a valid machine.
std::vector<SpecProblem> check(const MachineSpec& spec);

/// A derived quantity shown with the configuration.
struct Derived {
    std::string name;
    std::string value;
    std::string unit;
};
std::vector<Derived> derived(const MachineSpec& spec);
/// In MB/s.
double peak_dram_bandwidth(const MachineSpec& spec);
/// Network bandwidth at the L2, in each direction, relative to DRAM bandwidth. Measured GPUs have 2.4 to 3.5.
double network_to_dram_bandwidth(const MachineSpec& spec);

}  // namespace mergelane
