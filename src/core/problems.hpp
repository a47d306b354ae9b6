// SPDX-License-Identifier: MIT
// Configuration errors, reported by the component they concern.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mergelane {

/// One violated rule: the keys that contradict each other, most likely culprit first, and how to fix it.
struct SpecProblem {
    std::vector<std::string> keys;
    std::string text;
};

class Problems {
public:
    void require(bool holds, std::initializer_list<std::string_view> keys, std::string text) {
        if (!holds) list_.push_back({{keys.begin(), keys.end()}, std::move(text)});
    }
    bool none() const { return list_.empty(); }
    const std::vector<SpecProblem>& list() const& { return list_; }
    std::vector<SpecProblem> list() && { return std::move(list_); }

private:
    std::vector<SpecProblem> list_;
};

}  // namespace mergelane
