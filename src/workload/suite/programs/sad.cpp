// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdlib>

#include "workload/suite/problem.hpp"

namespace mergelane::suite {

namespace {

constexpr int kSearch = 16;  ///< positions to each side
constexpr int kAcross = 2 * kSearch + 1;
constexpr std::size_t kPadded = 1096;      ///< results per block
constexpr std::uint32_t kThreads4x4 = 61;  ///< of 18 positions each

/// A shape of blocks, and how many blocks of other shapes per macroblock lie in front of it.
struct BlockShape {
    int width, height;
    std::size_t in_front;
};
constexpr BlockShape kShapes[] = {{16, 16, 0}, {16, 8, 1}, {8, 16, 3}, {8, 8, 5}, {8, 4, 9}, {4, 8, 17}, {4, 4, 25}};
constexpr std::size_t kBlocksPerMacroblock = 41;

class Sad final : public Problem {
public:
    Sad(Size size, std::uint64_t seed) : width_(by_size(size, 48, 176, 352)), height_(by_size(size, 32, 144, 288)) {
        Rng rng(seed);
        // Coarse random patches that move by a few pixels from frame to frame, and noise.
        std::vector<std::uint32_t> patches(64 * 64);
        for (std::uint32_t& patch : patches) patch = rng.below(208);
        for (int y = 0; y < height_; ++y) {
            for (int x = 0; x < width_; ++x) {
                const auto pixel = [&](int px, int py) {
                    return static_cast<std::uint16_t>(patches[static_cast<std::size_t>((py / 8) % 64 * 64 + (px / 8) % 64)] +
                                                      rng.below(48));
                };
                reference_.push_back(pixel(x, y));
                frame_.push_back(pixel(x + 5, y + 3));
            }
        }
    }
    void run(Device& device) override {
        const auto across = static_cast<std::uint32_t>(width_), down = static_cast<std::uint32_t>(height_);
        const Dim3 macroblock_grid{across / 16, down / 16, 1};
        const int macroblocks = static_cast<int>(macroblock_grid.count());
        const auto frame = device.upload(frame_);
        const auto reference = device.upload(reference_);
        const auto sads = device.alloc<std::uint16_t>(static_cast<std::size_t>(macroblocks) * kBlocksPerMacroblock * kPadded);
        device.launch("parboil/sad", "sad_4x4", {across / 4, down / 4, 1}, {kThreads4x4, 1, 1}, sads, frame, reference, width_, height_);
        device.launch("parboil/sad", "sad_8x8", macroblock_grid, {32, 4, 1}, sads, macroblocks);
        device.launch("parboil/sad", "sad_16x16", macroblock_grid, {32, 1, 1}, sads, macroblocks);
        result_ = device.download(sads);
    }
    Verdict verify() const override {
        const std::size_t macroblocks = static_cast<std::size_t>(width_ / 16) * static_cast<std::size_t>(height_ / 16);
        std::vector<std::uint16_t> want(macroblocks * kBlocksPerMacroblock * kPadded);
        for (int y0 = 0; y0 < height_; y0 += 4) {
            for (int x0 = 0; x0 < width_; x0 += 4) {
                for (std::size_t position = 0; position < std::size_t{kAcross} * kAcross; ++position) {
                    const int sum =
                        difference(x0, y0, static_cast<int>(position) % kAcross - kSearch, static_cast<int>(position) / kAcross - kSearch);
                    // It is part of one block of every shape.
                    for (const BlockShape& shape : kShapes) {
                        auto& entry = want[index(shape, macroblocks, x0, y0) * kPadded + position];
                        entry = static_cast<std::uint16_t>(entry + sum);
                    }
                }
            }
        }
        return compare_exact("sum", result_, want);
    }

private:
    int difference(int x0, int y0, int dx, int dy) const {
        int sum = 0;
        for (int y = y0; y < y0 + 4; ++y) {
            for (int x = x0; x < x0 + 4; ++x) {
                const std::size_t there =
                    static_cast<std::size_t>(std::clamp(y + dy, 0, height_ - 1)) * width_ + std::clamp(x + dx, 0, width_ - 1);
                sum += std::abs(frame_[static_cast<std::size_t>(y) * width_ + x] - reference_[there]);
            }
        }
        return sum;
    }
    /// Of the block of a shape that has this pixel. Blocks of 8x4 and 4x8 are counted quarter by quarter of their macroblock.
    std::size_t index(const BlockShape& shape, std::size_t macroblocks, int x, int y) const {
        const int macroblock = y / 16 * (width_ / 16) + x / 16;
        const int per_macroblock = 256 / (shape.width * shape.height);
        int block = y % 16 / shape.height * (16 / shape.width) + x % 16 / shape.width;
        if (per_macroblock == 8) block = 2 * (y % 16 / 8 * 2 + x % 16 / 8) + y % 8 / shape.height + x % 8 / shape.width;
        return shape.in_front * macroblocks + static_cast<std::size_t>(macroblock * per_macroblock + block);
    }

    int width_, height_;
    std::vector<std::uint16_t> frame_, reference_, result_;
};

}  // namespace

std::unique_ptr<Problem> make_sad(Size size, std::uint64_t seed) {
    return std::make_unique<Sad>(size, seed);
}

}  // namespace mergelane::suite
