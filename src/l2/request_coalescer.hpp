// SPDX-License-Identifier: MIT
// The L2 request coalescer (LRC) of one slice, at its network port. A read of a block that an entry has in flight joins the entry and is
// not sent to the slice; the reply of the first read answers all. An entry is open from the arrival of its first read until its last reply
// has left. Writes and atomics pass.
#pragma once

#include "core/component.hpp"
#include "core/journey.hpp"
#include "core/link.hpp"
#include "core/packet.hpp"
#include "core/packet_sizes.hpp"
#include "l2/request_coalescer_spec.hpp"
#include "parts/mshr_file.hpp"

namespace mergelane {

struct RequestCoalescerStats {
    std::uint64_t requests_in = 0;
    std::uint64_t reads = 0;
    std::uint64_t passed = 0;
    std::uint64_t allocated = 0;
    std::uint64_t merged = 0;
    std::uint64_t closed = 0;
    std::uint64_t requests_out = 0;
    std::uint64_t replies_in = 0;
    std::uint64_t completed = 0;
    std::uint64_t answered = 0;
    std::uint64_t replies_out = 0;
    std::uint64_t stalls = 0;
    std::uint64_t full_cycles = 0;
    std::uint64_t entry_cycles = 0;  ///< minus the cycle of every allocation, plus that of every release
};

class RequestCoalescer final : public Component {
public:
    struct Links {
        Link<Packet>* from_network = nullptr;
        Link<Packet>* to_slice = nullptr;
        Link<Packet>* from_slice = nullptr;
        Link<Packet>* to_network = nullptr;
    };

    RequestCoalescer(std::string name, const RequestCoalescerSpec& spec, const PacketSizes& sizes, std::uint32_t line_bytes);

    void connect(const Links& links) { links_ = links; }

    Cycle step(Cycle now) override;
    void stats(StatFields& out, Cycle now) const override;
    void gauges(StatFields& out) const override;
    void stages(Stages& out) override;
    void explain(std::vector<Wait>& waits) const override;
    /// Reads that wait for the reply of an entry.
    std::uint64_t held() const override { return stats_.reads - stats_.answered; }

private:
    static constexpr Cycle kNotFull = kNever;

    Cycle answer(Cycle now);
    bool answer_entry(std::uint32_t entry, Cycle now);
    void note_reply(const Packet& packet, Cycle now);
    Cycle take(Cycle now);
    void read(const Packet& packet, Cycle now);
    void close(const Packet& write);

    const RequestCoalescerSpec& spec_;
    const PacketSizes& sizes_;
    const std::uint32_t line_bytes_;
    Links links_;
    MshrFile<Packet> table_;
    std::uint32_t delivering_ = kNoSlot;  ///< the entry whose reply is at the head
    std::uint32_t delivered_ = 0;         ///< its reads that have been answered
    Journey first_;                       ///< that of its first read, when the reply arrived
    bool has_journey_ = false;
    Cycle full_since_ = kNotFull;  ///< since when a request is stalled because all entries are in use
    RequestCoalescerStats stats_;
    Stage queue_, replying_;
};

}  // namespace mergelane
