// SPDX-License-Identifier: MIT
#include "workload/ptx/flow.hpp"

#include <algorithm>
#include <queue>
#include <utility>

namespace mergelane::ptx {

namespace {

/// Nodes as depth-first numbers. Those from `linked` on are connected to their parents; best() shortens the paths it follows.
struct Forest {
    std::vector<std::uint32_t> parent, semi, label;
    std::vector<std::uint32_t> path;

    /// Of the connected nodes from `node` upwards, the one with the lowest semidominator.
    std::uint32_t best(std::uint32_t node, std::uint32_t linked) {
        for (; parent[node] >= linked; node = parent[node]) path.push_back(node);
        for (std::uint32_t above = node; !path.empty(); above = node) {
            node = path.back();
            path.pop_back();
            parent[node] = parent[above];
            if (semi[label[above]] < semi[label[node]]) label[node] = label[above];
        }
        return label[node];
    }
};

}  // namespace

std::vector<std::uint32_t> post_dominators(const FlowGraph& graph) {
    const auto count = static_cast<std::uint32_t>(graph.size());
    const std::uint32_t end = count;  // the function's end as a node of its own
    const auto node_of = [end](std::uint32_t next) { return next == kNoBlock ? end : next; };
    std::vector<std::vector<std::uint32_t>> before(count + 1);
    for (std::uint32_t b = 0; b < count; ++b) {
        for (const std::uint32_t next : graph[b]) before[node_of(next)].push_back(b);
    }
    // 1. Depth-first numbers in the reversed graph, from the end.
    Forest forest;
    std::vector<std::uint32_t> order, number(count + 1, kNoBlock);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> stack = {{end, 0}};  // nodes, and the numbers of those that led there
    while (!stack.empty()) {
        const auto [node, from] = stack.back();
        stack.pop_back();
        if (number[node] != kNoBlock) continue;
        number[node] = static_cast<std::uint32_t>(order.size());
        forest.parent.push_back(from);
        forest.semi.push_back(number[node]);
        order.push_back(node);
        for (const std::uint32_t previous : before[node]) stack.emplace_back(previous, number[node]);
    }
    forest.label = forest.semi;
    std::vector<std::uint32_t> dominator = forest.parent;
    // 2. Semidominators, from the last number on.
    for (auto k = static_cast<std::uint32_t>(order.size()); k-- > 1;) {
        forest.semi[k] = forest.parent[k];
        for (const std::uint32_t next : graph[order[k]]) {
            const std::uint32_t other = number[node_of(next)];
            if (other != kNoBlock) forest.semi[k] = std::min(forest.semi[k], forest.semi[forest.best(other, k + 1)]);
        }
    }
    // 3. The lowest common ancestor of parent and semidominator.
    std::vector<std::uint32_t> result(count, kNoBlock);
    for (std::uint32_t k = 1; k < order.size(); ++k) {
        while (dominator[k] > forest.semi[k]) dominator[k] = dominator[dominator[k]];
        if (order[dominator[k]] != end) result[order[k]] = order[dominator[k]];
    }
    return result;
}

namespace {

using Bits = std::vector<std::uint64_t>;
bool has(const Bits& bits, std::uint32_t index) {
    return (bits[index / 64] >> index % 64 & 1) != 0;
}
void set(Bits& bits, std::uint32_t index) {
    bits[index / 64] |= std::uint64_t{1} << index % 64;
}
void clear(Bits& bits, std::uint32_t index) {
    bits[index / 64] &= ~(std::uint64_t{1} << index % 64);
}

/// Registers alive at the first and behind the last instruction of each block.
struct Alive {
    std::vector<Bits> in, out;
};

Alive alive_around(const FlowGraph& graph, const std::vector<FlowBlock>& blocks, const std::vector<Touches>& code, std::size_t registers) {
    const std::size_t size = registers / 64 + 1;
    std::vector<Bits> gen(blocks.size(), Bits(size)), kill = gen;
    Alive alive{gen, gen};
    for (std::size_t b = 0; b < blocks.size(); ++b) {
        for (std::uint32_t i = blocks[b].first; i < blocks[b].end; ++i) {
            for (const std::uint32_t r : code[i].reads) {
                if (!has(kill[b], r)) set(gen[b], r);
            }
            for (const std::uint32_t r : code[i].writes) set(kill[b], r);
        }
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t b = blocks.size(); b-- > 0;) {
            for (const std::uint32_t next : graph[b]) {
                if (next == kNoBlock) continue;
                for (std::size_t w = 0; w < size; ++w) alive.out[b][w] |= alive.in[next][w];
            }
            for (std::size_t w = 0; w < size; ++w) {
                const std::uint64_t fresh = gen[b][w] | (alive.out[b][w] & ~kill[b][w]);
                changed = changed || fresh != alive.in[b][w];
                alive.in[b][w] = fresh;
            }
        }
    }
    return alive;
}

/// From where to where a group of registers lives when the code is read from top to bottom.
struct Interval {
    std::uint32_t from = kNoBlock, to = 0;
    void reach(std::uint32_t at) {
        from = std::min(from, at);
        to = std::max(to, at);
    }
};

/// One name per interval, in the order of birth; a name is free again after its owner's last use. Counts the names.
std::vector<std::uint32_t> name_intervals(const std::vector<Interval>& interval, std::uint32_t& names) {
    std::vector<std::uint32_t> by_birth;
    for (std::uint32_t r = 0; r < interval.size(); ++r) {
        if (interval[r].from != kNoBlock) by_birth.push_back(r);
    }
    std::stable_sort(by_birth.begin(), by_birth.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return interval[a].from < interval[b].from; });
    std::priority_queue<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::pair<std::uint32_t, std::uint32_t>>, std::greater<>>
        dying;
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> free;
    std::vector<std::uint32_t> name(interval.size(), kNoBlock);
    for (const std::uint32_t r : by_birth) {
        while (!dying.empty() && dying.top().first < interval[r].from) {
            free.push(dying.top().second);
            dying.pop();
        }
        if (free.empty()) free.push(names++);
        name[r] = free.top();
        free.pop();
        dying.emplace(interval[r].to, name[r]);
    }
    return name;
}

}  // namespace

