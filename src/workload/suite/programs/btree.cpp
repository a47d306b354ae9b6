// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <limits>

#include "workload/suite/problem.hpp"

namespace mergelane::suite {

namespace {

constexpr int kOrder = 256;
constexpr int kFill = 128;  ///< entries used per node, as after splits
constexpr int kLowest = std::numeric_limits<int>::min();
constexpr int kHighest = std::numeric_limits<int>::max();

/// As in the kernel.
struct Node {
    int location = 0;
    std::array<int, kOrder + 1> indices{};
    std::array<int, kOrder + 1> keys{};
    int is_leaf = 0;
    int key_count = 0;
};

class BTree final : public Problem {
public:
    BTree(Size size, std::uint64_t seed) {
        Rng rng(seed);
        const int keys = by_size(size, 3000, 1000000, 4000000);
        // Distinct ascending keys with gaps.
        for (int i = 0; i < keys; ++i) {
            keys_.push_back(7 * i + static_cast<int>(rng.below(7)));
            records_.push_back(static_cast<int>(rng.below(1u << 30)));
        }
        build();
        const std::uint32_t queries = by_size(size, 40u, 10000u, 40000u);
        for (std::uint32_t i = 0; i < queries; ++i) {
            // One query in eight is for a key that may not be there.
            const bool stored = rng.below(8) != 0;
            queries_.push_back(stored ? keys_[rng.below(static_cast<std::uint32_t>(keys))] : static_cast<int>(rng.below(7u * keys)));
        }
        const std::uint32_t ranges = by_size(size, 24u, 6000u, 24000u);
        for (std::uint32_t i = 0; i < ranges; ++i) {
            const std::uint32_t first = rng.below(static_cast<std::uint32_t>(keys) - 1000);
            starts_.push_back(static_cast<int>(first));
            lengths_.push_back(static_cast<int>(1 + rng.below(1000)));
            first_keys_.push_back(keys_[first]);
            last_keys_.push_back(keys_[first + static_cast<std::uint32_t>(lengths_.back()) - 1]);
        }
    }

    void run(Device& device) override {
        const auto nodes = device.upload(nodes_);
        const auto records = device.upload(records_);
        const Dim3 block{kOrder, 1, 1};
        {
            const auto queries = device.upload(queries_);
            const auto current = device.zeros<int>(queries_.size());
            const auto next = device.zeros<int>(queries_.size());
            const auto answers = device.alloc<int>(queries_.size());
            device.fill(answers, 0xFF);
            device.launch("rodinia/btree", "find_k", {static_cast<std::uint32_t>(queries_.size()), 1, 1}, block, nodes, records, height_,
                          queries, current, next, answers);
            answers_ = device.download(answers);
        }
        const std::size_t ranges = first_keys_.size();
        const auto first_keys = device.upload(first_keys_);
        const auto last_keys = device.upload(last_keys_);
        const auto current_first = device.zeros<int>(ranges);
        const auto current_last = device.zeros<int>(ranges);
        const auto next_first = device.zeros<int>(ranges);
        const auto next_last = device.zeros<int>(ranges);
        const auto starts = device.zeros<int>(ranges);
        const auto lengths = device.zeros<int>(ranges);
        device.launch("rodinia/btree", "find_range_k", {static_cast<std::uint32_t>(ranges), 1, 1}, block, nodes, height_, first_keys,
                      last_keys, current_first, current_last, next_first, next_last, starts, lengths);
        found_starts_ = device.download(starts);
        found_lengths_ = device.download(lengths);
    }

    Verdict verify() const override {
        std::vector<int> want;
        for (const int query : queries_) {
            const auto at = std::lower_bound(keys_.begin(), keys_.end(), query);
            const bool stored = at != keys_.end() && *at == query;
            want.push_back(stored ? records_[static_cast<std::size_t>(at - keys_.begin())] : -1);
        }
        Verdict verdict = compare_exact("answer", answers_, want);
        verdict &= compare_exact("start", found_starts_, starts_);
        return verdict &= compare_exact("length", found_lengths_, lengths_);
    }

private:
    /// Level by level from the leaves; the root comes first in memory, where every query starts.
    void build() {
        struct Entry {
            int key, index;
        };
        std::vector<Entry> entries;
        for (std::size_t i = 0; i < keys_.size(); ++i) entries.push_back({keys_[i], static_cast<int>(i)});
        std::vector<std::vector<Node>> levels;
        for (bool leaves = true; leaves || entries.size() > 1; leaves = false) {
            std::vector<Node> level;
            std::vector<Entry> parents;
            for (std::size_t first = 0; first < entries.size(); first += kFill) {
                Node node;
                node.keys.fill(kHighest);
                node.is_leaf = leaves;
                node.key_count = static_cast<int>(std::min<std::size_t>(kFill, entries.size() - first));
                for (int i = 0; i < node.key_count; ++i) {
                    node.keys[i] = entries[first + i].key;
                    node.indices[i] = entries[first + i].index;
                }
                // Smaller keys than any stored go to the first child.
                if (!leaves && first == 0) node.keys[0] = kLowest;
                parents.push_back({entries[first].key, static_cast<int>(level.size())});
                level.push_back(node);
            }
            levels.push_back(std::move(level));
            entries = std::move(parents);
        }
        height_ = static_cast<int>(levels.size()) - 1;
        for (std::size_t depth = 0; depth < levels.size(); ++depth) {
            std::vector<Node>& level = levels[levels.size() - 1 - depth];
            const int children = static_cast<int>(nodes_.size() + level.size());
            for (Node& node : level) {
                if (node.is_leaf == 0)
                    for (int i = 0; i < node.key_count; ++i) node.indices[i] += children;
                node.location = static_cast<int>(nodes_.size());
                nodes_.push_back(node);
            }
        }
    }

    std::vector<int> keys_, records_, queries_, first_keys_, last_keys_, starts_, lengths_;
    std::vector<Node> nodes_;
    int height_ = 0;  ///< levels above the leaves
    std::vector<int> answers_, found_starts_, found_lengths_;
};

}  // namespace

std::unique_ptr<Problem> make_btree(Size size, std::uint64_t seed) {
    return std::make_unique<BTree>(size, seed);
}

}  // namespace mergelane::suite
