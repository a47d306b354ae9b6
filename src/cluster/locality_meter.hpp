// SPDX-License-Identifier: MIT
// Intra-cluster locality: the share of a cluster's L1 read misses to lines that the cluster requested within a recent window, and whether
// another CTA requested the same words or only the same line. Exact: a ring with as many entries as the bus carries requests in the longest
// window loses nothing.
#pragma once

#include <array>
#include <vector>

#include "cluster/cluster_unit.hpp"
#include "core/fields.hpp"
#include "core/packet.hpp"

namespace mergelane {

struct LocalitySpec final : ClusterUnitSpec<LocalitySpec> {
    bool on = false;

    void fields(SpecFields& f) override;
    bool enabled() const override { return on; }
    void metrics(Metrics& m) const override;
    std::unique_ptr<ClusterUnit> make(const ClusterContext& context) const override;
};

/// An observer: records the CTA of a read when the read leaves its SM, and counts when it crosses the bus.
class LocalityMeter : public ClusterUnit {
public:
    static constexpr std::array<std::uint32_t, 4> kWindows = {500, 1000, 1500, 2000};  ///< cycles

    /// `width`: requests that the bus carries per cycle.
    LocalityMeter(std::uint32_t sms, bool l1_bypassing_loads, std::uint32_t width = 1);

    /// Forgets all requests, because CTA numbers restart.
    void begin_kernel() override { first_ = next_; }
    bool request(Packet& packet, Cycle now) override;
    SmObserver* sm_observer() override { return &askers_; }
    /// `cta` requests some words of a block.
    void see(Addr block, std::uint64_t cta, std::uint32_t words, Cycle now);

    std::uint64_t reads() const { return reads_; }
    std::uint64_t line_sharing(std::size_t window) const { return line_[window]; }
    std::uint64_t data_sharing(std::size_t window) const { return data_[window]; }
    void stats(StatFields& f, Cycle now) const override;

private:
    static constexpr std::uint32_t kRing = 2048;  ///< per request and cycle that the bus carries
    static constexpr std::uint32_t kBuckets = 4096;
    static_assert(kRing >= kWindows.back());

    /// Per SM and tag of a request in flight: its CTA.
    class Askers final : public SmObserver {
    public:
        explicit Askers(std::uint32_t sms) : of_sm_(sms) {}
        bool wants_words() const override { return true; }
        void sent(const Packet& packet, std::uint64_t cta, Cycle) override {
            if (packet.kind == PacketKind::read) asker(packet) = cta;
        }
        std::uint64_t& asker(const Packet& packet);

    private:
        std::vector<std::vector<std::uint64_t>> of_sm_;
    };

    struct Request {
        Addr block;
        Cycle at;
        std::uint64_t cta;
        std::uint64_t before;  ///< number of the previous request in the same bucket
        std::uint32_t words;
    };

    const bool l1_bypassing_loads_;
    Askers askers_;
    std::vector<Request> ring_;
    std::uint64_t next_;  ///< number of the next request; those older by more than the ring holds are overwritten
    std::uint64_t first_;
    std::vector<std::uint64_t> latest_;  ///< per bucket
    std::uint64_t reads_ = 0;
    std::array<std::uint64_t, kWindows.size()> line_{};
    std::array<std::uint64_t, kWindows.size()> data_{};
};

}  // namespace mergelane
