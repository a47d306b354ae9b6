// SPDX-License-Identifier: MIT
#include <algorithm>

#include "workload/suite/problem.hpp"

namespace mergelane::suite {

namespace {

/// Square maps, one after another.
struct Maps {
    int count = 0, side = 0;
    int pixels() const { return side * side; }
    std::size_t size() const { return static_cast<std::size_t>(count) * static_cast<std::size_t>(pixels()); }
};

enum class LayerKind : std::uint8_t { convolve, max_pool, average_pool, add, connect };

struct Layer {
    LayerKind kind = LayerKind::convolve;
    int in = 0, out = 0;               ///< which maps it reads and writes
    int other = 0;                     ///< add: the second summand
    int first = 0, count = 0;          ///< the maps of `out` it makes
    int depth = 0;                     ///< the maps of `in` it reads, from the first on
    int taps = 1, stride = 1;          ///< convolve
    bool rectify = true;               ///< convolve: negative pixels become zero
    std::vector<float> weights, bias;  ///< convolve, connect

    /// Weights of one output map.
    std::size_t filter(const Maps& maps) const {
        return static_cast<std::size_t>(depth) * static_cast<std::size_t>(kind == LayerKind::connect ? maps.pixels() : taps * taps);
    }
};

/// Maps and the layers between them, in the order of the launches.
class Network {
public:
    int image(int count, int side) { return add_maps(count, side); }
    int convolve(int in, int count, int depth, int taps, int stride = 1, bool rectify = true) {
        const int out = add_maps(count, (maps[index(in)].side - 1) / stride + 1);
        convolve_into(in, out, 0, count, depth, taps, stride, rectify);
        return out;
    }
    int max_pool(int in) {
        const int out = add_maps(maps[index(in)].count, (maps[index(in)].side - 3) / 2 + 1);
        add_layer(LayerKind::max_pool, in, out);
        return out;
    }
    int average_pool(int in) {
        const int out = add_maps(maps[index(in)].count, 1);
        add_layer(LayerKind::average_pool, in, out);
        return out;
    }
    int add(int in, int other) {
        const int out = add_maps(maps[index(in)].count, maps[index(in)].side);
        add_layer(LayerKind::add, in, out).other = other;
        return out;
    }
    int connect(int in, int neurons) {
        const int out = add_maps(neurons, 1);
        add_layer(LayerKind::connect, in, out);
        return out;
    }
    /// Few maps of single pixels, from which two convolutions make twice `expand` maps.
    int fire(int in, int squeeze, int expand) {
        const int few = convolve(in, squeeze, maps[index(in)].count, 1);
        const int out = add_maps(2 * expand, maps[index(in)].side);
        convolve_into(few, out, 0, expand, squeeze, 1, 1, true);
        convolve_into(few, out, expand, expand, squeeze, 3, 1, true);
        return out;
    }

