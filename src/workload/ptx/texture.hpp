// SPDX-License-Identifier: MIT
// Textures and surfaces: how a kernel sees memory through a handle, and the instructions that use one.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "core/types.hpp"

namespace mergelane::ptx {

struct Warp;
struct Inst;
class DeviceMemory;

enum class TexelKind : std::uint8_t { signed_integer, unsigned_integer, floating };
enum class AddressMode : std::uint8_t { wrap, clamp, mirror, border };

/// Memory as texels, and how they are read. Rows lie `row_bytes` apart, slices (of a volume, layers, or faces of cubes) `slice_bytes`.
struct Texture {
    Addr base = 0;
    std::uint32_t width = 1, height = 1, depth = 1;
    std::uint64_t row_bytes = 0, slice_bytes = 0;
    std::uint8_t channels = 1;
    std::uint8_t channel_bytes = 4;
    TexelKind kind = TexelKind::floating;
    // Reading; surfaces do without.
    std::array<AddressMode, 3> mode = {AddressMode::clamp, AddressMode::clamp, AddressMode::clamp};
    bool linear = false;      ///< interpolates
    bool normalized = false;  ///< coordinates from 0 to 1
    bool to_float = false;    ///< integers become values from 0 to 1, or -1 to 1
    std::array<float, 4> border = {};

    std::uint32_t texel_bytes() const { return std::uint32_t{channels} * channel_bytes; }
};

/// The textures and surfaces of a device, by handle.
class Textures {
public:
    std::uint64_t add(const Texture& texture) {
        known_.emplace(++last_, texture);
        return last_;
    }
    bool remove(std::uint64_t handle) { return known_.erase(handle) != 0; }
    const Texture* find(std::uint64_t handle) const {
        const auto found = known_.find(handle);
        return found == known_.end() ? nullptr : &found->second;
    }

private:
    std::map<std::uint64_t, Texture> known_;
    std::uint64_t last_ = 0;
};

using TexelSlot = std::int32_t;  ///< a Slot; this header knows nothing of programs
/// What an instruction does with its handle, besides its operands.
struct TextureSite {
    static constexpr std::uint8_t kNoGather = 255;
    std::uint8_t dimensions = 2;  ///< 1 to 3, without layer and face
    bool layered = false;         ///< the first coordinate is a layer
    bool cube = false;            ///< three coordinates are a direction
    bool integer_coordinates = false;
    std::uint8_t gather = kNoGather;  ///< tld4: the channel
    // Surfaces: elements of `bytes` each, the first coordinate in bytes.
    bool is_surface = false;
    bool is_store = false;
    enum class Outside : std::uint8_t { trap, clamp, zero } outside = Outside::trap;
    std::uint8_t bytes = 4;
    std::uint8_t elements = 4;
    std::uint8_t register_bytes = 4;
    std::array<TexelSlot, 4> data = {};         ///< results, or what is stored
    std::array<TexelSlot, 4> coordinates = {};  ///< layer, x, y, z as far as there are
};

/// Handlers. Their code exists once, so that every host computes the same bits.
void read_texture(Warp& warp, const Inst& inst, std::uint32_t mask);
void access_surface(Warp& warp, const Inst& inst, std::uint32_t mask);

}  // namespace mergelane::ptx
