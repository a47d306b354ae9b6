// SPDX-License-Identifier: MIT
#include "dram/reuse_meter.hpp"

#include "core/result.hpp"

namespace mergelane {

namespace {
struct WindowStat {
    std::string_view name, meaning;
};
constexpr std::array<WindowStat, ReuseMeter::kWindows.size()> kStats = {{
    {"stream_activates_32", "of these, requests for a row that none of the 31 before them was for"},
    {"stream_activates_64", "of these, requests for a row that none of the 63 before them was for"},
    {"stream_activates_128", "of these, requests for a row that none of the 127 before them was for"},
    {"stream_activates_256", "of these, requests for a row that none of the 255 before them was for"},
    {"stream_activates_512", "of these, requests for a row that none of the 511 before them was for"},
}};
}  // namespace

void ReuseMeterSpec::fields(SpecFields& f) {
    f.section("dram.reuse_meter");
    f.boolean("enabled", on, "measure how far apart requests to one row arrive at a channel; does not affect timing");
}

void ReuseMeterSpec::metrics(Metrics& m) const {
    const double in_order = m("dram.stream_activates");
    m.add("Row reuse", "activates in order of arrival", Metrics::percent(in_order, m("dram.stream_requests")), "%", "of requests");
    m.add("Row reuse", "with a window of 32", Metrics::percent(m("dram.stream_activates_32"), in_order), "%", "of these");
    m.add("Row reuse", "with a window of 512", Metrics::percent(m("dram.stream_activates_512"), in_order), "%", "of these");
    m.add("Row reuse", "rows", Metrics::percent(m("dram.stream_rows"), in_order), "%", "of these");
}

std::unique_ptr<DramObserver> ReuseMeterSpec::at_dram(const DramPlace& place) const {
    return std::make_unique<ReuseMeter>(place.banks);
}

void ReuseMeter::arrived(std::uint32_t bank, std::uint64_t row, std::uint32_t, bool, Cycle) {
    const auto [last, is_new] = last_.try_emplace(row * row_.size() + bank, 0);
    const std::uint64_t distance = is_new ? kNone : requests_ - last->second;
    last->second = requests_++;
    if (row_[bank] == row) return;
    row_[bank] = row;
    ++in_order_;
    for (std::size_t i = 0; i < kWindows.size(); ++i) within_[i] += distance >= kWindows[i] ? 1 : 0;
}

void ReuseMeter::stats(StatFields& f, Cycle) const {
    f.add("stream_requests", requests_, "requests", "requests that entered a controller's queue (dram.reuse_meter)");
    f.add("stream_activates", in_order_, "requests", "requests for another row than the previous one of their bank");
    for (std::size_t i = 0; i < kWindows.size(); ++i) f.add(kStats[i].name, within_[i], "requests", kStats[i].meaning);
    f.add("stream_rows", last_.size(), "rows", "different rows requested");
}

}  // namespace mergelane
