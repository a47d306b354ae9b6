// SPDX-License-Identifier: MIT
// Texture reads and surface accesses by handle; the whole of it with nvcc's code is tests/cuda/textures.cu.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "ptx_helpers.hpp"

using namespace mergelane;
using namespace mergelane::ptx;

namespace {

std::string kernel(const std::string& body) {
    return R"(.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 texture, .param .u64 in, .param .u64 out) {
    .reg .pred %p<9>; .reg .b16 %h<5>; .reg .b32 %r<19>; .reg .f32 %f<19>; .reg .b64 %x<19>;
    ld.param.u64 %x1, [texture]; ld.param.u64 %x2, [in]; ld.param.u64 %x3, [out]; mov.u32 %r1, %tid.x;
    mad.wide.u32 %x4, %r1, 16, %x2; mad.wide.u32 %x5, %r1, 16, %x3;
    ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%x4]; ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%x4];
)" + body + "\n ret; }\n";
}

/// Texel (x, y, z) of a volume of 4 x 4 x 2 is x + 10 y + 100 z.
Texture volume(TestDevice& device) {
    std::vector<float> values;
    for (int z = 0; z < 2; ++z)
        for (int y = 0; y < 4; ++y)
            for (int x = 0; x < 4; ++x) values.push_back(static_cast<float>(x + 10 * y + 100 * z));
    Texture texture;
    texture.base = device.put(values);
    texture.width = texture.height = 4;
    texture.depth = 2;
    texture.row_bytes = 16;
    texture.slice_bytes = 64;
    return texture;
}

/// The first component of one lane's read.
float read(const std::string& body, const Texture& like, std::vector<float> at, bool record = false) {
    TestDevice device(kernel(body + " st.global.v4.f32 [%x5], {%f5, %f6, %f7, %f8};"));
    Texture texture = like;
    texture.base = volume(device).base;
    const std::uint64_t handle = device.memory.textures().add(texture);
    at.resize(4);
    const Addr in = device.put(at), out = device.zeros<float>(4);
    device.record = record;
    device.run("k", {1}, {1}, handle, in, out);
    return device.get<float>(out, 1)[0];
}

constexpr const char* k2d = "tex.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%x1, {%f1, %f2}];";
constexpr const char* k3d = "tex.3d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%x1, {%f1, %f2, %f3, %f3}];";
constexpr const char* kLayered = "tex.a2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%x1, {%r5, %f1, %f2, %f2}];";

Texture plain() {
    Texture texture;
    texture.width = texture.height = 4;
    texture.depth = 2;
    texture.row_bytes = 16;
    texture.slice_bytes = 64;
    return texture;
}

}  // namespace

TEST(PtxTextures, PointsAndInterpolation) {
    Texture texture = plain();
    EXPECT_EQ(read(k2d, texture, {2.9f, 1.1f}), 12);
    EXPECT_EQ(read(k2d, texture, {-3, 9}), 30);
    EXPECT_EQ(read(k3d, texture, {1, 1, 1}), 111);
    EXPECT_EQ(read(kLayered, texture, {1, 1, 0, std::bit_cast<float>(1)}), 111);
    EXPECT_EQ(read(kLayered, texture, {1, 1, 0, std::bit_cast<float>(77)}), 111);
    texture.linear = true;
    EXPECT_EQ(read(k2d, texture, {2, 1.5f}), 11.5f);
    EXPECT_EQ(read(k3d, texture, {1.5f, 1.5f, 1}), 61);
    EXPECT_EQ(read(k2d, texture, {1.5f + 3.0f / 1024, 0.5f}), 1 + 1.0f / 256);  // weights have 8 fractional bits
    EXPECT_EQ(read(k2d, texture, {std::bit_cast<float>(0x7FC00000), 0.5f}), 0);
    EXPECT_EQ(read(k2d, texture, {1e30f, -1e30f}, true), 3);
}

TEST(PtxTextures, AddressModes) {
    Texture texture = plain();
    texture.normalized = true;
    const auto all = [&](AddressMode mode) { texture.mode = {mode, mode, mode}; };
    all(AddressMode::wrap);
    EXPECT_EQ(read(k2d, texture, {1.3f, -0.1f}), 31);
    all(AddressMode::mirror);
    EXPECT_EQ(read(k2d, texture, {1.3f, -0.3f}), 12);
    all(AddressMode::border);
    texture.border = {7, 7, 7, 7};
    EXPECT_EQ(read(k2d, texture, {1.3f, 0.1f}), 7);
    all(AddressMode::clamp);
    EXPECT_EQ(read(k2d, texture, {1.3f, 0.1f}), 3);
    all(AddressMode::wrap);
    texture.normalized = false;  // then wrapping is clamping
    EXPECT_EQ(read(k2d, texture, {5, 0}), 3);
}

