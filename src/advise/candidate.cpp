// SPDX-License-Identifier: MIT
#include "advise/candidate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace mergelane {

namespace {

using How = Candidate::How;
using Kind = TaskOrder::Kind;

/// CTAs are assigned round robin, then on demand.
class Dealt final : public TaskSource {
public:
    explicit Dealt(TaskOrder order) : order_(std::move(order)) {}
    bool next(std::uint32_t, std::uint32_t, std::uint64_t& task) override {
        if (next_ == order_.ctas()) return false;
        task = order_.cta(next_++);
        return true;
    }

private:
    TaskOrder order_;
    std::uint64_t next_ = 0;
};

class Agents final : public TaskSource {
public:
    Agents(TaskOrder order, std::uint32_t sms, std::uint32_t active)
        : order_(std::move(order)), clusters_(order_.ctas(), sms), active_(active), done_(std::size_t{sms} * active) {}
    bool next(std::uint32_t sm, std::uint32_t slot, std::uint64_t& task) override {
        if (slot >= active_) return false;
        const std::uint64_t within = slot + done_[std::size_t{sm} * active_ + slot]++ * active_;
        if (within >= clusters_.size(sm)) return false;
        task = order_.cta(clusters_.task({within, sm}));
        return true;
    }

private:
    TaskOrder order_;
    TaskClusters clusters_;
    std::uint32_t active_;
    std::vector<std::uint64_t> done_;  ///< by agent
};

std::string order_name(const Candidate& candidate) {
    if (candidate.kind == Kind::tiles) return fmt::format("{0}x{0} tiles", candidate.tile);
    if (candidate.kind == Kind::bands) return fmt::format("{}-row bands", candidate.tile);
    return candidate.kind == Kind::table ? "partition" : candidate.order();
}

}  // namespace

const char* Candidate::order() const {
    static constexpr const char* kOrders[] = {"rows", "columns", "tiles", "bands", "table"};
    return kOrders[static_cast<std::size_t>(kind)];
}

std::string Candidate::name() const {
    const std::string loads = past_l1.empty() ? "" : ", loads past L1";
    if (how == How::as_it_is) return "as it is" + loads;
    if (how == How::order) return order_name(*this) + loads;
    const std::string many = agents == 0 ? "" : fmt::format(", {} per SM", agents);
    return fmt::format("agents by {}{}{}", order_name(*this), many, loads);
}

std::string Candidate::short_name() const {
    const std::string loads = past_l1.empty() ? "" : " -L1";
    if (how != How::agents) return (how == How::order ? order_name(*this) : "as it is") + loads;
    return order_name(*this) + (agents == 0 ? ", agents" : fmt::format(", {}/SM", agents)) + loads;
}

std::vector<std::string> Candidate::overrides() const {
    if (how == How::as_it_is && past_l1.empty()) return {};
    std::vector<std::string> list = {how == How::agents ? "dispatch.transform=agents" : "dispatch.transform=redirect",
                                     fmt::format("clustering.order={}", order())};
    if (how == How::as_it_is) list.emplace_back("clustering.cta_instructions=0");
    if (tiled()) list.push_back(fmt::format("clustering.tile={}", tile));
    if (kind == Kind::table) list.push_back(fmt::format("clustering.table={}", fmt::join(*table, ",")));
    if (!past_l1.empty()) list.push_back(fmt::format("clustering.bypass={}", fmt::join(past_l1, ",")));
    if (how != How::agents) list.emplace_back("clustering.clusters=1");
    if (how == How::agents) list.push_back(fmt::format("clustering.agents={}", agents));
    return list;
}

TaskOrder Candidate::order_of(const Dim3& grid) const {
    return {grid, kind, tile, table == nullptr ? std::vector<std::uint64_t>{} : *table};
}

std::unique_ptr<TaskSource> Candidate::tasks(const Dim3& grid, std::uint32_t sms, std::uint32_t slots) const {
    if (how == How::agents) return std::make_unique<Agents>(order_of(grid), sms, resident(slots));
    return std::make_unique<Dealt>(order_of(grid));
}

std::uint32_t Candidate::resident(std::uint32_t slots) const {
    return how == How::agents && agents != 0 ? std::min(agents, slots) : slots;
}

std::vector<Candidate> candidates_for(const Dim3& grid, std::uint32_t slots) {
    std::vector<Candidate> list = {{}};
    const bool flat = grid.x == 1 || grid.y == 1;
    if (!flat) {
        list.push_back({How::order, Kind::columns});
        for (const std::uint32_t tile : {2u, 4u, 8u}) list.push_back({How::order, Kind::tiles, tile});
        for (std::uint32_t rows = 2; rows <= 32 && rows < grid.y; rows *= 2) list.push_back({How::order, Kind::bands, rows});
    }
    list.push_back({How::agents, Kind::rows});
    if (!flat) {
        list.push_back({How::agents, Kind::columns});
        for (const std::uint32_t tile : {2u, 4u, 8u}) list.push_back({How::agents, Kind::tiles, tile});
        for (const std::uint32_t rows : {2u, 4u, 8u}) {
            if (rows < grid.y) list.push_back({How::agents, Kind::bands, rows});
        }
    }
    for (const std::uint32_t agents : {1u, 2u, 3u, 4u, 6u, 8u, 12u, 16u, 24u}) {
        if (agents >= slots) break;
        list.push_back({How::agents, Kind::rows, 1, agents});
        if (!flat) list.push_back({How::agents, Kind::columns, 1, agents});
    }
    return list;
}

bool may_go_past(const Candidate& candidate) {
    return candidate == Candidate{} || candidate == Candidate{How::agents, Kind::rows} ||
           candidate == Candidate{How::agents, Kind::columns};
}

}  // namespace mergelane
