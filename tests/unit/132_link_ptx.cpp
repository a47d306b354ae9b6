// SPDX-License-Identifier: MIT
// Linking the PTX of several files into one module.
#include <gtest/gtest.h>

#include "core/error.hpp"
#include "workload/cuda/link_ptx.hpp"
#include "workload/ptx/ptx.hpp"

namespace mergelane::cuda {
namespace {

constexpr const char* kHeader = ".version 8.0\n.target sm_75\n.address_size 64\n";

/// A unit with a kernel that stores f(value) + its own `table`; `defines` comes first.
std::string unit(const std::string& defines, const std::string& kernel, const std::string& function) {
    return kHeader + defines + ".visible .entry " + kernel + R"((.param .u64 out, .param .u32 value) {
  .reg .b64 %rd<4>;
  .reg .b32 %r<6>;
  .param .b32 in;
  .param .b32 back;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [value];
  st.param.b32 [in], %r1;
  call.uni (back), )" +
           function + R"(, (in);
  ld.param.b32 %r2, [back];
  ld.global.u32 %r3, [table];
  add.u32 %r4, %r2, %r3;
  st.global.u32 [%rd1], %r4;
  ret;
})";
}
std::string add_function(const std::string& linkage, const std::string& name, int amount) {
    return linkage + " .func (.param .b32 r) " + name + R"((.param .b32 p) {
  .reg .b32 %r<3>;
  ld.param.b32 %r1, [p];
  add.u32 %r2, %r1, )" +
           std::to_string(amount) + R"(;
  st.param.b32 [r], %r2;
  ret;
})";
}

std::uint32_t run(const std::string& text, const std::string& kernel, std::uint32_t value, ptx::DeviceMemory& memory) {
    const auto module = ptx::parse_module(text, "linked.ptx");
    const Addr at = memory.allocate(4);
    ptx::execute(*module, kernel, {{1, 1, 1}, {1, 1, 1}, 0}, module->pack(kernel, {{&at, 8}, {&value, 4}}), memory, {}, false);
    std::uint32_t result = 0;
    memory.read(at, &result, 4);
    return result;
}

TEST(LinkPtx, FunctionsOfTheOtherFileAreCalled) {
    const std::string first = unit(".extern .func (.param .b32 r) helper (.param .b32 p);\n.global .u32 table = 1000;\n", "a", "helper");
    const std::string second = kHeader + add_function(".visible", "helper", 5);
    for (const std::string& text : {link_ptx({first, second}, "x"), link_ptx({second, first}, "x")}) {
        ptx::DeviceMemory memory;
        EXPECT_EQ(run(text, "a", 7, memory), 1012u);
    }
}

TEST(LinkPtx, PrivateNamesStayPrivate) {
    const std::string first = unit(add_function("", "own", 1) + ".global .u32 table = 100;\n", "a", "own");
    const std::string second = unit(add_function("", "own", 2) + ".global .u32 table = 200;\n", "b", "own");
    const std::string third = unit(add_function(".visible", "own", 3) + ".visible .global .u32 table = 300;\n", "c", "own");
    const std::string text = link_ptx({first, second, third}, "x");
    ptx::DeviceMemory memory;
    EXPECT_EQ(run(text, "a", 0, memory), 101u);
    EXPECT_EQ(run(text, "b", 0, memory), 202u);
    EXPECT_EQ(run(text, "c", 0, memory), 303u);
}

TEST(LinkPtx, WhatEveryFileBringsAlongIsThereOnce) {
    const std::string defines = add_function(".weak", "shared", 4) + ".weak .global .align 4 .u32 table[2] = {50, 60};\n";
    const std::string text = link_ptx({unit(defines, "a", "shared"), unit(defines, "b", "shared")}, "x");
    const auto module = ptx::parse_module(text, "linked.ptx");
    EXPECT_EQ(module->variables().size(), 1u);
    ptx::DeviceMemory memory;
    EXPECT_EQ(run(text, "a", 1, memory), 55u);
    EXPECT_EQ(run(text, "b", 2, memory), 56u);
}

TEST(LinkPtx, OneFileIsLeftAlone) {
    EXPECT_EQ(link_ptx({"anything"}, "x"), "anything");
}

std::string complaint(const std::string& text) {
    try {
        ptx::parse_module(link_ptx({text, text}, "linked.ptx"), "linked.ptx");
    } catch (const InputError& error) {
        return error.what();
    }
    return "none";
}

/// What is no PTX at all is refused by the linker, the rest by whoever reads what it has linked.
TEST(LinkPtx, NonsenseEndsWithAMessage) {
    EXPECT_EQ(complaint("{"), "linked.ptx:1: expected a directive but found '{'; a PTX file starts with .version");
    EXPECT_EQ(complaint("}"), "linked.ptx:1: expected a directive but found '}'; a PTX file starts with .version");
    EXPECT_EQ(complaint(")"), "linked.ptx:1: expected a directive but found ')'; a PTX file starts with .version");
    EXPECT_EQ(complaint(".visible").find("linked.ptx:3: directive '' is not known here; known: .version"), 0u) << complaint(".visible");
    EXPECT_EQ(complaint(".func ("), "linked.ptx:2: expected '.param' but found '.func'; check this line and the one before");
    EXPECT_EQ(complaint(".global .b8 x = {"), "linked.ptx:2: expected '}' but found '.b8'; check this line and the one before");
    EXPECT_EQ(complaint(".section {{{"), "linked.ptx:3: '{' without '}'; is the file complete?");
    EXPECT_EQ(complaint(".weak .weak .func"), "linked.ptx:3: '.weak' has no body; is the file complete?");
    EXPECT_THROW(link_ptx({".func f \"", ""}, "x"), InputError);
    EXPECT_EQ(complaint(".func f \""), "linked.ptx:1: string without end; add \"");
    EXPECT_EQ(complaint("/* x"), "linked.ptx:1: comment without end; add */");
    EXPECT_EQ(complaint("\x01"), "linked.ptx:1: unexpected character '?'; is this PTX text?");
}

}  // namespace
}  // namespace mergelane::cuda
