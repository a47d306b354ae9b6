// SPDX-License-Identifier: MIT
// Texture reads follow the appendix on texture fetching of the CUDA programming guide: interpolation weights have 8 fractional bits.
#include "workload/ptx/texture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/bits.hpp"
#include "workload/ptx/lexer.hpp"
#include "workload/ptx/ptx.hpp"
#include "workload/ptx/warp.hpp"

namespace mergelane::ptx {

namespace {

using Texel = std::array<float, 4>;
using Bits = std::array<std::uint32_t, 4>;

template <class T>
T lane_of(const Warp& warp, Slot slot, std::uint32_t lane) {
    const std::byte* const from = slot < 0 ? warp.pool + (slot & 0x7FFFFFFF) : warp.regs + slot;
    T value;
    std::memcpy(&value, from + lane * sizeof value, sizeof value);
    return value;
}
void set_lane(Warp& warp, Slot slot, std::uint32_t lane, std::uint64_t value, std::uint32_t bytes) {
    if (slot != kAbsent) std::memcpy(warp.regs + slot + std::size_t{lane} * bytes, &value, bytes);
}

[[noreturn]] void fail(const Warp& warp, const Inst& inst, std::string_view what) {
    throw KernelFault(KernelFault::Kind::trap, fmt::format("{}:{}: kernel {}, CTA {}: {}", warp.launch->module.file_name(), inst.line,
                                                           in_quotes(warp.launch->program.name), warp.cta, what));
}

/// All texels lie within one allocation; otherwise they read 0.
struct View {
    const Texture& texture;
    const std::byte* host = nullptr;
    std::uint64_t bytes = 0;  ///< from the first texel on

