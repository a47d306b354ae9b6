// SPDX-License-Identifier: MIT
// One slice of the address-sliced second-level cache: write-back, sectored, byte-masked writes without fetch, atomics executed in place.
// One lookup per L2 cycle; the head request stalls while it cannot be served. With l2.enabled = false it holds no lines and forwards one
// request per cycle to DRAM.
#pragma once

#include <array>
#include <span>

#include "core/component.hpp"
#include "core/link.hpp"
#include "core/packet.hpp"
#include "core/packet_sizes.hpp"
#include "core/ring.hpp"
#include "l2/l2_spec.hpp"
#include "l2/residency_spec.hpp"
#include "parts/address_map.hpp"
#include "parts/mshr_file.hpp"
#include "parts/tag_array.hpp"

namespace mergelane {

struct L2Stats {
    std::uint64_t requests = 0;
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
    std::uint64_t atomics = 0;
    std::uint64_t replies = 0;
    std::uint64_t sector_accesses = 0;
    std::uint64_t sector_hits = 0;
    std::uint64_t sector_misses = 0;
    std::uint64_t sector_pending_hits = 0;
    std::uint64_t sector_write_misses = 0;
    std::uint64_t merges = 0;
    std::uint64_t write_misses = 0;
    std::uint64_t fetches = 0;
    std::uint64_t fills = 0;
    std::uint64_t fetch_latency = 0;
    std::uint64_t writebacks = 0;
    std::uint64_t sectors_written_back = 0;
    std::uint64_t copies_missed = 0;
    std::uint64_t copies_filled = 0;
    std::uint64_t copies_invalidated = 0;
};

struct ResidencyStats {
    std::array<std::uint64_t, kL2Priorities> accesses{};
    std::array<std::uint64_t, kL2Priorities> hits{};
    std::array<std::uint64_t, kL2Priorities> evictions{};
    std::uint64_t demotions = 0;
};

/// What accesses without timing would cost, in sectors.
struct L2Traffic {
    std::uint64_t missed = 0;  ///< requested or written, and not present
    std::uint64_t fetched = 0;
    std::uint64_t written_back = 0;
};

class L2Slice final : public Component {
public:
    struct Links {
        Link<Packet>* requests = nullptr;
        Link<Packet>* replies = nullptr;
        Link<DramRequest>* to_dram = nullptr;
        Link<DramRequest>* from_dram = nullptr;
    };

    L2Slice(std::string name, const L2Spec& spec, const AddressMap& map, const PacketSizes& sizes, std::uint32_t index_in_channel,
            const Policies& policies = policies_of<add_replacements>());

    /// It also holds copies of lines of the other half of the L2 (l2/half_port.hpp).
    void hold_copies() { copies_ = special_ = true; }
    /// Its replacement honours the priorities of requests (l2/slice_residency.cpp). The specification outlives the slice.
    void use_hints(const ResidencySpec& spec);
    void connect(const Links& links);

    Cycle step(Cycle now) override;
    void stats(StatFields& out, Cycle now) const override;
    void gauges(StatFields& out) const override;
    void stages(Stages& out) override;
    void explain(std::vector<Wait>& waits) const override;
    std::uint64_t held() const override { return waiting_ + output_.size(); }
    std::uint32_t mshrs_in_use() const { return mshrs_.in_use(); }

    // Functional warming (src/sampling/): what an access to one line leaves in the tags, without time, counters or requests to DRAM. Only
    // while nothing is in flight. Copies of lines of the other half and priorities are left out.
    /// Where the slice looks for a line.
    struct WarmPlace {
        std::uint64_t number = 0;
        std::uint32_t set = 0;
    };
    WarmPlace warm_place(Addr address) const {
        const std::uint64_t number = map_.slice_local(address) >> line_shift_;
        return {number, tags_.set_of(number)};
    }
    /// The place will be needed soon.
    void fetch(const WarmPlace& place) const { tags_.fetch_set(place.set); }
    /// A read or atomic; `sectors`: bit per sector of the line.
    void warm_read(const WarmPlace& place, std::uint32_t sectors, bool atomic, L2Traffic& traffic);
    /// `written`: relative to the line.
    void warm_write(const WarmPlace& place, const ByteMask& written, L2Traffic& traffic);
    bool holds(Addr address, std::uint32_t sectors) const;

private:
    std::uint32_t warm_line(const WarmPlace& place, L2Traffic& traffic);
    enum class Blocked { no, no_mshr, no_merge_slot, no_way, no_dram_room, no_output, count };

    Blocked lookup(const Packet& packet, Cycle now);
    Blocked look_up(const Packet& packet, Cycle now);
    Blocked look_up_home(const Packet& packet, Cycle now);
    Blocked look_up_by_priority(const Packet& packet, Cycle now);
    void rank_line(std::uint32_t set, std::uint32_t line, std::int8_t rank);
    void residency_stats(StatFields& f) const;
    Blocked read_or_atomic(const Packet& packet, Addr local, std::uint32_t set, std::uint32_t line, std::uint8_t sectors, Cycle now);
    Blocked write(const Packet& packet, Addr local, std::uint32_t set, std::uint32_t line, Cycle now);
    Blocked pass_on(const Packet& packet, Cycle now);
    Blocked look_for_copy(const Packet& packet, Cycle now);
    void fill(std::uint32_t entry, std::span<const Packet> targets, Cycle now);
    Blocked take_line(Addr local, std::uint32_t set, std::uint32_t dram_slots, std::uint32_t& line, Cycle now);
    bool finish_fetch(Cycle now);
    bool may_succeed(bool fetch_finished, Cycle now);
    void look_at_head(Cycle now);
    void place(Addr address);
    void end_stall(const Packet& packet, Cycle now);
    void join_journeys(std::span<const Packet> targets, Cycle arrived, Cycle now);
    void send_reply(Cycle now);
    void reply(const Packet& request, Cycle now);
    std::uint8_t sectors_of(Addr local, std::uint32_t bytes) const;

    const L2Spec& spec_;
    const AddressMap& map_;
    const PacketSizes& sizes_;
    const std::uint8_t index_;
    const std::uint32_t line_shift_;
    bool copies_ = false;
    bool special_ = false;  ///< it holds copies or honours priorities
    const ResidencySpec* residency_ = nullptr;
    ResidencyStats residency_stats_;
    Links links_;
    TagArray tags_;
    MshrFile<Packet> mshrs_;
    Ring<Packet> output_;
    std::uint64_t waiting_ = 0;  ///< requests held by MSHR entries
    Blocked blocked_ = Blocked::no;
    std::uint32_t dram_slots_ = 1;  ///< needed by a head that stalled with no_dram_room
    Addr placed_ = ~Addr{0};        ///< the address that local_ and set_ are of: the head's or the next one's
    std::uint32_t set_ = 0;
    std::uint32_t line_ = 0;
    Addr local_ = 0;
    std::uint32_t read_reply_flits_ = 1;
    std::uint32_t write_ack_flits_ = 1;
    L2Stats stats_;
    std::array<Stage, static_cast<std::size_t>(Blocked::count)> stalled_by_;  ///< no: behind other requests
    Stage filling_, replying_;
    StallLog stalls_;
    Blocked stalled_ = Blocked::no;  ///< why the head stalls since stalled_since_
    Cycle stalled_since_ = 0;
};

}  // namespace mergelane
