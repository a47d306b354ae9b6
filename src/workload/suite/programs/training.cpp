// SPDX-License-Identifier: MIT
// A training step of a residual network with the shape of ResNet-50: forward, backward, update. Products are made image by image, as in
// frameworks that lower convolutions to products; everything else takes the whole batch.
#include <algorithm>
#include <array>

#include "workload/suite/llm.hpp"

namespace mergelane::suite {

namespace training {

namespace {

using llm::Format;
using llm::unsigned_of;
using Half = DeviceArray<std::uint16_t>;
using Single = DeviceArray<float>;

constexpr float kEpsilon = 1e-5f, kRate = 0.05f, kMomentum = 0.9f, kLossScale = 256.0f;

/// Sizes of the network: 16 blocks of three convolutions at four resolutions, or two small ones.
struct Shape {
    int images, size, first, classes;
    std::array<int, 4> blocks;
};
constexpr Shape kTiny = {2, 24, 64, 64, {2, 1, 0, 0}};
constexpr Shape kFull = {24, 224, 64, 1024, {3, 4, 6, 3}};  // classes: 1000, filled up to a multiple of 32

struct Conv {
    int size, channels, outputs, kernel, stride;
    int padding() const { return kernel / 2; }
    int out_size() const { return (size + 2 * padding() - kernel) / stride + 1; }
    int pixels() const { return out_size() * out_size(); }
    int inner() const { return (kernel * kernel * channels + 31) / 32 * 32; }
    bool needs_patches() const { return kernel != 1 || stride != 1 || inner() != channels; }
    std::size_t weights() const { return unsigned_of(outputs) * std::size_t{unsigned_of(inner())}; }
};

/// Weights with their moments, gradient and what the products read.
struct Parameter {
    Single weights, moments, gradient;
    Half rounded;
};

/// Convolution, batch normalisation, and max(0, x) unless a sum with a residual comes first.
struct Unit {
    Conv conv;
    bool rectify;
    std::vector<float> initial;
    Parameter weights, scale, shift;
    Half convolved, result;
    Single statistics;  ///< pairs
};

/// What the host has kept of a unit for the reference.
struct Followed {
    std::size_t unit;
    std::vector<float> input, convolved, convolved_gradient, weights_gradient;
};

class Training final : public Problem {
public:
    Training(Size size, std::uint64_t seed) : shape_(by_size(size, kTiny, kFull, kFull)) {
        Rng rng(mix64(seed));
        const int pixels = shape_.images * shape_.size * shape_.size;
        pictures_.assign(unsigned_of(pixels) * std::size_t{8}, 0);
        const std::vector<std::uint16_t> colours = llm::random_values(Format::f16, rng, unsigned_of(pixels) * std::size_t{3});
        for (std::size_t i = 0; i < colours.size(); ++i) pictures_[i / 3 * 8 + i % 3] = colours[i];
        for (int i = 0; i < shape_.images; ++i) labels_.push_back(static_cast<int>(rng.below(unsigned_of(shape_.classes))));
        plan(rng);
        classifier_ = random_weights(rng, unsigned_of(shape_.classes) * std::size_t{unsigned_of(features_)}, features_);
    }

    void run(Device& device) override;
    Verdict verify() const override;

private:
    static constexpr const char* kModule = "apps/training";
    static constexpr std::size_t kSampled = 48;  ///< values of each array that the reference checks

    /// Uniform, with the variance 2 / inputs: rounded to 16 bits, these are the weights of the first step.
    static std::vector<float> random_weights(Rng& rng, std::size_t count, int inputs) {
        const float limit = std::sqrt(6.0f / static_cast<float>(inputs));
        return random_floats(rng, count, -limit, limit);
    }
    void plan(Rng& rng);
    std::size_t add_unit(Rng& rng, const Conv& conv, bool rectify);

