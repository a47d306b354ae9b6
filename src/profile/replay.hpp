// SPDX-License-Identifier: MIT
// Cache contents of a machine whose CTAs run in a given order, replayed without time. SMs take turns, and so do the CTAs of an SM, one warp
// access each.
#pragma once

#include <array>
#include <bitset>
#include <vector>

#include "parts/address_map.hpp"
#include "parts/dram_address_map.hpp"
#include "parts/l1_spec.hpp"
#include "parts/tag_array.hpp"
#include "profile/access_log.hpp"
#include "profile/add_counts.hpp"

namespace mergelane {

struct ReplayMachine {
    std::uint32_t sms = 1;
    L1Spec l1;
    AddressMap map;  ///< to L2 slices
    TagArray::Geometry slice;
    std::uint32_t l2_line_bytes = 128;
    std::uint32_t l2_sector_bytes = 32;
    std::uint32_t slices_per_channel = 1;
    DramAddressMap dram;
    std::uint32_t banks = 1;
    std::uint32_t dram_queue = 64;  ///< requests among which a channel selects
};

/// In sectors of 32 bytes.
struct Traffic {
    std::uint64_t loads = 0;         ///< requested by warps
    std::uint64_t l1_misses = 0;     ///< requested by the L1s from the L2
    std::uint64_t stores = 0;        ///< and atomics, to the L2
    std::uint64_t l2_misses = 0;     ///< from DRAM
    std::uint64_t written_back = 0;  ///< to DRAM
    std::uint64_t row_misses = 0;    ///< row activations for them
    std::uint64_t waits_l2 = 0;      ///< warp-level loads that wait for the L2
    std::uint64_t waits_dram = 0;    ///< of those, for DRAM

    std::uint64_t to_l2() const { return l1_misses + stores; }
    std::uint64_t to_dram() const { return l2_misses + written_back; }
    void add(const Traffic& other) { add_counts(*this, other); }
};

using SiteSet = std::bitset<AccessLog::kUnknownSite + 1>;

/// The next task of a CTA slot.
class TaskSource {
public:
    virtual ~TaskSource() = default;
    virtual bool next(std::uint32_t sm, std::uint32_t slot, std::uint64_t& task) = 0;
};

/// Sees the loads that miss the L1s.
class MissWatcher {
public:
    virtual ~MissWatcher() = default;
    virtual void starts() = 0;  ///< a launch
    /// `line` of 128 bytes is requested from the L2, in part or whole.
    virtual void missed(std::uint32_t sm, Addr line) = 0;
};

/// Requests of a channel; those to an open row go first.
class RowWindow {
public:
    RowWindow(std::uint32_t banks, std::uint32_t queue) : queue_(queue), open_(banks, ~std::uint64_t{0}) {}
    /// Row activations since the last call.
    std::uint32_t put(const DramAddressMap::Place& place);

private:
    std::size_t queue_;
    std::vector<DramAddressMap::Place> waiting_;  ///< oldest first
    std::vector<std::uint64_t> open_;             ///< row of each bank
};

class Replay {
public:
    /// Starts with empty caches.
    explicit Replay(const ReplayMachine& machine);
    /// One launch with `slots` concurrent CTAs per SM. Cache contents are retained, except for L1s that the machine flushes. Loads in
    /// `past_l1` bypass the L1s.
    Traffic run(const AccessLog& log, TaskSource& tasks, std::uint32_t slots, const SiteSet& past_l1 = {});
    /// From the next launch on; nullptr: nobody.
    void watch(MissWatcher* watcher) { watcher_ = watcher; }
    /// L1 hits of the last launch in sectors, by load.
    const std::array<std::uint64_t, AccessLog::kUnknownSite + 1>& l1_hits() const { return l1_hits_; }

private:
    struct Place {
        std::uint64_t task = 0;
        std::span<const AccessLog::Entry> left;
    };
    struct Sm {
        std::vector<TagArray> l1;  ///< one partition for every n-th CTA slot
        std::vector<Place> places;
        std::vector<std::uint32_t> live;  ///< slots in use
        std::size_t turn = 0;
    };

    bool step(std::uint32_t index, const AccessLog& log, TaskSource& tasks);
    bool open(std::uint32_t index, std::uint32_t slot, const AccessLog& log, TaskSource& tasks);
    void load(std::uint32_t sm, TagArray* l1, const AccessLog::Entry& entry);
    void miss(std::uint32_t sm, Addr line, std::uint32_t sectors);
    void evict(TagArray& l1, const AccessLog::Entry& entry) const;
    void to_l2(Addr line, std::uint32_t sectors, bool writes, bool reads);
    void to_dram(Addr local, std::uint32_t slice);

    const ReplayMachine machine_;
    std::vector<Sm> sms_;
    std::vector<TagArray> slices_;
    std::vector<RowWindow> channels_;
    Traffic traffic_;
    SiteSet past_l1_;
    MissWatcher* watcher_ = nullptr;
    std::array<std::uint64_t, AccessLog::kUnknownSite + 1> l1_hits_{};
};

}  // namespace mergelane
