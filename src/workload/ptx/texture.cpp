// SPDX-License-Identifier: MIT
// Texture reads follow the appendix on texture fetching of the CUDA programming guide: interpolation weights have 8 fractional bits.
#include "workload/ptx/texture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/bits.hpp"
#include "workload/ptx/lexer.hpp"
#include "workload/ptx/ptx.hpp"
#include "workload/ptx/warp.hpp"

namespace mergelane::ptx {

namespace {

using Texel = std::array<float, 4>;
using Bits = std::array<std::uint32_t, 4>;

const std::byte* lanes_of(const Warp& warp, Slot slot) {
    return slot < 0 ? warp.pool + (slot & 0x7FFFFFFF) : warp.regs + slot;
}
template <class T>
T lane_of(const Warp& warp, Slot slot, std::uint32_t lane) {
    T value;
    std::memcpy(&value, lanes_of(warp, slot) + lane * sizeof value, sizeof value);
    return value;
}
template <class F>
void each_lane(std::uint32_t mask, const F& f) {
    for (std::uint32_t left = mask; left != 0; left &= left - 1) f(lowest_bit(left));
}
void set_lane(Warp& warp, Slot slot, std::uint32_t lane, std::uint64_t value, std::uint32_t bytes) {
    if (slot != kAbsent) std::memcpy(warp.regs + slot + std::size_t{lane} * bytes, &value, bytes);
}

void set_lanes(Warp& warp, Slot slot, std::uint32_t mask, const std::uint32_t* value) {
    constexpr std::uint32_t kAll = ~0u;
    if (slot == kAbsent) return;
    std::uint32_t lanes[32];
    if (mask == kAll) {
        std::memcpy(warp.regs + slot, value, sizeof lanes);
        return;
    }
    std::memcpy(lanes, warp.regs + slot, sizeof lanes);
    for (std::uint32_t i = 0; i < 32; ++i) lanes[i] = (mask >> i & 1) != 0 ? value[i] : lanes[i];
    std::memcpy(warp.regs + slot, lanes, sizeof lanes);
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
    bool holds(std::uint64_t at) const { return at < bytes && bytes - at >= texture.texel_bytes(); }
    /// Channel `c` of the texel, if channels have four bytes.
    std::uint32_t word(std::uint64_t at, std::uint32_t c) const {
        std::uint32_t value = 0;
        if (holds(at)) std::memcpy(&value, host + at + c * sizeof value, sizeof value);
        return value;
    }
    /// The channels as they are in memory, integers extended.
    Bits raw(std::uint64_t at) const {
        Bits value = {};
        if (!holds(at)) return value;
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

/// One word of 32 lanes.
struct Words {
    alignas(64) std::uint32_t of[32];
};
struct Numbers {
    alignas(64) float of[32];
};

/// Where the lanes' texels are along one dimension: those that a coordinate falls between, in bytes, and the weight of the second.
struct Axis {
    std::uint64_t at[2][32];
    std::uint32_t outside[2] = {};  ///< lanes whose texel is the border
    float weight[32];

    /// The first texel, for all lanes.
    void clear() {
        std::memset(at[0], 0, sizeof at[0]);
        std::memset(weight, 0, sizeof weight);
    }
    void set(std::uint32_t side, std::uint32_t lane, std::int64_t texel, std::uint64_t pitch) {
        at[side][lane] = texel < 0 ? 0 : static_cast<std::uint64_t>(texel) * pitch;
        outside[side] = (outside[side] & ~(1u << lane)) | (texel < 0 ? 1u << lane : 0);
    }
};
/// How the texels of one dimension lie.
struct Extent {
    std::uint32_t size;
    std::uint64_t pitch;
    AddressMode mode;
};

std::int32_t floored(double x) {
    const auto whole = static_cast<std::int32_t>(x);
    return whole - (x < whole ? 1 : 0);
}

/// Texels of one side for all lanes; without branches for the most frequent modes.
void address(const std::int32_t* texel, const Extent& extent, std::uint32_t side, Axis& axis) {
    const auto last = static_cast<std::int32_t>(std::min<std::uint32_t>(extent.size - 1, std::numeric_limits<std::int32_t>::max()));
    if (extent.mode == AddressMode::clamp) {
        for (std::size_t i = 0; i < 32; ++i) {
            const std::int32_t inside = std::clamp(texel[i], 0, last);
            axis.at[side][i] = static_cast<std::uint64_t>(static_cast<std::uint32_t>(inside)) * extent.pitch;
        }
        return;
    }
    for (std::uint32_t i = 0; i < 32; ++i) axis.set(side, i, addressed(texel[i], extent.size, extent.mode), extent.pitch);
}

/// Reads a texture for the lanes of a warp.
class Sampler {
public:
    Sampler(const Warp& warp, const Texture& texture, const TextureSite& site) : view_(warp, texture), texture_(texture), site_(site) {}

    void sample(const Warp& warp, std::uint32_t mask) {
        const bool volume = site_.dimensions == 3 && !site_.cube;
        Numbers along[3];
        if (site_.dimensions < 2) axes_[1].clear();
        if (!volume) axes_[2].clear();
        find_coordinates(warp, mask, along);
        place(along[0], mask, {texture_.width, texture_.texel_bytes(), texture_.mode[0]}, axes_[0]);
        if (site_.dimensions > 1) place(along[1], mask, {texture_.height, texture_.row_bytes, texture_.mode[1]}, axes_[1]);
        if (volume) place(along[2], mask, {texture_.depth, texture_.slice_bytes, texture_.mode[2]}, axes_[2]);
        if (site_.gather != TextureSite::kNoGather)
            gather(mask);
        else if (texture_.linear)
            interpolate(mask);
        else
            pick(mask);
    }
    /// Channel `c` of the results.
    const Words& value(std::size_t c) const { return values_[c]; }
    /// Of the texel that the timing model sees.
    Addr address_of(std::uint32_t lane) const { return texture_.base + offset(lane, 0); }

private:
    static constexpr std::uint32_t kSecondX = 1, kSecondY = 2, kSecondZ = 4;  ///< a corner: which of two texels along each dimension

    void find_coordinates(const Warp& warp, std::uint32_t mask, Numbers* along);
    void place(const Numbers& coordinate, std::uint32_t mask, Extent extent, Axis& axis) const;
    bool between() const { return texture_.linear || site_.gather != TextureSite::kNoGather; }
    bool floating() const { return texture_.kind == TexelKind::floating || texture_.to_float; }
    bool plain() const { return texture_.kind == TexelKind::floating && texture_.channel_bytes == 4; }

    std::uint64_t offset(std::uint32_t lane, std::uint32_t corner) const {
        return axes_[0].at[corner & 1][lane] + axes_[1].at[corner >> 1 & 1][lane] + axes_[2].at[corner >> 2][lane];
    }
    std::uint32_t outside(std::uint32_t corner) const {
        return axes_[0].outside[corner & 1] | axes_[1].outside[corner >> 1 & 1] | axes_[2].outside[corner >> 2];
    }
    Texel number(std::uint32_t lane, std::uint32_t corner) const {
        return (outside(corner) >> lane & 1) != 0 ? texture_.border : as_float(texture_, view_.raw(offset(lane, corner)));
    }
    Bits converted(std::uint32_t lane, std::uint32_t corner) const {
        if (floating()) return std::bit_cast<Bits>(number(lane, corner));
        return (outside(corner) >> lane & 1) != 0 ? std::bit_cast<Bits>(texture_.border) : view_.raw(offset(lane, corner));
    }
    /// Channel `c` of a corner's texels, if channels have four bytes.
    void read_words(std::uint32_t corner, std::uint32_t c, Words& to) const {
        std::uint64_t at[32];
        std::uint64_t furthest = 0;
        for (std::uint32_t i = 0; i < 32; ++i) at[i] = offset(i, corner);
        for (const std::uint64_t one : at) furthest = std::max(furthest, one);
        const bool inside = view_.holds(furthest);
        const std::byte* const first = view_.host + c * sizeof(std::uint32_t);
        if (inside) {
            for (std::size_t i = 0; i < 32; ++i) std::memcpy(&to.of[i], first + at[i], sizeof(std::uint32_t));
        } else {
            for (std::size_t i = 0; i < 32; ++i) to.of[i] = view_.word(at[i], c);
        }
    }
    void gather(std::uint32_t mask);
    void pick(std::uint32_t mask);
    void interpolate(std::uint32_t mask);
    void add_corner(std::uint32_t mask, std::uint32_t corner, Numbers* sum) const;
    void weigh(std::uint32_t corner, Numbers& weight) const;

    View view_;
    const Texture& texture_;
    const TextureSite& site_;
    Axis axes_[3];
    Words values_[4] = {};
};

/// The face of a cube that a direction points to; the direction becomes the place on it.
std::uint32_t on_cube(float& x, float& y, float z) {
    const float ax = std::abs(x), ay = std::abs(y), az = std::abs(z);
    float s, t, m;
    std::uint32_t face;
    if (ax >= ay && ax >= az) {
        face = x < 0 ? 1 : 0, s = x < 0 ? z : -z, t = -y, m = ax;
    } else if (ay >= az) {
        face = y < 0 ? 3 : 2, s = x, t = y < 0 ? -z : z, m = ay;
    } else {
        face = z < 0 ? 5 : 4, s = z < 0 ? -x : x, t = -y, m = az;
    }
    x = (s / m + 1) / 2;
    y = (t / m + 1) / 2;
    return face;
}

/// Coordinates of all lanes; layers and faces become slices.
void Sampler::find_coordinates(const Warp& warp, std::uint32_t mask, Numbers* along) {
    const Slot* next = site_.coordinates.data() + (site_.layered ? 1 : 0);
    for (std::size_t d = 0; d < site_.dimensions; ++d, ++next) std::memcpy(along[d].of, lanes_of(warp, *next), sizeof along[d].of);
    if (!site_.layered && !site_.cube) return;
    const std::int64_t faces = site_.cube ? 6 : 1;
    for (std::uint32_t left = mask; left != 0; left &= left - 1) {
        const std::uint32_t i = lowest_bit(left);
        std::int64_t slice = site_.cube ? on_cube(along[0].of[i], along[1].of[i], along[2].of[i]) : 0;
        if (site_.layered) {
            const std::int64_t layer = lane_of<std::int32_t>(warp, site_.coordinates[0], i);
            slice += std::clamp<std::int64_t>(layer, 0, std::max<std::int64_t>(texture_.depth / faces - 1, 0)) * faces;
        }
        axes_[2].set(0, i, slice, texture_.slice_bytes);
    }
}

void Sampler::place(const Numbers& coordinate, std::uint32_t mask, Extent extent, Axis& axis) const {
    // Wrapping and mirroring are only defined for normalised coordinates.
    if (!texture_.normalized && (extent.mode == AddressMode::wrap || extent.mode == AddressMode::mirror)) extent.mode = AddressMode::clamp;
    constexpr double kNear = 0x1p22;  // 256ths of it fit into 32 bits
    constexpr double kFar = 0x1p40;   // beyond, one texel is like another
    const double scale = texture_.normalized ? static_cast<double>(extent.size) : 1.0;
    const bool two = between();
    double scaled[32], x[32];
    std::int32_t texel[32];
    std::uint32_t far = 0;
    std::uint32_t near = 0;
    for (std::size_t i = 0; i < 32; ++i) scaled[i] = double{coordinate.of[i]} * scale;
    for (std::size_t i = 0; i < 32; ++i) x[i] = std::abs(scaled[i]) <= kNear ? scaled[i] : 0;  // what is not a number counts as 0
    for (std::size_t i = 0; i < 32; ++i) near += std::abs(scaled[i]) <= kNear ? 1u : 0u;
    for (std::size_t i = 0; near != 32 && i < 32; ++i) far |= std::abs(scaled[i]) > kNear ? 1u << i : 0;
    if (two) {
        std::int32_t steps[32];
        for (std::size_t i = 0; i < 32; ++i) steps[i] = floored((x[i] - 0.5) * 256 + 0.5);
        for (std::size_t i = 0; i < 32; ++i) axis.weight[i] = static_cast<float>(steps[i] & 255) / 256;
        for (std::size_t i = 0; i < 32; ++i) texel[i] = steps[i] >> 8;
    } else {
        for (std::size_t i = 0; i < 32; ++i) texel[i] = floored(x[i]);
    }
    address(texel, extent, 0, axis);
    if (two) {
        for (std::int32_t& next : texel) ++next;
        address(texel, extent, 1, axis);
    }
    for (std::uint32_t left = mask & far; left != 0; left &= left - 1) {
        const std::uint32_t i = lowest_bit(left);
        const double away = std::clamp(scaled[i], -kFar, kFar);
        const auto steps = static_cast<std::int64_t>(std::floor((away - 0.5) * 256 + 0.5));
        const std::int64_t at = two ? steps >> 8 : static_cast<std::int64_t>(std::floor(away));
        axis.set(0, i, addressed(at, extent.size, extent.mode), extent.pitch);
        axis.set(1, i, addressed(at + 1, extent.size, extent.mode), extent.pitch);
        axis.weight[i] = static_cast<float>(steps & 255) / 256;
    }
}

/// One channel of four texels, counter-clockwise from the upper left.
void Sampler::gather(std::uint32_t mask) {
    constexpr std::uint32_t kOrder[4] = {kSecondY, kSecondX | kSecondY, kSecondX, 0};
    for (std::uint32_t left = mask; left != 0; left &= left - 1) {
        const std::uint32_t i = lowest_bit(left);
        for (std::size_t c = 0; c < 4; ++c) values_[c].of[i] = converted(i, kOrder[c])[site_.gather];
    }
}

void Sampler::pick(std::uint32_t mask) {
    if (plain() && outside(0) == 0) {
        for (std::uint32_t c = 0; c < texture_.channels; ++c) read_words(0, c, values_[c]);
        return;
    }
    for (std::uint32_t left = mask; left != 0; left &= left - 1) {
        const std::uint32_t i = lowest_bit(left);
        const Bits value = converted(i, 0);
        for (std::size_t c = 0; c < 4; ++c) values_[c].of[i] = value[c];
    }
}

void Sampler::weigh(std::uint32_t corner, Numbers& weight) const {
    const auto part = [](float second, bool of_second) { return of_second ? second : 1 - second; };
    for (std::size_t i = 0; i < 32; ++i) {
        weight.of[i] = part(axes_[0].weight[i], (corner & kSecondX) != 0) * part(axes_[1].weight[i], (corner & kSecondY) != 0) *
                       part(axes_[2].weight[i], (corner & kSecondZ) != 0);
    }
}

/// Texels without weight do not count, not even if they are infinite.
void Sampler::add_corner(std::uint32_t mask, std::uint32_t corner, Numbers* sum) const {
    Numbers weight;
    weigh(corner, weight);
    if (plain() && outside(corner) == 0) {
        for (std::uint32_t c = 0; c < texture_.channels; ++c) {
            Words texel;
            read_words(corner, c, texel);
            Numbers total = sum[c];
            for (std::size_t i = 0; i < 32; ++i) {
                const float more = total.of[i] + weight.of[i] * std::bit_cast<float>(texel.of[i]);
                total.of[i] = std::bit_cast<std::uint32_t>(weight.of[i]) == 0 ? total.of[i] : more;  // no weight is below 0
            }
            sum[c] = total;
        }
        return;
    }
    for (std::uint32_t left = mask; left != 0; left &= left - 1) {
        const std::uint32_t i = lowest_bit(left);
        if (weight.of[i] == 0) continue;
        const Texel texel = number(i, corner);
        for (std::size_t c = 0; c < 4; ++c) sum[c].of[i] += weight.of[i] * texel[c];
    }
}

void Sampler::interpolate(std::uint32_t mask) {
    Numbers sum[4] = {};
    const bool volume = site_.dimensions == 3 && !site_.cube;
    const std::uint32_t corners = volume ? 8 : site_.dimensions > 1 ? 4 : 2;
    for (std::uint32_t corner = 0; corner < corners; ++corner) add_corner(mask, corner, sum);
    std::memcpy(values_, sum, sizeof sum);
}

struct Fetched {
    Bits value = {};
    Addr address = 0;  ///< of the texel
};
/// Integer coordinates, which a float may not hold: the texel itself, or zero outside.
Fetched fetch(const Warp& warp, const TextureSite& site, const View& view, std::uint32_t lane) {
    std::size_t next = 0;
    const auto number = [&]() -> std::int64_t { return lane_of<std::int32_t>(warp, site.coordinates[next++], lane); };
    const Texture& texture = view.texture;
    const std::int64_t layer = site.layered ? number() : 0;
    const std::int64_t x = number();
    const std::int64_t y = site.dimensions > 1 ? number() : 0;
    const std::int64_t z = site.dimensions > 2 ? number() : layer;
    Fetched made{{}, texture.base};
    if (x < 0 || y < 0 || z < 0 || x >= texture.width || y >= texture.height || z >= texture.depth) return made;
    const std::uint64_t at = view.offset(x, y, z);
    made.address += at;
    made.value = view.raw(at);
    if (texture.to_float || (texture.kind == TexelKind::floating && texture.channel_bytes == 2))
        made.value = std::bit_cast<Bits>(as_float(texture, made.value));
    return made;
}

const Texture& texture_of(const Warp& warp, const Inst& inst, std::uint32_t lane) {
    const Texture* const texture = warp.launch->memory.textures().find(lane_of<std::uint64_t>(warp, inst.a, lane));
    if (texture == nullptr) fail(warp, inst, "the handle is not one of a texture or surface that exists; pass the object that was created");
    return *texture;
}

/// Those of `lanes` that have the same handle as the lowest of them.
std::uint32_t lanes_with_handle(const Warp& warp, const Inst& inst, std::uint32_t lanes) {
    const auto handle = lane_of<std::uint64_t>(warp, inst.a, lowest_bit(lanes));
    std::uint64_t differences = 0;
    for (std::uint32_t i = 0; i < 32; ++i) differences |= lane_of<std::uint64_t>(warp, inst.a, i) ^ handle;
    if (differences == 0) return lanes;
    std::uint32_t same = 0;
    for (std::uint32_t i = 0; i < 32; ++i) same |= lane_of<std::uint64_t>(warp, inst.a, i) == handle ? 1u << i : 0;
    return same & lanes;
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
    std::array<Addr, 32> seen;
    if (warp.recorder != nullptr) seen.fill(0);
    for (std::uint32_t left = mask; left != 0;) {
        const Texture& texture = texture_of(warp, inst, lowest_bit(left));
        const std::uint32_t lanes = lanes_with_handle(warp, inst, left);
        left &= ~lanes;
        if (site.integer_coordinates) {
            const View view(warp, texture);
            each_lane(lanes, [&](std::uint32_t lane) {
                const Fetched made = fetch(warp, site, view, lane);
                if (warp.recorder != nullptr) seen[lane] = made.address;
                for (std::size_t c = 0; c < 4; ++c) set_lane(warp, site.data[c], lane, made.value[c], 4);
            });
            continue;
        }
        Sampler sampler(warp, texture, site);
        sampler.sample(warp, lanes);
        for (std::size_t c = 0; c < 4; ++c) set_lanes(warp, site.data[c], lanes, sampler.value(c).of);
        if (warp.recorder != nullptr) each_lane(lanes, [&](std::uint32_t lane) { seen[lane] = sampler.address_of(lane); });
    }
    record(warp, inst, mask, seen.data());
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