TEST(PtxTextures, GathersAndLevels) {
    const Texture texture = plain();
    EXPECT_EQ(read("tld4.r.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%x1, {%f1, %f2}];", texture, {2, 1}), 11);
    EXPECT_EQ(read("tex.level.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%x1, {%f1, %f2}], %f3;", texture, {2, 1, 9}), 12);
    EXPECT_EQ(read("tex.grad.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%x1, {%f1, %f2}], {%f1, %f2}, {%f1, %f2};", texture, {2, 1}), 12);
    EXPECT_EQ(read("tex.1d.v4.f32.s32 {%f5, %f6, %f7, %f8}, [%x1, {%r2}];", texture, {std::bit_cast<float>(3)}), 3);
    EXPECT_EQ(read("tex.1d.v4.f32.s32 {%f5, %f6, %f7, %f8}, [%x1, {%r2}];", texture, {std::bit_cast<float>(4)}), 0);
}

TEST(PtxTextures, SmallChannelsAreExtendedOrNormalised) {
    TestDevice device(kernel("tex.2d.v4.s32.f32 {%r6, %r7, %r8, %r9}, [%x1, {%f1, %f2}]; st.global.v4.u32 [%x5], {%r6, %r7, %r8, %r9};"));
    Texture texture;
    texture.base = device.put(std::vector<std::int8_t>{-1, 127, -128, 5});
    texture.channels = 4;
    texture.channel_bytes = 1;
    texture.kind = TexelKind::signed_integer;
    const Addr in = device.put(std::vector<float>(4)), out = device.zeros<float>(4);
    const auto run = [&] { device.run("k", {1}, {1}, device.memory.textures().add(texture), in, out); };
    run();
    EXPECT_EQ(device.get<std::int32_t>(out, 4), (std::vector<std::int32_t>{-1, 127, -128, 5}));
    texture.to_float = true;
    run();
    EXPECT_EQ(device.get<float>(out, 4), (std::vector<float>{-1 / 127.0f, 1, -1, 5 / 127.0f}));
    texture.base = device.put(std::vector<std::uint16_t>{0x3C00, 0xC000, 0x0001, 0x7C00});
    texture.channel_bytes = 2;
    texture.kind = TexelKind::floating;
    run();
    EXPECT_EQ(device.get<float>(out, 4), (std::vector<float>{1, -2, 0x1p-24f, std::numeric_limits<float>::infinity()}));
}

TEST(PtxTextures, SurfacesReadAndWriteBytesOfARow) {
    const std::string body = R"(
        suld.b.2d.b32.zero {%r6}, [%x1, {%r2, %r3}]; suld.b.2d.v2.b16.clamp {%h1, %h2}, [%x1, {%r2, %r3}]; cvt.u32.u16 %r7, %h2;
        st.global.v2.u32 [%x5], {%r6, %r7}; mov.u32 %r8, 5; sust.b.2d.b32.zero [%x1, {%r2, %r3}], {%r8};)";
    TestDevice device(kernel(body));
    const std::uint64_t handle = device.memory.textures().add(volume(device));
    const Addr in = device.put(std::vector<std::int32_t>{4, 1, 0, 0, 16, 1, 0, 0}), out = device.zeros<std::uint32_t>(8);
    device.run("k", {1}, {2}, handle, in, out);
    const auto got = device.get<std::uint32_t>(out, 8);
    EXPECT_EQ(std::bit_cast<float>(got[0]), 11);
    EXPECT_EQ(got[1], std::bit_cast<std::uint32_t>(11.0f) >> 16);
    EXPECT_EQ(got[4], 0u);
    EXPECT_EQ(got[5], std::bit_cast<std::uint32_t>(13.0f) >> 16);  // the last of the row
    const Texture* const texture = device.memory.textures().find(handle);
    EXPECT_EQ(device.get<std::uint32_t>(texture->base + 20, 1)[0], 5u);
    TestDevice trapping(kernel("mov.u32 %r8, 5; sust.b.2d.b32.trap [%x1, {%r2, %r3}], {%r8};"));
    const std::uint64_t other = trapping.memory.textures().add(volume(trapping));
    const Addr outside = trapping.put(std::vector<std::int32_t>{16, 1, 0, 0});
    EXPECT_THROW(trapping.run("k", {1}, {1}, other, outside, outside), KernelFault);
}

TEST(PtxTextures, AnUnknownHandleAndUnknownFormsAreRefused) {
    TestDevice device(kernel(k2d));
    const std::uint64_t handle = 12345;
    const Addr in = device.put(std::vector<float>(4));
    EXPECT_THROW(device.run("k", {1}, {1}, handle, in, in), InputError);
    for (const char* body : {"tex.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [somewhere, {%f1, %f2}];",
                             "tex.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%x1, {%f1}];", "sust.p.2d.b32.trap [%x1, {%r2, %r3}], {%r8};",
                             "txq.width.b32 %r5, [%x1];", "tex.2dms.v4.f32.s32 {%f5, %f6, %f7, %f8}, [%x1, {%r1, %r1, %r1, %r1}];"}) {
        EXPECT_THROW(TestDevice(kernel(body)).run("k", {1}, {1}, handle, in, in), InputError) << body;
    }
}

