// SPDX-License-Identifier: MIT
// wgmma.mma_async of every type, layout and option against three loops. The layouts are written down here once more: as the ISA's tables
// of chunks of 16 bytes, not as the executor's arithmetic.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "core/error.hpp"
#include "ptx_helpers.hpp"

namespace mergelane::ptx {
namespace {

struct Format {
    const char* name;
    int bytes;
    int exponent, mantissa;  ///< bits; no exponent: an integer
    bool is_signed = true;
};
constexpr Format kF16{"f16", 2, 5, 10}, kBf16{"bf16", 2, 8, 7}, kTf32{"tf32", 4, 8, 10}, kE4m3{"e4m3", 1, 4, 3}, kE5m2{"e5m2", 1, 5, 2},
    kS8{"s8", 1, 0, 0}, kU8{"u8", 1, 0, 0, false};

/// The bits of a value that the format has.
std::uint32_t bits_of(const Format& format, float value) {
    if (format.exponent == 0) return static_cast<std::uint32_t>(static_cast<int>(value)) & 0xFF;
    const std::uint32_t sign = value < 0 ? 1u << (format.exponent + format.mantissa) : 0;
    std::uint32_t bits = sign;
    if (value != 0) {
        int exponent = 0;
        const float fraction = std::frexp(std::fabs(value), &exponent);  // in [0.5, 1)
        const int bias = (1 << (format.exponent - 1)) - 1;
        bits |= static_cast<std::uint32_t>(exponent - 1 + bias) << format.mantissa;
        bits |= static_cast<std::uint32_t>((fraction * 2 - 1) * static_cast<float>(1 << format.mantissa));
    }
    return format.bytes == 4 ? bits << 13 | 0x0BAD : bits;  // the low bits of tf32 do not count
}

/// A matrix in shared memory: "row" is a row of A or a column of B; K-major, or with neighbouring rows in memory next to each other.
struct Layout {
    std::uint32_t mode = 0;  ///< of the descriptor: 0 none, 1 to 3: swizzled within 128, 64, 32 bytes
    bool transposed = false;
    std::uint32_t base = 0, leading = 0, stride = 0;  ///< bytes

    std::uint32_t chunks() const { return mode == 0 ? 1 : 16u >> mode; }  ///< of a row that the swizzle permutes
    std::uint32_t place(std::uint32_t bytes, std::uint32_t row, std::uint32_t k) const {
        const std::uint32_t along = (transposed ? row : k) * bytes, other = transposed ? k : row;
        const std::uint32_t chunk = along / 16;
        std::uint32_t at = other % 8 * chunks() * 16 + along % 16;
        if (mode == 0)
            at += transposed ? other / 8 * leading + chunk * stride : other / 8 * stride + chunk * leading;
        else
            at += other / 8 * stride + chunk % chunks() * 16 + chunk / chunks() * leading;
        at += base;
        if (mode == 0) return at;
        const std::uint32_t line = at / 128 % 8;  // bits 7 and up are exclusive-ored into the number of the chunk
        const std::uint32_t mask = chunks() - 1;
        return at ^ (line & mask) * 16;
    }
    std::uint64_t descriptor() const {
        const auto field = [](std::uint32_t value) { return std::uint64_t{value >> 4 & 0x3FFF}; };
        return field(base) | field(leading) << 16 | field(stride) << 32 | std::uint64_t{mode} << 62;
    }
};

struct Product {
    Format a = kF16, b = kF16;
    const char* sum = "f32";
    std::uint32_t n = 8;
    Layout of_a, of_b;
    bool registers = false, scale_d = true, saturate = false;
    int sign_a = 1, sign_b = 1;
    int first_sum = 3;     ///< D before, plus the number of the element modulo 5
    std::uint32_t k0 = 0;  ///< first column of A that is multiplied: descriptors may point into a swizzled row

