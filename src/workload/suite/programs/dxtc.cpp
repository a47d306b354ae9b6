// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <limits>

#include "workload/suite/problem.hpp"

namespace mergelane::suite {

namespace {

constexpr std::size_t kBlockPixels = 16;
constexpr std::size_t kAllCodes = 992, kShortCodes = 160;  ///< both padded with codes that put all pixels on one level
using Colour = std::array<double, 3>;

/// All ways to cut 16 sorted pixels into four levels; those without a fourth level come first.
std::vector<std::uint32_t> level_codes() {
    std::vector<std::uint32_t> codes;
    const auto cut = [&](std::uint32_t second, std::uint32_t third, std::uint32_t fourth) {
        std::uint32_t code = 0;
        for (std::uint32_t i = 0; i < kBlockPixels; ++i)
            code |= static_cast<std::uint32_t>((i >= second) + (i >= third) + (i >= fourth)) << (2 * i);
        codes.push_back(code);
    };
    for (std::uint32_t third = 0; third <= kBlockPixels; ++third)
        for (std::uint32_t second = 0; second <= third; ++second) cut(second, third, kBlockPixels);
    codes.resize(kShortCodes);
    for (std::uint32_t fourth = 0; fourth < kBlockPixels; ++fourth)
        for (std::uint32_t third = 0; third <= fourth; ++third)
            for (std::uint32_t second = 0; second <= third; ++second) cut(second, third, fourth);
    codes.resize(kAllCodes);
    return codes;
}

class Dxtc final : public Problem {
public:
    Dxtc(Size size, std::uint64_t seed) : blocks_(by_size(size, 77u, 2048u, 16384u)), codes_(level_codes()) {
        Rng rng(seed);
        // Every block lies between two colours, with some noise.
        for (std::uint32_t block = 0; block < blocks_; ++block) {
            std::array<std::uint32_t, 3> from{}, to{};
            for (std::uint32_t& c : from) c = rng.below(240);
            for (std::uint32_t& c : to) c = rng.below(240);
            for (std::size_t i = 0; i < kBlockPixels; ++i) {
                const std::uint32_t part = rng.below(17);
                std::uint32_t rgb = 0;
                for (std::size_t c = 0; c < 3; ++c) rgb |= ((from[c] * part + to[c] * (16 - part)) / 16 + rng.below(16)) << (8 * c);
                image_.push_back(rgb);
            }
        }
    }
    void run(Device& device) override {
        const auto image = device.upload(image_);
        const auto codes = device.upload(codes_);
        const auto result = device.alloc<std::uint32_t>(std::size_t{blocks_} * 2);
        device.launch("sdk/dxtc", "dxt_compress", {blocks_, 1, 1}, {64, 1, 1}, result, image, codes);
        result_ = device.download(result);
    }
    /// Decoded, no block may be worse than the reference's: which of two nearly equal ways wins is left to rounding.
    Verdict verify() const override {
        std::vector<float> excess;
        for (std::size_t block = 0; block < blocks_; ++block) {
            std::array<Colour, kBlockPixels> pixels{};
            for (std::size_t i = 0; i < kBlockPixels; ++i)
                for (std::size_t c = 0; c < 3; ++c) pixels[i][c] = ((image_[block * kBlockPixels + i] >> (8 * c)) & 255u) / 255.0;
            const double want = best_error(pixels), got = error_of(pixels, result_[2 * block], result_[2 * block + 1]);
            excess.push_back(static_cast<float>(std::max(0.0, got - want) / (want + 1e-3)));
        }
        return compare("excess error of block", excess, std::vector<double>(blocks_), 0, 0.02);
    }

private:
    static Colour from_565(std::uint32_t packed) { return {(packed >> 11) / 31.0, ((packed >> 5) & 63u) / 63.0, (packed & 31u) / 31.0}; }
    static std::uint32_t to_565(const Colour& colour) {
        const auto level = [](double value, double steps) {
            return static_cast<std::uint32_t>(std::nearbyint(std::clamp(value, 0.0, 1.0) * steps));
        };
        return level(colour[0], 31) << 11 | level(colour[1], 63) << 5 | level(colour[2], 31);
    }
    static double square(const Colour& a, const Colour& b) {
        double sum = 0;
        for (std::size_t c = 0; c < 3; ++c) sum += (a[c] - b[c]) * (a[c] - b[c]);
        return sum;
    }

