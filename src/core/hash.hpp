// SPDX-License-Identifier: MIT
// The hash of configurations, keys and digests: XXH3-128 of UTF-8 text with '\n' line ends, written as the 32 hex digits of its canonical
// (big-endian) form. Stored keys depend on it, so it never changes; a test pins it (docs/adr/0010).
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace mergelane {

std::string hash_text(std::string_view text);

/// The same as integers, for storing or comparing many hashes.
struct HashBits {
    std::uint64_t high = 0, low = 0;
    auto operator<=>(const HashBits&) const = default;
};
HashBits hash_bits(std::string_view text);
std::string to_hex(const HashBits& bits);

/// Incremental version: the hash of the concatenation of all pieces.
class Hasher {
public:
    Hasher();
    ~Hasher();
    Hasher(const Hasher&) = delete;
    Hasher& operator=(const Hasher&) = delete;

    void add(std::string_view text);
    /// As 8 bytes, little-endian.
    void add(std::uint64_t value);
    std::string hex() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace mergelane
