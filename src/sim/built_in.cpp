// SPDX-License-Identifier: MIT
#include "sim/built_in.hpp"

#include "cluster/cluster_unit.hpp"
#include "dispatch/cta_scheduler.hpp"
#include "dispatch/kernel_transform.hpp"
#include "dram/request_order.hpp"
#include "gpc/gpc_spec.hpp"
#include "l2/halves_spec.hpp"
#include "l2/request_coalescer_spec.hpp"
#include "l2/residency_spec.hpp"
#include "noc/network.hpp"
#include "nodes/dcl1_spec.hpp"
#include "parts/replacement.hpp"
#include "parts/replication_meter.hpp"
#include "sim/process_spec.hpp"
#include "sm/memory_front.hpp"
#include "sm/warp_scheduler.hpp"

namespace mergelane {

void add_built_in(Registry& registry) {
    registry.add_section<ProcessSpec>();
    add_cta_schedulers(registry);
    add_kernel_transforms(registry);
    registry.add_section<GpcSpec>();
    add_warp_schedulers(registry);
    add_memory_fronts(registry);
    add_l1_meter(registry);
    add_cluster_units(registry);
    add_fabrics(registry);
    add_network_kinds(registry);
    add_replacements(registry);
    registry.add_section<RequestCoalescerSpec>();
    registry.add_section<HalvesSpec>();
    registry.add_section<ResidencySpec>();
    add_request_orders(registry);
}

Registry built_in_registry() {
    Registry registry;
    add_built_in(registry);
    return registry;
}

const Registry& built_in() {
    // Never destroyed: when a CUDA program ends, its simulation may still look here.
    static const Registry& registry = *new Registry(built_in_registry());
    return registry;
}

}  // namespace mergelane