    View(const Warp& warp, const Texture& t) : texture(t) {
        const DeviceMemory::Range range = warp.launch->memory.find(t.base);
        if (range.host == nullptr) return;
        host = range.host + (t.base - range.base);
        bytes = range.bytes - (t.base - range.base);
    }
    std::uint64_t offset(std::int64_t x, std::int64_t y, std::int64_t z) const {
        return static_cast<std::uint64_t>(z) * texture.slice_bytes + static_cast<std::uint64_t>(y) * texture.row_bytes +
               static_cast<std::uint64_t>(x) * texture.texel_bytes();
    }
    /// The channels as they are in memory, integers extended.
    Bits raw(std::int64_t x, std::int64_t y, std::int64_t z) const {
        Bits value = {};
        const std::uint64_t at = offset(x, y, z);
        if (host == nullptr || at > bytes || bytes - at < texture.texel_bytes()) return value;
        const int unused = 32 - 8 * texture.channel_bytes;
        for (std::uint32_t c = 0; c < texture.channels; ++c) {
            std::memcpy(&value[c], host + at + c * texture.channel_bytes, texture.channel_bytes);
            if (texture.kind == TexelKind::signed_integer)
                value[c] = static_cast<std::uint32_t>(static_cast<std::int32_t>(value[c] << unused) >> unused);
        }
        return value;
    }
};

float half_value(std::uint32_t bits) {
    const std::uint32_t sign = (bits & 0x8000u) << 16;
    const std::uint32_t exponent = bits >> 10 & 31;
    const std::uint32_t fraction = bits & 1023;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000u | fraction << 13);
    if (exponent == 0) return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(static_cast<float>(fraction) * 0x1p-24f));
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

/// What a texel is as floating-point numbers.
Texel as_float(const Texture& texture, const Bits& raw) {
    Texel value;
    const float most = texture.kind == TexelKind::signed_integer ? (texture.channel_bytes == 1 ? 127.0f : 32767.0f)
                                                                 : (texture.channel_bytes == 1 ? 255.0f : 65535.0f);
    for (std::size_t c = 0; c < 4; ++c) {
        if (texture.kind == TexelKind::floating)
            value[c] = texture.channel_bytes == 2 ? half_value(raw[c]) : std::bit_cast<float>(raw[c]);
        else if (texture.kind == TexelKind::unsigned_integer)
            value[c] = static_cast<float>(raw[c]) / most;
        else
            value[c] = std::max(static_cast<float>(static_cast<std::int32_t>(raw[c])) / most, -1.0f);
    }
    return value;
}

/// A texel number in [0, size), or -1: the border.
std::int64_t addressed(std::int64_t at, std::int64_t size, AddressMode mode) {
    if (at >= 0 && at < size) return at;
    switch (mode) {
        case AddressMode::wrap: return (at % size + size) % size;
        case AddressMode::mirror: {
            const std::int64_t within = (at % (2 * size) + 2 * size) % (2 * size);
            return within < size ? within : 2 * size - 1 - within;
        }
        case AddressMode::clamp: return at < 0 ? 0 : size - 1;
        case AddressMode::border: return -1;
    }
    return -1;
}

/// The texels along one dimension that a coordinate falls between, and the weight of the second.
struct Axis {
    std::int64_t first = 0, second = 0;
    float weight = 0;
};
Axis axis(const Texture& texture, float coordinate, std::uint32_t size, AddressMode mode, bool between) {
    // Wrapping and mirroring are only defined for normalised coordinates.
    if (!texture.normalized && (mode == AddressMode::wrap || mode == AddressMode::mirror)) mode = AddressMode::clamp;
    const double scaled = texture.normalized ? double{coordinate} * size : double{coordinate};
    constexpr double kFar = 0x1p40;  // beyond, one texel is like another
    const double x = std::isnan(scaled) ? 0 : std::clamp(scaled, -kFar, kFar);
    if (!between) {
        const std::int64_t at = addressed(static_cast<std::int64_t>(std::floor(x)), size, mode);
        return {at, at, 0};
    }
    const double fixed = std::floor((x - 0.5) * 256 + 0.5);
    const auto steps = static_cast<std::int64_t>(fixed);
    const std::int64_t first = steps >> 8;
    return {addressed(first, size, mode), addressed(first + 1, size, mode), static_cast<float>(steps & 255) / 256};
}

struct Point {
    float x = 0, y = 0, z = 0;
    std::int64_t slice = 0;  ///< of a layer or face
};

/// The face of a cube that a direction points to, and the place on it.
Point on_cube(float x, float y, float z) {
    const float ax = std::abs(x), ay = std::abs(y), az = std::abs(z);
    float s, t, m;
    int face;
    if (ax >= ay && ax >= az) {
        face = x < 0 ? 1 : 0, s = x < 0 ? z : -z, t = -y, m = ax;
    } else if (ay >= az) {
        face = y < 0 ? 3 : 2, s = x, t = y < 0 ? -z : z, m = ay;
    } else {
        face = z < 0 ? 5 : 4, s = z < 0 ? -x : x, t = -y, m = az;
    }
    return {(s / m + 1) / 2, (t / m + 1) / 2, 0, face};
}

struct Sampled {
    Bits value = {};
    Addr address = 0;  ///< of the texel that the timing model sees
};

class Sampler {
public:
    Sampler(const Warp& warp, const Texture& texture, const TextureSite& site) : view_(warp, texture), texture_(texture), site_(site) {}

    Sampled sample(const Point& at) const {
        const bool between = texture_.linear || site_.gather != TextureSite::kNoGather;
        const bool volume = site_.dimensions == 3 && !site_.cube;
        const Axis x = axis(texture_, at.x, texture_.width, texture_.mode[0], between);
        const Axis y = site_.dimensions < 2 ? Axis{} : axis(texture_, at.y, texture_.height, texture_.mode[1], between);
        Axis z{at.slice, at.slice, 0};
        if (volume) z = axis(texture_, at.z, texture_.depth, texture_.mode[2], between);
        Sampled made;
        made.address = texture_.base + view_.offset(std::max<std::int64_t>(x.first, 0), std::max<std::int64_t>(y.first, 0),
                                                    std::max<std::int64_t>(z.first, 0));
        if (site_.gather != TextureSite::kNoGather)
            made.value = {channel(x.first, y.second, z.first), channel(x.second, y.second, z.first), channel(x.second, y.first, z.first),
                          channel(x.first, y.first, z.first)};
        else if (texture_.linear)
            made.value = interpolate(x, y, z);
        else
            made.value = converted(x.first, y.first, z.first);
        return made;
    }

private:
    bool in_border(std::int64_t x, std::int64_t y, std::int64_t z) const { return x < 0 || y < 0 || z < 0; }
    bool floating() const { return texture_.kind == TexelKind::floating || texture_.to_float; }
    Texel number(std::int64_t x, std::int64_t y, std::int64_t z) const {
        return in_border(x, y, z) ? texture_.border : as_float(texture_, view_.raw(x, y, z));
    }
    Bits converted(std::int64_t x, std::int64_t y, std::int64_t z) const {
        if (floating()) return std::bit_cast<Bits>(number(x, y, z));
        return in_border(x, y, z) ? std::bit_cast<Bits>(texture_.border) : view_.raw(x, y, z);
    }
    std::uint32_t channel(std::int64_t x, std::int64_t y, std::int64_t z) const { return converted(x, y, z)[site_.gather]; }
    Bits interpolate(const Axis& x, const Axis& y, const Axis& z) const {
        Texel sum = {};
        const auto add = [&](std::int64_t i, std::int64_t j, std::int64_t k, float weight) {
            if (weight == 0) return;
            const Texel texel = number(i, j, k);
            for (std::size_t c = 0; c < 4; ++c) sum[c] += weight * texel[c];
        };
        for (const bool upper : {false, true}) {
            const std::int64_t k = upper ? z.second : z.first;
            const float wz = upper ? z.weight : 1 - z.weight;
            add(x.first, y.first, k, (1 - x.weight) * (1 - y.weight) * wz);
            add(x.second, y.first, k, x.weight * (1 - y.weight) * wz);
            add(x.first, y.second, k, (1 - x.weight) * y.weight * wz);
            add(x.second, y.second, k, x.weight * y.weight * wz);
        }
        return std::bit_cast<Bits>(sum);
    }

