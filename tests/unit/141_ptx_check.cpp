// SPDX-License-Identifier: MIT
// What is wrong in one function refuses only the kernels that need it, and `ptx check` names all of it.
#include <gtest/gtest.h>

#include <ctime>

#include "core/error.hpp"
#include "ptx_helpers.hpp"
#include "workload/cuda/ptx_images.hpp"
#include "workload/ptx/check.hpp"

namespace mergelane::ptx {
namespace {

using Verdict = CheckedKernel::Verdict;

const std::string kHead = ".version 8.0\n.target sm_75\n.address_size 64\n";
const std::string kGood = ".entry good(.param .u64 p) { .reg .b64 %x<3>; ld.param.u64 %x1, [p]; st.global.u64 [%x1], 7; ret; }\n";

std::vector<Verdict> verdicts(const CheckedFile& file) {
    std::vector<Verdict> list;
    for (const CheckedKernel& kernel : file.kernels) list.push_back(kernel.verdict);
    return list;
}

TEST(PtxCheck, ASyntaxErrorRefusesOneKernel) {
    const std::string text = kHead + ".entry bad() {\n { add.u32 %r1 %r2; }\n}\n" + kGood + ".entry worse(.param .nothing p) { ret; }\n";
    const CheckedFile checked = check_ptx(text, "a.ptx");
    EXPECT_EQ(verdicts(checked), (std::vector{Verdict::refused, Verdict::accepted, Verdict::refused}));
    EXPECT_EQ(checked.kernels[0].refusal.line, 5u);
    EXPECT_EQ(checked.kernels[0].refusal.cause, "expected ';' but found '%r2'");
    EXPECT_EQ(checked.kernels[0].refusal.remedy, "check this line and the one before");
    EXPECT_EQ(checked.kernels[2].refusal.line, 8u);
    EXPECT_FALSE(checked.refusal.any());
    // The module can be used for the other kernels.
    TestDevice device(text, "a.ptx");
    const Addr out = device.zeros<std::uint64_t>(1);
    device.run("good", {1, 1, 1}, {1, 1, 1}, out);
    EXPECT_EQ(device.get<std::uint64_t>(out, 1)[0], 7u);
    EXPECT_THROW(device.module->program("bad"), InputError);
    EXPECT_THROW(device.module->pack("worse", {}), InputError);
}

TEST(PtxCheck, AFaultyFunctionRefusesItsCallers) {
    const CheckedFile checked =
        check_ptx(kHead + ".func helper() { this is wrong }\n.entry caller() { call helper; ret; }\n.entry other() { ret; }\n", "a.ptx");
    EXPECT_EQ(verdicts(checked), (std::vector{Verdict::refused, Verdict::stub}));
    EXPECT_EQ(checked.kernels[0].refusal.line, 4u);
}

TEST(PtxCheck, AFaultOutsideOfFunctionsRefusesAllKernelsOfTheFile) {
    const std::string text = kHead + kGood + ".texture thing;\n.entry more() { ret; }\n";
    const CheckedFile checked = check_ptx(text, "a.ptx");
    EXPECT_EQ(verdicts(checked), (std::vector{Verdict::refused, Verdict::refused}));
    EXPECT_EQ(checked.refusal.line, 5u);
    EXPECT_EQ(checked.kernels[1].refusal.line, 5u);
    EXPECT_THROW(parse_module(text, "a.ptx"), InputError);
}

TEST(PtxCheck, WhatIsNoPtxIsRefusedAsAFile) {
    for (const std::string text : {"\x01\x02", "hello", "{{{{", ".entry k() {", ".entry k() { mov.u32"}) {
        const CheckedFile checked = check_ptx(text, "a.ptx");
        EXPECT_TRUE(checked.refusal.any()) << text;
        EXPECT_TRUE(any_refused({checked})) << text;
        EXPECT_EQ(checked.count(Verdict::accepted), 0u) << text;
    }
}

TEST(PtxCheck, StubsDoNoWork) {
    const std::string print = ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n.global .b8 text[2] = {72, 0};\n";
    const CheckedFile checked = check_ptx(kHead + print + R"(.entry empty() { ret; }
        .entry traps() { trap; }
        .entry prints() { .reg .b64 %x<3>; .reg .b32 %r<3>; mov.u64 %x1, text; cvta.global.u64 %x2, %x1;
          { .param .b64 a; st.param.b64 [a], %x2; .param .b64 b; st.param.b64 [b], 0; .param .b32 r;
            call (r), vprintf, (a, b); ld.param.b32 %r1, [r]; } trap; }
        .entry waits() { bar.sync 0; ret; }
)" + kGood,
                                          "a.ptx");
    EXPECT_EQ(verdicts(checked), (std::vector{Verdict::stub, Verdict::stub, Verdict::stub, Verdict::accepted, Verdict::accepted}));
}

TEST(PtxCheck, ReasonsAreCountedCommonestFirst) {
    const std::string refused = ".entry a() { tcgen05.fence; ret; }\n.entry b() { txq.width; ret; }\n.entry c() { txq.width; ret; }\n";
    const std::string table = check_table({check_ptx(kHead + refused, "one.ptx"), check_ptx(kHead + kGood, "two.ptx")}, false);
    const std::size_t first = table.find("2       1  instruction 'txq.width' is not supported (one.ptx:5)");
    const std::size_t second = table.find("1       1  instruction 'tcgen05.fence' is not supported (one.ptx:4)");
    EXPECT_NE(first, std::string::npos) << table;
    EXPECT_NE(second, std::string::npos) << table;
    EXPECT_LT(first, second);
}

TEST(PtxCheck, FilesAreTakenApart) {
    EXPECT_EQ(cuda::ptx_images("text", "a.ptx").at(0).text, "text");
    EXPECT_EQ(cuda::ptx_images("text", "a.ptx").at(0).name, "a.ptx");
    EXPECT_THROW(cuda::ptx_images(std::string("\x50\xED\x55\xBA\x01\x00\x10\x00\x00\x00\x00\x00\x00\x00\x00\x00", 16), "a.fatbin"),
                 InputError);
}

/// Many faults cost no more than many kernels.
TEST(PtxCheck, TimeIsProportionalToTheText) {
    std::string text = kHead;
    for (int k = 0; k < 20000; ++k) text += ".entry k" + std::to_string(k) + "() { add.u32 x y; }\n";
    for (int k = 0; k < 20000; ++k) text += "nothing\n";
    text += ".entry last() {" + std::string(100000, '{');
    const std::clock_t start = std::clock();
    EXPECT_TRUE(any_refused({check_ptx(text, "a.ptx")}));
    EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 20.0);
}

}  // namespace
}  // namespace mergelane::ptx
