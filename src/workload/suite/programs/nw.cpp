// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>

#include "workload/suite/problem.hpp"

namespace mergelane::suite {

namespace {

constexpr int kNwTile = 16;
constexpr int kPenalty = 10;  ///< of a gap
constexpr std::uint32_t kAcids = 20;

/// Pairs of sequences at once: the longest diagonal of one has few CTAs unless the sequences are very long.
class Nw final : public Problem {
public:
    Nw(Size size, std::uint64_t seed) : n_(by_size(size, 80, 512, 1024)), pairs_(by_size(size, 3, 40, 40)) {
        Rng rng(seed);
        std::array<std::array<int, kAcids>, kAcids> alike{};
        for (std::uint32_t i = 0; i < kAcids; ++i)
            for (std::uint32_t j = 0; j <= i; ++j)
                alike[i][j] = alike[j][i] = static_cast<int>(rng.below(6)) - 4 + (i == j ? static_cast<int>(rng.below(4)) + 7 : 0);
        scores_.resize(cells());
        similarity_.resize(cells());
        std::vector<std::uint32_t> down(static_cast<std::size_t>(n_) + 1), across(down.size());
        for (int pair = 0; pair < pairs_; ++pair) {
            for (std::uint32_t& acid : down) acid = rng.below(kAcids);
            for (std::uint32_t& acid : across) acid = rng.below(kAcids);
            for (int i = 1; i <= n_; ++i) {
                scores_[at(pair, i, 0)] = scores_[at(pair, 0, i)] = -i * kPenalty;
                for (int j = 1; j <= n_; ++j) similarity_[at(pair, i, j)] = alike[down[i]][across[j]];
            }
        }
    }
    void run(Device& device) override {
        const auto scores = device.upload(scores_);
        const auto similarity = device.upload(similarity_);
        const int tiles = n_ / kNwTile;
        for (int diagonal = 0; diagonal < 2 * tiles - 1; ++diagonal) {
            const int first = std::max(0, diagonal - tiles + 1), last = std::min(diagonal, tiles - 1);
            device.launch("rodinia/nw", "nw_diagonal",
                          {static_cast<std::uint32_t>(last - first + 1), static_cast<std::uint32_t>(pairs_), 1}, {kNwTile, 1, 1}, scores,
                          similarity, n_, diagonal, first, kPenalty);
        }
        result_ = device.download(scores);
    }
    Verdict verify() const override {
        std::vector<int> want = scores_;
        for (int pair = 0; pair < pairs_; ++pair) {
            for (int i = 1; i <= n_; ++i) {
                for (int j = 1; j <= n_; ++j) {
                    want[at(pair, i, j)] = std::max({want[at(pair, i - 1, j - 1)] + similarity_[at(pair, i, j)],
                                                     want[at(pair, i, j - 1)] - kPenalty, want[at(pair, i - 1, j)] - kPenalty});
                }
            }
        }
        return compare_exact("score", result_, want);
    }

private:
    std::size_t cells() const { return static_cast<std::size_t>(pairs_) * (n_ + 1) * (n_ + 1); }
    std::size_t at(int pair, int row, int column) const { return (static_cast<std::size_t>(pair) * (n_ + 1) + row) * (n_ + 1) + column; }

    int n_;  ///< length of each sequence
    int pairs_;
    std::vector<int> scores_, similarity_, result_;
};

}  // namespace

std::unique_ptr<Problem> make_nw(Size size, std::uint64_t seed) {
    return std::make_unique<Nw>(size, seed);
}

}  // namespace mergelane::suite
