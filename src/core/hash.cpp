// SPDX-License-Identifier: MIT
#include "core/hash.hpp"

#include <fmt/format.h>
#include <xxhash.h>

namespace mergelane {

namespace {

HashBits bits_of(XXH128_hash_t hash) {
    return {hash.high64, hash.low64};
}

}  // namespace

HashBits hash_bits(std::string_view text) {
    return bits_of(XXH3_128bits(text.data(), text.size()));
}

std::string to_hex(const HashBits& bits) {
    return fmt::format("{:016x}{:016x}", bits.high, bits.low);
}

struct Hasher::State {
    XXH3_state_t xxh;
};

std::string hash_text(std::string_view text) {
    return to_hex(hash_bits(text));
}

Hasher::Hasher() : state_(std::make_unique<State>()) {
    XXH3_128bits_reset(&state_->xxh);
}

Hasher::~Hasher() = default;

void Hasher::add(std::string_view text) {
    XXH3_128bits_update(&state_->xxh, text.data(), text.size());
}

void Hasher::add(std::uint64_t value) {
    char bytes[8];
    for (char& byte : bytes) {
        byte = static_cast<char>(value & 0xFF);
        value >>= 8;
    }
    add(std::string_view(bytes, sizeof bytes));
}

std::string Hasher::hex() const {
    return to_hex(bits_of(XXH3_128bits_digest(&state_->xxh)));
}

}  // namespace mergelane
