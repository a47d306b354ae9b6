// SPDX-License-Identifier: MIT
// The DC-L1 fabric: nodes, the local networks between each node cluster and its SMs, and the networks to the L2.
#pragma once

#include <vector>

#include "nodes/dcl1_spec.hpp"
#include "nodes/l1_node.hpp"

namespace mergelane {

class DcL1Fabric final : public Fabric {
public:
    DcL1Fabric(const DcL1Spec& spec, const FabricBuild& build);

    FabricPorts connect(const std::vector<Component*>& ports, const std::vector<Component*>& slices) override;
    void begin_kernel() override;

private:
    NetworkSpec local_network(std::string_view name) const;
    void connect_local(const std::vector<Component*>& ports, FabricPorts& rim);
    void connect_directly(const std::vector<Component*>& ports, FabricPorts& rim);
    void connect_far(const std::vector<Component*>& slices, FabricPorts& rim);
    std::uint32_t room(Time forward, Time credit, Clock clock) const;

    const FabricBuild build_;
    const DcL1Layout layout_;
    const LocalTiming local_;
    const L1Node::Shared shared_;
    std::vector<Domain*> request_domains_, reply_domains_;  ///< of local networks
    std::vector<Domain*> far_request_domains_, far_reply_domains_;
    std::vector<L1Node*> nodes_;
    std::vector<std::vector<L1Node::Links>> links_;  ///< of each node
};

}  // namespace mergelane
