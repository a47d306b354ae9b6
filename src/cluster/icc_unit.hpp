// SPDX-License-Identifier: MIT
// Intra-cluster coalescing: a merge table of lines on their way, and a small cache of lines that several SMs wanted. It
// answers at once; the port owns time and links.
#pragma once

#include <optional>
#include <vector>

#include "cluster/cluster_spec.hpp"
#include "core/packet.hpp"
#include "core/ring.hpp"
#include "parts/tag_array.hpp"

namespace mergelane {

/// Is this a read that may be merged or answered from the cluster?
inline bool may_merge(const Packet& packet, bool l1_bypassing_loads) {
    if (packet.kind != PacketKind::read) return false;
    const std::uint16_t flags = packet.note().flags;
    return (flags & ReadNote::kOtherSpace) == 0 && (l1_bypassing_loads || (flags & ReadNote::kBypassesL1) == 0);
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

class IccUnit {
public:
    enum class Outcome { pass, merged, hit };
    /// Who gets a reply: bit per SM, and the entry it answers (kNoSlot: none).
    struct Delivery {
        std::uint64_t sms = 0;
        std::uint32_t entry = kNoSlot;
    };

    IccUnit(const IccSpec& icc, const CoalescedCacheSpec& cc, std::uint32_t sms, std::uint32_t block_bytes);

    /// Empties the cache; everything of the previous kernel has been answered.
    void begin_kernel();

    /// A request on its way out. `pass`: send it (it may now be marked as tracked); otherwise it waits here.
    Outcome request(Packet& packet, Cycle now);

    /// A reply from the network reaches its turn. From here on nobody can join its entry.
    Delivery begin_delivery(const Packet& reply);
    /// The copy for one SM of the delivery, which is taken off the entry's list.
    Packet answer(const Packet& reply, std::uint32_t entry, std::uint32_t sm);
    /// Every SM has its copy; the entry, if there is one, is free.
    void end_delivery(std::uint32_t entry, Cycle now);

    // Hits of the cache wait here for their turn on the way to the SMs.
    bool has_hit() const { return !hits_.empty(); }
    bool hits_full() const { return hits_.full(); }
    const Packet& hit() const { return hits_.front(); }
    void pop_hit() {
        hits_.pop();
        ++stats_.cache_answered;
    }

    std::uint32_t in_use() const { return static_cast<std::uint32_t>(list_.size() - free_.size()); }
    /// Requests that wait here for an answer: SMs on the lists, and hits.
    std::uint64_t waiting() const;
    bool caches(Addr block) const;
    void stats(StatFields& f, Cycle now) const;

private:
    static constexpr std::uint64_t kNobodyJoins = ~std::uint64_t{0};

    std::uint32_t find(Addr block) const {
        return find_key(joinable_.data(), prints_.data(), static_cast<std::uint32_t>(joinable_.size()), block);
    }
    void see_store(Addr block);
    void allocate(Packet& packet, Cycle now);
    void fill_cache(Addr block);

    const bool by_address_;
    const bool close_on_store_;
    const bool bypassing_loads_;
    const bool invalidate_on_store_;
    const std::uint32_t sms_;
    const std::uint32_t block_shift_;

    // The merge table, as flat arrays. An entry that is free, CLOSED or being delivered has no address to be found by.
    std::vector<std::uint64_t> joinable_;
    std::vector<std::uint8_t> prints_;
    std::vector<std::uint64_t> list_;  ///< SMs that wait, a bit each
    std::vector<std::uint8_t> closed_;
    std::vector<std::uint16_t> tags_;  ///< per entry and SM: the SM's own transaction
    std::vector<std::uint32_t> free_;
    Cycle full_since_ = 0;

    std::optional<TagArray> cache_;
    Ring<Packet> hits_;
    IccStats stats_;
};

}  // namespace mergelane
