// SPDX-License-Identifier: MIT
// mma in every form against a triple loop. The places of elements in registers are those of the PTX ISA's formulas, written out here once
// more and independently of the decoder.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "matrix_reference.hpp"

namespace mergelane::ptx {
namespace {

struct Form {
    const char* shape;
    std::vector<const char*> operands;  ///< any two of them can be multiplied
    std::vector<const char*> sums;
    u32 m, n, k;
    Place a, b, c;
};

// Of c; of a and b by rows or columns, k, and the narrowest element that lies so.
constexpr Place sum_8 = [](u32 l, u32 i) { return Cell{l / 4, l % 4 * 2 + i}; };
constexpr Place sum_16 = [](u32 l, u32 i) { return Cell{i < 2 ? l / 4 : l / 4 + 8, l % 4 * 2 + (i & 1)}; };
constexpr Place a16x8_b16 = [](u32 l, u32 i) { return Cell{i < 2 ? l / 4 : l / 4 + 8, l % 4 * 2 + (i & 1)}; };
constexpr Place b8x8_b16 = [](u32 l, u32 i) { return Cell{l % 4 * 2 + i, l / 4}; };
constexpr Place a16x16_b16 = [](u32 l, u32 i) {
    return Cell{i < 2 || (i >= 4 && i < 6) ? l / 4 : l / 4 + 8, l % 4 * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
};
constexpr Place b8x16_b16 = [](u32 l, u32 i) { return Cell{l % 4 * 2 + (i & 1) + (i >= 2 ? 8 : 0), l / 4}; };
constexpr Place a16x4_b32 = [](u32 l, u32 i) { return Cell{i == 0 ? l / 4 : l / 4 + 8, l % 4}; };
constexpr Place b8x4_b32 = [](u32 l, u32) { return Cell{l % 4, l / 4}; };
constexpr Place a16x8_b32 = [](u32 l, u32 i) { return Cell{i == 0 || i == 2 ? l / 4 : l / 4 + 8, i < 2 ? l % 4 : l % 4 + 4}; };
constexpr Place b8x8_b32 = [](u32 l, u32 i) { return Cell{i == 0 ? l % 4 : l % 4 + 4, l / 4}; };
constexpr Place a8x4_b64 = [](u32 l, u32) { return Cell{l / 4, l % 4}; };
constexpr Place a16x16_b64 = [](u32 l, u32 i) { return i % 2 == 0 ? Cell{l / 4, i * 2 + l % 4} : Cell{l / 4 + 8, i * 2 - 2 + l % 4}; };
constexpr Place b8x16_b64 = [](u32 l, u32 i) { return Cell{l % 4 + i * 4, l / 4}; };
constexpr Place a8x16_b8 = [](u32 l, u32 i) { return Cell{l / 4, l % 4 * 4 + i}; };
constexpr Place b8x16_b8 = [](u32 l, u32 i) { return Cell{l % 4 * 4 + i, l / 4}; };
constexpr Place a16x16_b8 = [](u32 l, u32 i) { return Cell{i < 4 ? l / 4 : l / 4 + 8, l % 4 * 4 + (i & 3)}; };
constexpr Place a16x32_b8 = [](u32 l, u32 i) {
    return Cell{i < 4 || (i >= 8 && i < 12) ? l / 4 : l / 4 + 8, l % 4 * 4 + (i & 3) + (i < 8 ? 0 : 16)};
};
constexpr Place b8x32_b8 = [](u32 l, u32 i) { return Cell{l % 4 * 4 + (i & 3) + (i < 4 ? 0 : 16), l / 4}; };
constexpr Place a8x32_b4 = [](u32 l, u32 i) { return Cell{l / 4, l % 4 * 8 + i}; };
constexpr Place b8x32_b4 = [](u32 l, u32 i) { return Cell{l % 4 * 8 + i, l / 4}; };
constexpr Place a16x32_b4 = [](u32 l, u32 i) { return Cell{i < 8 ? l / 4 : l / 4 + 8, l % 4 * 8 + (i & 7)}; };
constexpr Place a16x64_b4 = [](u32 l, u32 i) {
    return Cell{i < 8 || (i >= 16 && i < 24) ? l / 4 : l / 4 + 8, l % 4 * 8 + (i & 7) + (i < 16 ? 0 : 32)};
};
constexpr Place b8x64_b4 = [](u32 l, u32 i) { return Cell{l % 4 * 8 + (i & 7) + (i < 8 ? 0 : 32), l / 4}; };
constexpr Place a8x128_b1 = [](u32 l, u32 i) { return Cell{l / 4, l % 4 * 32 + i}; };
constexpr Place b8x128_b1 = [](u32 l, u32 i) { return Cell{l % 4 * 32 + i, l / 4}; };
constexpr Place a16x128_b1 = [](u32 l, u32 i) { return Cell{i < 32 ? l / 4 : l / 4 + 8, l % 4 * 32 + (i & 31)}; };
constexpr Place a16x256_b1 = [](u32 l, u32 i) {
    return Cell{i < 32 || (i >= 64 && i < 96) ? l / 4 : l / 4 + 8, l % 4 * 32 + (i & 31) + (i < 64 ? 0 : 128)};
};
constexpr Place b8x256_b1 = [](u32 l, u32 i) { return Cell{l % 4 * 32 + (i & 31) + (i < 32 ? 0 : 128), l / 4}; };

const std::vector<Form>& forms() {
    static const std::vector<Form> all = {
        {"m16n8k8", {"f16"}, {"f16", "f32"}, 16, 8, 8, a16x8_b16, b8x8_b16, sum_16},
        {"m16n8k8", {"bf16"}, {"f32"}, 16, 8, 8, a16x8_b16, b8x8_b16, sum_16},
        {"m16n8k16", {"f16"}, {"f16", "f32"}, 16, 8, 16, a16x16_b16, b8x16_b16, sum_16},
        {"m16n8k16", {"bf16"}, {"f32"}, 16, 8, 16, a16x16_b16, b8x16_b16, sum_16},
        {"m16n8k4", {"tf32"}, {"f32"}, 16, 8, 4, a16x4_b32, b8x4_b32, sum_16},
        {"m16n8k8", {"tf32"}, {"f32"}, 16, 8, 8, a16x8_b32, b8x8_b32, sum_16},
        {"m8n8k4", {"f64"}, {"f64"}, 8, 8, 4, a8x4_b64, b8x4_b32, sum_8},
        {"m16n8k4", {"f64"}, {"f64"}, 16, 8, 4, a16x4_b32, b8x4_b32, sum_16},
        {"m16n8k8", {"f64"}, {"f64"}, 16, 8, 8, a16x8_b32, b8x8_b32, sum_16},
        {"m16n8k16", {"f64"}, {"f64"}, 16, 8, 16, a16x16_b64, b8x16_b64, sum_16},
        {"m8n8k16", {"s8", "u8"}, {"s32"}, 8, 8, 16, a8x16_b8, b8x16_b8, sum_8},
        {"m16n8k16", {"s8", "u8"}, {"s32"}, 16, 8, 16, a16x16_b8, b8x16_b8, sum_16},
        {"m16n8k32", {"s8", "u8"}, {"s32"}, 16, 8, 32, a16x32_b8, b8x32_b8, sum_16},
        {"m16n8k16", {"e4m3", "e5m2"}, {"f16", "f32"}, 16, 8, 16, a16x16_b8, b8x16_b8, sum_16},
        {"m16n8k32", {"e4m3", "e5m2"}, {"f16", "f32"}, 16, 8, 32, a16x32_b8, b8x32_b8, sum_16},
        {"m8n8k32", {"s4", "u4"}, {"s32"}, 8, 8, 32, a8x32_b4, b8x32_b4, sum_8},
        {"m16n8k32", {"s4", "u4"}, {"s32"}, 16, 8, 32, a16x32_b4, b8x32_b4, sum_16},
        {"m16n8k64", {"s4", "u4"}, {"s32"}, 16, 8, 64, a16x64_b4, b8x64_b4, sum_16},
        {"m8n8k128", {"b1"}, {"s32"}, 8, 8, 128, a8x128_b1, b8x128_b1, sum_8},
        {"m16n8k128", {"b1"}, {"s32"}, 16, 8, 128, a16x128_b1, b8x128_b1, sum_16},
        {"m16n8k256", {"b1"}, {"s32"}, 16, 8, 256, a16x256_b1, b8x256_b1, sum_16},
    };
    return all;
}

/// A fragment as registers of `bytes` bytes: register after register, 32 lanes each.
std::vector<std::uint8_t> to_registers(const Matrix& m, Place place) {
    const u32 bits = m.kind->bits;
    const u32 width = bits == 64 ? 64 : 32;
    const u32 elements = m.rows * m.columns / 32;
    std::vector<std::uint8_t> out(std::size_t{elements} * bits / width * 32 * width / 8);
    for (u32 lane = 0; lane < 32; ++lane) {
        for (u32 i = 0; i < elements; ++i) {
            const Cell cell = place(lane, i);
            const u32 reg = i * bits / width, at = i * bits % width;
            u64 word = 0;
            std::uint8_t* const to = out.data() + (std::size_t{reg} * 32 + lane) * (width / 8);
            std::memcpy(&word, to, width / 8);
            word |= m.at(cell.row, cell.column) << at;
            std::memcpy(to, &word, width / 8);
        }
    }
    return out;
}
Matrix from_registers(const std::vector<std::uint8_t>& in, u32 rows, u32 columns, const std::string& kind, Place place) {
    Matrix m{rows, columns, &format(kind), std::vector<u64>(std::size_t{rows} * columns)};
    const u32 bits = m.kind->bits, width = bits == 64 ? 64 : 32;
    for (u32 lane = 0; lane < 32; ++lane) {
        for (u32 i = 0; i < rows * columns / 32; ++i) {
            const Cell cell = place(lane, i);
            u64 word = 0;
            std::memcpy(&word, in.data() + (std::size_t{i * bits / width} * 32 + lane) * (width / 8), width / 8);
            m.at(cell.row, cell.column) = word >> (i * bits % width) & (bits == 64 ? ~u64{0} : (u64{1} << bits) - 1);
        }
    }
    return m;
}

struct Registers {
    u32 d, a, b, c;
    u32 d_bytes = 4, a_bytes = 4, b_bytes = 4, c_bytes = 4;
};
/// A kernel in which every lane loads its registers from three arrays, executes `opcode`, and stores the result.
std::string kernel_of(const std::string& opcode, const Registers& r, const std::string& guard = "") {
    std::string text =
        ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 pd, .param .u64 pa, .param .u64 pb, .param .u64 "
        "pc)\n{\n"
        ".reg .b64 %rd<8>;\n.reg .b32 %r<4>;\n.reg .pred %p<2>;\n"
        "ld.param.u64 %rd1, [pd];\nld.param.u64 %rd2, [pa];\nld.param.u64 %rd3, [pb];\nld.param.u64 %rd4, [pc];\n"
        "mov.u32 %r1, %laneid;\nsetp.lt.u32 %p1, %r1, 16;\n";
    std::string operands;
    const auto part = [&](char letter, u32 count, u32 bytes, u32 base, bool load) {
        text += fmt::format(".reg .b{} %{}<{}>;\nmad.wide.u32 %rd{}, %r1, {}, %rd{};\n", bytes * 8, letter, count, base, bytes, base);
        operands += operands.empty() ? " {" : ", {";
        for (u32 i = 0; i < count; ++i) {
            if (load) text += fmt::format("ld.global.b{} %{}{}, [%rd{}+{}];\n", bytes * 8, letter, i, base, i * 32 * bytes);
            operands += fmt::format("{}%{}{}", i == 0 ? "" : ", ", letter, i);
        }
        operands += "}";
    };
    part('d', r.d, r.d_bytes, 1, true);
    part('a', r.a, r.a_bytes, 2, true);
    part('b', r.b, r.b_bytes, 3, true);
    part('c', r.c, r.c_bytes, 4, true);
    text += guard + opcode + operands + ";\n";
    for (u32 i = 0; i < r.d; ++i) text += fmt::format("st.global.b{} [%rd1+{}], %d{};\n", r.d_bytes * 8, i * 32 * r.d_bytes, i);
    return text + "ret;\n}\n";
}

std::vector<std::uint8_t> run_product(const std::string& text, const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b,
                                      const std::vector<std::uint8_t>& c, std::size_t d_bytes, bool portable,
                                      const std::vector<std::uint8_t>& before = {}) {
    TestDevice device(text);
    device.options.portable = portable;
    const Addr d = before.empty() ? device.zeros<std::uint8_t>(d_bytes) : device.put(before);
    device.run("k", {1, 1, 1}, {32, 1, 1}, d, device.put(a), device.put(b), device.put(c));
    EXPECT_TRUE(device.memory.warnings().empty());
    return device.get<std::uint8_t>(d, d_bytes);
}

void check_form(const Form& form, const std::string& ta, const std::string& tb, const std::string& sum, How how) {
    const bool bits = ta == "b1";
    const std::string opcode =
        fmt::format("mma.sync.aligned.{}.row.col{}.{}.{}.{}.{}{}", form.shape, how == How::clamp ? ".satfinite" : "", sum, ta, tb, sum,
                    !bits                  ? ""
                    : how == How::bits_and ? ".and.popc"
                                           : ".xor.popc");
    Rng rng(static_cast<u64>(form.k) * 131 + form.m + ta.size() * 7 + tb[0]);
    for (const Values values : {Values::small, Values::any}) {
        const Matrix a = random_matrix(form.m, form.k, ta, values, rng);
        const Matrix b = random_matrix(form.k, form.n, tb, values, rng);
        const Matrix c = random_matrix(form.m, form.n, sum, values, rng);
        const auto ra = to_registers(a, form.a);
        const auto rb = to_registers(b, form.b);
        const auto rc = to_registers(c, form.c);
        const u32 wide = ta == "f64" ? 8 : 4;
        const auto count = [&](const std::vector<std::uint8_t>& r) { return static_cast<u32>(r.size() / 32 / wide); };
        const std::string text = kernel_of(opcode, {count(rc), count(ra), count(rb), count(rc), wide, wide, wide, wide});
        const auto fast = run_product(text, ra, rb, rc, rc.size(), false);
        EXPECT_EQ(fast, run_product(text, ra, rb, rc, rc.size(), true)) << opcode;
        // In f16, sums of small integers may need more than its 11 bits.
        const bool exact = values == Values::small && (sum != "f16" || form.k <= 16);
        expect_product(a, b, c, from_registers(fast, form.m, form.n, sum, form.c), how, exact, opcode);
    }
}

TEST(PtxMatrix, EveryMma) {
    for (const Form& form : forms()) {
        for (const char* ta : form.operands) {
            for (const char* tb : form.operands) {
                for (const char* sum : form.sums) {
                    const bool bits = std::string(ta) == "b1";
                    check_form(form, ta, tb, sum, bits ? How::bits_xor : How::wrap);
                    if (bits) check_form(form, ta, tb, sum, How::bits_and);
                    if (!bits && std::string(sum) == "s32") check_form(form, ta, tb, sum, How::clamp);
                }
            }
        }
    }
}

/// m8n8k4 with f16: lanes 4q to 4q + 3 and 4q + 16 to 4q + 19 compute product q.
TEST(PtxMatrix, FourProductsOfVolta) {
    const auto quad = [](u32 lane) { return lane / 4 % 4; };
    const auto high = [](u32 lane, u32 v) { return lane < 16 ? v : v + 4; };
    Rng rng(4);
    for (const bool a_rows : {true, false}) {
        for (const bool b_rows : {true, false}) {
            for (const auto& [c_kind, d_kind] : {std::pair{"f16", "f16"}, std::pair{"f32", "f32"}, std::pair{"f16", "f32"}}) {
                const std::string opcode = fmt::format("mma.sync.aligned.m8n8k4.{}.{}.{}.f16.f16.{}", a_rows ? "row" : "col",
                                                       b_rows ? "row" : "col", d_kind, c_kind);
                const auto sum_cell = [&](u32 l, u32 i, bool packed) {
                    if (packed) return Cell{high(l, l % 4), i};
                    return Cell{high(l, (l & 1) + (i & 2)), (i & 4) + (l & 2) + (i & 1)};
                };
                std::vector<Matrix> a, b, c;
                for (u32 q = 0; q < 4; ++q) {
                    a.push_back(random_matrix(8, 4, "f16", Values::small, rng));
                    b.push_back(random_matrix(4, 8, "f16", Values::small, rng));
                    c.push_back(random_matrix(8, 8, c_kind, Values::small, rng));
                }
                const bool c_half = std::string(c_kind) == "f16", d_half = std::string(d_kind) == "f16";
                std::vector<u16> ra(128), rb(128);
                std::vector<std::uint8_t> rc(c_half ? 512 : 1024);
                for (u32 l = 0; l < 32; ++l) {
                    for (u32 i = 0; i < 4; ++i) {
                        const std::size_t at = (i / 2 * 32 + l) * 2 + i % 2;
                        const Cell x = a_rows ? Cell{high(l, l % 4), i} : Cell{high(l, i), l % 4};
                        const Cell y = b_rows ? Cell{l % 4, high(l, i)} : Cell{i, high(l, l % 4)};
                        ra[at] = static_cast<u16>(a[quad(l)].at(x.row, x.column));
                        rb[at] = static_cast<u16>(b[quad(l)].at(y.row, y.column));
                    }
                    for (u32 i = 0; i < 8; ++i) {
                        const Cell cell = sum_cell(l, i, c_half);
                        const u64 bits = c[quad(l)].at(cell.row, cell.column);
                        if (c_half)
                            std::memcpy(rc.data() + (i / 2 * 32 + l) * 4 + i % 2 * 2, &bits, 2);
                        else
                            std::memcpy(rc.data() + (i * 32 + l) * 4, &bits, 4);
                    }
                }
                const auto raw = [](const std::vector<u16>& v) {
                    std::vector<std::uint8_t> out(v.size() * 2);
                    std::memcpy(out.data(), v.data(), out.size());
                    return out;
                };
                const std::string text = kernel_of(opcode, {d_half ? 4u : 8u, 2, 2, c_half ? 4u : 8u});
                const std::size_t bytes = d_half ? 512 : 1024;
                const auto rd = run_product(text, raw(ra), raw(rb), rc, bytes, false);
                EXPECT_EQ(rd, run_product(text, raw(ra), raw(rb), rc, bytes, true)) << opcode;
                for (u32 q = 0; q < 4; ++q) {
                    Matrix d{8, 8, &format(d_kind), std::vector<u64>(64)};
                    for (u32 l = 0; l < 32; ++l) {
                        if (quad(l) != q) continue;
                        for (u32 i = 0; i < 8; ++i) {
                            const Cell cell = sum_cell(l, i, d_half);
                            u64& bits = d.at(cell.row, cell.column);
                            if (d_half)
                                std::memcpy(&bits, rd.data() + (i / 2 * 32 + l) * 4 + i % 2 * 2, 2);
                            else
                                std::memcpy(&bits, rd.data() + (i * 32 + l) * 4, 4);
                        }
                    }
                    expect_product(a[q], b[q], c[q], d, How::wrap, true, opcode);
                }
            }
        }
    }
}

/// Infinities and NaNs, which have one bit pattern; sums beyond f16; directed rounding of f64.
TEST(PtxMatrix, SpecialValues) {
    const Form& form = forms()[2];
    const std::vector<std::uint8_t> zeros_a(4 * 128), zeros_b(2 * 128);
    auto a = zeros_a, b = zeros_b;
    const u16 infinity = 0x7C00, one = 0x3C00, large = 0x7BFF;
    std::memcpy(a.data(), &infinity, 2);       // row 0, k 0
    std::memcpy(b.data(), &one, 2);            // k 0, column 0; the other columns have 0
    std::memcpy(a.data() + 4 * 4, &large, 2);  // row 1, k 0
    for (const bool portable : {false, true}) {
        const auto d = run_product(kernel_of("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", {4, 4, 2, 4}), a, b,
                                   std::vector<std::uint8_t>(512), 512, portable);
        const Matrix m = from_registers(d, 16, 8, "f32", form.c);
        EXPECT_EQ(m.at(0, 0), 0x7F800000u);
        EXPECT_EQ(m.at(0, 1), 0x7FFFFFFFu);  // infinity times 0
        EXPECT_EQ(m.value(1, 0), 65504.0);
        auto c = std::vector<std::uint8_t>(256);
        for (std::size_t i = 0; i < 256; i += 2) std::memcpy(c.data() + i, &large, 2);
        const auto h = run_product(kernel_of("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", {2, 4, 2, 2}), a, b, c, 256, portable);
        const Matrix halves = from_registers(h, 16, 8, "f16", form.c);
        EXPECT_EQ(halves.at(0, 1), 0x7FFFu);
        EXPECT_EQ(halves.at(1, 0), 0x7C00u);
        EXPECT_EQ(halves.at(2, 0), 0x7BFFu);
        std::vector<double> third(32, 1.0 / 3), tiny(64, 1.0);
        const auto raw = [](const std::vector<double>& v) {
            std::vector<std::uint8_t> out(v.size() * 8);
            std::memcpy(out.data(), v.data(), out.size());
            return out;
        };
        for (const auto& [word, mode] : {std::pair{"rn", 0}, std::pair{"rz", 1}, std::pair{"rm", 1}, std::pair{"rp", 2}}) {
            const std::string opcode = fmt::format("mma.sync.aligned.m8n8k4.row.col.{}.f64.f64.f64.f64", word);
            const auto sums = run_product(kernel_of(opcode, {2, 1, 1, 2, 8, 8, 8, 8}), raw(third), raw(third), raw(tiny), 512, portable);
            double first = 0;
            std::memcpy(&first, sums.data(), 8);
            const long double exact = 1.0L + 4.0L * static_cast<long double>(1.0 / 3) * static_cast<long double>(1.0 / 3);
            EXPECT_NEAR(first, static_cast<double>(exact), 1e-15);
            EXPECT_TRUE(mode != 1 || static_cast<long double>(first) < exact) << word;
            EXPECT_TRUE(mode != 2 || static_cast<long double>(first) > exact) << word;
        }
    }
}

/// Lanes that are not active keep their results; what their registers hold takes part.
TEST(PtxMatrix, InactiveLanes) {
    Rng rng(5);
    const Form& form = forms()[2];
    const Matrix a = random_matrix(16, 16, "f16", Values::small, rng), b = random_matrix(16, 8, "f16", Values::small, rng);
    const Matrix c = random_matrix(16, 8, "f32", Values::small, rng);
    const auto ra = to_registers(a, form.a), rb = to_registers(b, form.b), rc = to_registers(c, form.c);
    const std::string opcode = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
    const auto all = run_product(kernel_of(opcode, {4, 4, 2, 4}), ra, rb, rc, 512, false);
    const std::vector<std::uint8_t> before(512, 0x55);
    for (const bool portable : {false, true}) {
        const auto some = run_product(kernel_of(opcode, {4, 4, 2, 4}, "@%p1 "), ra, rb, rc, 512, portable, before);
        for (std::size_t i = 0; i < 512; ++i) EXPECT_EQ(some[i], i / 4 % 32 < 16 ? all[i] : 0x55) << i;
    }
}

/// Tensor instructions by shape and type, and no register that the scoreboard does not know.
TEST(PtxMatrix, TensorInstructions) {
    struct Expected {
        const char* opcode;
        Registers registers;
        u32 slots;
    };
    for (const Expected& e : std::vector<Expected>{{"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", {4, 4, 2, 4}, 8},
                                                   {"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", {4, 2, 1, 4}, 4},
                                                   {"mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", {8, 2, 2, 8}, 4},
                                                   {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", {4, 4, 2, 4}, 8},
                                                   {"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", {2, 1, 1, 2, 8, 8, 8, 8}, 16},
                                                   {"mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32", {2, 1, 1, 2}, 2},
                                                   {"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", {4, 4, 2, 4}, 8},
                                                   {"mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", {4, 4, 2, 4}, 8},
                                                   {"mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc", {4, 4, 2, 4}, 8},
                                                   {"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", {4, 4, 2, 4}, 8},
                                                   {"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", {8, 8, 8, 8}, 16},
                                                   {"wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32", {8, 2, 2, 8}, 8}}) {
        TestDevice device(kernel_of(e.opcode, e.registers));
        device.record = true;
        const Addr memory = device.zeros<std::uint8_t>(4096);
        const auto kernel = device.run("k", {1, 1, 1}, {32, 1, 1}, memory, memory, memory, memory);
        std::set<u16> all, written;
        u32 slots = 0, writes = 0;
        for (const StaticInst& inst : replay(*kernel).instructions) {
            if (inst.op != OpClass::tensor) continue;
            ++slots;
            writes += inst.dst_count;
            all.insert(inst.regs.begin(), inst.regs.begin() + inst.reg_count);
            written.insert(inst.regs.begin(), inst.regs.begin() + inst.dst_count);
        }
        const Registers& r = e.registers;
        EXPECT_EQ(slots, e.slots) << e.opcode;
        EXPECT_EQ(all.size(), r.d + r.a + r.b + r.c) << e.opcode;
        EXPECT_EQ(written.size(), r.d) << e.opcode;
        EXPECT_EQ(writes, r.d) << e.opcode;  // none twice: the second would wait for the first
    }
}

}  // namespace
}  // namespace mergelane::ptx
