// SPDX-License-Identifier: MIT
// The [dcl1] section: first-level caches moved out of the SMs into shared nodes (decoupled L1). Three numbers define an organisation (SMs,
// nodes, node clusters); networks, homes and sizes follow from them.
#pragma once

#include <string>

#include "parts/fabric.hpp"
#include "parts/l1_cache.hpp"

namespace mergelane {

struct DcL1Spec : FabricSpec<DcL1Spec> {
    enum class Local : std::uint8_t { crossbar, direct };
    enum class Home : std::uint8_t { chunk, line };
    enum class Sets : std::uint8_t { whole, local };
    enum class Reply : std::uint8_t { words, sectors, line };
    enum class WriteHit : std::uint8_t { sectors, line };

    bool on = false;
    std::uint32_t nodes = 40;
    std::uint32_t clusters = 10;
    bool caching = true;
    Local local = Local::crossbar;
    std::uint32_t local_mhz = 700;
    std::uint32_t local_flit_bytes = 32;
    std::uint32_t local_header_bytes = 0;
    std::uint32_t queue = 4;
    std::uint32_t hit_latency = 30;
    std::uint32_t mshrs = 0;
    std::uint32_t mshr_merges = 0;
    Home home = Home::chunk;
    Sets sets = Sets::local;
    Reply reply = Reply::words;
    WriteHit write_hit = WriteHit::sectors;

    void fields(SpecFields& f) override;
    bool enabled() const override { return on; }
    void check(const MachineFacts& machine, const Sections& others, Problems& problems) const override;
    void laws(LawBook& book) const override;
    void metrics(Metrics& m) const override;
    void structures(const MachineFacts& machine, Structures& out) const override;
    std::optional<Publication> publication() const override;

    std::unique_ptr<Fabric> make(const FabricBuild& build) const override;
    std::string description() const override;
    std::vector<std::uint32_t> clocks_mhz() const override { return {local_mhz}; }
    Time borrowed_from_l2(const FabricTiming& timing) const override;
    Time shortest_link(const FabricTiming& timing) const override;
    L1Spec cache(const L1Spec& l1, std::uint32_t sms) const override;
    std::uint32_t caches() const override { return caching ? nodes : 0; }
    PacketSizes port_sizes(std::uint32_t block_bytes) const override { return {local_flit_bytes, local_header_bytes, block_bytes}; }
    AddressMap port_map(const AddressMap& to_slices, std::uint32_t ports) const override;
};

/// Derived from the three numbers; see docs/mechanisms/dcl1.md.
struct DcL1Layout {
    std::uint32_t cores;
    std::uint32_t nodes;
    std::uint32_t clusters;
    std::uint32_t slices;
    bool by_line;  ///< homes interleave by line, which no range of slices matches

    DcL1Layout(const DcL1Spec& spec, std::uint32_t ports, std::uint32_t l2_slices)
        : cores(ports), nodes(spec.nodes), clusters(spec.clusters), slices(l2_slices), by_line(spec.home == DcL1Spec::Home::line) {}

    std::uint32_t cores_per_cluster() const { return cores / clusters; }
    std::uint32_t nodes_per_cluster() const { return nodes / clusters; }
    /// A node is the home of the lines of a range of slices, so it must reach only those.
    bool split() const { return !by_line && slices % nodes_per_cluster() == 0; }
    std::uint32_t far_networks() const { return split() ? nodes_per_cluster() : 1; }
    std::uint32_t slices_per_network() const { return slices / far_networks(); }
    /// The lines whose home is a node of a cluster. The slice hash permutes within a turn, so it does not matter here.
    LineShare share(std::uint32_t interleave_bytes, std::uint32_t line_bytes) const {
        if (by_line) return {1, nodes_per_cluster(), 1};
        return {interleave_bytes / line_bytes, split() ? slices : nodes_per_cluster(), split() ? slices_per_network() : 1};
    }
    std::uint32_t nodes_per_network() const { return nodes / far_networks(); }
};

/// The networks between SMs and nodes, in both directions.
struct LocalTiming {
    Clock clock;
    Time request_in, request_out;  ///< SM's port to crossbar to node
    Time reply_in, reply_out;      ///< node to crossbar to port
    Time credit;
    Time borrowed;             ///< how much of these latencies is borrowed from the node or the L2
    std::uint32_t hit_cycles;  ///< remaining hit latency of a node, core cycles

    LocalTiming(const DcL1Spec& spec, const FabricTiming& timing);
};

/// The built-in fabrics.
void add_fabrics(Registry& registry);

}  // namespace mergelane
