// SPDX-License-Identifier: MIT
// Matrices between memory and registers (wmma, ldmatrix, stmatrix, movmatrix), and the matrix instructions that are refused.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <tuple>

#include "core/error.hpp"
#include "matrix_reference.hpp"
#include "sm/coalescer.hpp"

namespace mergelane::ptx {
namespace {

/// A matrix in memory: `stride` elements from line to line.
std::vector<std::uint8_t> in_memory(const Matrix& m, bool by_rows, u32 stride) {
    const u32 lines = by_rows ? m.rows : m.columns, bits = m.kind->bits;
    std::vector<std::uint8_t> out(std::size_t{lines} * stride * bits / 8 + 16, 0);
    for (u32 line = 0; line < lines; ++line) {
        for (u32 e = 0; e < (by_rows ? m.columns : m.rows); ++e) {
            const u64 value = by_rows ? m.at(line, e) : m.at(e, line);
            const std::size_t at = (std::size_t{line} * stride + e) * bits;
            for (u32 k = 0; k < bits; ++k) out[(at + k) / 8] |= static_cast<std::uint8_t>((value >> k & 1) << (at + k) % 8);
        }
    }
    return out;
}
Matrix of_memory(const std::vector<std::uint8_t>& in, u32 rows, u32 columns, const std::string& kind, bool by_rows, u32 stride) {
    Matrix m{rows, columns, &format(kind), std::vector<u64>(std::size_t{rows} * columns)};
    for (u32 row = 0; row < rows; ++row) {
        for (u32 column = 0; column < columns; ++column)
            std::memcpy(&m.at(row, column), in.data() + (by_rows ? row * stride + column : column * stride + row) * m.kind->bits / 8,
                        m.kind->bits / 8);
    }
    return m;
}

struct Wmma {
    const char* shape;
    u32 m, n, k;
    const char *operand, *c, *d;
    u32 a_registers, b_registers;
};
std::string vector_of(char letter, u32 count) {
    std::string text = "{";
    for (u32 i = 0; i < count; ++i) text += fmt::format("{}%{}{}", i == 0 ? "" : ", ", letter, i);
    return text + "}";
}
u32 sum_registers(const Wmma& w, const std::string& kind) {
    return w.m * w.n / (kind == "f16" ? 64 : 32);
}
/// Loads from and stores to `space` (empty: generic addresses, alternately of global and shared memory).
std::string wmma_kernel(const Wmma& w, const std::string& mma, const char* la, const char* lb, const char* lc, const std::string& space,
                        bool strides) {
    const bool wide = std::string(w.operand) == "f64";
    std::string text =
        ".version 8.7\n.target sm_90\n.address_size 64\n.shared .align 32 .b8 buffer[16384];\n"
        ".visible .entry k(.param .u64 pd, .param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u32 sa, .param .u32 sb, .param .u32 "
        "sc)\n{\n"
        ".reg .b64 %rd<20>;\n.reg .b32 %r<16>;\n.reg .pred %p<4>;\n"
        "ld.param.u64 %rd1, [pd];\nld.param.u64 %rd2, [pa];\nld.param.u64 %rd3, [pb];\nld.param.u64 %rd4, [pc];\n"
        "ld.param.u32 %r2, [sa];\nld.param.u32 %r3, [sb];\nld.param.u32 %r4, [sc];\nmov.u32 %r1, %laneid;\n";
    const auto reg = [&](char letter, u32 count) { text += fmt::format(".reg .b{} %{}<{}>;\n", wide ? 64 : 32, letter, count); };
    reg('a', w.a_registers);
    reg('b', w.b_registers);
    reg('c', sum_registers(w, w.c));
    reg('d', sum_registers(w, w.d));
    const bool copies = space != "global";
    if (copies) {
        // A to 0, B to 4096, C to 8192 of the shared buffer; D comes back from 12288.
        text += "shl.b32 %r5, %r1, 2;\ncvt.u64.u32 %rd5, %r5;\nmov.u32 %r7, buffer;\nadd.u32 %r7, %r7, %r5;\n";
        for (u32 i = 0; i < 3; ++i)
            text += fmt::format(
                "add.u64 %rd6, %rd{}, %rd5;\nmov.u32 %r6, 0;\nL{}:\nld.global.u32 %r8, [%rd6];\nst.shared.u32 [%r7+{}], %r8;\nadd.u64 "
                "%rd6, %rd6, 128;\n"
                "add.u32 %r7, %r7, 128;\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p1, %r6, 32;\n@%p1 bra L{};\nsub.u32 %r7, %r7, 4096;\n",
                i + 2, i, i * 4096, i);
        text += "bar.sync 0;\nmov.u64 %rd7, buffer;\n";
        if (space.empty())
            text += "cvta.shared.u64 %rd12, %rd7;\nadd.u64 %rd13, %rd3, 0;\nadd.u64 %rd14, %rd12, 8192;\nadd.u64 %rd11, %rd12, 12288;\n";
        else
            text += "add.u64 %rd12, %rd7, 0;\nadd.u64 %rd13, %rd7, 4096;\nadd.u64 %rd14, %rd7, 8192;\nadd.u64 %rd11, %rd7, 12288;\n";
    } else {
        text += "add.u64 %rd11, %rd1, 0;\nadd.u64 %rd12, %rd2, 0;\nadd.u64 %rd13, %rd3, 0;\nadd.u64 %rd14, %rd4, 0;\n";
    }
    const std::string dot = space.empty() ? "" : "." + space;
    const auto stride = [&](u32 r) { return strides ? fmt::format(", %r{}", r) : std::string(); };
    text += fmt::format("wmma.load.a.sync.aligned.{}.{}{}.{} {}, [%rd12]{};\n", la, w.shape, dot, w.operand, vector_of('a', w.a_registers),
                        stride(2));
    text += fmt::format("wmma.load.b.sync.aligned.{}.{}{}.{} {}, [%rd13]{};\n", lb, w.shape, dot, w.operand, vector_of('b', w.b_registers),
                        stride(3));
    text += fmt::format("wmma.load.c.sync.aligned.{}.{}{}.{} {}, [%rd14]{};\n", lc, w.shape, dot, w.c,
                        vector_of('c', sum_registers(w, w.c)), stride(4));
    text += fmt::format("{} {}, {}, {}, {};\n", mma, vector_of('d', sum_registers(w, w.d)), vector_of('a', w.a_registers),
                        vector_of('b', w.b_registers), vector_of('c', sum_registers(w, w.c)));
    text += fmt::format("wmma.store.d.sync.aligned.{}.{}{}.{} [%rd11], {}{};\n", lc, w.shape, dot, w.d,
                        vector_of('d', sum_registers(w, w.d)), stride(4));
    if (copies)
        text +=
            "bar.sync 0;\nadd.u64 %rd6, %rd1, %rd5;\nmov.u32 %r6, 0;\nB:\nld.shared.u32 %r8, [%r7+12288];\nst.global.u32 [%rd6], "
            "%r8;\nadd.u64 %rd6, %rd6, 128;\n"
            "add.u32 %r7, %r7, 128;\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p1, %r6, 32;\n@%p1 bra B;\n";
    return text + "ret;\n}\n";
}

const std::vector<Wmma>& wmma_forms() {
    static const std::vector<Wmma> all = [] {
        std::vector<Wmma> made;
        for (const auto& [shape, m, n, a, b] :
             {std::tuple{"m16n16k16", 16u, 16u, 2u, 2u}, {"m32n8k16", 32u, 8u, 4u, 1u}, {"m8n32k16", 8u, 32u, 1u, 4u}}) {
            for (const auto& [c, d] : {std::pair{"f16", "f16"}, {"f32", "f32"}, {"f16", "f32"}, {"f32", "f16"}})
                made.push_back({shape, m, n, 16, "f16", c, d, 8, 8});
            made.push_back({shape, m, n, 16, "bf16", "f32", "f32", a * 2, b * 2});
            made.push_back({shape, m, n, 16, "s8", "s32", "s32", a, b});
            made.push_back({shape, m, n, 16, "u8", "s32", "s32", a, b});
        }
        made.push_back({"m16n16k8", 16, 16, 8, "tf32", "f32", "f32", 4, 4});
        made.push_back({"m8n8k4", 8, 8, 4, "f64", "f64", "f64", 1, 1});
        made.push_back({"m8n8k32", 8, 8, 32, "s4", "s32", "s32", 1, 1});
        made.push_back({"m8n8k32", 8, 8, 32, "u4", "s32", "s32", 1, 1});
        made.push_back({"m8n8k128", 8, 8, 128, "b1", "s32", "s32", 1, 1});
        return made;
    }();
    return all;
}
std::string wmma_opcode(const Wmma& w, const char* la, const char* lb) {
    const std::string kind = w.operand;
    if (kind == "f16") return fmt::format("wmma.mma.sync.aligned.{}.{}.{}.{}.{}", la, lb, w.shape, w.d, w.c);
    return fmt::format("wmma.mma{}.sync.aligned.{}.{}.{}.{}.{}.{}.{}{}", kind == "b1" ? ".xor.popc" : "", la, lb, w.shape, w.d, kind, kind,
                       w.c, kind == "s8" ? ".satfinite" : "");
}

TEST(PtxMatrix, EveryWmma) {
    Rng rng(6);
    for (const Wmma& w : wmma_forms()) {
        const bool packed = format(w.operand).bits < 8;
        for (u32 layouts = 0; layouts < 8; ++layouts) {
            const bool ra = (layouts & 1) == 0, rb = (layouts & 2) != 0, rc = (layouts & 4) == 0;
            if (packed && (!ra || rb)) continue;
            const auto name = [](bool rows) { return rows ? "row" : "col"; };
            for (const std::string space : {"global", "shared", ""}) {
                const bool strides = (layouts + space.size()) % 2 == 0;
                const u32 more = strides ? (packed ? 128 : 16) : 0;
                const u32 sa = (ra ? w.k : w.m) + more, sb = (rb ? w.n : w.k) + more, sc = (rc ? w.n : w.m) + (strides ? 16 : 0);
                const Matrix a = random_matrix(w.m, w.k, w.operand, Values::small, rng),
                             b = random_matrix(w.k, w.n, w.operand, Values::small, rng);
                const Matrix c = random_matrix(w.m, w.n, w.c, Values::small, rng);
                const std::string opcode = wmma_opcode(w, name(ra), name(rb));
                std::vector<std::vector<std::uint8_t>> results;
                for (const bool portable : {false, true}) {
                    TestDevice device(wmma_kernel(w, opcode, name(ra), name(rb), name(rc), space, strides));
                    device.options.portable = portable;
                    device.record = portable;
                    const auto padded = [&](std::vector<std::uint8_t> v) {
                        EXPECT_LE(v.size(), 4096u);
                        v.resize(4096);
                        return device.put(v);
                    };
                    const Addr d = device.zeros<std::uint8_t>(4096);
                    device.run("k", {1, 1, 1}, {32, 1, 1}, d, padded(in_memory(a, ra, sa)), padded(in_memory(b, rb, sb)),
                               padded(in_memory(c, rc, sc)), sa, sb, sc);
                    EXPECT_TRUE(device.memory.warnings().empty()) << opcode << device.memory.warnings()[0];
                    results.push_back(device.get<std::uint8_t>(d, 4096));
                }
                EXPECT_EQ(results[0], results[1]) << opcode;
                const Matrix product = of_memory(results[0], w.m, w.n, w.d, rc, sc);
                const How how = std::string(w.operand) == "b1" ? How::bits_xor : std::string(w.operand) == "s8" ? How::clamp : How::wrap;
                expect_product(a, b, c, product, how, true, opcode + " " + name(rc) + " " + space);
            }
        }
    }
}

/// Rows of 8 halves at addresses that lanes give, in an order of their own.
constexpr const char* kRowsKernel = R"(
.version 8.7
.target sm_90
.address_size 64
.shared .align 16 .b8 buffer[4096];
.visible .entry k(.param .u64 pd, .param .u64 pa)
{{
.reg .b64 %rd<8>;
.reg .b32 %r<16>;
.reg .b32 %v<4>;
.reg .pred %p<2>;
ld.param.u64 %rd1, [pd];
ld.param.u64 %rd2, [pa];
mov.u32 %r1, %laneid;
mul.lo.u32 %r2, %r1, 4;
cvt.u64.u32 %rd3, %r2;
add.u64 %rd4, %rd2, %rd3;
add.u64 %rd5, %rd1, %rd3;
mov.u32 %r4, buffer;
add.u32 %r5, %r4, %r2;
{0}
ret;
}}
)";
std::string rows_kernel(bool store, u32 count, bool transposed, u32 row_bytes, const std::string& space = ".shared") {
    const std::string trans = transposed ? ".trans" : "";
    std::string body;
    const std::string address = space.empty() ? "%rd7" : "%r7";
    // The row of lane l is number (l * 5) % 32 of the buffer.
    std::string rows =
        fmt::format("mul.lo.u32 %r6, %r1, 5;\nand.b32 %r6, %r6, 31;\nmul.lo.u32 %r6, %r6, {};\nadd.u32 %r7, %r4, %r6;\n", row_bytes);
    if (space.empty()) rows += "cvt.u64.u32 %rd6, %r7;\ncvta.shared.u64 %rd7, %rd6;\n";
    const auto copy = [](bool in) {
        std::string text;
        for (u32 i = 0; i < 32; ++i)
            text += in ? fmt::format("ld.global.u32 %r8, [%rd4+{0}];\nst.shared.u32 [%r5+{0}], %r8;\n", i * 128)
                       : fmt::format("ld.shared.u32 %r8, [%r5+{0}];\nst.global.u32 [%rd5+{0}], %r8;\n", i * 128);
        return text;
    };
    if (!store) {
        body = copy(true) + rows +
               fmt::format("ldmatrix.sync.aligned.m8n8.x{}{}{}.b16 {}, [{}];\n", count, trans, space, vector_of('v', count), address);
        for (u32 i = 0; i < count; ++i) body += fmt::format("st.global.u32 [%rd5+{}], %v{};\n", i * 128, i);
    } else {
        for (u32 i = 0; i < count; ++i) body += fmt::format("ld.global.u32 %v{}, [%rd4+{}];\n", i, i * 128);
        body += rows +
                fmt::format("stmatrix.sync.aligned.m8n8.x{}{}{}.b16 [{}], {};\n", count, trans, space, address, vector_of('v', count)) +
                copy(false);
    }
    return fmt::format(kRowsKernel, body);
}
/// The half that lane `lane` holds as number `i` of matrix `number`, of those that `row` and `column` name.
Cell half_of(u32 lane, u32 i, bool transposed) {
    return transposed ? Cell{lane % 4 * 2 + i, lane / 4} : Cell{lane / 4, lane % 4 * 2 + i};
}

TEST(PtxMatrix, LdmatrixAndStmatrix) {
    for (const u32 count : {1u, 2u, 4u}) {
        for (const bool transposed : {false, true}) {
            for (const u32 row_bytes : {16u, 48u, 128u}) {
                for (const std::string space : {".shared", ".shared::cta", ""}) {
                    std::vector<u16> memory(2048);
                    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<u16>(i * 7 + 3);
                    for (const bool portable : {false, true}) {
                        TestDevice load(rows_kernel(false, count, transposed, row_bytes, space));
                        load.options.portable = portable;
                        const Addr d = load.zeros<u16>(256);
                        load.run("k", {1, 1, 1}, {32, 1, 1}, d, load.put(memory));
                        const auto got = load.get<u16>(d, 256);
                        TestDevice store(rows_kernel(true, count, transposed, row_bytes, space));
                        store.options.portable = portable;
                        const Addr image = store.zeros<u16>(2048);
                        store.run("k", {1, 1, 1}, {32, 1, 1}, image, store.put(memory));
                        const auto stored = store.get<u16>(image, 2048);
                        for (u32 m = 0; m < count; ++m) {
                            for (u32 lane = 0; lane < 32; ++lane) {
                                for (u32 i = 0; i < 2; ++i) {
                                    const Cell cell = half_of(lane, i, transposed);
                                    const u32 row = (m * 8 + cell.row) * 5 % 32;
                                    const std::size_t at = row * row_bytes / 2 + cell.column;
                                    const std::size_t in_register = m * 64 + lane * 2 + i;
                                    ASSERT_EQ(got[in_register], memory[at]) << count << transposed << row_bytes << space;
                                    ASSERT_EQ(stored[at], memory[in_register]) << count << transposed << row_bytes << space;
                                }
                            }
                        }
                        EXPECT_TRUE(load.memory.warnings().empty());
                        EXPECT_TRUE(store.memory.warnings().empty());
                    }
                }
            }
        }
    }
}

TEST(PtxMatrix, Movmatrix) {
    std::vector<u16> memory(64);
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<u16>(i * 11 + 1);
    TestDevice device(fmt::format(
        kRowsKernel, "ld.global.u32 %r8, [%rd4];\nmovmatrix.sync.aligned.m8n8.trans.b16 %r8, %r8;\nst.global.u32 [%rd5], %r8;\n"));
    const Addr d = device.zeros<u16>(64);
    device.run("k", {1, 1, 1}, {32, 1, 1}, d, device.put(memory));
    const auto got = device.get<u16>(d, 64);
    for (u32 row = 0; row < 8; ++row) {
        for (u32 column = 0; column < 8; ++column) EXPECT_EQ(got[row * 8 + column], memory[column * 8 + row]);
    }
}

/// Outside of shared memory rows read 0 and are not written; a warning names the line.
TEST(PtxMatrix, RowsOutside) {
    for (const bool store : {false, true}) {
        TestDevice device(rows_kernel(store, 4, false, 1024));
        const std::vector<u16> memory(2048, 7);
        device.record = true;
        device.run("k", {1, 1, 1}, {32, 1, 1}, device.zeros<u16>(2048), device.put(memory));
        EXPECT_FALSE(device.memory.warnings().empty());
    }
}

/// A pass over the banks for each matrix, and conflicts only within a matrix.
TEST(PtxMatrix, PassesOfLdmatrix) {
    for (const bool store : {false, true}) {
        for (const auto& [row_bytes, degree] : {std::pair{16u, 1u}, std::pair{128u, 8u}, std::pair{112u, 1u}, std::pair{64u, 4u}}) {
            TestDevice device(rows_kernel(store, 4, false, row_bytes));
            device.record = true;
            const auto kernel = device.run("k", {1, 1, 1}, {32, 1, 1}, device.zeros<u16>(2048), device.put(std::vector<u16>(2048)));
            u32 passes = 0, found = 0;
            for (const auto& [inst, lanes] : replay(*kernel).accesses) {
                const bool matrix =
                    inst.space == Space::shared && inst.op == (store ? OpClass::store : OpClass::load) && inst.lane_bytes == 4 &&
                    kernel->listing().text->words[kernel->listing().text->origins[inst.pc].opcode].find("matrix") != std::string::npos;
                if (!matrix) continue;
                ++found;
                passes += bank_conflict_degree(lanes, ~0u, inst.lane_bytes, 32);
                EXPECT_EQ(inst.dst_count, store ? 0 : 1);
            }
            EXPECT_EQ(found, 4u);
            EXPECT_EQ(passes, 4 * degree) << row_bytes;
        }
    }
}

/// The accesses of wmma.load touch each byte of the matrix once.
TEST(PtxMatrix, AccessesOfWmma) {
    for (const Wmma& w : wmma_forms()) {
        for (const bool rows : {true, false}) {
            if (format(w.operand).bits < 8 && !rows) continue;
            const char* const layout = rows ? "row" : "col";
            TestDevice device(wmma_kernel(w, wmma_opcode(w, layout, "col"), layout, "col", layout, "global", true));
            device.record = true;
            const Addr at = device.zeros<std::uint8_t>(65536);
            const u32 stride = 256;
            const auto kernel = device.run("k", {1, 1, 1}, {32, 1, 1}, at, at, at, at, stride, stride, stride);
            EXPECT_TRUE(device.memory.warnings().empty());
            const Listing listing = kernel->listing();
            for (const auto& [name, lines, elements, kind] :
                 {std::tuple{"wmma.load.a", rows ? w.m : w.k, rows ? w.k : w.m, w.operand}, std::tuple{"wmma.load.b", w.n, w.k, w.operand},
                  std::tuple{"wmma.load.c", rows ? w.m : w.n, rows ? w.n : w.m, w.c},
                  std::tuple{"wmma.store.d", rows ? w.m : w.n, rows ? w.n : w.m, w.d}}) {
                std::set<Addr> expected, seen;
                for (u32 line = 0; line < lines; ++line) {
                    for (u32 byte = 0; byte < elements * format(kind).bits / 8; ++byte)
                        expected.insert(at + line * stride * format(kind).bits / 8 + byte);
                }
                std::size_t bytes = 0;
                for (auto [inst, lanes] : replay(*kernel).accesses) {
                    if (listing.text->words[listing.text->origins[inst.pc].opcode].find(name) != 0) continue;
                    lanes.expand(~0u);
                    bytes += std::size_t{32} * inst.lane_bytes;
                    for (u32 lane = 0; lane < 32; ++lane) {
                        for (u32 byte = 0; byte < inst.lane_bytes; ++byte) seen.insert(lanes.of(lane) + byte);
                    }
                }
                EXPECT_EQ(seen, expected) << name << " " << w.shape << " " << kind << " " << layout;
                EXPECT_EQ(bytes, expected.size()) << name << " " << w.shape << " " << kind;
            }
        }
    }
}

std::string refusal(const std::string& instruction) {
    try {
        TestDevice device(
            ".version 8.7\n.target sm_100a\n.address_size 64\n.visible .entry k()\n{\n.reg .b64 %rd<8>;\n.reg .b32 %r<16>;\n.reg .f64 "
            "%fd<16>;\n" +
            instruction + ";\nret;\n}\n");
        device.run("k", {1, 1, 1}, {32, 1, 1});
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}
TEST(PtxMatrix, RefusedByName) {
    const std::string four = "{%r0, %r1, %r2, %r3}, {%r0, %r1, %r2, %r3}, {%r0, %r1}, {%r0, %r1, %r2, %r3}";
    for (const std::string& instruction : std::vector<std::string>{
             "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r0, %r1}, [%r2]",
             "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b6x16_p32 {%r0}, [%r2]",
             "ldmatrix.sync.aligned.m8n8.x4.shared::cluster.b16 {%r0, %r1, %r2, %r3}, [%r2]",
             "ldmatrix.sync.aligned.m8n8.shared.b16 {%r0}, [%r2]",
             "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%r2], {%r0}",
             "movmatrix.sync.aligned.m8n8.b16 %r0, %r1",
             "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%r0, %r1, %r2, %r3}, {%r0, %r1, %r2, %r3}, {%r0, %r1, %r2, %r3}, {%r0, "
             "%r1, %r2, %r3}, %r4, 0",
             "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%r0}, {%r0}, {%r0}, {%r0}, %r4, 0",
             "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0 {%r0}, {%r0}, {%r0}, {%r0}",
             "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e2m3.f32 " + four,
             "mma.sync.aligned.m16n8k16.col.col.f32.f16.f16.f32 " + four,
             "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f16 " + four,
             "mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32 " + four,
             "mma.sync.aligned.m16n8k16.row.col.satfinite.f32.f16.f16.f32 " + four,
             "mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 " + four,
             "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32 " + four,
             "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32.and.popc " + four,
             "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16 " + four,
             "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32.satfinite {%r0}, {%r0}, {%r0}, {%r0}",
             "wmma.mma.sync.aligned.col.col.m8n8k32.s32.s4.s4.s32 {%r0, %r1}, {%r0}, {%r0}, {%r0, %r1}",
             "wmma.load.a.sync.aligned.col.m8n8k32.global.s4 {%r0}, [%rd0]",
             "wmma.load.d.sync.aligned.row.m16n16k16.global.f16 {%r0}, [%rd0]",
             "wmma.load.a.sync.aligned.row.m16n16k16.local.f16 {%r0}, [%rd0]",
             "wmma.load.a.sync.aligned.row.m16n16k16.global.f32 {%r0}, [%rd0]",
             "wmma.store.d.sync.aligned.row.m16n16k16.global.f64 [%rd0], {%fd0}",
             "wmma.fill.a.sync.aligned.row.m16n16k16.f16 {%r0}, [%rd0]",
             "wmma.load",
         }) {
        const std::string message = refusal(instruction);
        const std::string opcode = instruction.substr(0, instruction.find(' '));
        EXPECT_NE(message.find("test.ptx:9: instruction '" + opcode.substr(0, 40)), std::string::npos) << instruction << "\n" << message;
        EXPECT_NE(message.find("not supported"), std::string::npos) << message;
    }
    EXPECT_NE(
        refusal("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r0, %r1, %r2}, {%r0, %r1, %r2, %r3}, {%r0, %r1}, {%r0, %r1, %r2, %r3}")
            .find("3 registers but needs 4"),
        std::string::npos);
    EXPECT_NE(refusal("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%r0, %r1}, {%r0}, {%r0}, {%r0, %r1}").find("32 bits instead of 64"),
              std::string::npos);
}

}  // namespace
}  // namespace mergelane::ptx