    static std::size_t index(int number) { return static_cast<std::size_t>(number); }
    std::vector<Maps> maps;
    std::vector<Layer> layers;

private:
    int add_maps(int count, int side) {
        maps.push_back({count, side});
        return static_cast<int>(maps.size()) - 1;
    }
    Layer& add_layer(LayerKind kind, int in, int out) {
        Layer layer;
        layer.kind = kind;
        layer.in = in;
        layer.out = out;
        layer.count = maps[index(out)].count;
        layer.depth = maps[index(in)].count;
        layers.push_back(layer);
        return layers.back();
    }
    void convolve_into(int in, int out, int first, int count, int depth, int taps, int stride, bool rectify) {
        Layer& layer = add_layer(LayerKind::convolve, in, out);
        layer.first = first;
        layer.count = count;
        layer.depth = depth;
        layer.taps = taps;
        layer.stride = stride;
        layer.rectify = rectify;
    }
};

// What is left of the networks at size paper is the first part with convolutions, where a run that is cut short would end, and something of
// the layers that end them. Maps have their true sides; where it was affordable filters have their true depth, because warps drift
// further apart in deep ones, and ask for more than an L1 holds. (With shallow filters private L1s miss less: 31 % in alexnet with one
// colour, 30 % in resnet with filters of 16 to 32 maps.)

/// Convolution 1 (30 of 96 maps; an image of 220 pixels and padding instead of 227), pooling twice, 80 neurons. Convolutions 2 to 5 and two
/// connected layers are left out.
Network alexnet(Size size) {
    Network net;
    int at = net.convolve(net.image(3, by_size(size, 41, 220, 220)), by_size(size, 3, 30, 96), 3, 11, 4);
    at = net.max_pool(at);
    if (size != Size::paper) at = net.convolve(at, by_size(size, 4, 0, 256), by_size(size, 2, 0, 48), 5);
    if (size != Size::tiny) at = net.max_pool(at);
    net.connect(at, by_size(size, 3, 80, 1000));
    return net;
}

/// The first bottleneck block of the 50-layer network, at 56x56 pixels: of 64 maps 40 (of all 64 maps), of 64 maps 32 (of 12 instead of
/// 64), of 256 maps 64 (of 32 instead of 64). Then the mean of each map, and 80 of 1000 neurons.
Network resnet(Size size) {
    Network net;
    const int image = net.image(by_size(size, 8, 64, 256), by_size(size, 9, 56, 56));
    int at = net.convolve(image, by_size(size, 4, 40, 64), by_size(size, 8, 64, 256), 1);
    at = net.convolve(at, by_size(size, 4, 32, 64), by_size(size, 4, 12, 64), 3);
    at = net.convolve(at, by_size(size, 8, 64, 256), by_size(size, 4, 32, 64), 1, 1, false);
    net.connect(net.average_pool(net.add(at, image)), by_size(size, 3, 80, 1000));
    return net;
}

/// Fire module 2 (16 squeezed maps of 96; from them 2 x 32 instead of 64), pooling twice, and the maps that are the classes (160 of 1000,
/// of 64 instead of 512); the other modules are left out.
Network squeezenet(Size size) {
    Network net;
    int at = net.fire(net.image(by_size(size, 6, 96, 96), by_size(size, 11, 55, 55)), by_size(size, 3, 16, 16), by_size(size, 5, 32, 64));
    at = net.max_pool(at);
    if (size != Size::tiny) at = net.max_pool(at);
    at = net.convolve(at, by_size(size, 7, 160, 1000), by_size(size, 10, 64, 128), 1);
    net.average_pool(at);
    return net;
}

constexpr std::string_view kCnn = "tango/cnn";
constexpr std::uint32_t kFlat = 128;  ///< threads of CTAs that do not care for rows

/// Inference of one image.
class Cnn final : public Problem {
public:
    Cnn(Network net, std::uint64_t seed) : net_(std::move(net)) {
        Rng rng(seed);
        image_ = random_floats(rng, net_.maps.front().size());
        for (Layer& layer : net_.layers) {
            if (layer.kind != LayerKind::convolve && layer.kind != LayerKind::connect) continue;
            const std::size_t filter = layer.filter(net_.maps[Network::index(layer.in)]);
            float most = 1.0f;  // so that pixels stay of one size from layer to layer
            while (most * most * static_cast<float>(filter) > 6.0f) most /= 2.0f;
            layer.weights = random_floats(rng, filter * static_cast<std::size_t>(layer.count), -most, most);
            layer.bias = random_floats(rng, static_cast<std::size_t>(layer.count), -0.125f, 0.125f);
        }
    }

    void run(Device& device) override {
        std::vector<DeviceArray<float>> maps;
        maps.push_back(device.upload(image_));
        for (std::size_t i = 1; i < net_.maps.size(); ++i) maps.push_back(device.alloc<float>(net_.maps[i].size()));
        for (const Layer& layer : net_.layers) {
            DeviceArray<float> weights, bias;
            if (!layer.weights.empty()) {
                weights = device.upload(layer.weights);
                bias = device.upload(layer.bias);
            }
            launch(device, layer, maps, weights, bias);
        }
        results_.clear();
        for (const auto& made : maps) results_.push_back(device.download(made));
    }

    Verdict verify() const override {
        std::vector<std::vector<double>> want;
        want.emplace_back(image_.begin(), image_.end());
        for (std::size_t i = 1; i < net_.maps.size(); ++i) want.emplace_back(net_.maps[i].size());
        for (const Layer& layer : net_.layers) reference(layer, want);
        Verdict verdict;
        for (std::size_t i = 1; i < want.size(); ++i) verdict &= compare("maps " + std::to_string(i), results_[i], want[i], 1e-4, 1e-5);
        return verdict;
    }

private:
    using Arrays = std::vector<DeviceArray<float>>;

    /// Rows by columns of a map that one CTA makes, at most 1024 pixels.
    static Dim3 tile(int side) {
        const auto pixels = static_cast<std::uint32_t>(side);
        const std::uint32_t rows = ceil_div(pixels, ceil_div(pixels, 32));
        const std::uint32_t columns = ceil_div(pixels, ceil_div(pixels, 1024 / rows));
        return {rows, columns, 1};
    }

