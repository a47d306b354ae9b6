// SPDX-License-Identifier: MIT
// Drawings of the page of a run that need no script: horizontal stacks and heat maps.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace mergelane::report {

/// One part of all stacks of a drawing.
struct StackPart {
    std::string name;
    std::string meaning;  ///< may be empty
    std::string style;    ///< class of page.css; empty: the next colour
};
struct StackRow {
    std::string label;
    std::vector<double> values;  ///< one per part
};

/// One bar of full width per row, with a legend that gives the shares of the first row, largest first.
std::string stacks(std::span<const StackPart> parts, std::span<const StackRow> rows);

/// One square per unit, in frames of `per_frame` if that is not 0. More than 1024 units share squares.
std::string heat_map(std::span<const double> values, std::size_t per_frame, const std::string& unit_name);

/// Rounded, with separators; readable() where that is impossible.
std::string whole(double value);
/// "12.3 %"
std::string percent_text(double part, double whole);

}  // namespace mergelane::report
