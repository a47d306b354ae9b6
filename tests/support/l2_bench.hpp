// SPDX-License-Identifier: MIT
#pragma once

#include "l2/slice.hpp"
#include "mocks.hpp"
#include "run.hpp"

namespace mergelane::testing {

/// Answers every fetch after a fixed time and counts what it was asked.
class MockDram final : public Component {
public:
    MockDram(std::string name, Link<DramRequest>& in, Link<DramRequest>& out, Gate gate)
        : Component(std::move(name)), in_(in), out_(out), gate_(gate) {}
    Cycle step(Cycle now) override {
        if (gate_.open(now) && now >= next_free_) {
            next_free_ = now + 1;
            if (in_.has(now)) {
                const DramRequest request = in_.pop_and_release(now);
                if (request.write) {
                    ++writes;
                    written_sectors |= request.sectors;
                } else {
                    ++fetches;
                    out_.can_send(now, 1);
                    out_.send(now, request);
                }
            }
        }
        const Cycle head = in_.head_arrival();
        return head == kNever ? kNever : gate_.next_open(std::max(head, now + 1));
    }
    void stats(StatFields&, Cycle) const override {}

    std::uint64_t fetches = 0;
    std::uint64_t writes = 0;
    std::uint32_t written_sectors = 0;

private:
    Link<DramRequest>& in_;
    Link<DramRequest>& out_;
    Gate gate_;
    Cycle next_free_ = 0;
};

struct L2Bench : TestBench {
    explicit L2Bench(std::uint32_t sector_bytes = 128, std::uint32_t output_queue = 8, std::uint32_t merges = 8, Gate reply_gate = {},
                     Gate dram_gate = {}, std::uint32_t mshrs = 8, std::uint32_t dram_room = 8, std::uint32_t reply_room = 16,
                     bool cache = true) {
        spec.enabled = cache;
        spec.size_kib = 8;
        spec.ways = 4;
        spec.set_hash = "plain";
        spec.sector_bytes = sector_bytes;
        spec.output_queue = output_queue;
        spec.mshr_merges = merges;
        spec.mshrs = mshrs;
        sizes = {32, 8, sector_bytes};
        auto& requests = loose_link<Packet>("requests", 256);
        auto& reply_link = loose_link<Packet>("replies", reply_room);
        auto& down = loose_link<DramRequest>("down", dram_room, 3, 3);
        auto& up = loose_link<DramRequest>("up", mshrs, 60);
        slice = &add<L2Slice>("slice", spec, map, sizes, 0);
        feeder = &add<Feeder<Packet>>("network", requests);
        replies = &add<Taker<Packet>>("network", reply_link, reply_gate);
        dram = &add<MockDram>("dram", down, up, dram_gate);
        requests.connect(*feeder, *slice);
        reply_link.connect(*slice, *replies);
        down.connect(*slice, *dram);
        up.connect(*dram, *slice);
        slice->connect({&requests, &reply_link, &down, &up});
    }
    /// Bytes [first, first + count) of the line are written (not for reads).
    void request(PacketKind kind, Addr address, std::uint32_t tag, Cycle earliest = 0, std::uint32_t first = 0, std::uint32_t count = 0) {
        Packet p;
        p.kind = kind;
        p.address = address;
        p.tag = static_cast<std::uint16_t>(tag);
        if (count != 0) p.bytes.set_range(first, count);
        feeder->items.push_back({p, 1, earliest});
        feeder->wake(std::max(earliest, now()));
    }
    Addr set_stride() const { return Addr{spec.sets()} * 128; }
    std::uint64_t stat(std::string_view name) const { return stat_of(*slice, name); }

    L2Spec spec;
    AddressMap map{1, 1, 256, "plain"};
    PacketSizes sizes;
    L2Slice* slice;
    Feeder<Packet>* feeder;
    Taker<Packet>* replies;
    MockDram* dram;
};

}  // namespace mergelane::testing
