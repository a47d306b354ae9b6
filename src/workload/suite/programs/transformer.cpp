// SPDX-License-Identifier: MIT
// A language model from prompt to answer: every layer of a forward pass over the prompt, then token by token with a cache of keys and
// values.
#include <array>
#include <numeric>

#include "workload/suite/llm.hpp"

namespace mergelane::suite {

namespace transformer {

namespace {

using llm::Format;
using llm::unsigned_of;

/// Sizes of the model; a head has llm::kHead dimensions.
struct Shape {
    int layers, hidden, heads, groups, feed_forward, vocabulary, prompt, answer;
    int kept() const { return groups * llm::kHead; }  ///< keys, or values, of a token
    int tokens() const { return prompt + answer; }
};
constexpr Shape kTiny = {2, 256, 2, 1, 320, 500, 40, 3};
constexpr Shape kFull = {32, 2048, 16, 4, 5632, 32000, 512, 256};

using Halves = std::vector<std::uint16_t>;

/// Multiples of 2^-12 in [-1/32, 1/32): products with 2048 normalised values are about 0.8.
Halves small_weights(Rng& rng, std::size_t count) {
    std::array<std::uint16_t, 256> table;
    for (int i = 0; i < 256; ++i) table[unsigned_of(i)] = llm::from_fixed(Format::f16, i - 128, 12);
    Halves values(count);
    for (std::size_t i = 0; i < count; i += 8) {
        std::uint64_t bits = rng.next();
        for (std::size_t k = i; k < std::min(i + 8, count); ++k, bits >>= 8) values[k] = table[bits & 255];
    }
    return values;
}

/// The weights of a layer, made anew wherever they are needed: all of them together take gigabytes.
struct Layer {
    Halves first_norm, first_bias, queries_keys_values, output, second_norm, second_bias, gate_up, down;

    Layer(const Shape& shape, std::uint64_t seed, int index) {
        Rng rng(mix64(seed) + (std::uint64_t{unsigned_of(index)} + 1) * 0x100000000);  // far from the other layers
        const std::size_t hidden = unsigned_of(shape.hidden), wide = unsigned_of(shape.feed_forward);
        first_norm = llm::random_values(Format::f16, rng, hidden);
        first_bias = llm::random_values(Format::f16, rng, hidden, 0.25f);
        queries_keys_values = small_weights(rng, (hidden + 2 * unsigned_of(shape.kept())) * hidden);
        output = small_weights(rng, hidden * hidden);
        second_norm = llm::random_values(Format::f16, rng, hidden);
        second_bias = llm::random_values(Format::f16, rng, hidden, 0.25f);
        gate_up = small_weights(rng, 2 * wide * hidden);
        down = small_weights(rng, hidden * wide);
    }
};

/// Rows of a table of cosines and sines: position x 64 pairs.
std::vector<float> rotations(int positions) {
    std::vector<float> angles;
    for (int position = 0; position < positions; ++position) {
        for (int i = 0; i < llm::kHead / 2; ++i) {
            // Sixteenths of a turn per token, halved every eight dimensions: exact on every host up to the cosine's rounding to 2^-14.
            const double angle = position * 0.39269908169872414 / std::exp2(i / 8.0);
            for (const double value : {std::cos(angle), std::sin(angle)})
                angles.push_back(static_cast<float>(std::round(value * 16384) / 16384));
        }
    }
    return angles;
}

/// The same computation for one token, in double precision with the roundings of the kernels between them.
class Reference {
public:
    Reference(const Shape& shape, std::vector<float> angles) : shape_(shape), angles_(std::move(angles)) {}