    // The host program.
    void upload(Device& device);
    Parameter parameter(Device& device, const std::vector<float>& values) const;
    void convolve(Device& device, const Unit& unit, const Half& input) const;
    void normalise(Device& device, const Unit& unit, const Half* residual) const;
    void forward(Device& device, const Unit& unit, const Half& input, const Half* residual = nullptr) const;
    void backward(Device& device, std::size_t index, const Half& input, const Half& gradient, const Half* input_gradient, bool add);
    void product(Device& device, const Half& a, const Half& w, const Half& c, int rows, int columns, int inner) const;
    void transpose(Device& device, const Half& from, const Half& to, int rows, int columns, int pitch) const;
    void patches(Device& device, const Conv& conv, const Half& image) const;
    void update(Device& device, const Parameter& parameter, std::size_t count) const;
    void classify(Device& device, const Half& from, const Half& gradient);
    Half all_forward(Device& device);
    void all_backward(Device& device);
    void rectify(Device& device, const Unit& unit, const Half& gradient) const;
    void follow(Device& device, std::size_t index, const Half& input, const Half& gradient, const Half* input_gradient, bool add);
    template <class... Arguments>
    void each(Device& device, const char* kernel, std::size_t threads, const Arguments&... arguments) const {
        device.launch(kModule, kernel, {ceil_div(static_cast<std::uint32_t>(threads), 256), 1, 1}, {256, 1, 1}, arguments...);
    }
    template <class T>
    static DeviceArray<T> from(const DeviceArray<T>& array, std::size_t index) {
        return {array.address + index * sizeof(T), array.size - index};
    }
    std::size_t values(const Unit& unit) const {
        return unsigned_of(shape_.images) * std::size_t{unsigned_of(unit.conv.pixels())} * unsigned_of(unit.conv.outputs);
    }
    std::size_t inputs(const Conv& conv) const {
        return unsigned_of(shape_.images) * std::size_t{unsigned_of(conv.size * conv.size)} * unsigned_of(conv.channels);
    }

    Verdict check_classifier() const;

    /// A residual block: three units, and one more where the shape changes.
    struct Block {
        std::size_t first;
        bool projects;
    };

