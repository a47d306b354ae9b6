// SPDX-License-Identifier: MIT
#include <algorithm>

#include "workload/suite/problem.hpp"

namespace mergelane::suite {

namespace {

constexpr int kFeatures = 34;
constexpr int kClusters = 5;

class Kmeans final : public Problem {
public:
    Kmeans(Size size, std::uint64_t seed) : points_(by_size(size, 700, 494020, 494020)), rounds_(by_size(size, 2, 1, 4)) {
        Rng rng(seed);
        features_ = random_floats(rng, static_cast<std::size_t>(points_) * kFeatures);
    }

    void run(Device& device) override {
        const Dim3 block{256, 1, 1};
        const Dim3 grid{ceil_div(static_cast<std::uint32_t>(points_), block.x), 1, 1};
        const auto by_point = device.upload(features_);
        const auto by_feature = device.alloc<float>(features_.size());
        const auto centres = device.alloc<float>(kClusters * kFeatures);
        const auto member = device.alloc<int>(static_cast<std::size_t>(points_));
        device.launch("rodinia/kmeans", "kmeans_transpose", grid, block, by_point, by_feature, points_, kFeatures);
        centres_.assign(1, {features_.begin(), features_.begin() + kClusters * kFeatures});
        members_.clear();
        for (int round = 0; round < rounds_; ++round) {
            device.upload(centres, centres_.back());
            device.launch("rodinia/kmeans", "kmeans_assign", grid, block, by_feature, centres, member, points_, kFeatures, kClusters);
            members_.push_back(device.download(member));
            centres_.push_back(means(members_.back(), centres_.back()));
        }
    }

    /// Two centres may be equally far within rounding, so what counts is the distance to the chosen one.
    Verdict verify() const override {
        Verdict verdict;
        for (std::size_t round = 0; round < members_.size(); ++round) {
            std::vector<float> chosen(static_cast<std::size_t>(points_));
            std::vector<double> nearest(chosen.size());
            for (int point = 0; point < points_; ++point) {
                nearest[point] = distance(point, 0, centres_[round]);
                for (int c = 1; c < kClusters; ++c) nearest[point] = std::min(nearest[point], distance(point, c, centres_[round]));
                const int c = members_[round][point];
                chosen[point] = c >= 0 && c < kClusters ? static_cast<float>(distance(point, c, centres_[round])) : -1.0f;
            }
            verdict &= compare("distance to the chosen centre", chosen, nearest, 1e-5, 1e-5);
        }
        return verdict;
    }

private:
    double distance(int point, int centre, const std::vector<float>& centres) const {
        double sum = 0;
        for (int f = 0; f < kFeatures; ++f) {
            const double difference =
                static_cast<double>(features_[static_cast<std::size_t>(point) * kFeatures + f]) - centres[centre * kFeatures + f];
            sum += difference * difference;
        }
        return sum;
    }

    /// New centres, on the host as in the original; a cluster without points stays where it was.
    std::vector<float> means(const std::vector<int>& member, std::vector<float> centres) const {
        std::vector<double> sums(centres.size());
        std::vector<int> counts(kClusters);
        for (std::size_t point = 0; point < member.size(); ++point) {
            const int c = member[point];
            if (c < 0 || c >= kClusters) continue;
            ++counts[c];
            for (int f = 0; f < kFeatures; ++f) sums[c * kFeatures + f] += features_[point * kFeatures + f];
        }
        for (int i = 0; i < kClusters * kFeatures; ++i)
            if (counts[i / kFeatures] > 0) centres[i] = static_cast<float>(sums[i] / counts[i / kFeatures]);
        return centres;
    }

    int points_;
    int rounds_;
    std::vector<float> features_;
    std::vector<std::vector<float>> centres_;  ///< before every round, and after the last
    std::vector<std::vector<int>> members_;
};

}  // namespace

std::unique_ptr<Problem> make_kmeans(Size size, std::uint64_t seed) {
    return std::make_unique<Kmeans>(size, seed);
}

}  // namespace mergelane::suite