    static std::vector<double> normalised(const std::vector<double>& row, const Halves& weights, const Halves& bias) {
        const double count = static_cast<double>(row.size());
        const double mean = std::accumulate(row.begin(), row.end(), 0.0) / count;
        double squares = 0;
        for (const double x : row) squares += (x - mean) * (x - mean);
        std::vector<double> values;
        for (std::size_t i = 0; i < row.size(); ++i)
            values.push_back(
                llm::rounded_to_f16((row[i] - mean) / std::sqrt(squares / count + 1e-5) * llm::to_float(Format::f16, weights[i]) +
                                    llm::to_float(Format::f16, bias[i])));
        return values;
    }
    static std::vector<double> product(const std::vector<float>& weights, const std::vector<double>& values) {
        const std::vector<float> with(values.begin(), values.end());
        std::vector<double> results;
        for (std::size_t row = 0; row < weights.size(); row += with.size())
            results.push_back(llm::dot(&weights[row], with.data(), static_cast<int>(with.size())));
        return results;
    }
    static void round_all(std::vector<double>& values) {
        for (double& value : values) value = llm::rounded_to_f16(value);
    }
    void rotate(double* head, int position) const {
        for (int i = 0; i < llm::kHead / 2; ++i) {
            const float* turn = &angles_[unsigned_of(position * llm::kHead + 2 * i)];
            const double x = head[i], y = head[i + llm::kHead / 2];
            head[i] = llm::rounded_to_f16(x * turn[0] - y * turn[1]);
            head[i + llm::kHead / 2] = llm::rounded_to_f16(y * turn[0] + x * turn[1]);
        }
    }
    /// Attention of the token at `position` to the keys and values before it and its own; both have a row per token.
    std::vector<double> attended(const std::vector<double>& queries, const std::vector<float>& keys, const std::vector<float>& values,
                                 int position) const {
        std::vector<double> results;
        for (int head = 0; head < shape_.heads; ++head) {
            const int group = head / (shape_.heads / shape_.groups);
            const std::vector<float> query(&queries[unsigned_of(head * llm::kHead)], &queries[unsigned_of(head * llm::kHead)] + llm::kHead);
            double total = 0, sum[llm::kHead] = {};
            for (int token = 0; token <= position; ++token) {
                const std::size_t at = unsigned_of(token * shape_.kept() + group * llm::kHead);
                const double weight = std::exp(0.08838834764831845 * llm::dot(query.data(), &keys[at], llm::kHead));
                total += weight;
                for (int i = 0; i < llm::kHead; ++i) sum[i] += weight * values[at + unsigned_of(i)];
            }
            for (const double each : sum) results.push_back(llm::rounded_to_f16(each / total));
        }
        return results;
    }

private:
    const Shape shape_;
    std::vector<float> angles_;
};

class Transformer final : public Problem {
public:
    Transformer(Size size, std::uint64_t seed)
        : shape_(by_size(size, kTiny, kFull, kFull)), seed_(seed), angles_(rotations(shape_.tokens())) {
        Rng rng(mix64(seed));
        const std::size_t hidden = unsigned_of(shape_.hidden);
        embedding_ = llm::random_values(Format::f16, rng, unsigned_of(shape_.vocabulary) * hidden);
        last_norm_ = llm::random_values(Format::f16, rng, hidden);
        last_bias_ = llm::random_values(Format::f16, rng, hidden, 0.25f);
        vocabulary_ = small_weights(rng, unsigned_of(shape_.vocabulary) * hidden);
        for (int i = 0; i < shape_.prompt; ++i) prompt_.push_back(static_cast<int>(rng.below(unsigned_of(shape_.vocabulary))));
        draws_ = random_floats(rng, unsigned_of(shape_.answer));
        pages_.resize(ceil_div(unsigned_of(shape_.tokens()), kPage));
        std::iota(pages_.begin(), pages_.end(), 0);
        for (std::size_t i = pages_.size() - 1; i > 0; --i) std::swap(pages_[i], pages_[rng.below(static_cast<std::uint32_t>(i + 1))]);
    }

    void run(Device& device) override {
        upload(device);
        prefill(device);
        for (int token = 0; token < shape_.answer; ++token) decode(device, token);
        logits_ = device.download(on_.logits);
        answer_ = device.download(on_.answer);
        for (const OnDevice::Weights& layer : on_.layers) {
            keys_.push_back(in_order(device.download(layer.keys)));
            values_.push_back(in_order(device.download(layer.values)));
        }
    }

