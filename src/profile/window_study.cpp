// SPDX-License-Identifier: MIT
#include "profile/window_study.hpp"

#include <algorithm>

namespace mergelane {

void WindowStudy::start() {
    for (Window& window : windows_) window = {};
}

void WindowStudy::request(Addr line) {
    const auto place = [](Addr of) { return static_cast<std::size_t>(of * 0x9E3779B97F4A7C15 >> 54); };
    const std::size_t here = place(line);
    ++left_[0];
    for (std::size_t i = 1; i < kStudyWindows.size(); ++i) {
        Window& window = windows_[i];
        if (window.hashed[here] != 0 &&
            std::find(window.ring.begin(), window.ring.begin() + window.used, line) != window.ring.begin() + window.used)
            continue;
        ++left_[i];
        if (window.used == kStudyWindows[i])
            --window.hashed[place(window.ring[window.next])];
        else
            ++window.used;
        window.ring[window.next] = line;
        ++window.hashed[here];
        window.next = (window.next + 1) % kStudyWindows[i];
    }
}

}  // namespace mergelane
