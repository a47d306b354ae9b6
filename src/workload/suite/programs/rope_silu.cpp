// SPDX-License-Identifier: MIT
#include "workload/suite/llm.hpp"

namespace mergelane::suite {

namespace {

class RopeSilu final : public Problem {
public:
    RopeSilu(Size size, std::uint64_t seed)
        : tokens_(by_size(size, 13, 1024, 4096)),
          heads_(by_size(size, 3, llm::kHeads, llm::kHeads)),
          groups_(by_size(size, 1, llm::kGroups, llm::kGroups)),
          columns_(by_size(size, 200, llm::kFeedForward, llm::kFeedForward)) {
        Rng rng(seed);
        const std::size_t tokens = llm::unsigned_of(tokens_);
        for (int t = 0; t < tokens_; ++t) positions_.push_back(static_cast<int>(rng.below(kPositions)));
        queries_ = llm::random_values(llm::Format::f16, rng, tokens * heads_ * llm::kHead, 4.0f);
        keys_ = llm::random_values(llm::Format::f16, rng, tokens * groups_ * llm::kHead, 4.0f);
        gates_ = llm::random_values(llm::Format::f16, rng, tokens * 2 * columns_, 4.0f);
        angles_ = angle_table();
    }
    void run(Device& device) override {
        const auto queries = device.upload(queries_);
        const auto keys = device.upload(keys_);
        const auto gates = device.upload(gates_);
        const auto positions = device.upload(positions_);
        const auto angles = device.upload(angles_);
        const auto results = device.zeros<std::uint16_t>(gates_.size() / 2);
        const auto rope = [&](const DeviceArray<std::uint16_t>& heads, int per_token) {
            const int total = tokens_ * per_token;
            device.launch("llm/rope_silu", "rope_f16", {ceil_div(llm::unsigned_of(total) * 8, 256), 1, 1}, {256, 1, 1}, heads, positions,
                          angles, per_token, total);
            return device.download(heads);
        };
        new_queries_ = rope(queries, heads_);
        new_keys_ = rope(keys, groups_);
        const int vectors = columns_ / 8, total = tokens_ * vectors;
        device.launch("llm/rope_silu", "silu_mul_f16", {ceil_div(llm::unsigned_of(total), 256), 1, 1}, {256, 1, 1}, gates, results, vectors,
                      total);
        result_ = device.download(results);
    }
    /// Rotations are rounded to 11 bits once, the gate's products twice.
    Verdict verify() const override {
        Verdict verdict = compare("query", floats(new_queries_), rotated(queries_, heads_), 0x1p-10, 1e-5);
        verdict &= compare("key", floats(new_keys_), rotated(keys_, groups_), 0x1p-10, 1e-5);
        const std::vector<float> from = floats(gates_);
        std::vector<double> want;
        for (std::size_t i = 0; i < result_.size(); ++i) {
            const std::size_t columns = llm::unsigned_of(columns_), at = i / columns * 2 * columns + i % columns;
            want.push_back(from[at] / (1 + std::exp(-static_cast<double>(from[at]))) * from[at + columns]);
        }
        return verdict &= compare("gated value", floats(result_), want, 0x1p-9, 1e-6);
    }

private:
    static std::vector<float> floats(const std::vector<std::uint16_t>& bits) { return llm::to_floats(llm::Format::f16, bits); }

    /// Cosine and sine of position * 10000^(-i/64), by additions and products only, so that every host has the same.
    static std::vector<float> angle_table() {
        std::vector<float> table(std::size_t{kPositions} * llm::kHead);
        double angle = 1;
        for (std::size_t i = 0; i < llm::kHead / 2; ++i, angle *= kRatio) {
            double cosine = 1, sine = 0, term = 1;
            for (int n = 1; n < 24; ++n) {
                term *= angle / n;
                (n % 2 == 1 ? sine : cosine) += n / 2 % 2 == 0 ? term : -term;
            }
            double x = 1, y = 0;
            for (std::size_t position = 0; position < kPositions; ++position) {
                table[(position * (llm::kHead / 2) + i) * 2] = static_cast<float>(x);
                table[(position * (llm::kHead / 2) + i) * 2 + 1] = static_cast<float>(y);
                const double next = x * cosine - y * sine;
                y = x * sine + y * cosine;
                x = next;
            }
        }
        return table;
    }
    std::vector<double> rotated(const std::vector<std::uint16_t>& bits, int heads) const {
        const std::vector<float> from = floats(bits);
        std::vector<double> to(from.size());
        for (std::size_t i = 0; i < from.size(); ++i) {
            const std::size_t head = i / llm::kHead, dimension = i % llm::kHead, pair = dimension % (llm::kHead / 2);
            const int position = positions_[head / llm::unsigned_of(heads)];
            const double angle = position * std::pow(10000.0, -static_cast<double>(pair) / (llm::kHead / 2));
            const double x = from[head * llm::kHead + pair], y = from[head * llm::kHead + pair + llm::kHead / 2];
            to[i] = dimension == pair ? x * std::cos(angle) - y * std::sin(angle) : y * std::cos(angle) + x * std::sin(angle);
        }
        return to;
    }

    static constexpr std::uint32_t kPositions = 2048;
    static constexpr double kRatio = 0.86596432336006535;  ///< 10000^(-1/64)
    int tokens_, heads_, groups_, columns_;
    std::vector<int> positions_;
    std::vector<float> angles_;
    std::vector<std::uint16_t> queries_, keys_, gates_, new_queries_, new_keys_, result_;
};

}  // namespace

std::unique_ptr<Problem> make_rope_silu(Size size, std::uint64_t seed) {
    return std::make_unique<RopeSilu>(size, seed);
}

}  // namespace mergelane::suite
