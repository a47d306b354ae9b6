// SPDX-License-Identifier: MIT
// Functional warming: the L2 contents that launches leave which are not simulated in time (as between the samples of SMARTS: Wunderlich et
// al., ISCA 2003). CTAs are walked in the order of their numbers, as many at a time as the machine holds. L1s are left out: most machines
// flush them between kernels.
#pragma once

#include <array>

#include "core/kernel.hpp"
#include "sampling/coalesce.hpp"
#include "sampling/launch_walk.hpp"
#include "sim/machine.hpp"

namespace mergelane::sampling {

class Warming {
public:
    /// Throws InputError if the machine cannot be warmed.
    explicit Warming(Machine& machine);
    /// Nothing may be in flight. Returns what the launch, or these CTAs of it, would miss if its accesses took no time.
    L2Traffic warm(const KernelSource& kernel, const CtaRange& range = {});

private:
    /// The slice of a line, and where it is there.
    struct Known {
        Addr line = ~Addr{0};
        L2Slice* slice = nullptr;
        L2Slice::WarmPlace place;
    };
    /// Tags are updated in order, but some accesses later: until then the host has fetched them.
    struct Pending {
        L2Slice* slice;
        L2Slice::WarmPlace place;
        std::uint32_t sectors;  ///< 0: a store
        bool atomic;
        ByteMask written;
    };
    static constexpr std::uint64_t kPending = 16;

    void read(Addr line, std::uint32_t sectors, bool atomic) {
        if (!whole_lines_) return read_parts(line, sectors, atomic);
        const Known& known = known_line(line);
        push_read(known.slice, known.place, sectors, atomic);
    }
    const Known& known_line(Addr line) {
        Known& known = known_[line % known_.size()];
        if (known.line != line) {
            L2Slice& slice = slice_of(line * kLineBytes);
            known = {line, &slice, slice.warm_place(line * kLineBytes)};
        }
        return known;
    }
    L2Slice& slice_of(Addr address) { return machine_.slices()[machine_.map().slice(address)]; }
    /// The access that is described next, in place of the oldest one, which is over.
    Pending& push(L2Slice* slice, const L2Slice::WarmPlace& place) {
        slice->fetch(place);
        Pending& entry = pending_[pushed_ % kPending];
        if (pushed_++ >= kPending) finish(entry);
        entry.slice = slice;
        entry.place = place;
        return entry;
    }
    void push_read(L2Slice* slice, const L2Slice::WarmPlace& place, std::uint32_t sectors, bool atomic) {
        Pending& entry = push(slice, place);
        entry.sectors = sectors;
        entry.atomic = atomic;
    }
    void finish(const Pending& entry) {
        if (entry.sectors != 0)
            entry.slice->warm_read(entry.place, entry.sectors, entry.atomic, traffic_);
        else
            entry.slice->warm_write(entry.place, entry.written, traffic_);
    }
    void finish_all();
    void read_parts(Addr line, std::uint32_t sectors, bool atomic);
    void write(const LaneAddresses& lanes, std::uint32_t active, std::uint32_t lane_bytes);
    void write_bytes(Addr from, Addr to);

    Machine& machine_;
    std::uint32_t line_bytes_;
    bool whole_lines_;  ///< those of the L2 have kLineBytes
    L2Traffic traffic_;
    std::array<Known, 1024> known_;  ///< by line
    std::array<Pending, kPending> pending_;
    std::uint64_t pushed_ = 0;  ///< by the launch
};

/// Lines that the machine's L2 holds.
std::uint64_t l2_lines(const MachineSpec& spec);

}  // namespace mergelane::sampling