    std::uint32_t depth() const { return static_cast<std::uint32_t>(32 / a.bytes); }
    bool halves() const { return std::string_view(sum) == "f16"; }
    bool integers() const { return std::string_view(sum) == "s32"; }
    std::uint32_t words() const { return halves() ? n / 4 : n / 2; }  ///< registers of D
    std::string name() const {
        return fmt::format("m64n{}k{}.{}.{}.{} modes {} {} transposed {} {}{}{}{} signs {} {}", n, depth(), sum, a.name, b.name, of_a.mode,
                           of_b.mode, of_a.transposed, of_b.transposed, registers ? " registers" : "", scale_d ? "" : " new",
                           saturate ? " satfinite" : "", sign_a, sign_b);
    }
};

/// Chooses distances for a matrix at `base` such that nothing overlaps.
void place_layout(Layout& layout, std::uint32_t base, std::uint32_t rows, std::uint32_t bytes, std::uint32_t depth, bool other_way) {
    layout.base = base;
    const std::uint32_t atom = 8 * layout.chunks() * 16;
    const std::uint32_t along = layout.transposed ? rows * bytes / 16 : depth * bytes / 16;  // chunks
    const std::uint32_t groups = (layout.transposed ? depth : rows) / 8;
    if (layout.mode != 0) {
        layout.stride = atom;
        layout.leading = layout.transposed ? atom * groups : 16;
        return;
    }
    const std::uint32_t by_chunk = other_way ? 128 : 128 * groups, by_group = other_way ? 128 * along : 128;
    layout.leading = layout.transposed ? by_group : by_chunk;
    layout.stride = layout.transposed ? by_chunk : by_group;
}

constexpr std::uint32_t kTileWords = 12288;

std::string list_of(std::uint32_t count, const char* letter) {
    std::string text = "{";
    for (std::uint32_t i = 0; i < count; ++i) text += fmt::format("{}%{}{}", i == 0 ? "" : ", ", letter, i);
    return text + "}";
}

/// Parameters: shared memory, registers of A, D before, D after, both descriptors.
std::string kernel_of(const Product& p) {
    std::string text = fmt::format(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.shared .align 1024 .b8 tile[{}];\n"
        ".visible .entry k(.param .u64 ps, .param .u64 pa, .param .u64 pc, .param .u64 pd, .param .u64 da, .param .u64 db)\n{{\n"
        ".reg .pred %p<4>; .reg .b32 %r<20>; .reg .b32 %a<4>; .reg .b32 %d<128>; .reg .b64 %x<20>;\n"
        "ld.param.u64 %x1, [ps]; ld.param.u64 %x2, [pa]; ld.param.u64 %x3, [pc]; ld.param.u64 %x4, [pd]; ld.param.u64 %x5, [da]; "
        "ld.param.u64 %x6, [db];\nmov.u32 %r1, %tid.x; mov.u32 %r2, %r1; mov.u32 %r4, tile;\n"
        "COPY: mul.wide.u32 %x7, %r2, 4; add.u64 %x7, %x7, %x1; ld.global.u32 %r3, [%x7]; mad.lo.u32 %r5, %r2, 4, %r4; "
        "st.shared.u32 [%r5], %r3; add.u32 %r2, %r2, 128; setp.lt.u32 %p1, %r2, {}; @%p1 bra COPY;\nbar.sync 0; fence.proxy.async;\n"
        "mul.wide.u32 %x8, %r1, {}; add.u64 %x9, %x3, %x8; add.u64 %x10, %x4, %x8; mul.wide.u32 %x11, %r1, 16; add.u64 %x11, %x11, %x2;\n"
        "ld.global.v4.u32 {{%a0, %a1, %a2, %a3}}, [%x11];\n",
        kTileWords * 4, kTileWords, p.words() * 4);
    for (std::uint32_t i = 0; i < p.words(); ++i) text += fmt::format("ld.global.u32 %d{}, [%x9+{}];\n", i, 4 * i);
    // The predicate is negated: that is an operand of its own.
    text += fmt::format("setp.eq.u32 %p2, {}, 1;\nwgmma.fence.sync.aligned;\n", p.scale_d ? 0 : 1);
    text += fmt::format("wgmma.mma_async.sync.aligned.m64n{}k{}.{}.{}.{}{} {}, {}, %x6, !%p2", p.n, p.depth(), p.sum, p.a.name, p.b.name,
                        p.saturate ? ".satfinite" : "", list_of(p.words(), "d"), p.registers ? "{%a0, %a1, %a2, %a3}" : "%x5");
    if (!p.integers()) text += fmt::format(", {}, {}", p.sign_a, p.sign_b);
    if (p.a.bytes == 2 && !p.registers) text += p.of_a.transposed ? ", 1" : ", 0";
    if (p.a.bytes == 2) text += p.of_b.transposed ? ", 1" : ", 0";
    text += ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";
    for (std::uint32_t i = 0; i < p.words(); ++i) text += fmt::format("st.global.u32 [%x10+{}], %d{};\n", 4 * i, i);
    return text + "ret;\n}\n";
}

/// Random matrices, their images in memory and registers, and what the three loops make of them.
class Run {
public:
    Run(const Product& product, unsigned seed) : p_(product), random_(seed), tile_(kTileWords * 4), a_(64 * 64), b_(256 * 64) {
        fill(a_, p_.a, p_.of_a, 64);
        fill(b_, p_.b, p_.of_b, p_.n);
        for (std::uint32_t i = 0; i < 128 * p_.words(); ++i) {
            const int low = p_.first_sum + static_cast<int>(i % 5), high = p_.first_sum - static_cast<int>(i % 3);
            before_.push_back(p_.integers() ? static_cast<std::uint32_t>(low)
                              : p_.halves() ? bits_of(kF16, static_cast<float>(low)) | bits_of(kF16, static_cast<float>(high)) << 16
                                            : std::bit_cast<std::uint32_t>(static_cast<float>(low)));
        }
    }