    /// Follows three tokens through all layers: keys and values that the device has kept, and the last logits. Earlier keys and values are
    /// the device's, so that each layer is judged by what it was given.
    Verdict verify() const override {
        const Reference reference(shape_, angles_);
        const std::vector<int> positions = {shape_.prompt / 3, shape_.prompt - 1, shape_.tokens() - 1};
        std::vector<std::vector<double>> states;
        for (const int position : positions) {
            const int token = position < shape_.prompt ? prompt_[unsigned_of(position)] : answer_[unsigned_of(position - shape_.prompt)];
            const auto first = embedding_.begin() + static_cast<std::ptrdiff_t>(token) * shape_.hidden;
            const std::vector<float> row = llm::to_floats(Format::f16, Halves(first, first + shape_.hidden));
            states.emplace_back(row.begin(), row.end());
        }
        Verdict verdict;
        for (int index = 0; index < shape_.layers; ++index) verdict &= check_layer(reference, index, positions, states);
        const std::vector<double> last = Reference::normalised(states.back(), last_norm_, last_bias_);
        return verdict &=
               compare("logit", logits_, Reference::product(llm::to_floats(Format::f16, vocabulary_), last), kRelative, kAbsolute);
    }

private:
    static constexpr std::uint32_t kPage = 16;
    static constexpr int kStretch = 4;  ///< pages of a CTA of the attention of one token
    static constexpr float kScale = 0.0883883461f * 1.44269502f;
    // Values are about 1. A state is rounded to 11 bits twice per layer.
    static constexpr double kRelative = 0x1p-5, kAbsolute = 0x1p-5;

    /// What is on the device.
    struct OnDevice {
        using Half = DeviceArray<std::uint16_t>;
        struct Weights {
            Half first_norm, first_bias, queries_keys_values, output, second_norm, second_bias, gate_up, down, keys, values;
        };
        std::vector<Weights> layers;
        Half embedding, last_norm, last_bias, vocabulary, state, normalised, projected, keys, values, attended, more, wide, gated;
        DeviceArray<int> prompt, answer, table, slots, positions, lengths, tokens[2];
        DeviceArray<unsigned> sort_keys[2];
        DeviceArray<float> angles, draws, logits, sums, totals;
    };

    /// From element `index` on.
    template <class T>
    static DeviceArray<T> from(const DeviceArray<T>& array, std::size_t index) {
        return {array.address + index * sizeof(T), array.size - index};
    }

    void upload(Device& device) {
        const std::size_t hidden = unsigned_of(shape_.hidden), tokens = unsigned_of(shape_.tokens()), kept = unsigned_of(shape_.kept());
        const std::size_t prompt = unsigned_of(shape_.prompt), wide = unsigned_of(shape_.feed_forward);
        for (int index = 0; index < shape_.layers; ++index) {
            const Layer layer(shape_, seed_, index);
            const std::size_t cached = pages_.size() * kPage * kept;
            on_.layers.push_back({device.upload(layer.first_norm), device.upload(layer.first_bias),
                                  device.upload(layer.queries_keys_values), device.upload(layer.output), device.upload(layer.second_norm),
                                  device.upload(layer.second_bias), device.upload(layer.gate_up), device.upload(layer.down),
                                  device.zeros<std::uint16_t>(cached), device.zeros<std::uint16_t>(cached)});
        }
        on_.embedding = device.upload(embedding_);
        on_.last_norm = device.upload(last_norm_);
        on_.last_bias = device.upload(last_bias_);
        on_.vocabulary = device.upload(vocabulary_);
        for (OnDevice::Half* buffer : {&on_.state, &on_.normalised, &on_.projected, &on_.attended, &on_.more})
            *buffer = device.zeros<std::uint16_t>(prompt * hidden);
        on_.keys = device.zeros<std::uint16_t>(prompt * kept);
        on_.values = device.zeros<std::uint16_t>(prompt * kept);
        on_.wide = device.zeros<std::uint16_t>(prompt * 2 * wide);
        on_.gated = device.zeros<std::uint16_t>(prompt * wide);
        std::vector<int> slots, positions(tokens), lengths(tokens);
        std::iota(positions.begin(), positions.end(), 0);
        std::iota(lengths.begin(), lengths.end(), 1);
        for (std::size_t t = 0; t < tokens; ++t) slots.push_back(pages_[t / kPage] * int{kPage} + static_cast<int>(t % kPage));
        on_.prompt = device.upload(prompt_);
        on_.answer = device.zeros<int>(unsigned_of(shape_.answer) + 1);
        on_.table = device.upload(pages_);
        on_.slots = device.upload(slots);
        on_.positions = device.upload(positions);
        on_.lengths = device.upload(lengths);
        on_.angles = device.upload(angles_);
        on_.draws = device.upload(draws_);
        on_.logits = device.zeros<float>(unsigned_of(shape_.vocabulary));
        for (auto& buffer : on_.tokens) buffer = device.zeros<int>(unsigned_of(shape_.vocabulary));
        for (auto& buffer : on_.sort_keys) buffer = device.zeros<unsigned>(unsigned_of(shape_.vocabulary));
        on_.sums = device.zeros<float>(unsigned_of(shape_.heads * stretches()) * llm::kHead);
        on_.totals = device.zeros<float>(unsigned_of(shape_.heads * stretches()) * 2);
    }
    int stretches() const { return (static_cast<int>(pages_.size()) + kStretch - 1) / kStretch; }

