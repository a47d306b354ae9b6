// SPDX-License-Identifier: MIT
#include "advise/cta_graph.hpp"

#include <metis.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "dispatch/task_mapping.hpp"

namespace mergelane {

namespace {

constexpr std::size_t kPartners = 4;     ///< edges that a CTA gets for one line: to its most recent accessors
constexpr double kMostWeight = 1 << 29;  ///< of all edges; METIS sums them in 32 bits
constexpr std::uint32_t kNobody = ~std::uint32_t{0};

/// Adjacency lists in METIS format.
struct Adjacency {
    std::vector<idx_t> begin, to, weight;
};

Adjacency adjacency(std::uint64_t ctas, const std::unordered_map<std::uint64_t, std::uint32_t>& edges) {
    // The map's iteration order depends on the standard library.
    std::vector<std::pair<std::uint64_t, std::uint32_t>> sorted(edges.begin(), edges.end());
    std::sort(sorted.begin(), sorted.end());
    double total = 0;
    for (const auto& [pair, lines] : sorted) total += lines;
    const double scale = std::min(1.0, kMostWeight / total);
    Adjacency graph;
    graph.begin.assign(ctas + 1, 0);
    for (const auto& [pair, lines] : sorted) {
        ++graph.begin[(pair >> 32) + 1];
        ++graph.begin[(pair & 0xffffffff) + 1];
    }
    std::partial_sum(graph.begin.begin(), graph.begin.end(), graph.begin.begin());
    graph.to.resize(2 * sorted.size());
    graph.weight.resize(2 * sorted.size());
    std::vector<idx_t> next(graph.begin.begin(), graph.begin.end() - 1);
    for (const auto& [pair, lines] : sorted) {
        const auto weight = std::max(idx_t{1}, static_cast<idx_t>(lines * scale));
        const std::array<std::uint64_t, 2> ends = {pair >> 32, pair & 0xffffffff};
        for (const std::size_t end : {0, 1}) {
            const auto at = static_cast<std::size_t>(next[ends[end]]++);
            graph.to[at] = static_cast<idx_t>(ends[1 - end]);
            graph.weight[at] = weight;
        }
    }
    return graph;
}

/// Adjusts parts to exactly the cluster sizes: largest first, with the excess moved to parts that are too small.
std::vector<std::uint64_t> evened(const std::vector<idx_t>& part_of, std::uint32_t parts) {
    std::vector<std::vector<std::uint64_t>> lists(parts);
    for (std::size_t cta = 0; cta < part_of.size(); ++cta) lists[static_cast<std::size_t>(part_of[cta])].push_back(cta);
    std::stable_sort(lists.begin(), lists.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
    const TaskClusters clusters(part_of.size(), parts);
    std::vector<std::uint64_t> left_over;
    for (std::uint32_t part = 0; part < parts; ++part) {
        for (; lists[part].size() > clusters.size(part); lists[part].pop_back()) left_over.push_back(lists[part].back());
    }
    std::vector<std::uint64_t> order;
    for (std::uint32_t part = 0; part < parts; ++part) {
        for (; lists[part].size() < clusters.size(part); left_over.pop_back()) lists[part].push_back(left_over.back());
        std::sort(lists[part].begin(), lists[part].end());
        order.insert(order.end(), lists[part].begin(), lists[part].end());
    }
    return order;
}

}  // namespace

void CtaGraph::give_up() {
    useless_ = true;
    edges_.clear();
}

void CtaGraph::join(std::uint32_t a, std::uint32_t b) {
    ++edges_[std::uint64_t{std::min(a, b)} << 32 | std::max(a, b)];
}

void CtaGraph::add(const AccessLog& log) {
    if (useless_) return;
    if (ctas_ == 0) ctas_ = log.ctas();
    if (ctas_ != log.ctas() || ctas_ > kMostCtas) return give_up();
    // Connecting all CTAs that touch a line would be quadratic; a chain with a few shortcuts holds together as well.
    struct Touchers {
        std::array<std::uint32_t, kPartners> last;
        std::uint32_t next = 0;
        Touchers() { last.fill(kNobody); }
    };
    std::unordered_map<Addr, Touchers> lines;
    for (std::uint32_t cta = 0; cta < ctas_; ++cta) {
        for (const AccessLog::Entry& entry : log.of(cta)) {
            Touchers& line = lines[entry.line()];
            if (line.last[(line.next + kPartners - 1) % kPartners] == cta) continue;
            for (const std::uint32_t other : line.last) {
                if (other != kNobody) join(other, cta);
            }
            line.last[line.next] = cta;
            line.next = (line.next + 1) % kPartners;
        }
        if (edges_.size() > kMostEdges) return give_up();
    }
}

CtaGraph::Parts CtaGraph::split(std::uint32_t parts) const {
    if (edges_.empty() || parts < 2 || ctas_ < 2 * std::uint64_t{parts}) return {};
    Adjacency graph = adjacency(ctas_, edges_);
    auto vertices = static_cast<idx_t>(ctas_), constraints = idx_t{1}, pieces = static_cast<idx_t>(parts), cut = idx_t{0};
    std::array<idx_t, METIS_NOPTIONS> options{};
    METIS_SetDefaultOptions(options.data());
    options[METIS_OPTION_SEED] = 1;
    std::vector<idx_t> part_of(ctas_);
    const int code = METIS_PartGraphKway(&vertices, &constraints, graph.begin.data(), graph.to.data(), nullptr, nullptr,
                                         graph.weight.data(), &pieces, nullptr, nullptr, options.data(), &cut, part_of.data());
    if (code != METIS_OK) return {};
    Parts result;
    result.order = evened(part_of, parts);
    result.cut = cut_of(result.order, parts);
    return result;
}

double CtaGraph::cut_of(const std::vector<std::uint64_t>& order, std::uint32_t parts) const {
    const TaskClusters clusters(ctas_, parts);
    std::vector<std::uint32_t> part_of(ctas_);
    for (std::uint64_t place = 0; place < order.size(); ++place) part_of[order[place]] = clusters.of(place).cluster;
    double all = 0, between = 0;
    for (const auto& [pair, lines] : edges_) {
        all += lines;
        if (part_of[pair >> 32] != part_of[pair & 0xffffffff]) between += lines;
    }
    return all == 0 ? 0 : between / all;
}

}  // namespace mergelane
