// SPDX-License-Identifier: MIT
#include "cluster/locality_meter.hpp"

#include <algorithm>

namespace mergelane {

LocalityMeter::LocalityMeter() : ring_(kRing), latest_(kBuckets, 0) {}

void LocalityMeter::see(Addr block, const ReadNote& note, Cycle now) {
    // Requests of a bucket are chained from the latest to the oldest, so the walk ends at the first that is too old.
    constexpr Cycle kFar = kNever;
    Cycle line_age = kFar;  // since the line was last asked for
    Cycle data_age = kFar;  // since another CTA asked for one of these words
    std::uint64_t& latest = latest_[block * 0x9E3779B97F4A7C15ull >> 52];
    const std::uint64_t oldest = std::max(first_, next_ - kRing);
    for (std::uint64_t n = latest; n >= oldest && data_age == kFar;) {
        const Request& request = ring_[n % kRing];
        if (now - request.at > kWindows.back()) break;
        if (request.block == block) {
            if (line_age == kFar) line_age = now - request.at;
            if (request.cta != note.cta && (request.words & note.words) != 0) data_age = now - request.at;
        }
        n = request.before;
    }
    ring_[next_ % kRing] = {block, now, note.cta, latest, note.words};
    latest = next_++;
    ++reads_;
    for (std::size_t w = 0; w < kWindows.size(); ++w) {
        if (line_age > kWindows[w]) continue;
        ++(data_age <= kWindows[w] ? data_ : line_)[w];
    }
}

void LocalityMeter::stats(StatFields& f) const {
    f.group("locality");
    f.add("reads", reads_, "requests", "global reads that missed in an L1, merged or not");
    f.add("line_sharing_500", line_[0], "requests", "asked for a line of the last 500 cycles, for none of the words another CTA wanted");
    f.add("line_sharing_1000", line_[1], "requests", "asked for a line of the last 1000 cycles, for none of the words another CTA wanted");
    f.add("line_sharing_1500", line_[2], "requests", "asked for a line of the last 1500 cycles, for none of the words another CTA wanted");
    f.add("line_sharing_2000", line_[3], "requests", "asked for a line of the last 2000 cycles, for none of the words another CTA wanted");
    f.add("data_sharing_500", data_[0], "requests", "asked for a word that another CTA had asked for in the last 500 cycles");
    f.add("data_sharing_1000", data_[1], "requests", "asked for a word that another CTA had asked for in the last 1000 cycles");
    f.add("data_sharing_1500", data_[2], "requests", "asked for a word that another CTA had asked for in the last 1500 cycles");
    f.add("data_sharing_2000", data_[3], "requests", "asked for a word that another CTA had asked for in the last 2000 cycles");
}

}  // namespace mergelane
