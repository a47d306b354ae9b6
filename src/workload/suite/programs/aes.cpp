// SPDX-License-Identifier: MIT
#include <array>

#include "workload/suite/problem.hpp"

namespace mergelane::suite {

namespace {

/// The cipher byte by byte, as its standard describes it; the kernel does a round with four lookups per column.
class AesCipher {
public:
    static constexpr std::uint32_t kRounds = 10;

    explicit AesCipher(const std::array<std::uint32_t, 4>& key) {
        // Powers of 3 give every non-zero byte its inverse.
        std::array<std::uint8_t, 256> power{}, exponent{};
        std::uint8_t value = 1;
        for (std::uint32_t i = 0; i < 255; ++i) {
            power[i] = value;
            exponent[value] = static_cast<std::uint8_t>(i);
            value = static_cast<std::uint8_t>(value ^ doubled(value));
        }
        for (std::uint32_t x = 0; x < 256; ++x) {
            const std::uint8_t inverse = x == 0 ? std::uint8_t{0} : power[(255u - exponent[x]) % 255];
            std::uint32_t mixed = 0x63;
            for (std::uint32_t turn = 0; turn < 5; ++turn) mixed ^= inverse << turn | inverse >> (8 - turn);
            substitute_[x] = static_cast<std::uint8_t>(mixed);
        }
        keys.assign(key.begin(), key.end());
        std::uint8_t constant = 1;
        for (std::uint32_t i = 4; i < 4 * (kRounds + 1); ++i) {
            std::uint32_t word = keys[i - 1];
            if (i % 4 == 0) {
                word = substituted(word << 8 | word >> 24) ^ std::uint32_t{constant} << 24;
                constant = doubled(constant);
            }
            keys.push_back(keys[i - 4] ^ word);
        }
    }

    /// What a byte in each of the four rows adds to its column.
    std::vector<std::uint32_t> tables() const {
        std::vector<std::uint32_t> list;
        for (std::uint32_t row = 0; row < 4; ++row) {
            for (const std::uint8_t s : substitute_) {
                const std::uint32_t top =
                    std::uint32_t{doubled(s)} << 24 | std::uint32_t{s} << 16 | std::uint32_t{s} << 8 | std::uint32_t(s ^ doubled(s));
                list.push_back(row == 0 ? top : top >> 8 * row | top << (32 - 8 * row));
            }
        }
        return list;
    }

    /// Four columns, row 0 in the highest byte.
    std::array<std::uint32_t, 4> encrypt(std::array<std::uint32_t, 4> block) const {
        for (std::uint32_t j = 0; j < 4; ++j) block[j] ^= keys[j];
        for (std::uint32_t round = 1; round <= kRounds; ++round) {
            std::array<std::uint32_t, 4> next{};
            for (std::uint32_t j = 0; j < 4; ++j) {
                std::array<std::uint8_t, 4> byte{};
                for (std::uint32_t row = 0; row < 4; ++row) byte[row] = substitute_[block[(j + row) % 4] >> (24 - 8 * row) & 255];
                for (std::uint32_t row = 0; row < 4; ++row) {
                    const std::uint8_t a = byte[row], b = byte[(row + 1) % 4];
                    const std::uint32_t mixed = doubled(a) ^ doubled(b) ^ b ^ byte[(row + 2) % 4] ^ byte[(row + 3) % 4];
                    next[j] |= (round < kRounds ? mixed : a) << (24 - 8 * row);
                }
                next[j] ^= keys[4 * round + j];
            }
            block = next;
        }
        return block;
    }

    std::vector<std::uint32_t> keys;  ///< four words per round, and four before the first

private:
    static std::uint8_t doubled(std::uint8_t x) { return static_cast<std::uint8_t>(x << 1 ^ (x >> 7) * 0x1B); }
    std::uint32_t substituted(std::uint32_t word) const {
        std::uint32_t result = 0;
        for (std::uint32_t shift = 0; shift < 32; shift += 8) result |= std::uint32_t{substitute_[word >> shift & 255]} << shift;
        return result;
    }

    std::array<std::uint8_t, 256> substitute_{};
};

class AesEncryption final : public Problem {
public:
    AesEncryption(Size size, std::uint64_t seed) : words_(by_size(size, 1100, 257 * 256, 1028 * 256)) {
        Rng rng(seed);
        for (std::uint32_t& word : key_) word = static_cast<std::uint32_t>(rng.next());
        for (int i = 0; i < words_; ++i) text_.push_back(static_cast<std::uint32_t>(rng.next()));
    }
    void run(Device& device) override {
        const AesCipher cipher(key_);
        const auto tables = device.upload(cipher.tables());
        const auto keys = device.upload(cipher.keys);
        const auto in = device.upload(text_);
        const auto out = device.alloc<std::uint32_t>(text_.size());
        device.launch("gpgpusim/aes", "aes_encrypt", {ceil_div(static_cast<std::uint32_t>(words_), 256), 1, 1}, {256, 1, 1}, tables, keys,
                      in, out, words_);
        secret_ = device.download(out);
    }
    Verdict verify() const override {
        const AesCipher cipher(key_);
        std::vector<std::uint32_t> want;
        for (std::size_t i = 0; i < text_.size(); i += 4) {
            const auto block = cipher.encrypt({text_[i], text_[i + 1], text_[i + 2], text_[i + 3]});
            want.insert(want.end(), block.begin(), block.end());
        }
        return compare_exact("word", secret_, want);
    }

private:
    int words_;
    std::array<std::uint32_t, 4> key_{};
    std::vector<std::uint32_t> text_, secret_;
};

}  // namespace

std::unique_ptr<Problem> make_aes(Size size, std::uint64_t seed) {
    return std::make_unique<AesEncryption>(size, seed);
}

}  // namespace mergelane::suite