    void normalise(Device& device, const OnDevice::Half& norm, const OnDevice::Half& bias, int rows) const {
        device.launch("llm/norms", "layer_norm_f16", {unsigned_of(rows), 1, 1}, {256, 1, 1}, on_.state, norm, bias, on_.normalised,
                      shape_.hidden / 8, 1e-5f);
    }
    /// A linear layer of the whole prompt.
    void multiply(Device& device, const OnDevice::Half& a, const OnDevice::Half& weights, const OnDevice::Half& results, int outputs,
                  int inner) const {
        device.launch("llm/gemm_mma", "gemm_f16_3_stages",
                      {ceil_div(unsigned_of(outputs), 64), ceil_div(unsigned_of(shape_.prompt), 128), 1}, {128, 1, 1}, a, weights, results,
                      shape_.prompt, outputs, inner, 1);
    }
    void rotate(Device& device, const OnDevice::Half& values, int heads, int first, int tokens) const {
        device.launch("llm/rope_silu", "rope_f16", {ceil_div(unsigned_of(heads * tokens) * 8, 256), 1, 1}, {256, 1, 1}, values,
                      from(on_.positions, unsigned_of(first)), on_.angles, heads, heads * tokens);
    }
    void keep(Device& device, const OnDevice::Half& keys, const OnDevice::Half& values, const OnDevice::Weights& layer, int first,
              int tokens) const {
        device.launch("llm/kv_append", "kv_append", {unsigned_of(tokens), 1, 1}, {128, 1, 1}, keys, values, layer.keys, layer.values,
                      from(on_.slots, unsigned_of(first)), shape_.groups);
    }
    void gate(Device& device, int tokens) const {
        const int vectors = shape_.feed_forward / 8;
        device.launch("llm/rope_silu", "silu_mul_f16", {ceil_div(unsigned_of(vectors * tokens), 256), 1, 1}, {256, 1, 1}, on_.wide,
                      on_.gated, vectors, vectors * tokens);
    }
    void add(Device& device) const {
        const int total = shape_.prompt * shape_.hidden / 8;
        device.launch(kModule, "add_f16", {ceil_div(unsigned_of(total), 256), 1, 1}, {256, 1, 1}, on_.state, on_.more, total);
    }

    void prefill(Device& device) const {
        const std::size_t hidden = unsigned_of(shape_.hidden), kept = unsigned_of(shape_.kept());
        device.launch(kModule, "embed_f16", {unsigned_of(shape_.prompt), 1, 1}, {128, 1, 1}, on_.embedding, on_.prompt, on_.state,
                      shape_.hidden / 8);
        for (const OnDevice::Weights& layer : on_.layers) {
            normalise(device, layer.first_norm, layer.first_bias, shape_.prompt);
            multiply(device, on_.normalised, layer.queries_keys_values, on_.projected, shape_.hidden, shape_.hidden);
            multiply(device, on_.normalised, from(layer.queries_keys_values, hidden * hidden), on_.keys, shape_.kept(), shape_.hidden);
            multiply(device, on_.normalised, from(layer.queries_keys_values, (hidden + kept) * hidden), on_.values, shape_.kept(),
                     shape_.hidden);
            rotate(device, on_.projected, shape_.heads, 0, shape_.prompt);
            rotate(device, on_.keys, shape_.groups, 0, shape_.prompt);
            keep(device, on_.keys, on_.values, layer, 0, shape_.prompt);
            device.launch("llm/attention", "attention_forward", {ceil_div(unsigned_of(shape_.prompt), 64), unsigned_of(shape_.heads), 1},
                          {128, 1, 1}, on_.projected, on_.keys, on_.values, on_.attended, shape_.prompt, shape_.heads, shape_.groups,
                          kScale);
            multiply(device, on_.attended, layer.output, on_.more, shape_.hidden, shape_.hidden);
            add(device);
            normalise(device, layer.second_norm, layer.second_bias, shape_.prompt);
            multiply(device, on_.normalised, layer.gate_up, on_.wide, 2 * shape_.feed_forward, shape_.hidden);
            gate(device, shape_.prompt);
            multiply(device, on_.gated, layer.down, on_.more, shape_.hidden, shape_.feed_forward);
            add(device);
        }
        choose(device, from(on_.state, (unsigned_of(shape_.prompt) - 1) * hidden), 0);
    }