    void check(bool portable) {
        TestDevice device(kernel_of(p_));
        device.options.portable = portable;
        std::vector<std::uint32_t> words(kTileWords);
        std::memcpy(words.data(), tile_.data(), tile_.size());
        Layout from = p_.of_a;
        from.base += p_.k0 * static_cast<std::uint32_t>(p_.a.bytes);
        Layout of_b = p_.of_b;
        of_b.base += p_.k0 * static_cast<std::uint32_t>(p_.b.bytes);
        const Addr out = device.zeros<std::uint32_t>(before_.size());
        device.run("k", {1}, {128}, device.put(words), device.put(registers_of_a()), device.put(before_), out, from.descriptor(),
                   of_b.descriptor());
        ASSERT_TRUE(device.memory.warnings().empty()) << device.memory.warnings().front();
        const std::vector<std::uint32_t> got = device.get<std::uint32_t>(out, before_.size());
        for (std::uint32_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], after(i)) << p_.name() << ", word " << i;
    }

private:
    /// Of all the columns that fit into a swizzled row, also those that are not multiplied.
    void fill(std::vector<float>& values, const Format& format, const Layout& layout, std::uint32_t rows) {
        const auto bytes = static_cast<std::uint32_t>(format.bytes);
        const std::uint32_t columns = !layout.transposed && layout.mode != 0 ? layout.chunks() * 16 / bytes : p_.depth();
        for (std::uint32_t row = 0; row < rows; ++row) {
            for (std::uint32_t k = 0; k < columns; ++k) {
                const int drawn = static_cast<int>(random_() % 9);
                const float value = format.exponent == 0
                                        ? static_cast<float>(static_cast<int>(random_() % 256) - (format.is_signed ? 128 : 0))
                                        : static_cast<float>(drawn - 4) / 2;
                const std::uint32_t bits = bits_of(format, value);
                std::memcpy(tile_.data() + layout.place(bytes, row, k), &bits, bytes);
                if (k >= p_.k0 && k < p_.k0 + p_.depth()) values[row * 64 + k - p_.k0] = value;
            }
        }
    }
    std::vector<std::uint32_t> registers_of_a() const {
        const auto bytes = static_cast<std::uint32_t>(p_.a.bytes);
        std::vector<std::uint32_t> words;
        for (std::uint32_t thread = 0; thread < 128; ++thread) {
            for (std::uint32_t r = 0; r < 4; ++r) {
                const std::uint32_t row = thread / 32 * 16 + thread % 32 / 4 + r % 2 * 8;
                std::uint32_t word = 0;
                for (std::uint32_t e = 0; e < 4 / bytes; ++e) {
                    const std::uint32_t k = r / 2 * (p_.depth() / 2) + thread % 4 * (4 / bytes) + e;
                    word |= bits_of(p_.a, a_[row * 64 + k]) << 8 * bytes * e;
                }
                words.push_back(word);
            }
        }
        return words;
    }
    double products(std::uint32_t row, std::uint32_t column) const {
        double sum = 0;
        for (std::uint32_t k = 0; k < p_.depth(); ++k) sum += double{a_[row * 64 + k]} * b_[column * 64 + k];
        return sum * p_.sign_a * p_.sign_b;
    }
    /// A word of D: of a thread, one sum or two halves.
    std::uint32_t after(std::uint32_t i) const {
        const std::uint32_t thread = i / p_.words(), word = i % p_.words();
        const std::uint32_t first = p_.halves() ? word * 2 : word;  // element of the thread
        const std::uint32_t row = thread / 32 * 16 + thread % 32 / 4 + first / 2 % 2 * 8;
        const std::uint32_t column = first / 4 * 8 + thread % 4 * 2 + first % 2;
        if (p_.integers()) {
            const double sum = products(row, column) + (p_.scale_d ? static_cast<std::int32_t>(before_[i]) : 0);
            const double kept = p_.saturate ? std::min(std::max(sum, -2147483648.0), 2147483647.0) : sum;
            return static_cast<std::uint32_t>(static_cast<std::int64_t>(kept));
        }
        const int low = p_.first_sum + static_cast<int>(i % 5), high = p_.first_sum - static_cast<int>(i % 3);
        const auto sum = [&](std::uint32_t c, int old) { return static_cast<float>(products(row, c) + (p_.scale_d ? old : 0)) + 0.0f; };
        if (!p_.halves()) return std::bit_cast<std::uint32_t>(sum(column, low));
        return bits_of(kF16, sum(column, low)) | bits_of(kF16, sum(column + 1, high)) << 16;
    }

