// SPDX-License-Identifier: MIT
#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace mergelane {

std::string friendly_seconds(double seconds) {
    const auto whole = static_cast<std::uint64_t>(seconds < 0 ? 0 : seconds + 0.5);
    if (whole < 60) return fmt::format("{} s", whole);
    if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
    return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

ProgressLine::ProgressLine(bool quiet) : enabled_(!quiet), terminal_(isatty(STDERR_FILENO) != 0) {}

/// On a terminal after one second, then five times per second.
bool ProgressLine::due(std::uint64_t kernel) {
    if (!enabled_) return false;
    const auto now = std::chrono::steady_clock::now();
    if (kernel != kernel_) {
        kernel_ = kernel;
        kernel_start_ = now;
    }
    const auto first = terminal_ ? std::chrono::milliseconds(1000) : std::chrono::milliseconds(10'000);
    const auto every = terminal_ ? std::chrono::milliseconds(200) : first;
    if (now - start_ < first || now - last_ < every) return false;
    last_ = now;
    return true;
}

void ProgressLine::show(const std::string& line) {
    std::fputs(fmt::format("{}{}{}", terminal_ ? "\r" : "", line, terminal_ ? "\x1b[K" : "\n").c_str(), stderr);
    std::fflush(stderr);
    shown_ = terminal_;
}

std::string ProgressLine::bar(std::uint64_t done, std::uint64_t total) const {
    if (!terminal_) return "";
    constexpr std::uint64_t kWidth = 24;
    const std::uint64_t filled = total == 0 ? 0 : done * kWidth / total;
    return "[" + std::string(filled, '#') + std::string(kWidth - filled, '.') + "] ";
}

std::string ProgressLine::time_left(std::uint64_t done, std::uint64_t total) const {
    if (done == 0) return "estimating";
    const double spent = std::chrono::duration<double>(last_ - kernel_start_).count();
    return "about " + friendly_seconds(spent * static_cast<double>(total - done) / static_cast<double>(done)) + " left";
}

void ProgressLine::update(const Progress& progress) {
    if (!due(progress.kernel)) return;
    show(fmt::format("{}kernel {}: {} of {} CTAs, cycle {}, {}", bar(progress.ctas_done, progress.ctas_total), progress.kernel,
                     progress.ctas_done, progress.ctas_total, progress.cycles, time_left(progress.ctas_done, progress.ctas_total)));
}

void ProgressLine::update_ctas(std::string_view verb, std::uint64_t kernel, std::uint64_t done, std::uint64_t total) {
    if (!due(kernel)) return;
    show(fmt::format("{}{} kernel {}: {} of {} CTAs, {}", bar(done, total), verb, kernel, done, total, time_left(done, total)));
}

void ProgressLine::update_share(std::string_view what, double share) {
    if (!due(what.size())) return;  // another word, another clock
    const auto done = static_cast<std::uint64_t>(1000 * share);
    show(fmt::format("{}{}, {}", bar(done, 1000), what, time_left(done, 1000)));
}

void ProgressLine::update_runs(std::uint64_t done, std::uint64_t total, std::uint64_t failed, double seconds_left) {
    if (!due(1)) return;
    show(fmt::format("{}{} of {} runs{}, {}", bar(done, total), done, total, failed == 0 ? "" : fmt::format(", {} failed", failed),
                     seconds_left < 0 ? "estimating" : "about " + friendly_seconds(seconds_left) + " left"));
}

void ProgressLine::update_reading(std::uint64_t done, std::uint64_t total) {
    if (!due(kernel_)) return;
    constexpr double kMebi = 1024 * 1024;
    show(fmt::format("reading the trace: {:.0f} of {:.0f} MiB", static_cast<double>(done) / kMebi, static_cast<double>(total) / kMebi));
}

void ProgressLine::clear() {
    if (shown_) std::fputs("\r\x1b[K", stderr);
    shown_ = false;
}

}  // namespace mergelane