Lifetimes lifetimes(const FlowGraph& graph, const std::vector<FlowBlock>& blocks, const std::vector<Touches>& code,
                    const std::vector<std::uint8_t>& words, const std::vector<std::uint32_t>& group) {
    const auto registers = static_cast<std::uint32_t>(words.size());
    const Alive alive = alive_around(graph, blocks, code, registers);
    Lifetimes result;
    std::vector<Interval> interval(registers);
    for (std::size_t b = 0; b < blocks.size(); ++b) {
        Bits live = alive.out[b];
        std::uint32_t sum = 0;  // words alive at the same time
        for (std::uint32_t r = 0; r < registers; ++r) {
            if (has(live, r)) {
                sum += words[r];
                interval[group[r]].reach(blocks[b].end);
            }
            if (has(alive.in[b], r)) interval[group[r]].reach(blocks[b].first);
        }
        for (std::uint32_t i = blocks[b].end; i-- > blocks[b].first;) {
            for (const std::uint32_t r : code[i].writes) {
                interval[group[r]].reach(i);
                if (has(live, r)) {
                    clear(live, r);
                    sum -= words[r];
                } else {
                    result.most_words = std::max(result.most_words, sum + words[r]);
                }
            }
            for (const std::uint32_t r : code[i].reads) {
                interval[group[r]].reach(i);
                if (has(live, r)) continue;
                set(live, r);
                sum += words[r];
            }
            result.most_words = std::max(result.most_words, sum);
        }
    }
    const std::vector<std::uint32_t> name = name_intervals(interval, result.names);
    result.name.resize(registers);
    for (std::uint32_t r = 0; r < registers; ++r) result.name[r] = name[group[r]];
    return result;
}

}  // namespace mergelane::ptx
