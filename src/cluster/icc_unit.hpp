// SPDX-License-Identifier: MIT
// Intra-cluster coalescing: a merge table of lines in flight, and a small cache of lines that several SMs requested. It has no notion of
// time; the port models latency and links.
#pragma once

#include <optional>
#include <vector>

#include "cluster/icc_spec.hpp"
#include "core/journey.hpp"
#include "core/packet.hpp"
#include "core/ring.hpp"
#include "parts/tag_array.hpp"

namespace mergelane {

/// Whether a read may be merged or answered within the cluster.
inline bool may_merge(const Packet& packet, bool l1_bypassing_loads) {
    if (packet.kind != PacketKind::read) return false;
    const std::uint16_t flags = packet.read.flags;
    return (flags & ReadFields::kOtherSpace) == 0 && (l1_bypassing_loads || (flags & ReadFields::kBypassesL1) == 0);
}

struct IccStats {
    std::uint64_t reads = 0;
    std::uint64_t bypassed = 0;
    std::uint64_t allocated = 0;
    std::uint64_t merged = 0;
    std::uint64_t untracked_full = 0;
    std::uint64_t untracked_same_sm = 0;
    std::uint64_t closed = 0;
    std::uint64_t network_replies = 0;
    std::uint64_t tracked_replies = 0;
    std::uint64_t broadcasts = 0;
    std::uint64_t answered = 0;
    std::uint64_t misdelivered = 0;
    std::uint64_t entry_cycles = 0;  ///< minus the cycle of every allocation, plus that of every release
    std::uint64_t full_cycles = 0;
    std::uint64_t cache_hits = 0;
    std::uint64_t cache_answered = 0;
    std::uint64_t cache_fills = 0;
    std::uint64_t cache_evictions = 0;
    std::uint64_t cache_invalidations = 0;
};

class IccUnit final : public ClusterUnit {
public:
    IccUnit(const IccSpec& icc, const CoalescedCacheSpec& cc, std::uint32_t sms, std::uint32_t block_bytes,
            const Policies& policies = policies_of<add_replacements>());

    /// Whoever joins an entry may want other words than its first request: tracked reads ask for whole lines.
    void ask_for_whole_lines() { whole_lines_ = true; }

    /// Empties the cache.
    void begin_kernel() override;

    /// Cache hits wait here for delivery to the SMs.
    bool stops_bus() const override { return hits_.full(); }
    /// The request is sent, possibly marked as tracked, or waits here.
    bool request(Packet& packet, Cycle now) override;

    /// From here on no request can join the reply's entry.
    std::uint64_t begin_delivery(const Packet& reply) override;
    Packet copy_for(const Packet& reply, std::uint32_t sm) override;
    void end_delivery(const Packet& reply, Cycle now) override;
    const Packet* own_reply() const override { return hits_.empty() ? nullptr : &hits_.front(); }
    void own_reply_sent() override;

    std::uint32_t in_use() const { return static_cast<std::uint32_t>(list_.size() - free_.size()); }
    /// Requests that wait here for an answer: SMs in entries, and hits.
    std::uint64_t waiting() const;
    bool caches(Addr block) const { return cached_line(block) != kNoSlot; }
    void stats(StatFields& f, Cycle now) const override;
    void gauges(StatFields& f) const override;
    void stages(Stages& out) override { clock_.period = out.clock().period; }

private:
    static constexpr std::uint64_t kNobodyJoins = ~std::uint64_t{0};

    std::uint32_t find(Addr block) const {
        return find_key(joinable_.data(), prints_.data(), static_cast<std::uint32_t>(joinable_.size()), block);
    }
    std::uint32_t cached_line(Addr block) const;
    void remember(std::uint32_t entry, const Packet& packet, Cycle now);
    void see_store(Addr block);
    void allocate(Packet& packet, Cycle now);
    void fill_cache(Addr block);
    void join_journeys(std::uint32_t entry, const Packet& reply);

    const bool by_address_;
    const bool close_on_store_;
    const bool bypassing_loads_;
    const bool invalidate_on_store_;
    bool whole_lines_ = false;
    const std::uint32_t sms_;
    const std::uint32_t block_shift_;

    // The merge table, as flat arrays. An entry that is free, closed or being delivered has no searchable address.
    std::vector<std::uint64_t> joinable_;
    std::vector<std::uint8_t> prints_;
    std::vector<std::uint64_t> list_;  ///< waiting SMs, one bit each
    std::vector<std::uint8_t> closed_;
    std::vector<std::uint16_t> tags_;  ///< per entry and SM: the SM's own transaction
    std::vector<Journey*> journeys_;   ///< likewise: that of its request
    Stage clock_;
    std::vector<std::uint32_t> free_;
    Cycle full_since_ = 0;
    std::uint32_t delivering_ = kNoSlot;  ///< entry of the reply that is being delivered

    std::optional<TagArray> cache_;
    Ring<Packet> hits_;
    IccStats stats_;
};

}  // namespace mergelane
