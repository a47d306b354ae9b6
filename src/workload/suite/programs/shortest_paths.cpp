// SPDX-License-Identifier: MIT
// Shortest paths from two vertices of a road-like graph, for a fixed number of rounds.
#include <algorithm>
#include <limits>

#include "workload/suite/problem.hpp"

namespace mergelane::suite {

namespace shortest_paths {

namespace {

constexpr int kFar = std::numeric_limits<int>::max() / 2;
constexpr int kLists = 3;
constexpr std::uint32_t kThreads = 256;

/// A square grid of crossings with streets of different length. Some crossings are junctions, linked to others around them; a few are hubs.
struct Graph {
    std::vector<int> offsets, targets, weights;

    Graph(int side, Rng& rng) {
        std::vector<std::vector<std::pair<int, int>>> edges(static_cast<std::size_t>(side) * static_cast<std::size_t>(side));
        const auto link = [&](int from, int to, int weight) {
            edges[static_cast<std::size_t>(from)].emplace_back(to, weight);
            edges[static_cast<std::size_t>(to)].emplace_back(from, weight);
        };
        const auto below = [&](int bound) { return static_cast<int>(rng.below(static_cast<std::uint32_t>(bound))); };
        for (int y = 0; y < side; ++y) {
            for (int x = 0; x < side; ++x) {
                const int at = y * side + x;
                if (x + 1 < side) link(at, at + 1, 1 + below(15));
                if (y + 1 < side) link(at, at + side, 1 + below(15));
                const bool hub = x % 32 == 16 && y % 32 == 16;
                const int links = hub ? 200 : below(16) == 0 ? 12 : 0;
                const int reach = hub ? 16 : 4;
                for (int i = 0; i < links; ++i) {
                    const int dx = below(2 * reach + 1) - reach, dy = below(2 * reach + 1) - reach;
                    const int to_x = std::clamp(x + dx, 0, side - 1), to_y = std::clamp(y + dy, 0, side - 1);
                    if (to_x == x && to_y == y) continue;
                    link(at, to_y * side + to_x, 8 * (std::abs(to_x - x) + std::abs(to_y - y)) + below(8));
                }
            }
        }
        for (const auto& list : edges) {
            offsets.push_back(static_cast<int>(targets.size()));
            for (const auto& [target, weight] : list) {
                targets.push_back(target);
                weights.push_back(weight);
            }
        }
        offsets.push_back(static_cast<int>(targets.size()));
    }
    std::size_t vertices() const { return offsets.size() - 1; }
};

class ShortestPaths final : public Problem {
public:
    ShortestPaths(Size size, std::uint64_t seed) : rounds_(by_size(size, 12, 500, 500)) {
        Rng rng(seed);
        const int side = by_size(size, 40, 512, 1024);
        graph_ = std::make_unique<Graph>(side, rng);
        sources_[0] = 0;
        sources_[1] = side * side / 2 + side / 2;
    }

    void run(Device& device) override {
        const auto offsets = device.upload(graph_->offsets), targets = device.upload(graph_->targets),
                   weights = device.upload(graph_->weights);
        Search searches[2] = {{device, *graph_, sources_[0]}, {device, *graph_, sources_[1]}};
        const auto sums = device.zeros<std::uint64_t>(2);
        for (int round = 0; round < rounds_; ++round) {
            for (Search& search : searches) search.round(device, offsets, targets, weights, sums);
        }
        for (int i = 0; i < 2; ++i) distances_[i] = device.download(searches[i].distances);
        sums_ = device.download(sums);
    }

    Verdict verify() const override {
        Verdict verdict;
        std::vector<std::uint64_t> sums(2);
        for (int i = 0; i < 2; ++i) verdict &= compare_exact("distance", distances_[i], reference(sources_[i], sums));
        return verdict &= compare_exact("sum", sums_, sums);
    }

private:
    /// One search, on the device.
    struct Search {
        Search(Device& device, const Graph& graph, int source) : vertices(static_cast<int>(graph.vertices())) {
            std::vector<int> far(graph.vertices(), kFar);
            far[static_cast<std::size_t>(source)] = 0;
            before = device.upload(far);
            distances = device.upload(far);
            frontier = device.upload(std::vector<int>(graph.vertices(), source));
            for (auto& list : lists) list = device.zeros<int>(graph.vertices());
            of_tile = device.zeros<int>(ceil_div(static_cast<std::uint32_t>(vertices), kThreads));
            count = device.upload(std::vector<int>{1});
            for (auto& each : counts) each = device.zeros<int>(1);
        }

