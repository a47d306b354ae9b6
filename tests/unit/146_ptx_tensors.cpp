// SPDX-License-Identifier: MIT
// cp.async.bulk.tensor of every rank, swizzle and direction, and its reductions, against loops over the box; and what is asynchronous
// between CTAs of a cluster.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <random>

#include "core/error.hpp"
#include "ptx_helpers.hpp"
#include "workload/ptx/tensor_map.hpp"

namespace mergelane::ptx {
namespace {

constexpr std::uint32_t kTileWords = 8192;
using Coordinates = std::array<std::int32_t, TensorMap::kMostRank>;
using MapBytes = std::array<std::byte, TensorMap::kBytes>;

/// Parameters: the tile after the first part, two tensor maps, coordinates. %r1: thread, %p1: thread 0, %x2 and %x3: the maps, %c:
/// coordinates.
std::string kernel_text(const std::string& body, const std::string& directives = "") {
    return fmt::format(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.shared .align 1024 .b8 tile[{}];\n.shared .align 8 .b64 bar;\n"
        ".visible .entry k(.param .u64 po, .param .align 64 .b8 from[128], .param .align 64 .b8 to[128], .param .align 4 .b8 "
        "at[20])\n{}\n{{\n"
        ".reg .pred %p<9>; .reg .b16 %h<4>; .reg .b32 %r<30>; .reg .b32 %c<5>; .reg .b64 %x<20>;\n"
        "ld.param.u64 %x1, [po]; mov.b64 %x2, from; cvta.param.u64 %x2, %x2; mov.b64 %x3, to; cvta.param.u64 %x3, %x3;\n"
        "ld.param.u32 %c0, [at]; ld.param.u32 %c1, [at+4]; ld.param.u32 %c2, [at+8]; ld.param.u32 %c3, [at+12]; ld.param.u32 %c4, "
        "[at+16];\n"
        "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r4, tile; setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [bar], 1;\n"
        "barrier.cluster.arrive; barrier.cluster.wait;\n{}\nret;\n}}\n",
        kTileWords * 4, directives, body);
}
/// The tile to the output of this CTA.
const std::string kDump = fmt::format(
    "mov.u32 %r10, %r1; DUMP: mad.lo.u32 %r11, %r10, 4, %r4; ld.shared.u32 %r12, [%r11]; mad.lo.u32 %r13, %r2, {0}, %r10; "
    "mul.wide.u32 %x10, %r13, 4; add.u64 %x10, %x10, %x1; st.global.u32 [%x10], %r12; add.u32 %r10, %r10, 128; setp.lt.u32 %p2, %r10, {0}; "
    "@%p2 bra DUMP; bar.sync 0;\n",
    kTileWords);
std::string wait_for(std::uint32_t bytes) {
    return fmt::format(
        "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], {};\nW: mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0; @!%p3 bra W;\n",
        bytes);
}
std::string coordinates(std::uint32_t rank) {
    std::string text = "{%c0";
    for (std::uint32_t d = 1; d < rank; ++d) text += fmt::format(", %c{}", d);
    return text + "}";
}

/// A tensor in memory that ends with its last element; the bytes around it belong to nobody.
struct Tensor {
    TensorMap map;
    std::vector<std::uint8_t> bytes;

