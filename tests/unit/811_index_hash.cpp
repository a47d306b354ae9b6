// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/error.hpp"
#include "core/rng.hpp"
#include "parts/address_map.hpp"
#include "parts/index_hash.hpp"

namespace mergelane {
namespace {

class Hash : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Kinds, Hash, ::testing::Values("plain", "xor_fold", "ipoly", "ipoly_modulo"),
                         [](const auto& kind) { return std::string(kind.param); });

constexpr std::uint32_t kCounts[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 15, 16, 24, 31, 32, 48, 63, 64, 80, 96, 127, 128, 192, 1000, 1024, 4096};

TEST_P(Hash, IsOneToOneForAnyCount) {
    for (const std::uint32_t n : kCounts) {
        const IndexHash hash(GetParam(), n);
        std::set<std::pair<std::uint32_t, std::uint64_t>> places;
        // The start and a far region, where high bits matter.
        for (const std::uint64_t base : {std::uint64_t{0}, std::uint64_t{n} * 1'000'003, std::uint64_t{1} << 40}) {
            for (std::uint64_t block = base; block < base + 8 * n; ++block) {
                const IndexHash::Place place = hash.place(block);
                ASSERT_LT(place.index, n);
                ASSERT_EQ(place.index, hash.index(block));
                ASSERT_TRUE(places.insert({place.index, place.rest}).second) << "n " << n << ", block " << block;
            }
        }
    }
}

TEST_P(Hash, GivesEveryIndexTheSameShareOfEveryAlignedRun) {
    for (const std::uint32_t n : kCounts) {
        const IndexHash hash(GetParam(), n);
        for (const std::uint64_t q : {std::uint64_t{0}, std::uint64_t{5}, std::uint64_t{123'456}, std::uint64_t{1} << 33}) {
            std::set<std::uint32_t> seen;
            for (std::uint32_t r = 0; r < n; ++r) seen.insert(hash.index(q * n + r));
            ASSERT_EQ(seen.size(), n) << "n " << n << ", run " << q;
        }
    }
}

/// Largest share of one index over the mean share.
double imbalance(const IndexHash& hash, std::uint64_t stride) {
    std::map<std::uint32_t, std::uint32_t> load;
    const std::uint32_t accesses = 256 * hash.count();
    std::uint32_t most = 0;
    for (std::uint64_t i = 0; i < accesses; ++i) most = std::max(most, ++load[hash.index(i * stride)]);
    return static_cast<double>(most) / 256.0;
}

TEST(HashBalance, PlainCampsOnPowerOfTwoStridesAndIpolyDoesNot) {
    for (const std::uint32_t n : {8u, 16u, 32u, 64u}) {
        EXPECT_DOUBLE_EQ(imbalance(IndexHash("plain", n), n), n) << "all on one index";
        for (std::uint64_t stride = 1; stride <= 4096; stride *= 2) {
            EXPECT_LE(imbalance(IndexHash("ipoly", n), stride), 1.3) << n << " indices, stride " << stride;
        }
        // Folding spreads strides up to its own period.
        EXPECT_LE(imbalance(IndexHash("xor_fold", n), n), 1.3);
    }
}

TEST(HashBalance, HoldsForCountsThatAreNoPowerOfTwo) {
    for (const std::uint32_t n : {6u, 12u, 24u, 48u, 80u}) {
        for (const char* kind : {"xor_fold", "ipoly"}) {
            // Rotation by h mod n repeats some amounts: up to twice the mean is the price of any count.
            for (const std::uint64_t stride : {std::uint64_t{1}, std::uint64_t{n}, std::uint64_t{16}}) {
                EXPECT_LE(imbalance(IndexHash(kind, n), stride), 2.1) << kind << ", " << n << " indices, stride " << stride;
            }
        }
    }
}

/// Largest share of one slice over the mean share, when lines of 128 bytes are read at a stride and slices interleave 256 bytes.
double line_imbalance(const IndexHash& hash, std::uint64_t stride) {
    std::vector<std::uint32_t> load(hash.count());
    const std::uint32_t accesses = 256 * hash.count();
    for (std::uint64_t i = 0; i < accesses; ++i) ++load[hash.index(i * stride / 2)];
    return static_cast<double>(*std::max_element(load.begin(), load.end())) / 256.0;
}

/// A random assignment of 256 accesses per slice gives 1.2.
TEST(HashBalance, IpolyModuloHoldsForEveryStrideOf80And96Slices) {
    for (const std::uint32_t n : {80u, 96u}) {
        const IndexHash hash("ipoly_modulo", n);
        std::uint32_t uneven = 0;
        for (std::uint64_t stride = 1; stride <= 4096; ++stride) {
            const double most = line_imbalance(hash, stride);
            ASSERT_LE(most, 1.9) << n << " slices, stride of " << stride << " lines";
            uneven += most > 1.3 ? 1 : 0;
        }
        EXPECT_LE(uneven, 40u) << n << " slices: one stride in a hundred";
        EXPECT_DOUBLE_EQ(line_imbalance(IndexHash("plain", n), 2 * n), n) << "what it avoids";
    }
}

TEST(HashBalance, IpolyModuloIsIpolyForPowersOfTwo) {
    for (const std::uint32_t n : {1u, 2u, 64u}) {
        const IndexHash one("ipoly_modulo", n), other("ipoly", n);
        for (std::uint64_t block = 0; block < 1000; ++block) {
            ASSERT_EQ(one.index(block * 977), other.index(block * 977));
            ASSERT_EQ(one.added_bits(block), other.added_bits(block));
        }
    }
}

/// Nugteren et al.: the five lowest bits are address bits 7 to 11, with bits 13, 14, 15, 17 and 19 added; of 64 sets bit 12 is the highest.
TEST(IndexHash, Fermi) {
    for (const std::uint32_t sets : {32u, 64u}) {
        const IndexHash hash("fermi", sets);
        const auto set_of = [&](Addr address) { return hash.index(address >> 7); };
        for (std::uint32_t bit = 7; bit < 40; ++bit) {
            const std::uint32_t expected = bit < 12                 ? 1u << (bit - 7)
                                           : bit == 12              ? (sets == 64 ? 32u : 0u)
                                           : bit >= 13 && bit <= 15 ? 1u << (bit - 13)
                                           : bit == 17              ? 8u
                                           : bit == 19              ? 16u
                                                                    : 0u;
            EXPECT_EQ(set_of(Addr{1} << bit), expected) << "address bit " << bit << ", " << sets << " sets";
        }
        EXPECT_EQ(set_of((1u << 7) | (1u << 13)), 0u) << "added, not carried";
        EXPECT_EQ(set_of((31u << 7) | (1u << 17)), 31u ^ 8u);
    }
    // A column of a matrix with rows of 16 KiB: bits 16 and 18 are lost, so half of the sets hold it.
    std::set<std::uint32_t> used;
    for (std::uint64_t row = 0; row < 256; ++row) used.insert(IndexHash("fermi", 32).index(row * 16384 >> 7));
    EXPECT_EQ(used.size(), 16u);
    EXPECT_THROW(IndexHash("fermi", 16), InputError);
    EXPECT_THROW(IndexHash("fermi", 48), InputError);
}

TEST(IndexHash, RefusesUnknownKinds) {
    EXPECT_THROW(IndexHash("ipolly", 8), InputError);
    EXPECT_THROW(IndexHash("ipoly", 1u << 17), InputError);
}

TEST(AddressMap, KeepsAnInterleaveChunkTogether) {
    const AddressMap map(6, 2, 256, "xor_fold");
    EXPECT_EQ(map.slices(), 12u);
    Rng rng(4);
    for (int n = 0; n < 1000; ++n) {
        const Addr chunk = rng.next() % (Addr{1} << 44) / 256 * 256;
        for (Addr offset : {Addr{1}, Addr{127}, Addr{255}}) {
            EXPECT_EQ(map.slice(chunk + offset), map.slice(chunk));
            EXPECT_EQ(map.slice_local(chunk + offset), map.slice_local(chunk) + offset);
        }
    }
}

TEST(AddressMap, GivesEveryByteItsOwnPlaceInItsChannel) {
    using Shape = std::pair<std::uint32_t, std::uint32_t>;
    for (const auto& [channels, per_channel] :
         {Shape{5, 1}, Shape{5, 2}, Shape{5, 3}, Shape{8, 2}, Shape{4, 4}, Shape{32, 2}, Shape{40, 2}, Shape{48, 2}}) {
        for (const char* hash : {"ipoly", "ipoly_modulo"}) {
            const AddressMap map(channels, per_channel, 128, hash);
            std::set<std::pair<std::uint32_t, Addr>> places;
            std::uint64_t highest = 0;
            const std::uint32_t kChunks = 60 * map.slices();
            for (Addr chunk = 0; chunk < kChunks; ++chunk) {
                const std::uint32_t slice = map.slice(chunk * 128);
                const Addr local = map.channel_local(map.slice_local(chunk * 128), slice % per_channel);
                ASSERT_EQ(local % 128, 0u);
                ASSERT_EQ(map.channel_local_of(chunk * 128, slice % per_channel), local);
                ASSERT_TRUE(places.insert({slice / per_channel, local}).second) << chunk;
                highest = std::max(highest, local);
            }
            EXPECT_LT(highest, std::uint64_t{kChunks} * 128 / channels + 128 * per_channel + 128) << "no holes in a channel's memory";
        }
    }
}

}  // namespace
}  // namespace mergelane
