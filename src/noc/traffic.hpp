// SPDX-License-Identifier: MIT
// Traffic as network people use it, to look at a network alone: every node sends packets to others by a pattern, as often as told. How much
// arrives, and how late, for more and more of it, is the network's latency-throughput curve.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/policies.hpp"
#include "noc/mesh_spec.hpp"
#include "noc/network.hpp"

namespace mergelane {

enum class TrafficPattern : std::uint8_t { uniform, transpose, bit_complement, tornado, hotspot };
inline constexpr std::array<std::string_view, 5> kTrafficPatterns = {"uniform", "transpose", "bit-complement", "tornado", "hotspot"};

/// Which node another sends to. Nodes are numbered row by row.
class TrafficMap {
public:
    /// Throws InputError for a pattern that this shape does not have.
    TrafficMap(TrafficPattern pattern, std::uint32_t width, std::uint32_t height);

    std::uint32_t nodes() const { return width_ * height_; }
    std::uint32_t width() const { return width_; }
    bool random() const { return pattern_ == TrafficPattern::uniform; }
    /// `random`: any number, all of which are equally likely.
    std::uint32_t destination(std::uint32_t node, std::uint64_t random) const {
        if (pattern_ == TrafficPattern::uniform) return static_cast<std::uint32_t>((random >> 32) * nodes() >> 32);
        return fixed_[node];
    }
    /// Flits per node and cycle that no mesh with this routing can exceed if all nodes are served alike: the wire with most to carry is
    /// full.
    double mesh_bound(MeshSpec::Routing routing) const;
    /// The same where only the links at sources and sinks count.
    double rim_bound() const;

private:
    TrafficPattern pattern_;
    std::uint32_t width_;
    std::uint32_t height_;
    std::vector<std::uint32_t> fixed_;
};

struct TrafficLoad {
    TrafficPattern pattern = TrafficPattern::uniform;
    double rate = 0.1;        ///< flits that each node wants to send per cycle
    std::uint32_t flits = 1;  ///< of every packet
    std::uint64_t warm_up = 2'000;
    std::uint64_t measured = 8'000;
    std::uint64_t seed = 1;
};

struct TrafficResult {
    double offered = 0;           ///< flits per node and cycle
    double accepted = 0;          ///< that arrived
    double lowest = 0;            ///< of the node from which least arrived, of those that send
    double latency = 0;           ///< cycles, mean over packets that arrived, from wanting to send until the tail is taken
    double zero_load = 0;         ///< what the same packets would take alone; 0: not known for this kind of network
    bool drained = false;         ///< whatever was sent while measuring has arrived soon after
    std::uint64_t packets = 0;    ///< that these figures are about
    std::uint64_t delivered = 0;  ///< packets of the whole run, for what one costs to simulate
    std::uint64_t hops = 0;       ///< routers on their ways
};

/// What is measured: nodes of a mesh, or the sources and sinks of another kind of network.
struct TrafficBench {
    std::uint32_t width = 8;
    std::uint32_t height = 8;
    NetworkShape shape;
    const Registry* registry;
    Sections sections;

    explicit TrafficBench(const Policies& policies = policies_of<add_network_kinds>())
        : registry(&policies.registry()), sections(policies.sections()) {}
    /// "mesh of 8 x 8 routers, ..."
    std::string description() const;
    double bound(TrafficPattern pattern) const;
    TrafficResult run(const TrafficLoad& load) const;
};

}  // namespace mergelane