        /// The host sizes its launches by what the round before has found.
        void round(Device& device, const DeviceArray<int>& offsets, const DeviceArray<int>& targets, const DeviceArray<int>& weights,
                   const DeviceArray<std::uint64_t>& sums) {
            const Dim3 block{kThreads, 1, 1}, grid{std::max(1u, ceil_div(static_cast<std::uint32_t>(length), kThreads)), 1, 1};
            device.launch(kModule, "watch", grid, block, frontier, count, offsets, distances, sums);
            for (int which = 0; which < kLists; ++which) {
                device.launch(kModule, "count_list", grid, block, frontier, count, offsets, of_tile, which);
                device.launch(kModule, "scan_tiles", {1, 1, 1}, block, of_tile, static_cast<int>(grid.x), counts[which]);
                device.launch(kModule, "fill_list", grid, block, frontier, count, offsets, of_tile, lists[which], which);
            }
            constexpr const char* kRelax[kLists] = {"relax_by_thread", "relax_by_warp", "relax_by_cta"};
            constexpr std::uint32_t kPerCta[kLists] = {kThreads, kThreads / 32, 1};
            for (int which = 0; which < kLists; ++which) {
                const auto many = static_cast<std::uint32_t>(device.download(counts[which])[0]);
                device.launch(kModule, kRelax[which], {std::max(1u, ceil_div(many, kPerCta[which])), 1, 1}, block, lists[which],
                              counts[which], offsets, targets, weights, before, distances);
            }
            const Dim3 all{ceil_div(static_cast<std::uint32_t>(vertices), kThreads), 1, 1};
            device.launch(kModule, "count_changed", all, block, before, distances, of_tile, vertices);
            device.launch(kModule, "scan_tiles", {1, 1, 1}, block, of_tile, static_cast<int>(all.x), count);
            device.launch(kModule, "fill_changed", all, block, before, distances, of_tile, frontier, vertices);
            length = device.download(count)[0];
            const Dim3 changed{std::max(1u, ceil_div(static_cast<std::uint32_t>(length), kThreads)), 1, 1};
            device.launch(kModule, "keep_distances", changed, block, frontier, count, distances, before);
        }

        int vertices, length = 1;
        DeviceArray<int> before, distances, frontier, lists[kLists], of_tile, count, counts[kLists];
    };

    /// The same rounds; adds to what `watch` has summed.
    std::vector<int> reference(int source, std::vector<std::uint64_t>& sums) const {
        std::vector<int> before(graph_->vertices(), kFar);
        before[static_cast<std::size_t>(source)] = 0;
        std::vector<int> distances = before, frontier = {source};
        for (int round = 0; round < rounds_; ++round) {
            std::vector<int> touched;
            for (const int vertex : frontier) {
                const auto v = static_cast<std::size_t>(vertex);
                sums[0] += static_cast<std::uint64_t>(before[v]);
                sums[1] += static_cast<std::uint64_t>(graph_->offsets[v + 1] - graph_->offsets[v]);
                for (auto edge = static_cast<std::size_t>(graph_->offsets[v]); edge < static_cast<std::size_t>(graph_->offsets[v + 1]);
                     ++edge) {
                    const auto target = static_cast<std::size_t>(graph_->targets[edge]);
                    if (before[v] + graph_->weights[edge] >= distances[target]) continue;
                    if (distances[target] == before[target]) touched.push_back(graph_->targets[edge]);
                    distances[target] = before[v] + graph_->weights[edge];
                }
            }
            for (const int vertex : touched) before[static_cast<std::size_t>(vertex)] = distances[static_cast<std::size_t>(vertex)];
            frontier = std::move(touched);
        }
        return distances;
    }

    static constexpr const char* kModule = "apps/shortest_paths";
    int rounds_;
    std::unique_ptr<Graph> graph_;
    int sources_[2] = {};
    std::vector<int> distances_[2];
    std::vector<std::uint64_t> sums_;
};

}  // namespace

}  // namespace shortest_paths

std::unique_ptr<Problem> make_shortest_paths(Size size, std::uint64_t seed) {
    return std::make_unique<shortest_paths::ShortestPaths>(size, seed);
}

}  // namespace mergelane::suite
