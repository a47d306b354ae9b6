// SPDX-License-Identifier: MIT
// What the parser accepts, and its error messages: file, line, cause and remedy.
#include <gtest/gtest.h>

#include <numeric>

#include "core/error.hpp"
#include "core/rng.hpp"
#include "ptx_helpers.hpp"

namespace mergelane::ptx {
namespace {

const std::string kHead = ".version 8.0\n.target sm_75\n.address_size 64\n";

/// Parses and decodes every kernel; the message, or empty.
std::string problem(const std::string& text) {
    try {
        const auto module = parse_module(text, "k.ptx");
        for (const std::string_view name : module->kernels()) module->program(name);
        DeviceMemory memory(1 << 20);
        memory.bind(*module);
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}
std::string body(const std::string& code) {
    return kHead +
           ".visible .entry k(.param .u64 p)\n{\n.reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<9>; .reg .b64 %x<9>; .reg .f32 %f<9>;\n" +
           code + "\nret;\n}\n";
}

TEST(PtxParser, AcceptsWhatCompilersWrite) {
    EXPECT_EQ(problem(body(R"(
        .loc 1 12 3
        .loc 2 5 1, function_name $L__info_string0, inlined_at 1 12 3
        .pragma "nounroll";
        // begin inline asm
        { .reg .u32 t1; add.u32 t1, %r1, 1; mov.u32 %r2, t1; }
        // end inline asm
        /* a comment
           over lines */ mov.u32 %r1, 0x1F; mov.u32 %r2, 017; mov.u32 %r3, 0b101; mov.u32 %r4, 42U; mov.f32 %f1, 0f3F800000; mov.f32 %f2, 1.5e+3;
        ld.global.L1::evict_last.L2::128B.f32 %f1, [%x1+-8]; ld.relaxed.gpu.global.u32 %r1, [%x1]; st.release.gpu.global.u32 [%x1], %r1; ld.volatile.shared::cta.u32 %r1, [%r2];
        setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3; @!%p1 bra.uni $L__BB0_2; fence.acq_rel.gpu; membar.sys; bar.warp.sync -1; nanosleep.u32 20;
        $L__BB0_2: mov.u32 %r5, WARP_SZ; prefetch.global.L2 [%x1];)")),
              "");
    EXPECT_EQ(problem(kHead + R"(
        .file 1 "somewhere.cu"
        .extern .shared .align 16 .b8 dyn[];
        .extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
        .global .align 4 .u32 one = 1; .global .align 8 .u64 pointers[2] = {generic(one), one+4}; .const .align 4 .f32 c[2] = {0f3F800000, 2.0};
        .global .align 1 .b8 text[4] = {104, 105, 0}; .global .align 4 .b8 empty[8]; .global .s32 grid[2][2] = {{1, 2}, {-3, 4}};
        .weak .func helper(.param .b64 a);
        .visible .entry k(.param .u64 .ptr .global .align 4 a, .param .align 8 .b8 b[24]) .maxntid 256, 1, 1 .minnctapersm 2 { .reg .b64 %rd<2>; ld.param.u64 %rd1, [b+16]; ret; }
        .section .debug_info { .b8 1, 2 .b32 x }
        )"),
              "");
}

TEST(PtxParser, NamesFileLineCauseAndRemedy) {
    const std::pair<std::string, std::string> cases[] = {
        {"hello", "k.ptx:1: expected a directive"},
        {body("mov.u32 %r1, %q1;"), "k.ptx:7: register '%q1' is not declared; add it to a .reg directive"},
        {body("bra NOWHERE;"), "k.ptx:7: label 'NOWHERE' does not exist"},
        {body("frobnicate.u32 %r1, %r2;"), "k.ptx:7: instruction 'frobnicate.u32' is not supported"},
        {body("add.u32 %r1, %r2;"), "has 2 operands but needs 3"},
        {body("add.u64 %x1, %r2, %x3;"), "has 32 bits instead of 64"},
        {body("sub.s16x2 %r1, %r2, %r3;"), "not supported"},
        {body("mov.u32 %r1, 12monkeys;"), "is not a number PTX knows"},
        {body("mov.u32 %r1, missing;"), "'missing' is not declared"},
        {body("ld.param.u64 %x1, [p+1];"), "leaves parameter 'p'"},
        {body("call (a), nobody, (b);"), "function 'nobody' does not exist"},
        {body("@%r1 bra L; L:"), "is not a predicate register"},
        {body("L: L:"), "label 'L' is there twice"},
        {body("bar.sync 16;"), "barrier 16 does not exist"},
        {body("st.const.u32 [%x1], %r1;"), "constant memory cannot be written"},
        {body("mov.u32 %r1, 5"), "expected ';'"},
        {kHead + ".visible .entry k() { .reg .b32 %r<4>;", "has no end"},
        {kHead + ".global .b32 a; .global .b32 a;", "defined twice"},
        {kHead + ".global .b8 huge[99999999999];", "larger than"},
        {kHead + ".global .b8 huge[65536][65536][65536][65536];", "larger than"},  // 2^64 bytes
        {kHead + ".global .b8 a[2] = {1, 2, 3};", "more initial values than room"},
        {kHead + ".entry k() { .shared .b8 s[9999999]; ret; }", "shared memory"},
        {kHead + "/* no end", "comment without end"},
        {kHead + ".pragma \"no end;", "string without end"},
        {kHead + "\x01", "unexpected character"},
        {".version 8.0\n.target sm_75\n.address_size 32\n", ".address_size must be 64"},
    };
    for (const auto& [text, expected] : cases) {
        const std::string message = problem(text);
        EXPECT_NE(message.find(expected), std::string::npos) << "wanted: " << expected << "\ngot: " << message;
        EXPECT_TRUE(message.starts_with("k.ptx:")) << message;
        EXPECT_NE(message.find(';'), std::string::npos) << message;
    }
}

TEST(PtxParser, UnknownKernelsAreNamed) {
    const auto module = parse_module(kHead + ".entry alpha() { ret; } .entry beta() { ret; }", "k.ptx");
    EXPECT_EQ(module->kernels(), (std::vector<std::string_view>{"alpha", "beta"}));
    try {
        module->kernel("alfa");
        FAIL();
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("did you mean 'alpha'"), std::string::npos) << error.what();
    }
    EXPECT_THROW(module->pack("alpha", {Argument{"x", 1}}), InputError);
}

TEST(PtxParser, DamagedTextIsRefusedOrAcceptedButNothingElse) {
    const std::string good = test_data("samples.ptx");
    Rng rng(3);
    for (int round = 0; round < 300; ++round) {
        std::string text = good.substr(0, 6000 + rng.below(20000));
        for (std::uint32_t edits = rng.below(5); edits > 0; --edits) {
            const std::size_t at = rng.below(static_cast<std::uint32_t>(text.size()));
            if (rng.below(2) == 0)
                text.erase(at, rng.below(20));
            else
                text[at] = static_cast<char>(rng.below(128));
        }
        problem(text);
    }
}

TEST(PtxParser, RegistersPerThreadComeFromMetadataOrLiveness) {
    std::string text = kHead + ".visible .entry k(.param .u64 p) { .reg .b32 %r<60>; .reg .b64 %x<4>; ld.param.u64 %x1, [p];\n";
    for (int i = 0; i < 40; ++i) text += "ld.global.u32 %r" + std::to_string(i) + ", [%x1+" + std::to_string(4 * i) + "];\n";
    for (int i = 1; i < 40; ++i) text += "add.u32 %r0, %r0, %r" + std::to_string(i) + ";\n";
    text += "st.global.u32 [%x1], %r0; ret; }\n";
    const auto registers = [](const std::string& source) {
        TestDevice device(source);
        device.record = true;
        const Addr out = device.zeros<std::uint32_t>(64);
        return device.run("k", {1}, {32}, out)->info().registers_per_thread;
    };
    EXPECT_GE(registers(text), 42u);
    EXPECT_LE(registers(text), 52u);
    EXPECT_EQ(registers(text + "// mergelane: registers k 33\n"), 33u);
}

}  // namespace
}  // namespace mergelane::ptx