    const Shape shape_;
    std::vector<std::uint16_t> pictures_;
    std::vector<int> labels_;
    std::vector<Unit> units_;
    std::vector<Block> blocks_;
    int pooled_size_ = 0, last_size_ = 0, features_ = 0;
    std::vector<float> classifier_;
    // On the device.
    Half images_, pooled_, means_, mean_gradient_, logits_, logit_gradient_, patches_, turned_patches_, turned_gradient_, product_,
        convolved_gradient_, gradients_[3];
    std::vector<Half> inputs_of_;  ///< of each block
    DeviceArray<std::uint8_t> chosen_;
    DeviceArray<int> on_labels_;
    Single losses_, sums_;
    Parameter last_;
    // For the reference.
    std::vector<Followed> followed_;
    std::vector<float> kept_losses_, kept_logits_, kept_means_, kept_last_;
};

void Training::plan(Rng& rng) {
    add_unit(rng, {shape_.size, 8, shape_.first, 7, 2}, true);
    int size = units_.back().conv.out_size(), channels = shape_.first;
    pooled_size_ = size = (size - 1) / 2 + 1;
    for (std::size_t stage = 0; stage < shape_.blocks.size(); ++stage) {
        const int width = shape_.first << stage;
        for (int block = 0; block < shape_.blocks[stage]; ++block) {
            const int stride = block == 0 && stage > 0 ? 2 : 1;
            blocks_.push_back({units_.size(), block == 0});
            add_unit(rng, {size, channels, width, 1, 1}, true);
            add_unit(rng, {size, width, width, 3, stride}, true);
            const int out = units_.back().conv.out_size();
            add_unit(rng, {out, width, 4 * width, 1, 1}, true);
            if (block == 0) add_unit(rng, {size, channels, 4 * width, 1, stride}, false);
            size = out;
            channels = 4 * width;
        }
    }
    last_size_ = size;
    features_ = channels;
    for (const std::size_t unit : {std::size_t{0}, std::size_t{2}, units_.size() - 2}) followed_.push_back({unit, {}, {}, {}, {}});
}

std::size_t Training::add_unit(Rng& rng, const Conv& conv, bool rectify) {
    Unit unit;
    unit.conv = conv;
    unit.rectify = rectify;
    unit.initial = random_weights(rng, conv.weights(), conv.kernel * conv.kernel * conv.channels);
    const std::size_t used = unsigned_of(conv.kernel * conv.kernel * conv.channels), inner = unsigned_of(conv.inner());
    for (std::size_t i = 0; i < unit.initial.size(); ++i)
        if (i % inner >= used) unit.initial[i] = 0;
    units_.push_back(std::move(unit));
    return units_.size() - 1;
}

Parameter Training::parameter(Device& device, const std::vector<float>& values) const {
    return {device.upload(values), device.zeros<float>(values.size()), device.zeros<float>(values.size()),
            device.zeros<std::uint16_t>(values.size())};
}

void Training::upload(Device& device) {
    std::size_t most_patches = 0, most_values = 0, most_weights = 0, most_turned = 0;
    for (Unit& unit : units_) {
        const Conv& conv = unit.conv;
        const std::size_t channels = unsigned_of(conv.outputs), padded = unsigned_of((conv.pixels() + 31) / 32 * 32);
        unit.weights = parameter(device, unit.initial);
        each(device, "round_weights", unit.initial.size(), unit.weights.weights, unit.weights.rounded,
             static_cast<int>(unit.initial.size()));
        unit.scale = parameter(device, std::vector<float>(channels, 1.0f));
        unit.shift = parameter(device, std::vector<float>(channels, 0.0f));
        unit.convolved = device.alloc<std::uint16_t>(values(unit));
        unit.result = device.alloc<std::uint16_t>(values(unit));
        unit.statistics = device.alloc<float>(2 * channels);
        most_patches = std::max(most_patches, padded * unsigned_of(conv.inner()));
        most_values = std::max({most_values, values(unit), inputs(conv)});
        most_weights = std::max(most_weights, conv.weights());
        most_turned = std::max(most_turned, padded * channels);
    }
    last_ = parameter(device, classifier_);
    each(device, "round_weights", classifier_.size(), last_.weights, last_.rounded, static_cast<int>(classifier_.size()));
    images_ = device.upload(pictures_);
    on_labels_ = device.upload(labels_);
    const std::size_t images = unsigned_of(shape_.images), rows = (images + 31) / 32 * 32;
    pooled_ = device.alloc<std::uint16_t>(images * unsigned_of(pooled_size_ * pooled_size_) * unsigned_of(shape_.first));
    chosen_ = device.alloc<std::uint8_t>(pooled_.size);
    means_ = device.zeros<std::uint16_t>(rows * unsigned_of(features_));
    mean_gradient_ = device.zeros<std::uint16_t>(rows * unsigned_of(features_));
    logits_ = device.zeros<std::uint16_t>(rows * unsigned_of(shape_.classes));
    logit_gradient_ = device.zeros<std::uint16_t>(rows * unsigned_of(shape_.classes));
    losses_ = device.zeros<float>(images);
    patches_ = device.alloc<std::uint16_t>(most_patches);
    turned_patches_ = device.alloc<std::uint16_t>(std::max({most_patches, most_weights, classifier_.size()}));
    turned_gradient_ = device.alloc<std::uint16_t>(std::max(most_turned, classifier_.size()));
    product_ = device.alloc<std::uint16_t>(std::max({most_weights, most_patches, classifier_.size()}));
    convolved_gradient_ = device.alloc<std::uint16_t>(most_values);
    for (Half& buffer : gradients_) buffer = device.alloc<std::uint16_t>(most_values);
    sums_ = device.alloc<float>(2 * (most_values / 64 + 4096));
}

/// C = A W^T.
void Training::product(Device& device, const Half& a, const Half& w, const Half& c, int rows, int columns, int inner) const {
    device.launch("llm/gemm_mma", "gemm_f16_3_stages", {ceil_div(unsigned_of(columns), 64), ceil_div(unsigned_of(rows), 128), 1},
                  {128, 1, 1}, a, w, c, rows, columns, inner, 1);
}
void Training::transpose(Device& device, const Half& from, const Half& to, int rows, int columns, int pitch) const {
    device.launch(kModule, "transpose_f16", {ceil_div(unsigned_of(columns), 32), ceil_div(unsigned_of(pitch), 32), 1}, {32, 8, 1}, from, to,
                  rows, columns, pitch);
}
void Training::patches(Device& device, const Conv& conv, const Half& image) const {
    each(device, "image_to_patches", unsigned_of(conv.pixels()) * std::size_t{unsigned_of(conv.inner() / 8)}, image, patches_, conv.size,
         conv.size, conv.channels, conv.kernel, conv.stride, conv.padding(), conv.out_size(), conv.out_size(), conv.inner());
}

void Training::convolve(Device& device, const Unit& unit, const Half& input) const {
    const Conv& conv = unit.conv;
    for (std::size_t image = 0; image < unsigned_of(shape_.images); ++image) {
        const Half picture = from(input, image * (inputs(conv) / unsigned_of(shape_.images)));
        if (conv.needs_patches()) patches(device, conv, picture);
        product(device, conv.needs_patches() ? patches_ : picture, unit.weights.rounded,
                from(unit.convolved, image * unsigned_of(conv.pixels()) * unsigned_of(conv.outputs)), conv.pixels(), conv.outputs,
                conv.inner());
    }
}

void Training::normalise(Device& device, const Unit& unit, const Half* residual) const {
    const int rows = shape_.images * unit.conv.pixels(), channels = unit.conv.outputs;
    const std::uint32_t blocks = ceil_div(unsigned_of(rows), 256);
    device.launch(kModule, "sum_values", {unsigned_of(channels / 64), blocks, 1}, {256, 1, 1}, unit.convolved, sums_, rows, channels);
    each(device, "finish_statistics", unsigned_of(channels), sums_, unit.statistics, static_cast<int>(blocks), rows, channels, kEpsilon);
    const int total = static_cast<int>(values(unit) / 8);
    each(device, "normalise", unsigned_of(total), unit.convolved, unit.statistics, unit.scale.weights, unit.shift.weights,
         residual != nullptr ? *residual : Half{}, unit.result, channels, total, unit.rectify ? 1 : 0);
}

void Training::forward(Device& device, const Unit& unit, const Half& input, const Half* residual) const {
    convolve(device, unit, input);
    normalise(device, unit, residual);
}

/// From the gradient of the result (before max(0, x)) to those of parameters and, if wanted, of the input.
void Training::backward(Device& device, std::size_t index, const Half& input, const Half& gradient, const Half* input_gradient, bool add) {
    const Unit& unit = units_[index];
    const Conv& conv = unit.conv;
    const int rows = shape_.images * conv.pixels(), channels = conv.outputs, total = static_cast<int>(values(unit) / 8);
    const std::uint32_t blocks = ceil_div(unsigned_of(rows), 256);
    device.launch(kModule, "sum_gradients", {unsigned_of(channels / 64), blocks, 1}, {256, 1, 1}, gradient, unit.convolved, unit.statistics,
                  sums_, rows, channels);
    each(device, "finish_gradients", unsigned_of(channels), sums_, unit.shift.gradient, unit.scale.gradient, static_cast<int>(blocks),
         channels);
    each(device, "normalise_gradient", unsigned_of(total), gradient, unit.convolved, unit.statistics, unit.scale.weights,
         unit.shift.gradient, unit.scale.gradient, convolved_gradient_, rows, channels, total);
    const int inner = conv.inner(), pixels = conv.pixels(), padded = (pixels + 31) / 32 * 32;
    const int count = static_cast<int>(conv.weights());
    const Half turned_weights = turned_patches_;
    for (std::size_t image = 0; image < unsigned_of(shape_.images); ++image) {
        const Half picture = from(input, image * (inputs(conv) / unsigned_of(shape_.images)));
        const Half wanted = from(convolved_gradient_, image * unsigned_of(pixels) * unsigned_of(channels));
        if (conv.needs_patches()) patches(device, conv, picture);
        transpose(device, conv.needs_patches() ? patches_ : picture, turned_patches_, pixels, inner, padded);
        transpose(device, wanted, turned_gradient_, pixels, channels, padded);
        product(device, turned_gradient_, turned_patches_, product_, channels, inner, padded);
        each(device, "add_gradient", conv.weights(), product_, unit.weights.gradient, count);
    }
    if (input_gradient == nullptr) return;
    transpose(device, unit.weights.rounded, turned_weights, channels, inner, channels);
    for (std::size_t image = 0; image < unsigned_of(shape_.images); ++image) {
        const Half wanted = from(convolved_gradient_, image * unsigned_of(pixels) * unsigned_of(channels));
        product(device, wanted, turned_weights, product_, pixels, inner, channels);
        each(device, "patches_to_image", unsigned_of(conv.size * conv.size) * std::size_t{unsigned_of(conv.channels / 8)}, product_,
             from(*input_gradient, image * (inputs(conv) / unsigned_of(shape_.images))), conv.size, conv.size, conv.channels, conv.kernel,
             conv.stride, conv.padding(), conv.out_size(), conv.out_size(), inner, add ? 1 : 0);
    }
}

/// From the results of the last block to their gradient.
void Training::classify(Device& device, const Half& from, const Half& gradient) {
    const std::uint32_t images = unsigned_of(shape_.images), features = unsigned_of(features_);
    const int rows = (shape_.images + 31) / 32 * 32;
    const Dim3 grid{ceil_div(features, 256), images, 1};
    device.launch(kModule, "pool_mean", grid, {256, 1, 1}, from, means_, last_size_ * last_size_, features_);
    product(device, means_, last_.rounded, logits_, shape_.images, shape_.classes, features_);
    device.launch(kModule, "cross_entropy", {images, 1, 1}, {256, 1, 1}, logits_, on_labels_, logit_gradient_, losses_, shape_.classes,
                  kLossScale / static_cast<float>(shape_.images));
    transpose(device, logit_gradient_, turned_gradient_, shape_.images, shape_.classes, rows);
    transpose(device, means_, turned_patches_, shape_.images, features_, rows);
    product(device, turned_gradient_, turned_patches_, product_, shape_.classes, features_, rows);
    each(device, "add_gradient", classifier_.size(), product_, last_.gradient, static_cast<int>(classifier_.size()));
    transpose(device, last_.rounded, turned_patches_, shape_.classes, features_, shape_.classes);
    product(device, logit_gradient_, turned_patches_, mean_gradient_, shape_.images, features_, shape_.classes);
    device.launch(kModule, "mean_gradient", grid, {256, 1, 1}, mean_gradient_, gradient, last_size_ * last_size_, features_);
}

void Training::update(Device& device, const Parameter& parameter, std::size_t count) const {
    each(device, "update", count, parameter.weights, parameter.moments, parameter.gradient, parameter.rounded, static_cast<int>(count),
         kRate, kMomentum, kLossScale);
}

void Training::run(Device& device) {
    upload(device);
    const Half last = all_forward(device);
    classify(device, last, gradients_[0]);
    all_backward(device);
    for (const Unit& unit : units_) {
        update(device, unit.weights, unit.initial.size());
        update(device, unit.scale, unsigned_of(unit.conv.outputs));
        update(device, unit.shift, unsigned_of(unit.conv.outputs));
    }
    update(device, last_, classifier_.size());
    kept_losses_ = device.download(losses_);
    kept_logits_ = llm::to_floats(Format::f16, device.download(logits_));
    kept_means_ = llm::to_floats(Format::f16, device.download(means_));
    kept_last_ = device.download(last_.weights);
}

/// The results of the last block.
Half Training::all_forward(Device& device) {
    forward(device, units_[0], images_);
    const std::uint32_t vectors = unsigned_of(shape_.first / 8);
    device.launch(kModule, "pool_largest",
                  {ceil_div(unsigned_of(pooled_size_ * pooled_size_) * vectors, 256), 1, unsigned_of(shape_.images)}, {256, 1, 1},
                  units_[0].result, pooled_, chosen_, units_[0].conv.out_size(), pooled_size_, shape_.first);
    Half at = pooled_;
    for (const Block& block : blocks_) {
        inputs_of_.push_back(at);
        const Half* residual = &inputs_of_.back();
        if (block.projects) {
            forward(device, units_[block.first + 3], at);
            residual = &units_[block.first + 3].result;
        }
        forward(device, units_[block.first], at);
        forward(device, units_[block.first + 1], units_[block.first].result);
        forward(device, units_[block.first + 2], units_[block.first + 1].result, residual);
        at = units_[block.first + 2].result;
    }
    return at;
}

void Training::rectify(Device& device, const Unit& unit, const Half& gradient) const {
    const int total = static_cast<int>(values(unit) / 8);
    each(device, "rectify_gradient", unsigned_of(total), unit.result, gradient, total);
}

/// From gradients_[0], which belongs to the results of the last block.
void Training::all_backward(Device& device) {
    for (std::size_t b = blocks_.size(); b-- > 0;) {
        const Block& block = blocks_[b];
        const Unit &one = units_[block.first], &two = units_[block.first + 1], &three = units_[block.first + 2];
        const Half &input = inputs_of_[b], &outer = gradients_[0], &inside = gradients_[1], &next = gradients_[2];
        rectify(device, three, outer);  // the gradient of the sum: that of both of its terms
        follow(device, block.first + 2, two.result, outer, &inside, false);
        rectify(device, two, inside);
        follow(device, block.first + 1, one.result, inside, &next, false);
        rectify(device, one, next);
        follow(device, block.first, input, next, &inside, false);
        if (block.projects) {
            follow(device, block.first + 3, input, outer, &inside, true);
        } else {
            const int total = static_cast<int>(inputs(one.conv) / 8);
            each(device, "add_values", unsigned_of(total), inside, outer, total);
        }
        std::swap(gradients_[0], gradients_[1]);
    }
    const Half& before_pool = gradients_[1];
    const int size = units_[0].conv.out_size();
    device.launch(kModule, "pool_gradient",
                  {ceil_div(unsigned_of(size * size) * unsigned_of(shape_.first / 8), 256), 1, unsigned_of(shape_.images)}, {256, 1, 1},
                  gradients_[0], chosen_, before_pool, size, pooled_size_, shape_.first);
    rectify(device, units_[0], before_pool);
    follow(device, 0, images_, before_pool, nullptr, false);
}

/// `backward`, and what the reference wants to know of this unit.
void Training::follow(Device& device, std::size_t index, const Half& input, const Half& gradient, const Half* input_gradient, bool add) {
    backward(device, index, input, gradient, input_gradient, add);
    const auto floats = [&](const Half& values, std::size_t count) {
        return llm::to_floats(Format::f16, device.download(Half{values.address, count}));
    };
    const Unit& unit = units_[index];
    for (Followed& each : followed_) {
        if (each.unit != index) continue;
        each = {index, floats(input, inputs(unit.conv)), floats(unit.convolved, values(unit)), floats(convolved_gradient_, values(unit)),
                device.download(unit.weights.gradient)};
    }
}

/// Three units in both directions, from what they were given, at values spread over their arrays; the classifier, its loss and its update.
Verdict Training::verify() const {
    Verdict verdict;
    const std::size_t images = unsigned_of(shape_.images);
    for (const Followed& each : followed_) {
        const Unit& unit = units_[each.unit];
        const Conv& conv = unit.conv;
        const auto outputs = unsigned_of(conv.outputs), inner = unsigned_of(conv.inner()), channels = unsigned_of(conv.channels);
        const int side = conv.out_size(), pixels = conv.pixels();
        /// The input under a tap, or 0 outside.
        const auto input_at = [&](std::size_t image, int pixel, std::size_t value) {
            const auto tap = static_cast<int>(value / channels);
            const int y = pixel / side * conv.stride - conv.padding() + tap / conv.kernel,
                      x = pixel % side * conv.stride - conv.padding() + tap % conv.kernel;
            if (tap >= conv.kernel * conv.kernel || y < 0 || x < 0 || y >= conv.size || x >= conv.size) return 0.0;
            return double{
                each.input[((image * unsigned_of(conv.size) + unsigned_of(y)) * unsigned_of(conv.size) + unsigned_of(x)) * channels +
                           value % channels]};
        };
        const auto weight_at = [&](std::size_t output, std::size_t value) {
            return llm::rounded_to_f16(unit.initial[output * inner + value]);
        };
        std::vector<float> got, got_weights;
        std::vector<double> want, want_weights;
        const std::size_t rows = images * unsigned_of(pixels);
        for (std::size_t sample = 0; sample < kSampled; ++sample) {
            const std::size_t row = sample * 7919 % rows, output = sample * 31 % outputs;
            double sum = 0;
            for (std::size_t value = 0; value < inner; ++value)
                sum += input_at(row / unsigned_of(pixels), static_cast<int>(row % unsigned_of(pixels)), value) * weight_at(output, value);
            want.push_back(sum);
            got.push_back(each.convolved[row * outputs + output]);

            const std::size_t value = sample * 577 % (unsigned_of(conv.kernel * conv.kernel) * channels);
            double gradient = 0;
            for (std::size_t r = 0; r < rows; ++r)
                gradient += input_at(r / unsigned_of(pixels), static_cast<int>(r % unsigned_of(pixels)), value) *
                            each.convolved_gradient[r * outputs + output];
            want_weights.push_back(gradient);
            got_weights.push_back(each.weights_gradient[output * inner + value]);
        }
        verdict &= compare("convolution", got, want, 0x1p-9, 0x1p-9);
        double size = 0;
        for (const double value : want_weights) size = std::max(size, std::abs(value));
        verdict &= compare("gradient of a weight", got_weights, want_weights, 0x1p-6, 0x1p-8 * size);
    }
    return verdict &= check_classifier();
}

/// The loss of each image from its logits, some logits from the features, and some weights after the update.
Verdict Training::check_classifier() const {
    const std::size_t classes = unsigned_of(shape_.classes), features = unsigned_of(features_), images = unsigned_of(shape_.images);
    std::vector<double> losses, logits, weights, shares(images * classes);
    std::vector<float> got_logits, got_weights;
    for (std::size_t image = 0; image < images; ++image) {
        const float* row = &kept_logits_[image * classes];
        double total = 0;
        for (std::size_t i = 0; i < classes; ++i) total += std::exp(double{row[i]});
        for (std::size_t i = 0; i < classes; ++i) shares[image * classes + i] = std::exp(double{row[i]}) / total;
        const std::size_t label = unsigned_of(labels_[image]);
        shares[image * classes + label] -= 1;
        losses.push_back(std::log(total) - row[label]);
    }
    for (std::size_t sample = 0; sample < kSampled; ++sample) {
        const std::size_t row = sample * 31 % classes, column = sample * 577 % features, image = sample % images;
        double logit = 0, gradient = 0;
        for (std::size_t i = 0; i < features; ++i)
            logit += llm::rounded_to_f16(classifier_[row * features + i]) * kept_means_[image * features + i];
        for (std::size_t i = 0; i < images; ++i) gradient += shares[i * classes + row] * kept_means_[i * features + column];
        logits.push_back(logit);
        got_logits.push_back(kept_logits_[image * classes + row]);
        weights.push_back(classifier_[row * features + column] - kRate * gradient / static_cast<double>(images));
        got_weights.push_back(kept_last_[row * features + column]);
    }
    Verdict verdict = compare("loss", kept_losses_, losses, 1e-4, 1e-4);
    verdict &= compare("logit", got_logits, logits, 0x1p-9, 0x1p-8);
    return verdict &= compare("weight after the update", got_weights, weights, 1e-5, 1e-5);
}

}  // namespace

}  // namespace training

std::unique_ptr<Problem> make_training(Size size, std::uint64_t seed) {
    return std::make_unique<training::Training>(size, seed);
}

}  // namespace mergelane::suite
