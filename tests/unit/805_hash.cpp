// SPDX-License-Identifier: MIT
// Keys in users' stores depend on this hash: it must never change, on any host.
#include <gtest/gtest.h>

#include "core/hash.hpp"

namespace mergelane {
namespace {

TEST(Hash, NeverChanges) {
    EXPECT_EQ(hash_text(""), "99aa06d3014798d86001c324468d497f");  // the published value of XXH3-128
    EXPECT_EQ(hash_text("l1.size_kib=48\n"), "ceeb7682b31014acd504f464bd2fe340");
    std::string text;
    while (text.size() < 1u << 20) text += static_cast<char>('a' + text.size() % 26);
    EXPECT_EQ(hash_text(text), "a27119b392525e7775b1659a6a666516");
}

TEST(Hash, PiecesGiveTheHashOfTheWhole) {
    std::string whole;
    Hasher hasher;
    for (int i = 0; i < 1000; ++i) {
        const std::string piece = std::string(static_cast<std::size_t>(i), 'x') + "\n";
        hasher.add(piece);
        whole += piece;
    }
    hasher.add(std::uint64_t{0x0102030405060708});
    EXPECT_EQ(hasher.hex(), hash_text(whole + "\x08\x07\x06\x05\x04\x03\x02\x01"));
}

}  // namespace
}  // namespace mergelane
