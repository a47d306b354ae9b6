// SPDX-License-Identifier: MIT
#include <array>

#include "workload/suite/problem.hpp"

namespace mergelane::suite {

namespace {

/// As in the kernel.
struct Point {
    float weight = 1;
    float cost = 0;
    int assign = 0;
    std::array<int, 5> unused{};
};

/// Coordinates are multiples of 1/256 and weights powers of two, so that every sum is exact, on the host and on the device.
class Streamcluster final : public Problem {
public:
    Streamcluster(Size size, std::uint64_t seed)
        : points_(by_size(size, 1200, 131072, 131072)), dimensions_(by_size(size, 16, 128, 256)), centres_(by_size(size, 4, 10, 10)) {
        Rng rng(seed);
        coordinates_.resize(static_cast<std::size_t>(points_) * dimensions_);
        for (float& value : coordinates_) value = static_cast<float>(rng.below(256)) / 256.0f;
        const auto bound = static_cast<std::uint32_t>(points_);
        // Centres are points; the table says which column of `lower` belongs to one.
        table_.assign(bound, 0);
        std::vector<int> centre_points;
        for (int c = 0; c < centres_; ++c) {
            centre_points.push_back(static_cast<int>(rng.below(bound)));
            table_[centre_points.back()] = c;
        }
        data_.resize(bound);
        for (int point = 0; point < points_; ++point) {
            Point& mine = data_[point];
            mine.weight = static_cast<float>(1u << rng.below(3));
            mine.assign = centre_points[rng.below(static_cast<std::uint32_t>(centres_))];
            mine.cost = cost(point, mine.assign);
        }
        for (int i = 0; i < by_size(size, 2, 4, 6); ++i) candidates_.push_back(static_cast<int>(rng.below(bound)));
    }

    void run(Device& device) override {
        const Dim3 block{512, 1, 1};
        const Dim3 grid{ceil_div(static_cast<std::uint32_t>(points_), block.x), 1, 1};
        const auto coordinates = device.upload(coordinates_);
        const auto points = device.upload(data_);
        const auto table = device.upload(table_);
        const auto lower = device.alloc<float>(static_cast<std::size_t>(points_) * (centres_ + 1));
        const auto switches = device.alloc<char>(static_cast<std::size_t>(points_));
        lower_.clear();
        switches_.clear();
        for (const int candidate : candidates_) {
            device.fill(lower, 0);
            device.fill(switches, 0);
            device.launch("rodinia/streamcluster", "streamcluster_gain", grid, block, points_, dimensions_, candidate, points, centres_,
                          lower, coordinates, table, switches);
            lower_.push_back(device.download(lower));
            switches_.push_back(device.download(switches));
        }
    }

    Verdict verify() const override {
        Verdict verdict;
        for (std::size_t i = 0; i < candidates_.size(); ++i) {
            std::vector<float> lower(static_cast<std::size_t>(points_) * (centres_ + 1));
            std::vector<char> switches(static_cast<std::size_t>(points_));
            for (int point = 0; point < points_; ++point) {
                const float gain = cost(point, candidates_[i]) - data_[point].cost;
                const bool better = gain < 0;
                switches[point] = better ? 1 : 0;
                lower[static_cast<std::size_t>(point) * (centres_ + 1) + (better ? centres_ : table_[data_[point].assign])] =
                    better ? gain : -gain;
            }
            verdict &= compare_exact("switch", switches_.at(i), switches);
            verdict &= compare_exact("gain", lower_.at(i), lower);
        }
        return verdict;
    }

private:
    float cost(int point, int centre) const {
        float sum = 0;
        for (int i = 0; i < dimensions_; ++i) {
            const std::size_t row = static_cast<std::size_t>(i) * points_;
            const float difference = coordinates_[row + point] - coordinates_[row + centre];
            sum += difference * difference;
        }
        return sum * data_[point].weight;
    }

    int points_, dimensions_, centres_;
    std::vector<float> coordinates_;
    std::vector<Point> data_;
    std::vector<int> table_, candidates_;
    std::vector<std::vector<float>> lower_;
    std::vector<std::vector<char>> switches_;
};

}  // namespace

std::unique_ptr<Problem> make_streamcluster(Size size, std::uint64_t seed) {
    return std::make_unique<Streamcluster>(size, seed);
}

}  // namespace mergelane::suite