    /// Of a compressed block, as a decoder sees it.
    static double error_of(const std::array<Colour, kBlockPixels>& pixels, std::uint32_t ends, std::uint32_t indices) {
        const std::uint32_t low = ends & 0xFFFFu, high = ends >> 16;
        std::array<Colour, 4> palette{from_565(low), from_565(high)};
        for (std::size_t c = 0; c < 3; ++c) {
            const double a = palette[0][c], b = palette[1][c];
            palette[2][c] = low > high ? (2 * a + b) / 3 : (a + b) / 2;
            palette[3][c] = low > high ? (a + 2 * b) / 3 : 0;
        }
        double error = 0;
        for (std::size_t i = 0; i < kBlockPixels; ++i) error += square(pixels[i], palette[(indices >> (2 * i)) & 3u]);
        return error;
    }

    static Colour main_axis(const std::array<Colour, kBlockPixels>& pixels) {
        Colour mean{}, axis{1, 1, 1};
        for (const Colour& pixel : pixels)
            for (std::size_t c = 0; c < 3; ++c) mean[c] += pixel[c] / kBlockPixels;
        for (int turn = 0; turn < 8; ++turn) {
            Colour next{};
            for (const Colour& pixel : pixels) {
                double along = 0;
                for (std::size_t c = 0; c < 3; ++c) along += (pixel[c] - mean[c]) * axis[c];
                for (std::size_t c = 0; c < 3; ++c) next[c] += (pixel[c] - mean[c]) * along;
            }
            const double largest = std::max({std::abs(next[0]), std::abs(next[1]), std::abs(next[2]), 1e-12});
            for (std::size_t c = 0; c < 3; ++c) axis[c] = next[c] / largest;
        }
        return axis;
    }

    double best_error(const std::array<Colour, kBlockPixels>& pixels) const {
        const Colour axis = main_axis(pixels);
        const auto along = [&](const Colour& p) { return p[0] * axis[0] + p[1] * axis[1] + p[2] * axis[2]; };
        std::array<Colour, kBlockPixels> sorted = pixels;
        std::stable_sort(sorted.begin(), sorted.end(), [&](const Colour& a, const Colour& b) { return along(a) < along(b); });
        double best = std::numeric_limits<double>::infinity();
        for (const std::uint32_t code : codes_) best = std::min(best, fitted_error(sorted, code, 3));
        for (std::size_t i = 0; i < kShortCodes; ++i) best = std::min(best, fitted_error(sorted, codes_[i], 2));
        return best;
    }

    /// With the end colours that suit a way to cut best; the last level is the second end.
    static double fitted_error(const std::array<Colour, kBlockPixels>& sorted, std::uint32_t code, std::uint32_t last) {
        double aa = 0, ab = 0, bb = 0;
        Colour ax{}, bx{};
        std::array<double, kBlockPixels> part{};  // of the second end
        for (std::size_t i = 0; i < kBlockPixels; ++i) {
            const double b = part[i] = ((code >> (2 * i)) & 3u) / static_cast<double>(last), a = 1 - b;
            aa += a * a;
            ab += a * b;
            bb += b * b;
            for (std::size_t c = 0; c < 3; ++c) {
                ax[c] += a * sorted[i][c];
                bx[c] += b * sorted[i][c];
            }
        }
        const double determinant = aa * bb - ab * ab;
        if (determinant < 1e-4) return std::numeric_limits<double>::infinity();
        Colour first{}, second{};
        for (std::size_t c = 0; c < 3; ++c) {
            first[c] = (ax[c] * bb - bx[c] * ab) / determinant;
            second[c] = (bx[c] * aa - ax[c] * ab) / determinant;
        }
        first = from_565(to_565(first));
        second = from_565(to_565(second));
        double error = 0;
        for (std::size_t i = 0; i < kBlockPixels; ++i) {
            Colour shown{};
            for (std::size_t c = 0; c < 3; ++c) shown[c] = first[c] * (1 - part[i]) + second[c] * part[i];
            error += square(sorted[i], shown);
        }
        return error;
    }

    std::uint32_t blocks_;
    std::vector<std::uint32_t> codes_;
    std::vector<std::uint32_t> image_;   ///< block after block
    std::vector<std::uint32_t> result_;  ///< end colours and indices of each block
};

}  // namespace

std::unique_ptr<Problem> make_dxtc(Size size, std::uint64_t seed) {
    return std::make_unique<Dxtc>(size, seed);
}

}  // namespace mergelane::suite