    Product p_;
    std::mt19937 random_;
    std::vector<std::byte> tile_;
    std::vector<float> a_, b_;  ///< 64 columns for each row of A, and each column of B
    std::vector<std::uint32_t> before_;
};

void check(Product p, unsigned seed = 1) {
    const bool other_way = seed % 2 == 0;
    place_layout(p.of_a, 0, 64, static_cast<std::uint32_t>(p.a.bytes), p.depth(), other_way);
    place_layout(p.of_b, 8192, p.n, static_cast<std::uint32_t>(p.b.bytes), p.depth(), !other_way);
    for (const bool portable : {false, true}) {
        SCOPED_TRACE(p.name());
        Run(p, seed).check(portable);
    }
}

TEST(PtxWarpgroupProduct, EveryTypeInEverySwizzleMode) {
    struct Types {
        Format a, b;
        const char* sum;
    };
    const Types all[] = {{kF16, kF16, "f32"},   {kF16, kF16, "f16"},   {kBf16, kBf16, "f32"}, {kTf32, kTf32, "f32"},
                         {kE4m3, kE4m3, "f32"}, {kE4m3, kE5m2, "f16"}, {kE5m2, kE4m3, "f32"}, {kE5m2, kE5m2, "f16"},
                         {kS8, kS8, "s32"},     {kS8, kU8, "s32"},     {kU8, kS8, "s32"},     {kU8, kU8, "s32"}};
    unsigned seed = 0;
    for (const Types& types : all) {
        for (std::uint32_t mode = 0; mode < 4; ++mode) {
            Product p;
            p.a = types.a, p.b = types.b, p.sum = types.sum;
            p.n = mode == 0 ? 8 : mode == 1 ? 64 : mode == 2 ? 32 : 16;
            p.of_a.mode = mode;
            p.of_b.mode = (mode + seed) % 4;
            check(p, ++seed);
            p.registers = true;
            check(p, ++seed);
        }
    }
}

TEST(PtxWarpgroupProduct, NeighbouringRowsNextToEachOther) {
    unsigned seed = 100;
    for (const Format& format : {kF16, kBf16}) {
        for (std::uint32_t mode = 0; mode < 16; ++mode) {
            Product p;
            p.a = p.b = format;
            p.n = 64;
            p.of_a.mode = mode % 4;
            p.of_b.mode = mode / 4;
            p.of_a.transposed = true;
            p.of_b.transposed = mode % 3 != 0;
            check(p, ++seed);
            p.of_a.transposed = false;
            p.of_b.transposed = true;
            p.registers = mode % 2 == 0;
            check(p, ++seed);
        }
    }
}

TEST(PtxWarpgroupProduct, EveryWidth) {
    for (std::uint32_t n = 8; n <= 256; n += n < 64 ? 8 : 24) {
        Product p;
        p.n = n;
        p.of_b.mode = n / 8 % 4;
        check(p, n);
        p.sum = "f16";
        check(p, n);
    }
    Product p;
    p.n = 256;
    p.of_b.transposed = true;
    p.of_b.mode = 1;
    check(p);
    p = {};
    p.a = p.b = kS8;
    p.sum = "s32";
    for (const std::uint32_t n : {24u, 48u, 208u, 256u}) {
        p.n = n;
        check(p, n);
    }
}

TEST(PtxWarpgroupProduct, SignsAndFirstSums) {
    for (int how = 0; how < 16; ++how) {
        Product p;
        p.a = p.b = how < 8 ? kF16 : kTf32;
        p.sign_a = how % 2 == 0 ? 1 : -1;
        p.sign_b = how / 2 % 2 == 0 ? 1 : -1;
        p.scale_d = how / 4 % 2 == 0;
        p.registers = how % 3 == 0;
        check(p, static_cast<unsigned>(how));
    }
}

TEST(PtxWarpgroupProduct, IntegersWrapOrSaturate) {
    for (const bool saturate : {false, true}) {
        for (const int first : {INT32_MAX - 1000, INT32_MIN + 1000, 123456789}) {
            Product p;
            p.a = kU8, p.b = kS8, p.sum = "s32";
            p.saturate = saturate;
            p.first_sum = first;
            check(p);
            p.scale_d = false;
            check(p);
        }
    }
}

TEST(PtxWarpgroupProduct, StepsWithinASwizzledRow) {
    // As in every GEMM: the next 32 bytes of a row of 64 or 128 begin at the descriptor's address plus 32.
    for (std::uint32_t mode = 1; mode <= 2; ++mode) {
        for (std::uint32_t step = 0; step < (mode == 1 ? 4u : 2u); ++step) {
            for (const Format& format : {kF16, kE4m3, kTf32}) {
                Product p;
                p.a = p.b = format;
                p.of_a.mode = p.of_b.mode = mode;
                p.k0 = step * p.depth();
                check(p, step + 1);
            }
        }
    }
}

TEST(PtxWarpgroupProduct, FormsThatDoNotExistAreRefused) {
    const auto refused = [](const Product& p, const std::string& from = "", const std::string& to = "") {
        std::string text = kernel_of(p);
        if (!from.empty()) text.replace(text.find(from), from.size(), to);
        try {
            TestDevice device(text);
            device.module->program("k");
        } catch (const InputError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    Product p;
    EXPECT_EQ(refused(p), "");
    EXPECT_NE(refused(p, "m64n8k16", "m64n8k8").find("is not supported"), std::string::npos);
    EXPECT_NE(refused(p, "m64n8k16", "m64n264k16").find("is not supported"), std::string::npos);
    EXPECT_NE(refused(p, "m64n8k16", "m64n12k16").find("is not supported"), std::string::npos);
    EXPECT_NE(refused(p, ".f32.f16.f16", ".f32.f16.bf16").find("is not supported"), std::string::npos);
    EXPECT_NE(refused(p, ".f32.f16.f16", ".f32.f16.f16.satfinite").find("is not supported"), std::string::npos);
    EXPECT_NE(refused(p, "!%p2, 1, 1", "!%p2, 2, 1").find("use 1 or -1 for a sign"), std::string::npos);
    EXPECT_NE(refused(p, "!%p2, 1, 1, 0, 0", "!%p2, 1, 1, 0, 2").find("0 or 1 for a transposition"), std::string::npos);
    p.a = p.b = kTf32;
    EXPECT_EQ(refused(p), "");
    EXPECT_NE(refused(p, "!%p2, 1, 1", "!%p2, 1, 1, 0, 0"), "");  // only 16-bit elements can be transposed
    p.a = p.b = kS8;
    p.sum = "s32";
    p.n = 40;
    EXPECT_NE(refused(p).find("is not supported"), std::string::npos);
    p.sum = "f16";
    p.a = p.b = kBf16;
    EXPECT_NE(refused(p).find("is not supported"), std::string::npos);
}

}  // namespace
}  // namespace mergelane::ptx