namespace {

/// A format of texels, and the PTX type with which a kernel reads it.
struct Format {
    TexelKind kind;
    std::uint8_t channels, channel_bytes;
    bool to_float;
    const char* type;
};
constexpr Format kFormats[] = {{TexelKind::floating, 1, 4, false, "f32"},        {TexelKind::floating, 4, 4, false, "f32"},
                               {TexelKind::floating, 2, 2, false, "f32"},        {TexelKind::unsigned_integer, 4, 1, true, "f32"},
                               {TexelKind::signed_integer, 2, 2, true, "f32"},   {TexelKind::signed_integer, 1, 1, false, "s32"},
                               {TexelKind::unsigned_integer, 2, 4, false, "u32"}};
struct Form {
    const char* opcode;
    const char* coordinates;
};
constexpr Form kForms[] = {{"tex.1d", "%f1"},
                           {"tex.2d", "%f1, %f2"},
                           {"tex.3d", "%f1, %f2, %f3, %f3"},
                           {"tex.a1d", "%r5, %f1"},
                           {"tex.a2d", "%r5, %f1, %f2, %f2"},
                           {"tex.cube", "%f1, %f2, %f3, %f3"},
                           {"tex.acube", "%r5, %f1, %f2, %f3"},
                           {"tld4.g.2d", "%f1, %f2"}};

class Digest {
public:
    void add(const std::vector<std::uint32_t>& words) {
        for (const std::uint32_t word : words) value_ = (value_ ^ word) * 0x100000001B3u;
    }
    std::uint64_t value() const { return value_; }

private:
    std::uint64_t value_ = 0xCBF29CE484222325u;
};

/// Coordinates inside and around [0, size), some far outside or not a number, and a layer.
std::vector<float> coordinates(std::mt19937_64& random, float size, std::size_t lanes, bool specials) {
    const auto unit = [&] { return static_cast<float>(random() >> 40) * 0x1p-24f; };
    constexpr float kSpecial[] = {0.0f,   -0.0f,   1e30f,     -1e30f,     3e9f,
                                  -3e9f,  0x1p31f, -0x1p31f,  1e7f,       -1e7f,
                                  -1e-9f, 0.5f,    HUGE_VALF, -HUGE_VALF, std::numeric_limits<float>::quiet_NaN()};
    std::vector<float> made;
    for (std::size_t i = 0; i < lanes; ++i) {
        for (int c = 0; c < 3; ++c) {
            const bool special = specials && random() % 8 == 0;
            made.push_back(special ? kSpecial[random() % std::size(kSpecial)] : (unit() * 1.5f - 0.25f) * size);
        }
        made.push_back(std::bit_cast<float>(static_cast<std::int32_t>(random() % 4) - 1));
    }
    return made;
}

}  // namespace

/// Bits of results for every form, format, mode and filter. They were the same when lanes were read one after the other.
TEST(PtxTextures, ResultsAreAsRecorded) {
    std::mt19937_64 random(7);
    constexpr std::size_t kLanes = 60;  // a full warp, and another one
    Digest digest;
    for (const Form& form : kForms) {
        for (const Format& format : kFormats) {
            TestDevice device(kernel(std::string(form.opcode) + ".v4." + format.type + ".f32 {%r6, %r7, %r8, %r9}, [%x1, {" +
                                     form.coordinates + "}]; st.global.v4.u32 [%x5], {%r6, %r7, %r8, %r9};"));
            Texture texture;
            texture.width = texture.height = 6;
            texture.depth = 12;
            texture.channels = format.channels;
            texture.channel_bytes = format.channel_bytes;
            texture.kind = format.kind;
            texture.to_float = format.to_float;
            texture.row_bytes = 6 * texture.texel_bytes() + 16;
            texture.slice_bytes = 6 * texture.row_bytes;
            std::vector<std::uint32_t> texels(texture.slice_bytes * 12 / 4);
            for (std::uint32_t& word : texels) {
                word = static_cast<std::uint32_t>(random());
                if (format.channel_bytes == 4) word = std::bit_cast<std::uint32_t>(static_cast<float>(word % 2000) * 0.37f - 300);
            }
            texture.base = device.put(texels);
            texture.border = {0.25f, -1, 7, 1e9f};
            const Addr out = device.zeros<std::uint32_t>(4 * kLanes);
            for (unsigned variant = 0; variant < 32; ++variant) {
                texture.normalized = (variant & 1) != 0;
                texture.linear = (variant & 2) != 0 && (format.kind == TexelKind::floating || format.to_float);
                texture.mode.fill(static_cast<AddressMode>(variant >> 2 & 3));
                const Addr in = device.put(coordinates(random, texture.normalized ? 1.0f : 6.0f, kLanes, (variant & 16) != 0));
                device.record = (variant & 2) == 0;
                device.run("k", {1}, {static_cast<std::uint32_t>(kLanes)}, device.memory.textures().add(texture), in, out);
                std::vector<std::uint32_t> words = device.get<std::uint32_t>(out, 4 * kLanes);
                for (std::uint32_t& word : words) {  // one pattern for what is not a number
                    if (*format.type == 'f' && std::isnan(std::bit_cast<float>(word))) word = 0x7FFFFFFF;
                }
                digest.add(words);
            }
        }
    }
    EXPECT_EQ(digest.value(), 17037439044678688300u);
}
