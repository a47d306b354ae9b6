// SPDX-License-Identifier: MIT
#include <array>
#include <bit>

#include "workload/suite/problem.hpp"

namespace mergelane::suite {

namespace {

class StoreHash final : public Problem {
public:
    StoreHash(Size size, std::uint64_t seed) : pieces_(by_size(size, 200, 384 * 128, 1536 * 128)) {
        Rng rng(seed);
        for (int i = 0; i < 16 * pieces_; ++i) data_.push_back(static_cast<std::uint32_t>(rng.next()));
    }
    void run(Device& device) override {
        const auto data = device.upload(data_);
        const auto digest = device.alloc<std::uint32_t>(data_.size() / 4);
        device.launch("gpgpusim/sto", "sto_digest", {ceil_div(static_cast<std::uint32_t>(pieces_), 128), 1, 1}, {128, 1, 1}, data, digest,
                      pieces_);
        digest_ = device.download(digest);
    }
    Verdict verify() const override {
        std::vector<std::uint32_t> want;
        for (std::size_t at = 0; at < data_.size(); at += 16) {
            const auto digest = compress(&data_[at]);
            want.insert(want.end(), digest.begin(), digest.end());
        }
        return compare_exact("digest", digest_, want);
    }

private:
    /// One block, without the padding that a whole file would get.
    static std::array<std::uint32_t, 4> compress(const std::uint32_t* words) {
        constexpr std::array<std::uint32_t, 4> kStart{0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476};
        constexpr std::array<std::array<int, 4>, 4> kTurns{{{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}}};
        constexpr std::array<std::uint32_t, 4> kStride{1, 5, 3, 7}, kOffset{0, 1, 5, 0};
        auto [a, b, c, d] = kStart;
        for (std::uint32_t i = 0; i < 64; ++i) {
            const std::uint32_t part = i / 16;
            const std::array<std::uint32_t, 4> mixed{(b & c) | (~b & d), (d & b) | (~d & c), b ^ c ^ d, c ^ (b | ~d)};
            const auto sine = static_cast<std::uint32_t>(std::floor(std::abs(std::sin(i + 1.0)) * 4294967296.0));
            const std::uint32_t sum = a + mixed[part] + sine + words[(kStride[part] * i + kOffset[part]) % 16];
            a = d;
            d = c;
            c = b;
            b += std::rotl(sum, kTurns[part][i % 4]);
        }
        return {a + kStart[0], b + kStart[1], c + kStart[2], d + kStart[3]};
    }

    int pieces_;
    std::vector<std::uint32_t> data_, digest_;
};

}  // namespace

std::unique_ptr<Problem> make_sto(Size size, std::uint64_t seed) {
    return std::make_unique<StoreHash>(size, seed);
}

}  // namespace mergelane::suite
