// SPDX-License-Identifier: MIT
// Synthetic traffic for a network in isolation: every node sends packets according to a pattern at a given rate. Accepted throughput and
// latency as functions of the offered load are the network's latency-throughput curve.
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

/// The destination of each node. Nodes are numbered row by row.
class TrafficMap {
public:
    /// Throws InputError if the pattern is not defined for this shape.
    TrafficMap(TrafficPattern pattern, std::uint32_t width, std::uint32_t height);

    std::uint32_t nodes() const { return width_ * height_; }
    std::uint32_t width() const { return width_; }
    bool random() const { return pattern_ == TrafficPattern::uniform; }
    /// `random`: uniformly distributed.
    std::uint32_t destination(std::uint32_t node, std::uint64_t random) const {
        if (pattern_ == TrafficPattern::uniform) return static_cast<std::uint32_t>((random >> 32) * nodes() >> 32);
        return fixed_[node];
    }
    /// Upper bound on throughput in flits per node and cycle for a mesh with this routing if all nodes are served equally: the most heavily
    /// used link is saturated.
    double mesh_bound(MeshSpec::Routing routing) const;
    /// The same if only the links at sources and sinks matter.
    double rim_bound() const;

private:
    TrafficPattern pattern_;
    std::uint32_t width_;
    std::uint32_t height_;
    std::vector<std::uint32_t> fixed_;
};

struct TrafficLoad {
    TrafficPattern pattern = TrafficPattern::uniform;
    double rate = 0.1;        ///< offered flits per node and cycle
    std::uint32_t flits = 1;  ///< of every packet
    std::uint64_t warm_up = 2'000;
    std::uint64_t measured = 8'000;
    std::uint64_t seed = 1;
};

struct TrafficResult {
    double offered = 0;           ///< flits per node and cycle
    double accepted = 0;          ///< that arrived
    double lowest = 0;            ///< of the sending node from which least arrived
    double latency = 0;           ///< cycles, mean over packets that arrived, from creation until the tail is accepted
    double zero_load = 0;         ///< the latency of the same packets without contention; 0: not known for this network kind
    bool drained = false;         ///< everything sent during measurement arrived soon after
    std::uint64_t packets = 0;    ///< in the measurement
    std::uint64_t delivered = 0;  ///< packets of the whole run, to compute the cost per packet
    std::uint64_t hops = 0;       ///< routers on their paths
};

/// What is measured: nodes of a mesh, or the sources and sinks of another network kind.
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
