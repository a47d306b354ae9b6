// SPDX-License-Identifier: MIT
// The reuse meter of a channel, against a search of the whole stream.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "core/rng.hpp"
#include "dram/reuse_meter.hpp"

namespace mergelane {
namespace {

using Request = std::pair<std::uint32_t, std::uint64_t>;  ///< bank and row

std::map<std::string, std::uint64_t> counts(const std::vector<Request>& stream, std::uint32_t banks) {
    ReuseMeter meter(banks);
    Cycle now = 0;
    for (const auto& [bank, row] : stream) meter.arrived(bank, row, 1, (now & 4) != 0, now), ++now;
    StatFields fields;
    fields.group("dram");
    meter.stats(fields, now);
    std::map<std::string, std::uint64_t> found;
    for (const StatField& field : fields.list()) found[std::string(field.name)] = field.value;
    return found;
}

/// Activations if a row stays open for the bank's next request, and for those of the window.
std::uint64_t activates(const std::vector<Request>& stream, std::size_t window) {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < stream.size(); ++i) {
        bool open = false;
        for (std::size_t back = 1; back <= i && back < window; ++back) open = open || stream[i - back] == stream[i];
        for (std::size_t j = i; j-- > 0;) {
            if (stream[j].first != stream[i].first) continue;
            open = open || stream[j] == stream[i];
            break;
        }
        count += open ? 0 : 1;
    }
    return count;
}

TEST(ReuseMeter, AgreesWithASearchOfTheStream) {
    for (const std::uint32_t rows : {2u, 30u, 200u}) {
        Rng random(rows);
        std::vector<Request> stream;
        std::set<Request> different;
        for (int i = 0; i < 3000; ++i) {
            // Every second request is to the row of an earlier one, at any distance up to 600.
            const bool again = !stream.empty() && random.below(2) == 0;
            const Request next =
                again ? stream[stream.size() - 1 - random.below(static_cast<std::uint32_t>(std::min<std::size_t>(stream.size(), 600)))]
                      : Request{static_cast<std::uint32_t>(random.below(4)), random.below(rows)};
            stream.push_back(next);
            different.insert(next);
        }
        const auto found = counts(stream, 4);
        EXPECT_EQ(found.at("stream_requests"), stream.size());
        EXPECT_EQ(found.at("stream_rows"), different.size());
        EXPECT_EQ(found.at("stream_activates"), activates(stream, 1));
        for (const std::uint32_t window : ReuseMeter::kWindows)
            EXPECT_EQ(found.at("stream_activates_" + std::to_string(window)), activates(stream, window)) << window;
    }
}

TEST(ReuseMeter, AWindowOf32HoldsTheLaterRequestAnd31Others) {
    for (const std::size_t between : {30u, 31u}) {
        std::vector<Request> stream = {{0, 7}, {0, 8}};
        while (stream.size() <= between) stream.emplace_back(1, 0);
        stream.emplace_back(0, 7);
        EXPECT_EQ(counts(stream, 2).at("stream_activates"), 4u);
        EXPECT_EQ(counts(stream, 2).at("stream_activates_32"), between == 30 ? 3u : 4u) << between;
        EXPECT_EQ(counts(stream, 2).at("stream_activates_64"), 3u);
    }
}

}  // namespace
}  // namespace mergelane
