// SPDX-License-Identifier: MIT
// First-level data cache: tags, sector states and MSHRs. It has no notion of time; its owner (usually an SM) models latency and queues.
#pragma once

#include <span>
#include <vector>

#include "core/observers.hpp"
#include "parts/l1_spec.hpp"
#include "parts/mshr_file.hpp"
#include "parts/tag_array.hpp"

namespace mergelane {

struct L1Stats {
    std::uint64_t sector_accesses = 0;
    std::uint64_t sector_hits = 0;
    std::uint64_t sector_misses = 0;
    std::uint64_t sector_pending_hits = 0;
    std::uint64_t sector_write_accesses = 0;
    std::uint64_t sector_write_misses = 0;
    std::uint64_t line_requests = 0;
    std::uint64_t line_write_misses = 0;
    std::uint64_t fills = 0;
    std::uint64_t miss_latency = 0;
    std::uint64_t evictions = 0;
    std::uint64_t write_invalidations = 0;

    void fields(StatFields& f) const;
};

/// The lines that a cache may hold when several caches interleave them: of each `turn` units of `unit` lines, `kept` consecutive units.
struct LineShare {
    std::uint32_t unit = 1;
    std::uint32_t turn = 1;
    std::uint32_t kept = 1;

    bool all() const { return turn == kept; }
    /// The index of the line among those of its cache.
    std::uint64_t number(std::uint64_t line) const {
        const std::uint64_t at = line / unit;
        return (at / turn * kept + at % turn % kept) * unit + line % unit;
    }
};

class L1Cache {
public:
    /// A load that waits for a block.
    class Target {
    public:
        Target(std::uint16_t load, Cycle since) : packed_(since << 16 | load) {}
        std::uint16_t load() const { return static_cast<std::uint16_t>(packed_); }
        Cycle since() const { return packed_ >> 16; }  ///< of its lookup

    private:
        std::uint64_t packed_;
    };
    enum class Outcome { hit, merged, miss, no_mshr, no_merge_slot, no_way, no_queue };
    struct Lookup {
        Outcome outcome;
        std::uint32_t mshr = 0;
    };

    explicit L1Cache(const L1Spec& spec, const Policies& policies = policies_of<add_replacements>());

    /// Sets are indexed by the line's index in this share. Call before the first access.
    void share_lines(const LineShare& share) {
        share_ = share;
        numbers_all_ = share.all() && partition_mask_ == 0;
    }
    /// The block as seen by CTAs of this slot: partitions are parts of the address space.
    Addr for_slot(Addr block, std::uint32_t slot) const { return block | Addr{slot & partition_mask_} << kPartitionBit; }
    /// The observer outlives the cache.
    void observe(L1Observer& observer) { observers_.push_back(&observer); }

    /// Flushes the cache and sets its size for a kernel that uses `shared_kib` of unified memory.
    void begin_kernel(std::uint32_t shared_kib);

    /// A load of one block by transaction `load`. A miss needs space to send its request.
    Lookup read(Addr block, std::uint16_t load, bool can_send, Cycle now);
    /// Whether a load of the block would hit.
    bool holds(Addr block) const;
    /// A store to one block, which the caller also forwards to the L2. Returns false if no line can be allocated now; retry later.
    bool write(Addr block, const ByteMask& bytes, Cycle now);
    /// The block of MSHR entry `mshr` arrived. Returns the loads that waited for it; call release() after reading them.
    std::span<const Target> fill(std::uint32_t mshr, Cycle now);
    /// Whether a block is in flight for this MSHR entry.
    bool waits(std::uint32_t mshr) const { return mshrs_.used(mshr); }
    /// The block of this MSHR entry will arrive soon.
    void fetch(std::uint32_t mshr) const { mshrs_.fetch(mshr); }
    void release(std::uint32_t mshr) { mshrs_.release(mshr); }

    std::uint32_t mshrs_in_use() const { return mshrs_.in_use(); }
    const L1Stats& stats() const { return stats_; }

private:
    static constexpr std::uint32_t kPartitionBit = 60;  ///< above all program addresses

    std::uint64_t line_of(Addr block) const { return block >> line_shift_; }
    std::uint8_t sectors_of(Addr block) const;
    std::uint32_t set_of(std::uint64_t line_number) const { return numbers_all_ ? tags_.set_of(line_number) : set_in_part(line_number); }
    std::uint32_t set_in_part(std::uint64_t line_number) const;
    std::uint32_t find(std::uint64_t line_number, std::uint32_t& set);
    bool write_allocate(Addr block, const ByteMask& bytes, std::uint32_t set, std::uint32_t line, Cycle now);
    void take(std::uint32_t line, std::uint64_t line_number, Cycle now);
    [[gnu::noinline, gnu::cold]] void tell_change(std::uint64_t line_number, std::uint32_t before, std::uint32_t after, Cycle now);
    [[gnu::noinline, gnu::cold]] void tell_miss(Addr block, Cycle now);
    [[gnu::noinline, gnu::cold]] void tell_fill(std::uint32_t line, Addr block, std::uint32_t before, Cycle now);
    [[gnu::noinline, gnu::cold]] void tell_flush();

    const L1Spec& spec_;
    const Policies policies_;
    const std::uint32_t line_shift_;
    const std::uint32_t line_mask_;
    const std::uint32_t sectors_per_block_;
    const std::uint32_t block_sectors_;  ///< of the first block of a line, one bit per sector
    const bool byte_mask_policy_;
    const bool allocate_on_miss_;
    TagArray tags_;
    MshrFile<Target> mshrs_;
    std::uint32_t last_line_ = 0;  ///< most recently looked up or allocated: the blocks of an instruction often share a line
    const std::uint32_t partition_mask_;
    const IndexHash partition_hash_;
    bool numbers_all_;  ///< it may hold any line, and sets are indexed by line number
    LineShare share_;
    L1Stats stats_;
    std::vector<L1Observer*> observers_;
};

}  // namespace mergelane
