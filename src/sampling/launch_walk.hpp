// SPDX-License-Identifier: MIT
// Walks the instruction streams of a launch, CTA by CTA, without a machine. The warps of a CTA take turns, memory instruction by memory
// instruction. Instructions that are no accesses are skipped by table, because they are most of a stream.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/bulk_box.hpp"
#include "core/kernel.hpp"
#include "core/passing_stream.hpp"

namespace mergelane::sampling {

/// Some CTAs of a launch in the order of their numbers; all of them by default.
struct CtaRange {
    std::uint64_t first = 0;
    std::uint64_t end = ~std::uint64_t{0};
};

class LaunchWalk {
public:
    /// `resident`: CTAs that take turns, too, one memory instruction each.
    explicit LaunchWalk(const KernelSource& kernel, std::uint64_t resident = 1, const CtaRange& range = {});

    /// `on_run(const Run&)` for every run; `on_access(inst, active, lanes)` for accesses of lanes to global or local memory, whose lanes
    /// may hold runs, `on_bulk(inst, box)` for bulk copies.
    template <class OnRun, class OnAccess, class OnBulk>
    void walk(OnRun&& on_run, OnAccess&& on_access, OnBulk&& on_bulk) {
        std::size_t live = 0;
        while (live != places_.size() && open(places_[live])) ++live;
        while (live != 0) {
            std::size_t kept = 0;
            for (std::size_t p = 0; p < live; ++p) {
                Place& place = places_[p];
                bool goes_on = true;
                if (step(place, on_run, on_access, on_bulk)) {
                    ++place.turn;
                } else {
                    place.warps.erase(place.warps.begin() + static_cast<std::ptrdiff_t>(place.turn));
                    goes_on = !place.warps.empty() || open(place);
                }
                if (place.turn == place.warps.size()) place.turn = 0;
                if (!goes_on) continue;
                if (kept != p) std::swap(places_[kept], places_[p]);
                ++kept;
            }
            live = kept;
        }
    }

    std::span<const StaticInst> instructions() const { return listing_.instructions; }

private:
    struct Warp {
        std::uint32_t number = 0;
        Run run;
        std::uint32_t at = 0;
    };
    /// Of a CTA.
    struct Place {
        std::unique_ptr<CtaStream> stream;
        PassingStream* passing = nullptr;  ///< the same, if it can pass over addresses
        std::vector<Warp> warps;
        std::size_t turn = 0;
    };

    /// The next CTA, if there is one.
    bool open(Place& place);
    /// Of the instructions of a run, the next one from `at` on that accesses memory; the run's length if there is none.
    std::uint32_t next_memory(const Run& run, std::uint32_t at) const {
        const StaticInst* const list = listing_.instructions.data();
        if (std::less_equal<>()(list, run.first) && std::less<>()(run.first, list + next_.size())) {
            const auto index = static_cast<std::uint32_t>(run.first - list);
            return std::min(run.count, next_[index + at] - index);
        }
        while (at != run.count && !is_memory(run.first[at])) ++at;
        return at;
    }

    /// Until after the warp's next access; false if it has ended.
    template <class OnRun, class OnAccess, class OnBulk>
    bool step(Place& place, OnRun& on_run, OnAccess& on_access, OnBulk& on_bulk) {
        Warp& warp = place.warps[place.turn];
        for (;;) {
            if (warp.at == warp.run.count) {
                warp.run = {};
                warp.at = 0;
                if (!place.stream->next_run(warp.number, warp.run)) return false;
                on_run(warp.run);
            }
            warp.at = warp.run.active != 0 ? next_memory(warp.run, warp.at) : warp.run.count;
            if (warp.at == warp.run.count) continue;
            const StaticInst& inst = warp.run.first[warp.at++];
            if (inst.space == Space::shared && place.passing != nullptr && !has_values(inst)) {
                place.passing->pass_addresses(warp.number, inst, warp.run.active);
                continue;
            }
            lanes_.run_count = 0;
            lanes_.values = 0;
            place.stream->addresses(warp.number, inst, warp.run.active, lanes_);
            if (has_values(inst)) {
                if (inst.async_op < AsyncOp::bulk_load || inst.async_op > AsyncOp::bulk_prefetch) continue;
                on_bulk(inst, BulkBox::of(lanes_));
                return true;
            }
            if (inst.space == Space::shared) continue;
            if (lanes_.run_count != 0) lanes_.affine = false;
            on_access(inst, warp.run.active, lanes_);
            return true;
        }
    }

    std::vector<Place> places_;
    const Listing listing_;
    std::vector<std::uint32_t> next_;  ///< per instruction: the next one that accesses memory
    std::uint64_t next_cta_;
    std::uint64_t end_cta_;
    std::uint32_t warps_;
    LaneAddresses lanes_;
};

}  // namespace mergelane::sampling
