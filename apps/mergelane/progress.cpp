// SPDX-License-Identifier: MIT
#include "progress.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace mergelane {

std::string friendly_seconds(double seconds) {
    const auto whole = static_cast<std::uint64_t>(seconds < 0 ? 0 : seconds + 0.5);
    if (whole < 60) return fmt::format("{} s", whole);
    if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
    return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

void ProgressLine::update(const Progress& progress) {
    if (!enabled_) return;
    const auto now = std::chrono::steady_clock::now();
    if (progress.kernel != kernel_) {
        kernel_ = progress.kernel;
        kernel_start_ = now;
    }
    if (now - start_ < std::chrono::seconds(1) || now - last_ < std::chrono::milliseconds(200)) return;
    last_ = now;
    const double share = progress.ctas_total == 0 ? 0 : static_cast<double>(progress.ctas_done) / static_cast<double>(progress.ctas_total);
    const double spent = std::chrono::duration<double>(now - kernel_start_).count();
    const std::string eta = share > 0 ? "about " + friendly_seconds(spent * (1 - share) / share) + " left" : "estimating";
    constexpr int kWidth = 24;
    const int filled = static_cast<int>(share * kWidth);
    fmt::print(stderr, "\r[{}{}] kernel {}: {} of {} CTAs, cycle {}, {}\x1b[K", std::string(filled, '#'), std::string(kWidth - filled, '.'),
               progress.kernel, progress.ctas_done, progress.ctas_total, progress.cycles, eta);
    std::fflush(stderr);
    shown_ = true;
}

void ProgressLine::update_reading(std::uint64_t done, std::uint64_t total) {
    if (!enabled_) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - start_ < std::chrono::seconds(1) || now - last_ < std::chrono::milliseconds(200)) return;
    last_ = now;
    constexpr double kMebi = 1024 * 1024;
    fmt::print(stderr, "\rreading the trace: {:.0f} of {:.0f} MiB\x1b[K", static_cast<double>(done) / kMebi,
               static_cast<double>(total) / kMebi);
    std::fflush(stderr);
    shown_ = true;
}

void ProgressLine::clear() {
    if (shown_) fmt::print(stderr, "\r\x1b[K");
    shown_ = false;
}

}  // namespace mergelane