    std::size_t offset(const std::array<std::uint64_t, TensorMap::kMostRank>& at) const {
        std::size_t sum = at[0] * map.element_bytes();
        for (std::uint32_t d = 1; d < map.rank; ++d) sum += at[d] * map.stride[d - 1];
        return sum;
    }
};

std::uint32_t below(std::mt19937& random, std::uint32_t end) {
    return static_cast<std::uint32_t>(random() % end);
}
Tensor some_tensor(std::mt19937& random, TensorType type, std::uint32_t rank, TensorSwizzle swizzle) {
    Tensor made;
    TensorMap& map = made.map;
    map.type = type;
    map.rank = rank;
    map.swizzle = swizzle;
    const std::uint32_t bytes = map.element_bytes();
    const std::uint32_t row = swizzle == TensorSwizzle::none ? 16 * (1 + below(random, 4)) : 16u << static_cast<std::uint32_t>(swizzle);
    std::uint64_t pitch = 0;
    std::array<std::uint64_t, TensorMap::kMostRank> last{};
    for (std::uint32_t d = 0; d < rank; ++d) {
        map.size[d] = d == 0 ? row / bytes + below(random, 40) : 2 + below(random, 6);
        map.element_stride[d] = d == 0 || random() % 3 != 0 ? 1 : 1 + below(random, 3);
        map.box[d] = d == 0 ? row / bytes : 1 + below(random, 5);
        last[d] = map.size[d] - 1;
        if (d == 0)
            pitch = (map.size[0] * bytes + 15) / 16 * 16 + 16 * (random() % 2);
        else
            map.stride[d - 1] = pitch, pitch *= map.size[d] + random() % 2;
    }
    made.bytes.resize(made.offset(last) + bytes);
    for (std::uint8_t& byte : made.bytes) byte = static_cast<std::uint8_t>(random());
    return made;
}
Coordinates some_place(std::mt19937& random, const TensorMap& map) {
    Coordinates at{};
    for (std::uint32_t d = 0; d < map.rank; ++d)
        at[d] = static_cast<std::int32_t>(random() % (map.size[d] + map.box[d])) - static_cast<std::int32_t>(map.box[d] / 2);
    return at;
}

/// Where byte `at` of a packed box is: within lines of 128 bytes, chunks of 16 change places.
std::size_t swizzled(TensorSwizzle swizzle, std::size_t at) {
    const std::size_t line = at / 128, chunk = at / 16 % 8;
    std::size_t other = chunk;
    if (swizzle == TensorSwizzle::bytes_32) other = chunk ^ line % 2;
    if (swizzle == TensorSwizzle::bytes_64) other = chunk ^ line % 4;
    if (swizzle == TensorSwizzle::bytes_128) other = chunk ^ line % 8;
    return line * 128 + other * 16 + at % 16;
}
/// Calls use(byte in the packed box, byte in the tensor or -1) for every element of a box.
void each_element(const Tensor& tensor, const Coordinates& start, const std::function<void(std::size_t, std::ptrdiff_t)>& use) {
    const TensorMap& map = tensor.map;
    std::array<std::uint32_t, TensorMap::kMostRank> count{1, 1, 1, 1, 1}, i{};
    for (std::uint32_t d = 0; d < map.rank; ++d) count[d] = (map.box[d] + map.element_stride[d] - 1) / map.element_stride[d];
    std::size_t packed = 0;
    for (i[4] = 0; i[4] < count[4]; ++i[4])
        for (i[3] = 0; i[3] < count[3]; ++i[3])
            for (i[2] = 0; i[2] < count[2]; ++i[2])
                for (i[1] = 0; i[1] < count[1]; ++i[1])
                    for (i[0] = 0; i[0] < count[0]; ++i[0], packed += map.element_bytes()) {
                        std::array<std::uint64_t, TensorMap::kMostRank> at{};
                        bool inside = true;
                        for (std::uint32_t d = 0; d < map.rank; ++d) {
                            const std::int64_t c = start[d] + std::int64_t{i[d]} * map.element_stride[d];
                            inside = inside && c >= 0 && c < static_cast<std::int64_t>(map.size[d]);
                            at[d] = static_cast<std::uint64_t>(c);
                        }
                        use(packed, inside ? static_cast<std::ptrdiff_t>(tensor.offset(at)) : -1);
                    }
}

struct Launched {
    std::vector<std::uint8_t> tiles;  ///< of the CTAs, one after the other
    std::vector<std::uint8_t> to;     ///< the second tensor afterwards
    std::vector<std::string> warnings;
};
Launched launch(const std::string& text, const Tensor& from, const Tensor& to, const Coordinates& at, std::uint32_t ctas = 1) {
    TestDevice device(text);
    device.options.budget = 10'000'000;
    const auto encoded = [&](const Tensor& tensor, Addr address) {
        TensorMap map = tensor.map;
        map.address = address;
        MapBytes bytes{};
        EXPECT_EQ(map.encode(bytes), "");
        return bytes;
    };
    const Addr first = device.put(from.bytes), second = device.put(to.bytes), out = device.zeros<std::uint32_t>(kTileWords * ctas);
    const MapBytes a = encoded(from, first), b = encoded(to, second);
    const auto params =
        device.module->pack("k", {Argument{&out, 8}, Argument{a.data(), 128}, Argument{b.data(), 128}, Argument{at.data(), 20}});
    const LaunchConfig config{{ctas}, {128}, 0, false, {ctas, 1, 1}};
    execute(*device.module, "k", config, params, device.memory, device.options, false);
    return {device.get<std::uint8_t>(out, kTileWords * 4 * ctas), device.get<std::uint8_t>(second, to.bytes.size()),
            device.memory.warnings()};
}
std::string refusal(const std::string& text, const Tensor& from, const Tensor& to) {
    try {
        launch(text, from, to, {});
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

constexpr TensorSwizzle kSwizzles[] = {TensorSwizzle::none, TensorSwizzle::bytes_32, TensorSwizzle::bytes_64, TensorSwizzle::bytes_128};

TEST(PtxTensorCopy, EveryRankSwizzleAndDirection) {
    std::mt19937 random(5);
    constexpr TensorType kTypes[] = {TensorType::u8, TensorType::f16, TensorType::f32, TensorType::s64, TensorType::bf16, TensorType::u16};
    for (std::uint32_t rank = 1; rank <= 5; ++rank) {
        for (const TensorSwizzle swizzle : kSwizzles) {
            for (int turn = 0; turn < 4; ++turn) {
                const Tensor from = some_tensor(random, kTypes[random() % 6], rank, swizzle);
                if (from.map.box_bytes() > kTileWords * 4) continue;
                Tensor to = from;
                for (std::uint8_t& byte : to.bytes) byte = static_cast<std::uint8_t>(random());
                const Coordinates at = some_place(random, from.map);
                const std::string text =
                    kernel_text(fmt::format("@%p1 cp.async.bulk.tensor.{0}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                                            "[tile], [%x2, {1}], [bar];\n{2}"
                                            "@%p1 cp.async.bulk.tensor.{0}d.global.shared::cta.tile.bulk_group [%x3, {1}], [tile];\n"
                                            "@%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group 0;\n{3}",
                                            rank, coordinates(rank), wait_for(static_cast<std::uint32_t>(from.map.box_bytes())), kDump));
                const Launched got = launch(text, from, to, at);
                ASSERT_TRUE(got.warnings.empty()) << got.warnings.front();
                std::vector<std::uint8_t> tile(kTileWords * 4), want = to.bytes;
                const std::uint32_t bytes = from.map.element_bytes();
                each_element(from, at, [&](std::size_t packed, std::ptrdiff_t place) {
                    if (place < 0) return;
                    std::memcpy(tile.data() + swizzled(swizzle, packed), from.bytes.data() + place, bytes);
                    std::memcpy(want.data() + place, from.bytes.data() + place, bytes);
                });
                ASSERT_EQ(got.tiles, tile) << rank << "d, swizzle " << static_cast<int>(swizzle) << ", turn " << turn;
                ASSERT_EQ(got.to, want) << rank << "d, swizzle " << static_cast<int>(swizzle) << ", turn " << turn;
            }
        }
    }
}

TEST(PtxTensorCopy, WhatIsOutsideIsZeroOrNan) {
    for (const auto& [type, nan] :
         {std::pair{TensorType::f32, 0x7FFFFFFFu}, {TensorType::f16, 0x7FFF7FFFu}, {TensorType::bf16, 0x7FFF7FFFu}}) {
        Tensor tensor;
        tensor.map.type = type;
        tensor.map.size = {16};
        tensor.map.box = {16};
        tensor.map.element_stride = {1};
        tensor.bytes.resize(16 * tensor.map.element_bytes());
        for (const bool fill : {false, true}) {
            tensor.map.fill_nan = fill;
            const auto bytes = static_cast<std::uint32_t>(tensor.bytes.size());
            const Launched got = launch(
                kernel_text(fmt::format("@%p1 cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%x2, "
                                        "{{%c0}}], [bar];\n{}{}",
                                        wait_for(bytes), kDump)),
                tensor, tensor, {100});
            std::uint32_t word = 1;
            std::memcpy(&word, got.tiles.data() + bytes - 4, 4);
            EXPECT_EQ(word, fill ? nan : 0);
        }
    }
}

TEST(PtxTensorCopy, Reductions) {
    struct Way {
        const char* name;
        TensorType type;
        std::function<std::uint64_t(std::uint64_t, std::uint64_t)> combine;  ///< what was there, what is added
    };
    const auto by_float = [](std::uint64_t a, std::uint64_t b) {
        return std::uint64_t{std::bit_cast<std::uint32_t>(std::bit_cast<float>(static_cast<std::uint32_t>(a)) +
                                                          std::bit_cast<float>(static_cast<std::uint32_t>(b)))};
    };
    const Way ways[] = {
        {"add", TensorType::u32, [](auto a, auto b) { return a + b; }},
        {"min", TensorType::u32, [](auto a, auto b) { return std::min(a, b); }},
        {"max", TensorType::s32, [](auto a, auto b) { return static_cast<std::int32_t>(a) > static_cast<std::int32_t>(b) ? a : b; }},
        {"and", TensorType::u64, [](auto a, auto b) { return a & b; }},
        {"or", TensorType::u32, [](auto a, auto b) { return a | b; }},
        {"xor", TensorType::u64, [](auto a, auto b) { return a ^ b; }},
        {"inc", TensorType::u32, [](auto a, auto b) { return a >= b ? 0 : a + 1; }},
        {"dec", TensorType::u32, [](auto a, auto b) { return a == 0 || a > b ? b : a - 1; }},
        {"add", TensorType::u64, [](auto a, auto b) { return a + b; }},
        {"min", TensorType::s64, [](auto a, auto b) { return static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b) ? a : b; }},
        {"add", TensorType::f32, by_float}};
    std::mt19937 random(9);
    for (const Way& way : ways) {
        Tensor from = some_tensor(random, way.type, 2, TensorSwizzle::none);
        from.map.element_stride = {1, 1, 1, 1, 1};
        const std::uint32_t bytes = from.map.element_bytes();
        if (way.type == TensorType::f32) {  // no NaNs, whose bits are not the question here
            for (std::size_t i = 3; i < from.bytes.size(); i += 4) from.bytes[i] = 0x41;
        }
        Tensor to = from;
        const Coordinates at{-2, 1};
        std::vector<std::uint8_t> want = to.bytes;
        each_element(from, at, [&](std::size_t, std::ptrdiff_t place) {
            if (place < 0) return;
            std::uint64_t value = 0;
            std::memcpy(&value, from.bytes.data() + place, bytes);
            value = way.combine(value, value);
            std::memcpy(want.data() + place, &value, bytes);
        });
        const std::string text = kernel_text(fmt::format(
            "@%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%x2, {{%c0, %c1}}], [bar];\n{}"
            "@%p1 cp.reduce.async.bulk.tensor.2d.global.shared::cta.{}.tile.bulk_group [%x3, {{%c0, %c1}}], [tile];\n",
            wait_for(static_cast<std::uint32_t>(from.map.box_bytes())), way.name));
        EXPECT_EQ(launch(text, from, to, at).to, want) << way.name << " " << static_cast<int>(way.type);
    }
    const Tensor single = some_tensor(random, TensorType::f32, 1, TensorSwizzle::none);
    EXPECT_NE(refusal(kernel_text("cp.reduce.async.bulk.tensor.1d.global.shared::cta.min.bulk_group [%x3, {%c0}], [tile];"), single, single)
                  .find("cannot be reduced"),
              std::string::npos);
}

TEST(PtxTensorCopy, ToSeveralCtas) {
    std::mt19937 random(3);
    const Tensor tensor = some_tensor(random, TensorType::f16, 2, TensorSwizzle::bytes_64);
    const auto bytes = static_cast<std::uint32_t>(tensor.map.box_bytes());
    // Rank 1 copies to ranks 0 and 2; each of them waits at its own mbarrier.
    const std::string text = kernel_text(
        fmt::format(
            "mov.u32 %r5, %cluster_ctarank; setp.eq.and.u32 %p4, %r5, 1, %p1; mov.u16 %h1, 5; setp.eq.u32 %p5, %r5, 1;\n"
            "@%p4 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [tile], [%x2, "
            "{{%c0, %c1}}], [bar], %h1;\n@%p5 bra OVER;\n{}OVER: barrier.cluster.arrive; barrier.cluster.wait;\n{}",
            wait_for(bytes), kDump),
        ".reqnctapercluster 3");
    const Launched got = launch(text, tensor, tensor, {1, 1}, 3);
    std::vector<std::uint8_t> tile(kTileWords * 4), empty = tile;
    each_element(tensor, {1, 1}, [&](std::size_t packed, std::ptrdiff_t place) {
        if (place >= 0) std::memcpy(tile.data() + swizzled(TensorSwizzle::bytes_64, packed), tensor.bytes.data() + place, 2);
    });
    for (std::uint32_t cta = 0; cta < 3; ++cta) {
        const auto first = got.tiles.begin() + cta * kTileWords * 4;
        EXPECT_EQ(std::vector<std::uint8_t>(first, first + kTileWords * 4), cta == 1 ? empty : tile) << cta;
    }
}

TEST(PtxTensorCopy, HostileMapsEndTheKernel) {
    std::mt19937 random(7);
    const Tensor tensor = some_tensor(random, TensorType::f32, 2, TensorSwizzle::none);
    const std::string text =
        kernel_text("@%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%x2, {%c0, %c1}], [bar];");
    TestDevice device(text);
    MapBytes good{};
    TensorMap map = tensor.map;
    map.address = device.put(tensor.bytes);
    ASSERT_EQ(map.encode(good), "");
    int failed = 0;
    for (int turn = 0; turn < 3000; ++turn) {
        MapBytes bytes = good;
        if (turn < 300) {
            for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
        } else {
            for (std::uint32_t changes = 1 + below(random, 4); changes > 0; --changes)
                bytes[random() % bytes.size()] = static_cast<std::byte>(random());
        }
        const Addr out = 0;
        const Coordinates at{static_cast<std::int32_t>(random()), static_cast<std::int32_t>(random())};
        const auto params = device.module->pack(
            "k", {Argument{&out, 8}, Argument{bytes.data(), 128}, Argument{bytes.data(), 128}, Argument{at.data(), 20}});
        try {
            execute(*device.module, "k", {{1}, {32}}, params, device.memory, device.options, false);
        } catch (const InputError& error) {
            ++failed;
            EXPECT_NE(std::string(error.what()).find("the tensor map cannot be used: "), std::string::npos) << error.what();
        }
    }
    EXPECT_GE(failed, 300);
    EXPECT_NE(refusal(kernel_text("@%p1 cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%x2, {%c0}], [tile];"), tensor, tensor)
                  .find("another number of dimensions"),
              std::string::npos);
    EXPECT_NE(refusal(kernel_text("@%p1 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [64, {%c0, %c1}], [tile];"), tensor, tensor)
                  .find("not in memory"),
              std::string::npos);
    // An element of the tensor without memory is a warning, as for every access.
    Tensor longer = tensor;
    longer.bytes.resize(16);
    const Launched got =
        launch(kernel_text("@%p1 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%x3, {%c0, %c1}], [tile];"), tensor, longer, {});
    ASSERT_EQ(got.warnings.size(), 1u);
    EXPECT_NE(got.warnings[0].find("invalid write of 4 bytes"), std::string::npos) << got.warnings[0];
}

TEST(PtxTensorCopy, PrefetchesHaveOperandsToo) {
    std::mt19937 random(1);
    const Tensor tensor = some_tensor(random, TensorType::u32, 2, TensorSwizzle::none);
    const auto answer = [&](const char* text) { return refusal(kernel_text(text), tensor, tensor); };
    EXPECT_EQ(answer("cp.async.bulk.prefetch.L2.global [%x1], 64; cp.async.bulk.prefetch.L2.global.L2::cache_hint [%x1], %r1, %x2;"), "");
    EXPECT_EQ(answer("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%x2, {%c0, %c1}]; prefetch.tensormap [%x2];"), "");
    EXPECT_NE(answer("cp.async.bulk.prefetch.L2.global [%x1];"), "");
    EXPECT_NE(answer("cp.async.bulk.prefetch.L2.global [%x1], %q1;"), "");
    EXPECT_NE(answer("cp.async.bulk.prefetch.L2.global [%x1], 64, %x2;"), "");
    EXPECT_NE(answer("cp.async.bulk.prefetch.global [%x1], 64;"), "");
    EXPECT_NE(answer("cp.async.bulk.prefetch.L2.shared::cta [%x1], 64;"), "");
    EXPECT_NE(answer("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%x2, {%c0}];").find("2 coordinates"), std::string::npos);
    EXPECT_NE(answer("cp.async.bulk.prefetch.tensor.L2.global.tile [%x2, {%c0}];"), "");
    // Copies go from global to shared memory, between CTAs, or from shared to global memory.
    EXPECT_NE(answer("cp.async.bulk.global.global.bulk_group [%x1], [%x1], 16;"), "");
    EXPECT_NE(answer("cp.async.bulk.global.shared::cta.mbarrier::complete_tx::bytes [%x1], [tile], 16, [bar];"), "");
    EXPECT_NE(answer("cp.async.bulk.shared::cluster.global.bulk_group [tile], [%x1], 16;"), "");
}

TEST(PtxAsyncBetweenCtas, StoresAndReductionsOfEveryWidth) {
    // Rank 1 sends to rank 0, whose mbarrier counts the bytes: 4, 16 and 8 per thread of stores, and 4 and 8 of reductions.
    const std::string text = kernel_text(
        fmt::format("mov.u32 %r5, %cluster_ctarank; setp.eq.u32 %p4, %r5, 0; mov.u32 %r6, bar; @%p4 bra RECEIVE;\n"
                    "mapa.shared::cluster.u32 %r7, %r4, 0; mapa.shared::cluster.u32 %r8, %r6, 0; mad.lo.u32 %r9, %r1, 32, %r7; add.u32 "
                    "%r14, %r1, 1000;\n"
                    "cvt.u64.u32 %x5, %r14; shl.b64 %x5, %x5, 33;\n"
                    "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r9], %r14, [%r8];\n"
                    "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r9+16], {{%r1, %r14, %r1, %r5}}, [%r8];\n"
                    "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%r9+8], %x5, [%r8];\n"
                    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r7+8192], %r1, [%r8];\n"
                    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.max.s32 [%r7+8196], %r14, [%r8];\n"
                    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [%r7+8200], %x5, [%r8];\n"
                    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc.u32 [%r7+8208], 99, [%r8];\n"
                    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.xor.b32 [%r7+8212], %r14, [%r8]; bra OVER;\n"
                    "RECEIVE:\n{}OVER: barrier.cluster.arrive; barrier.cluster.wait;\n{}",
                    wait_for(128 * (4 + 16 + 8 + 4 + 4 + 8 + 4 + 4)), kDump),
        ".reqnctapercluster 2");
    std::mt19937 random(1);
    const Tensor tensor = some_tensor(random, TensorType::u32, 1, TensorSwizzle::none);
    const Launched got = launch(text, tensor, tensor, {}, 2);
    ASSERT_TRUE(got.warnings.empty()) << got.warnings.front();
    std::vector<std::uint32_t> words(kTileWords * 2);
    std::memcpy(words.data(), got.tiles.data(), got.tiles.size());
    std::uint32_t sum = 0, mixed = 0;
    std::uint64_t wide = 0;
    for (std::uint32_t i = 0; i < 128; ++i) {
        const std::vector<std::uint32_t> mine(words.begin() + i * 8, words.begin() + i * 8 + 8);
        EXPECT_EQ(mine, (std::vector<std::uint32_t>{1000 + i, 0, 0, (1000 + i) * 2, i, 1000 + i, i, 1})) << i;
        sum += i;
        mixed ^= 1000 + i;
        wide += std::uint64_t{1000 + i} << 33;
    }
    EXPECT_EQ(words[2048], sum);
    EXPECT_EQ(words[2049], 1127u);
    EXPECT_EQ(words[2050] | std::uint64_t{words[2051]} << 32, wide);
    EXPECT_EQ(words[2052], 28u);  // wraps after 99
    EXPECT_EQ(words[2053], mixed);
    EXPECT_TRUE(std::all_of(words.begin() + kTileWords, words.end(), [](std::uint32_t word) { return word == 0; }));
}

TEST(PtxAsyncBetweenCtas, SharedMemoryOfAnotherCtaIsNotTheCtasOwn) {
    const std::string text = kernel_text(
        "mov.u32 %r5, %cluster_ctarank; xor.b32 %r6, %r5, 1; cvta.shared.u64 %x4, tile; cvt.u64.u32 %x6, %r4;\n"
        "mapa.u64 %x5, %x4, %r6; mapa.u64 %x7, %x4, %r5; mov.u32 %r20, 0;\n"
        "isspacep.shared %p2, %x4; @%p2 or.b32 %r20, %r20, 1; isspacep.shared::cta %p2, %x4; @%p2 or.b32 %r20, %r20, 2;\n"
        "isspacep.shared::cluster %p2, %x4; @%p2 or.b32 %r20, %r20, 4; isspacep.shared %p2, %x5; @%p2 or.b32 %r20, %r20, 8;\n"
        "isspacep.shared::cta %p2, %x5; @%p2 or.b32 %r20, %r20, 16; isspacep.shared::cluster %p2, %x5; @%p2 or.b32 %r20, %r20, 32;\n"
        "isspacep.global %p2, %x5; @%p2 or.b32 %r20, %r20, 64; isspacep.shared::cluster %p2, %x1; @%p2 or.b32 %r20, %r20, 128;\n"
        "isspacep.shared::cta %p2, %x7; @%p2 or.b32 %r20, %r20, 256;\n"
        "@%p1 st.shared.u32 [tile], %r20; bar.sync 0;\n" +
            kDump,
        ".reqnctapercluster 2");
    std::mt19937 random(1);
    const Tensor tensor = some_tensor(random, TensorType::u32, 1, TensorSwizzle::none);
    const Launched got = launch(text, tensor, tensor, {}, 2);
    for (std::uint32_t cta = 0; cta < 2; ++cta) {
        std::uint32_t word = 0;
        std::memcpy(&word, got.tiles.data() + cta * kTileWords * 4, 4);
        EXPECT_EQ(word, 1u + 2 + 4 + 32 + 256) << cta;
    }
}

}  // namespace
}  // namespace mergelane::ptx
