// SPDX-License-Identifier: MIT
// The one hash of configurations, keys and digests: XXH3-128 of UTF-8 text with '\n' line ends, written as the 32 hex digits of its
// canonical (big-endian) form. Keys on people's disks are made of it, so it never changes; a test holds it (docs/adr/0010).
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace mergelane {

std::string hash_text(std::string_view text);

/// The same as numbers, where many of them are held or compared.
struct HashBits {
    std::uint64_t high = 0, low = 0;
    auto operator<=>(const HashBits&) const = default;
};
HashBits hash_bits(std::string_view text);
std::string to_hex(const HashBits& bits);

/// The same, piece by piece: the hash of all pieces one after the other.
class Hasher {
public:
    Hasher();
    ~Hasher();
    Hasher(const Hasher&) = delete;
    Hasher& operator=(const Hasher&) = delete;

    void add(std::string_view text);
    /// As its 8 bytes, lowest first.
    void add(std::uint64_t value);
    std::string hex() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace mergelane
