// SPDX-License-Identifier: MIT
#include "workload/suite/problem.hpp"

namespace mergelane::suite {

namespace {

struct Edges {
    int start, count;
};

class Bfs final : public Problem {
public:
    Bfs(Size size, std::uint64_t seed) : count_(by_size(size, 1000, 524288, 2097152)) {
        Rng rng(seed);
        const auto bound = static_cast<std::uint32_t>(count_);
        for (int node = 0; node < count_; ++node) {
            const int degree = 1 + static_cast<int>(rng.below(10));
            nodes_.push_back({static_cast<int>(edges_.size()), degree});
            for (int i = 0; i < degree; ++i) edges_.push_back(static_cast<int>(rng.below(bound)));
        }
    }

    void run(Device& device) override {
        using Flag = unsigned char;
        const auto size = static_cast<std::size_t>(count_);
        std::vector<Flag> source_only(size, 0);
        source_only[0] = 1;
        const auto nodes = device.upload(nodes_);
        const auto edges = device.upload(edges_);
        const auto frontier = device.upload(source_only);
        const auto reached = device.zeros<Flag>(size);
        const auto visited = device.upload(source_only);
        const auto cost = device.alloc<int>(size);
        device.fill(cost, 0xFF);  // -1: not reached
        device.fill(DeviceArray<int>{cost.address, 1}, 0);
        const auto again = device.alloc<Flag>(1);
        const Dim3 block{256, 1, 1};
        const Dim3 grid{ceil_div(static_cast<std::uint32_t>(count_), block.x), 1, 1};
        do {
            device.fill(again, 0);
            device.launch("rodinia/bfs", "bfs_expand", grid, block, nodes, edges, frontier, reached, visited, cost, count_);
            device.launch("rodinia/bfs", "bfs_advance", grid, block, frontier, reached, visited, again, count_);
        } while (device.download(again)[0] != 0);
        cost_ = device.download(cost);
    }

    Verdict verify() const override {
        std::vector<int> want(static_cast<std::size_t>(count_), -1);
        std::vector<int> queue{0};
        want[0] = 0;
        for (std::size_t head = 0; head < queue.size(); ++head) {
            const Edges& mine = nodes_[queue[head]];
            for (int edge = mine.start; edge < mine.start + mine.count; ++edge) {
                int& distance = want[edges_[edge]];
                if (distance >= 0) continue;
                distance = want[queue[head]] + 1;
                queue.push_back(edges_[edge]);
            }
        }
        return compare_exact("distance", cost_, want);
    }

private:
    int count_;
    std::vector<Edges> nodes_;
    std::vector<int> edges_, cost_;
};

}  // namespace

std::unique_ptr<Problem> make_bfs(Size size, std::uint64_t seed) {
    return std::make_unique<Bfs>(size, seed);
}

}  // namespace mergelane::suite
