// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>

#include "workload/suite/problem.hpp"

namespace mergelane::suite {

namespace {

class Queens final : public Problem {
public:
    Queens(Size size, std::uint64_t seed)
        : side_(by_size(size, 8, 13, 14)),
          rows_given_(by_size(size, 3, 5, 5)),
          most_(by_size<std::size_t>(size, 100, 256 * 96, 1024 * 96)) {
        std::vector<int> queens;
        place(queens);
        Rng rng(seed);
        for (std::size_t i = placed_.size(); i > 1; --i) std::swap(placed_[i - 1], placed_[rng.below(static_cast<std::uint32_t>(i))]);
        placed_.resize(std::min(placed_.size(), most_));
    }
    void run(Device& device) override {
        std::vector<Beginning> list;
        for (const std::vector<int>& queens : placed_) {
            Beginning beginning;
            for (const int queen : queens) {
                beginning.columns |= 1u << queen;
                beginning.left = (beginning.left | 1u << queen) << 1;
                beginning.right = (beginning.right | 1u << queen) >> 1;
            }
            beginning.rows = side_ - rows_given_;
            list.push_back(beginning);
        }
        const auto beginnings = device.upload(list);
        const auto ways = device.alloc<std::uint32_t>(list.size());
        const auto count = static_cast<std::uint32_t>(list.size());
        device.launch("gpgpusim/nqu", "nqu_solve", {ceil_div(count, kThreads), 1, 1}, {kThreads, 1, 1}, beginnings, ways,
                      static_cast<int>(count), (1u << side_) - 1);
        ways_ = device.download(ways);
    }
    Verdict verify() const override {
        std::vector<std::uint32_t> want;
        for (std::vector<int> queens : placed_) want.push_back(count(queens));
        return compare_exact("ways", ways_, want);
    }

private:
    static constexpr std::uint32_t kThreads = 96;
    struct alignas(16) Beginning {
        std::uint32_t columns = 0, left = 0, right = 0;
        std::int32_t rows = 0;
    };

    static bool attacked(const std::vector<int>& queens, int column) {
        for (std::size_t row = 0; row < queens.size(); ++row) {
            const int rows = static_cast<int>(queens.size() - row), columns = std::abs(queens[row] - column);
            if (columns == 0 || columns == rows) return true;
        }
        return false;
    }
    /// All ways to fill the first rows.
    void place(std::vector<int>& queens) {
        if (static_cast<int>(queens.size()) == rows_given_) return placed_.push_back(queens);
        for (int column = 0; column < side_; ++column) {
            if (attacked(queens, column)) continue;
            queens.push_back(column);
            place(queens);
            queens.pop_back();
        }
    }
    std::uint32_t count(std::vector<int>& queens) const {
        if (static_cast<int>(queens.size()) == side_) return 1;
        std::uint32_t ways = 0;
        for (int column = 0; column < side_; ++column) {
            if (attacked(queens, column)) continue;
            queens.push_back(column);
            ways += count(queens);
            queens.pop_back();
        }
        return ways;
    }

    int side_, rows_given_;
    std::size_t most_;
    std::vector<std::vector<int>> placed_;  ///< columns of the queens in the first rows
    std::vector<std::uint32_t> ways_;
};

}  // namespace

std::unique_ptr<Problem> make_nqu(Size size, std::uint64_t seed) {
    return std::make_unique<Queens>(size, seed);
}

}  // namespace mergelane::suite
