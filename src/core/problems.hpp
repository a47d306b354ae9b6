// SPDX-License-Identifier: MIT
// What is wrong with a configuration, said by the part it concerns.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mergelane {

/// One broken rule: the values that contradict each other, the one to look at first in front, and what to do about it.
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
