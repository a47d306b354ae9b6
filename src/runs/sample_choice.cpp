// SPDX-License-Identifier: MIT
#include "runs/sample_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/error.hpp"
#include "core/text.hpp"
#include "files/toml_text.hpp"

namespace mergelane::study {

namespace {

constexpr double kLeastError = 0.0005, kMostError = 0.5;

template <typename Number>
bool read_number(std::string_view text, Number& number) {
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    return problem == std::errc{} && end == text.data() + text.size();
}

/// The value of "NAME=VALUE", which is taken from the text with its space.
std::string_view take(std::string_view& text, std::string_view name) {
    if (!text.starts_with(name) || !text.substr(name.size()).starts_with('=')) return {};
    const std::string_view rest = text.substr(name.size() + 1);
    const std::size_t end = std::min(rest.find(' '), rest.size());
    text = rest.substr(std::min(end + 1, rest.size()));
    return rest.substr(0, end);
}

}  // namespace

std::string sample_text(const SampleChoice& choice) {
    std::string text =
        fmt::format("error={} seed={} by={}", choice.error, choice.seed, sampling::kSelectionNames[static_cast<std::size_t>(choice.by)]);
    if (choice.segment != SampleChoice{}.segment) text += fmt::format(" segment={}", choice.segment);
    return text;
}

SampleChoice parse_sample(const std::string& text) {
    SampleChoice choice;
    std::string_view left = text;
    bool good = read_number(take(left, "error"), choice.error) && choice.error >= kLeastError && choice.error <= kMostError;
    good = read_number(take(left, "seed"), choice.seed) && choice.seed <= kMostSampleSeed && good;
    const std::string_view by = take(left, "by");
    const auto* const found = std::find(sampling::kSelectionNames.begin(), sampling::kSelectionNames.end(), by);
    good = good && found != sampling::kSelectionNames.end();
    if (good) choice.by = static_cast<sampling::Selection>(found - sampling::kSelectionNames.begin());
    if (!left.empty()) good = read_number(take(left, "segment"), choice.segment) && choice.segment <= kMostSegment && good;
    if (!good || sample_text(choice) != text)
        throw InputError(fmt::format("'{}' are no options of sampling that this version knows", printable(text, 80)));
    return choice;
}

std::optional<double> relative_error(std::string_view text) {
    double scale = 1;
    if (text.ends_with('%')) {
        text.remove_suffix(1);
        scale = 100;
    }
    while (text.ends_with(' ')) text.remove_suffix(1);
    double value = 0;
    const bool good = read_number(text, value) && value / scale >= kLeastError && value / scale <= kMostError;
    return good ? std::optional(value / scale) : std::nullopt;
}

}  // namespace mergelane::study