    View view_;
    const Texture& texture_;
    const TextureSite& site_;
};

/// The coordinates of a lane; layers and faces become slices.
Point coordinates(const Warp& warp, const TextureSite& site, const Texture& texture, std::uint32_t lane) {
    std::size_t next = 0;
    std::int64_t layer = 0;
    if (site.layered) {
        layer = lane_of<std::int32_t>(warp, site.coordinates[next++], lane);
        const std::int64_t layers = texture.depth / (site.cube ? 6 : 1);
        layer = std::clamp<std::int64_t>(layer, 0, std::max<std::int64_t>(layers - 1, 0));
    }
    const auto number = [&] {
        const Slot slot = site.coordinates[next++];
        return site.integer_coordinates ? static_cast<float>(lane_of<std::int32_t>(warp, slot, lane)) : lane_of<float>(warp, slot, lane);
    };
    Point at;
    at.x = number();
    if (site.dimensions > 1) at.y = number();
    if (site.dimensions > 2) at.z = number();
    if (site.cube) at = on_cube(at.x, at.y, at.z);
    at.slice += layer * (site.cube ? 6 : 1);
    return at;
}

/// Integer coordinates, which a float may not hold: the texel itself, or zero outside.
Sampled fetch(const Warp& warp, const TextureSite& site, const Texture& texture, std::uint32_t lane) {
    std::size_t next = 0;
    const auto number = [&]() -> std::int64_t { return lane_of<std::int32_t>(warp, site.coordinates[next++], lane); };
    const std::int64_t layer = site.layered ? number() : 0;
    const std::int64_t x = number();
    const std::int64_t y = site.dimensions > 1 ? number() : 0;
    const std::int64_t z = site.dimensions > 2 ? number() : layer;
    Sampled made{{}, texture.base};
    if (x < 0 || y < 0 || z < 0 || x >= texture.width || y >= texture.height || z >= texture.depth) return made;
    const View view(warp, texture);
    made.address += view.offset(x, y, z);
    made.value = view.raw(x, y, z);
    if (texture.to_float || (texture.kind == TexelKind::floating && texture.channel_bytes == 2))
        made.value = std::bit_cast<Bits>(as_float(texture, made.value));
    return made;
}

const Texture& texture_of(const Warp& warp, const Inst& inst, std::uint32_t lane) {
    const Texture* const texture = warp.launch->memory.textures().find(lane_of<std::uint64_t>(warp, inst.a, lane));
    if (texture == nullptr) fail(warp, inst, "the handle is not one of a texture or surface that exists; pass the object that was created");
    return *texture;
}

void record(Warp& warp, const Inst& inst, std::uint32_t mask, Addr* seen) {
    if (warp.recorder == nullptr) return;
    if (warp.launch->moved) {
        for (std::uint32_t left = mask; left != 0; left &= left - 1)
            seen[lowest_bit(left)] = warp.launch->memory.timed(seen[lowest_bit(left)]);
    }
    Addr base;
    std::int64_t stride;
    if (record::find_affine(seen, mask, base, stride))
        warp.recorder->affine(inst.memory, base, stride);
    else
        warp.recorder->lanes(inst.memory, mask, seen);
}

/// Where a lane's bytes are on a surface; false: outside, and nothing is read or written.
bool place_on_surface(const Warp& warp, const Inst& inst, const TextureSite& site, const Texture& surface, std::uint32_t lane,
                      std::uint64_t& offset) {
    std::size_t next = 0;
    const auto number = [&]() -> std::int64_t { return lane_of<std::int32_t>(warp, site.coordinates[next++], lane); };
    const std::int64_t layer = site.layered ? number() : 0;
    std::int64_t x = number();
    std::int64_t y = site.dimensions > 1 ? number() : 0;
    std::int64_t z = site.dimensions > 2 ? number() : layer;
    const std::int64_t access = std::int64_t{site.bytes} * site.elements;
    const std::int64_t row = std::int64_t{surface.width} * surface.texel_bytes();
    const auto within = [&](std::int64_t& value, std::int64_t most) {
        if (value >= 0 && value <= most) return true;
        if (site.outside == TextureSite::Outside::trap)
            fail(warp, inst, "an access leaves its surface; check the coordinates (x in bytes)");
        if (site.outside == TextureSite::Outside::zero || most < 0) return false;
        value = value < 0 ? 0 : most;
        return true;
    };
    if (!within(x, row - access) || !within(y, std::int64_t{surface.height} - 1) || !within(z, std::int64_t{surface.depth} - 1))
        return false;
    offset = static_cast<std::uint64_t>(z) * surface.slice_bytes + static_cast<std::uint64_t>(y) * surface.row_bytes +
             static_cast<std::uint64_t>(x);
    return true;
}

}  // namespace

