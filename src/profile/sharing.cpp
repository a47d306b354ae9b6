// SPDX-License-Identifier: MIT
#include "profile/sharing.hpp"

#include <unordered_map>

#include "core/bits.hpp"

namespace mergelane {

namespace {

constexpr std::uint64_t kNobody = ~std::uint64_t{0};

/// State of a line: its last accessor, and per sector who accessed it and how.
struct LineState {
    std::uint64_t last = kNobody;  ///< CTA
    std::uint8_t of_last = 0;      ///< sectors that it touched
    std::uint8_t touched = 0;      ///< by anybody
    std::uint8_t read = 0, written = 0;
    std::uint8_t read_by_last = 0, written_by_last = 0;
    std::uint8_t passed = 0;
    std::uint32_t ctas = 0;         ///< that touched it
    std::uint32_t cta_sectors = 0;  ///< sectors of each of them
};

class Counting {
public:
    explicit Counting(const AccessLog& log) : grid_(log.info().grid) {
        for (std::uint64_t cta = 0; cta < log.ctas(); ++cta) {
            for (const AccessLog::Entry& entry : log.of(cta)) touch(cta, entry);
        }
        for (auto& [number, line] : lines_) {
            leave(line);
            ++sum.lines;
            sum.sectors += bit_count(line.touched);
            sum.passed_sectors += bit_count(line.passed);
            if (std::uint64_t{line.ctas} * 2 <= log.ctas()) continue;
            ++sum.common_lines;
            sum.common_sectors += bit_count(line.touched);
            sum.common_cta_lines += line.ctas;
            sum.common_cta_sectors += line.cta_sectors;
        }
    }

    Sharing sum;

private:
    void touch(std::uint64_t cta, const AccessLog::Entry& entry) {
        LineState& line = lines_[entry.line()];
        const auto sectors = static_cast<std::uint8_t>(entry.sectors());
        if (line.last != cta) {
            if (line.last != kNobody) {
                leave(line);
                same_direction(line.last, cta);
            }
            line.last = cta;
            ++sum.cta_lines;
            ++line.ctas;
        }
        const auto fresh = static_cast<std::uint8_t>(sectors & ~line.of_last);
        sum.cta_sectors += bit_count(fresh);
        line.cta_sectors += bit_count(fresh);
        line.of_last = static_cast<std::uint8_t>(line.of_last | sectors);
        std::uint8_t& way = entry.kind() == AccessLog::Kind::load ? line.read_by_last : line.written_by_last;
        way = static_cast<std::uint8_t>(way | sectors);
    }
    /// The last accessor becomes one of the previous ones.
    static void leave(LineState& line) {
        line.passed = static_cast<std::uint8_t>(line.passed | (line.read_by_last & line.written) | (line.written_by_last & line.read));
        line.read = static_cast<std::uint8_t>(line.read | line.read_by_last);
        line.written = static_cast<std::uint8_t>(line.written | line.written_by_last);
        line.touched = static_cast<std::uint8_t>(line.touched | line.of_last);
        line.of_last = line.read_by_last = line.written_by_last = 0;
    }
    void same_direction(std::uint64_t before, std::uint64_t now) {
        const std::uint64_t plane = std::uint64_t{grid_.x} * grid_.y;
        if (before / plane != now / plane) return;
        if (before / grid_.x == now / grid_.x) ++sum.along_x;
        if (before % grid_.x == now % grid_.x) ++sum.along_y;
    }

    Dim3 grid_;
    std::unordered_map<Addr, LineState> lines_;
};

}  // namespace

Sharing sharing_of(const AccessLog& log) {
    return Counting(log).sum;
}

}  // namespace mergelane