    template <class Result>
    void multiply_one(Device& device, const char* kernel, const OnDevice::Half& weights, const OnDevice::Half& values,
                      const DeviceArray<Result>& results, int rows, int inner) const {
        device.launch(kModule, kernel, {ceil_div(unsigned_of(rows), 8), 1, 1}, {128, 1, 1}, weights, values, results, rows, inner / 8);
    }
    /// The token after `state`, the `index`-th of the answer.
    void choose(Device& device, const OnDevice::Half& state, int index) const {
        device.launch("llm/norms", "layer_norm_f16", {1, 1, 1}, {256, 1, 1}, state, on_.last_norm, on_.last_bias, on_.normalised,
                      shape_.hidden / 8, 1e-5f);
        multiply_one(device, "gemv_logits", on_.vocabulary, on_.normalised, on_.logits, shape_.vocabulary, shape_.hidden);
        if (index == shape_.answer) return;
        const std::uint32_t tiles = ceil_div(unsigned_of(shape_.vocabulary), 256);
        device.launch("llm/sampling", "sort_keys", {tiles, 1, 1}, {256, 1, 1}, on_.logits, on_.sort_keys[0], on_.tokens[0],
                      shape_.vocabulary);
        for (int digit = 0; digit < 4; ++digit)
            device.launch("llm/sampling", "sort_digit", {1, 1, 1}, {256, 1, 1}, on_.sort_keys[digit % 2], on_.tokens[digit % 2],
                          on_.sort_keys[1 - digit % 2], on_.tokens[1 - digit % 2], shape_.vocabulary, digit * 8);
        device.launch("llm/sampling", "sample", {1, 1, 1}, {256, 1, 1}, on_.logits, on_.tokens[0], from(on_.draws, unsigned_of(index)),
                      from(on_.answer, unsigned_of(index)), shape_.vocabulary, 40, 0.9f, 1.0f);
    }

    void decode(Device& device, int index) const {
        const std::size_t hidden = unsigned_of(shape_.hidden), kept = unsigned_of(shape_.kept());
        const int position = shape_.prompt + index;
        const OnDevice::Half keys = from(on_.projected, hidden), values = from(on_.projected, hidden + kept);
        device.launch(kModule, "embed_f16", {1, 1, 1}, {128, 1, 1}, on_.embedding, from(on_.answer, unsigned_of(index)), on_.state,
                      shape_.hidden / 8);
        for (const OnDevice::Weights& layer : on_.layers) {
            normalise(device, layer.first_norm, layer.first_bias, 1);
            multiply_one(device, "gemv_f16", layer.queries_keys_values, on_.normalised, on_.projected, shape_.hidden + 2 * shape_.kept(),
                         shape_.hidden);
            rotate(device, on_.projected, shape_.heads, position, 1);
            rotate(device, keys, shape_.groups, position, 1);
            keep(device, keys, values, layer, position, 1);
            const std::uint32_t heads = unsigned_of(shape_.heads), parts = unsigned_of(position / (int{kPage} * kStretch) + 1);
            device.launch("llm/paged_decode", "paged_attend", {heads, 1, parts}, {128, 1, 1}, on_.projected, layer.keys, layer.values,
                          on_.table, from(on_.lengths, unsigned_of(position)), on_.sums, on_.totals, shape_.groups,
                          static_cast<int>(pages_.size()), kStretch, kScale);
            device.launch("llm/paged_decode", "paged_combine", {heads, 1, 1}, {128, 1, 1}, on_.sums, on_.totals, on_.attended,
                          static_cast<int>(parts));
            multiply_one(device, "gemv_add_f16", layer.output, on_.attended, on_.state, shape_.hidden, shape_.hidden);
            normalise(device, layer.second_norm, layer.second_bias, 1);
            multiply_one(device, "gemv_f16", layer.gate_up, on_.normalised, on_.wide, 2 * shape_.feed_forward, shape_.hidden);
            gate(device, 1);
            multiply_one(device, "gemv_add_f16", layer.down, on_.gated, on_.state, shape_.hidden, shape_.feed_forward);
        }
        choose(device, on_.state, index + 1);
    }