void read_texture(Warp& warp, const Inst& inst, std::uint32_t mask) {
    const TextureSite& site = warp.launch->program.textures[inst.list];
    Addr seen[32] = {};
    for (std::uint32_t left = mask; left != 0; left &= left - 1) {
        const std::uint32_t lane = lowest_bit(left);
        const Texture& texture = texture_of(warp, inst, lane);
        const Sampled made = site.integer_coordinates ? fetch(warp, site, texture, lane)
                                                      : Sampler(warp, texture, site).sample(coordinates(warp, site, texture, lane));
        seen[lane] = made.address;
        for (std::size_t c = 0; c < 4; ++c) set_lane(warp, site.data[c], lane, made.value[c], 4);
    }
    record(warp, inst, mask, seen);
}

void access_surface(Warp& warp, const Inst& inst, std::uint32_t mask) {
    const TextureSite& site = warp.launch->program.textures[inst.list];
    Addr seen[32] = {};
    for (std::uint32_t left = mask; left != 0; left &= left - 1) {
        const std::uint32_t lane = lowest_bit(left);
        const Texture& surface = texture_of(warp, inst, lane);
        const DeviceMemory::Range range = warp.launch->memory.find(surface.base);
        std::uint64_t offset = 0;
        const std::uint64_t access = std::uint64_t{site.bytes} * site.elements;
        const bool inside = place_on_surface(warp, inst, site, surface, lane, offset) && range.holds(surface.base + offset, access);
        seen[lane] = surface.base + (inside ? offset : 0);
        std::byte* const at = inside ? range.host + (surface.base + offset - range.base) : nullptr;
        for (std::size_t e = 0; e < site.elements; ++e) {
            std::uint64_t value = 0;
            if (site.is_store) {
                const Slot slot = site.data[e];
                const std::byte* const from = slot < 0 ? warp.pool + (slot & 0x7FFFFFFF) : warp.regs + slot;
                std::memcpy(&value, from + std::size_t{lane} * site.register_bytes, site.register_bytes);
                if (inside) std::memcpy(at + e * site.bytes, &value, site.bytes);
            } else {
                if (inside) std::memcpy(&value, at + e * site.bytes, site.bytes);
                set_lane(warp, site.data[e], lane, value, site.register_bytes);
            }
        }
    }
    if (site.is_store) ++warp.launch->changes;
    record(warp, inst, mask, seen);
}

}  // namespace mergelane::ptx
