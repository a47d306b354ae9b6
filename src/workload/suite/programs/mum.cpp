// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>

#include "workload/suite/problem.hpp"

namespace mergelane::suite {

namespace {

/// Texts of bases 0 to 3.
class SuffixTree {
public:
    struct Node {
        std::array<std::int32_t, 4> child{-1, -1, -1, -1};
        std::int32_t begin = 0, end = 0;
        std::array<std::int32_t, 2> unused{};
    };

    /// Level by level, so that upper nodes lie together.
    explicit SuffixTree(const std::string& text) {
        std::vector<std::uint32_t> sorted(text.size());
        for (std::uint32_t i = 0; i < sorted.size(); ++i) sorted[i] = i;
        const std::string_view all = text;
        std::sort(sorted.begin(), sorted.end(), [&](std::uint32_t a, std::uint32_t b) { return all.substr(a) < all.substr(b); });
        const auto length = static_cast<std::int32_t>(text.size());
        nodes.emplace_back();
        ranges_.push_back({0, sorted.size(), 0});
        for (std::size_t parent = 0; parent < nodes.size(); ++parent) {
            const auto [from, to, depth] = ranges_[parent];
            // A suffix that ends here is the first of its range and leads nowhere.
            for (std::size_t at = from + (sorted[from] + depth == text.size() ? 1 : 0); at < to;) {
                const char base = text[sorted[at] + depth];
                std::size_t next = at;
                while (next < to && text[sorted[next] + depth] == base) ++next;
                std::size_t below = depth;  // to where first and last, and so all of them, agree
                const std::uint32_t first = sorted[at], last = sorted[next - 1];
                while (std::max(first, last) + below < text.size() && text[first + below] == text[last + below]) ++below;
                const auto begin = static_cast<std::int32_t>(first + depth);
                const std::int32_t end = next - at == 1 ? length : static_cast<std::int32_t>(first + below);
                nodes[parent].child[static_cast<std::size_t>(base)] = static_cast<std::int32_t>(nodes.size());
                nodes.push_back({{-1, -1, -1, -1}, begin, end, {}});
                if (next - at == 1)
                    ranges_.push_back({at, at, 0});
                else
                    ranges_.push_back({at, next, below});
                at = next;
            }
        }
    }

    std::vector<Node> nodes;

private:
    struct Range {
        std::size_t from = 0, to = 0;  ///< of sorted suffixes
        std::size_t depth = 0;         ///< bases they have in common
    };
    std::vector<Range> ranges_;  ///< per node
};

class Mummer final : public Problem {
public:
    Mummer(Size size, std::uint64_t seed)
        : reference_(by_size<std::size_t>(size, 2000, 262144, 1048576), 0), count_(by_size(size, 150, 50000, 200000)) {
        Rng rng(seed);
        for (char& base : reference_) base = static_cast<char>(rng.below(4));
        for (int i = 0; i < count_; ++i) {
            const std::uint32_t from = rng.below(static_cast<std::uint32_t>(reference_.size() - kLength));
            std::string query = reference_.substr(from, kLength);
            for (char& base : query) {
                if (rng.below(24) == 0) base = static_cast<char>(rng.below(4));
            }
            queries_.push_back(query);
        }
    }
    void run(Device& device) override {
        std::string padded;
        for (const std::string& query : queries_) padded += query + std::string(kPadded - kLength, 0);
        const auto nodes = device.upload(SuffixTree(reference_).nodes);
        const auto reference = device.upload(words_of(reference_));
        const auto queries = device.upload(words_of(padded));
        const auto match = device.alloc<std::int32_t>(2 * queries_.size());
        device.launch("gpgpusim/mum", "mum_match", {ceil_div(static_cast<std::uint32_t>(count_), 64), 1, 1}, {64, 1, 1}, nodes, reference,
                      queries, match, count_);
        match_ = device.download(match);
    }
    Verdict verify() const override {
        const std::string_view all = reference_;
        std::vector<std::string_view> sorted;
        for (std::size_t at = 0; at < all.size(); ++at) sorted.push_back(all.substr(at, kLength));
        std::sort(sorted.begin(), sorted.end());
        std::vector<std::int32_t> got, want, right(queries_.size(), 1), found;
        for (std::size_t i = 0; i < queries_.size(); ++i) {
            const auto place = std::lower_bound(sorted.begin(), sorted.end(), std::string_view(queries_[i]));
            std::int32_t longest = place == sorted.end() ? 0 : common(*place, queries_[i]);
            if (place != sorted.begin()) longest = std::max(longest, common(*(place - 1), queries_[i]));
            want.push_back(longest);
            const std::int32_t length = match_[2 * i], at = match_[2 * i + 1];
            got.push_back(length);
            const bool inside = at >= 0 && static_cast<std::size_t>(at) <= all.size();
            found.push_back(inside && common(all.substr(static_cast<std::size_t>(at)), queries_[i]) >= length ? 1 : 0);
        }
        Verdict verdict = compare_exact("length", got, want);
        verdict &= compare_exact("matches where it says", found, right);
        return verdict;
    }

private:
    static constexpr std::size_t kLength = 25, kPadded = 28;

    static std::vector<std::uint32_t> words_of(std::string bytes) {
        bytes.resize((bytes.size() + 3) / 4 * 4 + 4);
        std::vector<std::uint32_t> words;
        for (std::size_t i = 0; i < bytes.size(); i += 4) {
            std::uint32_t word = 0;
            for (std::size_t k = 4; k-- > 0;) word = word << 8 | static_cast<std::uint8_t>(bytes[i + k]);
            words.push_back(word);
        }
        return words;
    }
    static std::int32_t common(std::string_view a, std::string_view b) {
        const std::size_t length = std::min(a.size(), b.size());
        return static_cast<std::int32_t>(std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(length), b.begin()).first -
                                         a.begin());
    }

    std::string reference_;
    int count_;
    std::vector<std::string> queries_;
    std::vector<std::int32_t> match_;  ///< length and place of each
};

}  // namespace

std::unique_ptr<Problem> make_mum(Size size, std::uint64_t seed) {
    return std::make_unique<Mummer>(size, seed);
}

}  // namespace mergelane::suite