    void launch(Device& device, const Layer& layer, const Arrays& maps, const DeviceArray<float>& weights,
                const DeviceArray<float>& bias) const {
        const Maps& from = net_.maps[Network::index(layer.in)];
        const Maps& to = net_.maps[Network::index(layer.out)];
        const DeviceArray<float>& in = maps[Network::index(layer.in)];
        DeviceArray<float> out = maps[Network::index(layer.out)];
        out.address += sizeof(float) * static_cast<std::size_t>(layer.first) * static_cast<std::size_t>(to.pixels());
        const auto count = static_cast<std::uint32_t>(layer.count);
        const Dim3 block = tile(to.side);
        const auto side = static_cast<std::uint32_t>(to.side);
        const Dim3 grid{count, ceil_div(side, block.x), ceil_div(side, block.y)};
        switch (layer.kind) {
            case LayerKind::convolve:
                device.launch(kCnn,
                              layer.taps == 1   ? "cnn_convolve_1x1"
                              : layer.taps == 3 ? "cnn_convolve_3x3"
                              : layer.taps == 5 ? "cnn_convolve_5x5"
                                                : "cnn_convolve_11x11",
                              grid, block, in, weights, bias, out, layer.depth, from.side, to.side, layer.stride, int{layer.rectify});
                break;
            case LayerKind::max_pool: device.launch(kCnn, "cnn_max_pool", grid, block, in, out, from.side, to.side); break;
            case LayerKind::average_pool:
                device.launch(kCnn, "cnn_average_pool", {ceil_div(count, kFlat), 1, 1}, {kFlat, 1, 1}, in, out, layer.count, from.pixels());
                break;
            case LayerKind::add: {
                const auto pixels = static_cast<std::uint32_t>(to.size());
                device.launch(kCnn, "cnn_add", {ceil_div(pixels, kFlat), 1, 1}, {kFlat, 1, 1}, in, maps[Network::index(layer.other)], out,
                              static_cast<int>(pixels));
                break;
            }
            case LayerKind::connect:
                device.launch(kCnn, "cnn_connect", {count, 1, 1}, {1, 1, 1}, in, weights, bias, out, static_cast<int>(from.size()));
                break;
        }
    }

    void reference(const Layer& layer, std::vector<std::vector<double>>& maps) const {
        const Maps& from = net_.maps[Network::index(layer.in)];
        const Maps& to = net_.maps[Network::index(layer.out)];
        const double* in = maps[Network::index(layer.in)].data();
        double* out = maps[Network::index(layer.out)].data();
        for (int map = 0; map < layer.count; ++map) {
            for (int pixel = 0; pixel < to.pixels(); ++pixel) {
                const int at = (layer.first + map) * to.pixels() + pixel;
                const int row = pixel / to.side, column = pixel % to.side;
                if (layer.kind == LayerKind::convolve) out[at] = convolved(layer, from, in, map, row, column);
                if (layer.kind == LayerKind::max_pool) out[at] = largest(from, in + map * from.pixels(), row, column);
                if (layer.kind == LayerKind::average_pool) out[at] = sum_of(in + map * from.pixels(), from.pixels()) / from.pixels();
                if (layer.kind == LayerKind::add) out[at] = std::max(0.0, in[at] + maps[Network::index(layer.other)][Network::index(at)]);
                if (layer.kind == LayerKind::connect) out[at] = connected(layer, in, map);
            }
        }
    }

    static double convolved(const Layer& layer, const Maps& from, const double* in, int map, int row, int column) {
        const float* filter = &layer.weights[layer.filter(from) * Network::index(map)];
        const int top = row * layer.stride - layer.taps / 2, left = column * layer.stride - layer.taps / 2;
        double sum = layer.bias[Network::index(map)];
        for (int channel = 0; channel < layer.depth; ++channel) {
            for (int y = std::max(0, top); y < std::min(from.side, top + layer.taps); ++y) {
                const double* pixels = in + channel * from.pixels() + y * from.side;
                const float* weights = filter + (channel * layer.taps + y - top) * layer.taps;
                for (int x = std::max(0, left); x < std::min(from.side, left + layer.taps); ++x) sum += pixels[x] * weights[x - left];
            }
        }
        return layer.rectify ? std::max(0.0, sum) : sum;
    }

    static double largest(const Maps& from, const double* in, int row, int column) {
        double most = in[2 * row * from.side + 2 * column];
        for (int tap = 0; tap < 9; ++tap) most = std::max(most, in[(2 * row + tap / 3) * from.side + 2 * column + tap % 3]);
        return most;
    }

    static double sum_of(const double* in, int count) {
        double sum = 0;
        for (int i = 0; i < count; ++i) sum += in[i];
        return sum;
    }

    static double connected(const Layer& layer, const double* in, int neuron) {
        const std::size_t inputs = layer.weights.size() / layer.bias.size();
        const float* weights = &layer.weights[inputs * Network::index(neuron)];
        double sum = layer.bias[Network::index(neuron)];
        for (std::size_t i = 0; i < inputs; ++i) sum += in[i] * weights[i];
        return sum;
    }

    Network net_;
    std::vector<float> image_;
    std::vector<std::vector<float>> results_;
};

}  // namespace

std::unique_ptr<Problem> make_alexnet(Size size, std::uint64_t seed) {
    return std::make_unique<Cnn>(alexnet(size), seed);
}
std::unique_ptr<Problem> make_resnet(Size size, std::uint64_t seed) {
    return std::make_unique<Cnn>(resnet(size), seed);
}
std::unique_ptr<Problem> make_squeezenet(Size size, std::uint64_t seed) {
    return std::make_unique<Cnn>(squeezenet(size), seed);
}

}  // namespace mergelane::suite
