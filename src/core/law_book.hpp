// SPDX-License-Identifier: MIT
// Conservation invariants: everything that enters a stage or link leaves it or is still inside. Each component states its invariants here;
// they are checked at the end of every run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mergelane {

class LawBook {
public:
    /// `values`: statistics and final gauges of the run; `on_links`: messages on the links of a boundary.
    LawBook(std::unordered_map<std::string, std::uint64_t> values, std::function<std::uint64_t(std::string_view)> on_links, bool drained)
        : values_(std::move(values)), on_links_(std::move(on_links)), drained_(drained) {}

    /// A statistic or a gauge. Throws std::logic_error for an unknown name: an invariant about nothing would always hold.
    std::uint64_t operator()(std::string_view name) const;
    /// Whether the name exists. For invariants of something that can be chosen and was not.
    bool has(std::string_view name) const { return values_.contains(std::string(name)); }
    std::uint64_t on_links(std::string_view boundary) const { return on_links_(boundary); }
    /// The run completed: nothing is in flight.
    bool drained() const { return drained_; }

    /// Everything sent over a boundary was received or is on its links.
    void boundary(std::string_view sent, std::string_view received, std::string_view links);
    /// `law`: a sentence or equation in terms of statistics.
    void balance(std::string_view law, std::uint64_t left, std::uint64_t right);
    const std::vector<std::string>& broken() const { return broken_; }

private:
    std::unordered_map<std::string, std::uint64_t> values_;
    std::function<std::uint64_t(std::string_view)> on_links_;
    bool drained_;
    std::vector<std::string> broken_;
};

}  // namespace mergelane