    /// A row per token, from rows in pages with a block per group.
    std::vector<float> in_order(const Halves& pages) const {
        std::vector<float> rows;
        for (std::uint32_t token = 0; token < unsigned_of(shape_.tokens()); ++token) {
            for (std::uint32_t group = 0; group < unsigned_of(shape_.groups); ++group) {
                const std::size_t page = unsigned_of(pages_[token / kPage]);
                const std::size_t at = ((page * unsigned_of(shape_.groups) + group) * kPage + token % kPage) * llm::kHead;
                for (std::size_t i = 0; i < llm::kHead; ++i) rows.push_back(llm::to_float(Format::f16, pages[at + i]));
            }
        }
        return rows;
    }

    /// Advances the states by a layer.
    Verdict check_layer(const Reference& reference, int index, const std::vector<int>& positions,
                        std::vector<std::vector<double>>& states) const {
        const Layer layer(shape_, seed_, index);
        const auto floats = [](const Halves& halves) { return llm::to_floats(Format::f16, halves); };
        const std::vector<float> projection = floats(layer.queries_keys_values), output = floats(layer.output),
                                 gate_up = floats(layer.gate_up), down = floats(layer.down), &keys = keys_[unsigned_of(index)],
                                 &values = values_[unsigned_of(index)];
        const std::size_t hidden = unsigned_of(shape_.hidden), kept = unsigned_of(shape_.kept()), wide = unsigned_of(shape_.feed_forward);
        Verdict verdict;
        for (std::size_t i = 0; i < positions.size(); ++i) {
            std::vector<double>& state = states[i];
            std::vector<double> projected =
                Reference::product(projection, Reference::normalised(state, layer.first_norm, layer.first_bias));
            Reference::round_all(projected);
            for (int head = 0; head < shape_.heads + shape_.groups; ++head)
                reference.rotate(&projected[unsigned_of(head * llm::kHead)], positions[i]);
            const auto first = static_cast<std::ptrdiff_t>(unsigned_of(positions[i]) * kept), count = static_cast<std::ptrdiff_t>(kept);
            const auto own = projected.begin() + static_cast<std::ptrdiff_t>(hidden);
            verdict &= compare("key", {keys.begin() + first, keys.begin() + first + count}, {own, own + count}, kRelative, kAbsolute);
            verdict &= compare("value", {values.begin() + first, values.begin() + first + count}, {own + count, own + 2 * count}, kRelative,
                               kAbsolute);
            const std::vector<double> more = Reference::product(output, reference.attended(projected, keys, values, positions[i]));
            for (std::size_t k = 0; k < hidden; ++k) state[k] = llm::rounded_to_f16(state[k] + more[k]);
            std::vector<double> both = Reference::product(gate_up, Reference::normalised(state, layer.second_norm, layer.second_bias));
            Reference::round_all(both);
            std::vector<double> gated;
            for (std::size_t k = 0; k < wide; ++k)
                gated.push_back(llm::rounded_to_f16(llm::rounded_to_f16(both[k] / (1 + std::exp(-both[k]))) * both[wide + k]));
            const std::vector<double> rest = Reference::product(down, gated);
            for (std::size_t k = 0; k < hidden; ++k) state[k] = llm::rounded_to_f16(state[k] + rest[k]);
        }
        return verdict;
    }

    static constexpr const char* kModule = "apps/transformer";
    const Shape shape_;
    const std::uint64_t seed_;
    Halves embedding_, last_norm_, last_bias_, vocabulary_;
    std::vector<int> prompt_, pages_;
    std::vector<float> angles_, draws_;
    OnDevice on_;
    std::vector<float> logits_;
    std::vector<int> answer_;
    std::vector<std::vector<float>> keys_, values_;  ///< of each layer, a row per token
};

}  // namespace

}  // namespace transformer

std::unique_ptr<Problem> make_transformer(Size size, std::uint64_t seed) {
    return std::make_unique<transformer::Transformer>(size, seed);
}

}  // namespace mergelane::suite
