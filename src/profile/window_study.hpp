// SPDX-License-Identifier: MIT
// WarpPool's oracle: the line requests of an SM that remain if a request may merge with an earlier one to the same line, as long as fewer
// than W other requests lie between. A request is removed if its line is among the last W that were not removed.
#pragma once

#include <array>
#include <cstdint>

#include "core/types.hpp"

namespace mergelane {

inline constexpr std::array<std::uint32_t, 9> kStudyWindows = {0, 1, 2, 4, 8, 16, 32, 64, 128};

class WindowStudy {
public:
    /// Starts another SM with an empty window.
    void start();
    void request(Addr line);
    /// Remaining requests for each window, since the beginning; the first entry counts all of them.
    const std::array<std::uint64_t, kStudyWindows.size()>& left() const { return left_; }
    void reset() {
        start();
        left_ = {};
    }

private:
    static constexpr std::uint32_t kMost = kStudyWindows.back();
    struct Window {
        std::array<Addr, kMost> ring{};
        std::uint32_t used = 0;
        std::uint32_t next = 0;
        std::array<std::uint8_t, 1024> hashed{};  ///< number of ring lines per hash bucket: a filter that answers most lookups
    };
    std::array<Window, kStudyWindows.size()> windows_;
    std::array<std::uint64_t, kStudyWindows.size()> left_{};
};

}  // namespace mergelane
