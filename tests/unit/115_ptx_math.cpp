// SPDX-License-Identifier: MIT
// Mergelane's math functions against long double: at most 0.501 units in the last place from the exact value, and the same bits with and
// without the host's wide instructions.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "core/rng.hpp"
#include "ptx_helpers.hpp"

namespace mergelane::ptx {
namespace {

std::vector<float> apply(const std::string& opcode, const std::vector<float>& in, bool portable) {
    TestDevice device(
        fmt::format(".version 8.0\n.target sm_75\n.address_size 64\n.entry k(.param .u64 o, .param .u64 i) {{ .reg .b32 %r<5>; .reg .b64 "
                    "%x<5>; .reg .f32 %f<3>; ld.param.u64 %x1, [o]; "
                    "ld.param.u64 %x2, [i]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r1, %r1, 256, %r2; mad.wide.u32 %x1, "
                    "%r1, 4, %x1; mad.wide.u32 %x2, %r1, 4, %x2; "
                    "ld.global.f32 %f1, [%x2]; {} %f2, %f1; st.global.f32 [%x1], %f2; ret; }}",
                    opcode));
    device.options.portable = portable;
    const Addr from = device.put(in), to = device.zeros<float>(in.size());
    device.run("k", {static_cast<std::uint32_t>(in.size() / 256)}, {256}, to, from);
    return device.get<float>(to, in.size());
}

double ulps(float got, long double exact) {
    if (std::isnan(exact)) return std::isnan(got) ? 0 : 1e9;
    const auto nearest = static_cast<float>(exact);
    if (std::isinf(nearest) || std::isinf(got)) return nearest == got ? 0 : 1e9;
    int exponent;
    std::frexp(exact, &exponent);
    const long double unit = std::ldexp(1.0L, std::max(exponent - 24, -149));
    return static_cast<double>(std::abs(static_cast<long double>(got) - exact) / unit);
}

struct Function {
    const char* opcode;
    float low, high;
    std::function<long double(long double)> exact;
};

TEST(PtxMath, FunctionsAreWithinHalfAUnitInTheLastPlace) {
    const Function functions[] = {
        {"ex2.approx.f32", -160, 130, [](long double x) { return std::exp2(x); }},
        {"ex2.approx.f32", -1, 1, [](long double x) { return std::exp2(x); }},
        {"lg2.approx.f32", 0, 4, [](long double x) { return std::log2(x); }},
        {"lg2.approx.f32", 0, 3e38f, [](long double x) { return std::log2(x); }},
        {"lg2.approx.f32", 0.99f, 1.01f, [](long double x) { return std::log2(x); }},
        {"sin.approx.f32", -7, 7, [](long double x) { return std::sin(x); }},
        {"cos.approx.f32", -7, 7, [](long double x) { return std::cos(x); }},
        {"sin.approx.f32", -90000, 90000, [](long double x) { return std::sin(x); }},
        {"sin.approx.f32", 100000, 3e7f, [](long double x) { return std::sin(x); }},
        {"cos.approx.f32", -3e38f, 3e38f, [](long double x) { return std::cos(x); }},
        {"tanh.approx.f32", -12, 12, [](long double x) { return std::tanh(x); }},
        {"tanh.approx.f32", -0.1f, 0.1f, [](long double x) { return std::tanh(x); }},
        {"rsqrt.approx.f32", 0, 1000, [](long double x) { return 1 / std::sqrt(x); }},
        {"rcp.approx.f32", -1000, 1000, [](long double x) { return 1 / x; }},
        {"sqrt.approx.f32", 0, 1000, [](long double x) { return std::sqrt(x); }},
    };
    for (const Function& function : functions) {
        Rng rng(11);
        std::vector<float> in(1 << 14);
        for (float& v : in) v = function.low + (function.high - function.low) * (static_cast<float>(rng.next() >> 40) / 16777216.0f);
        const std::vector<float> got = apply(function.opcode, in, false);
        const std::vector<float> portable = apply(function.opcode, in, true);
        double worst = 0;
        float where = 0;
        for (std::size_t i = 0; i < in.size(); ++i) {
            const double error = ulps(got[i], function.exact(in[i]));
            if (error > worst) worst = error, where = in[i];
            ASSERT_EQ(std::bit_cast<std::uint32_t>(got[i]), std::bit_cast<std::uint32_t>(portable[i])) << function.opcode << ' ' << in[i];
        }
        EXPECT_LE(worst, 0.501) << function.opcode << " at " << where;
    }
}

TEST(PtxMath, SpecialValues) {
    const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    const auto one = [](const std::string& opcode, float in) { return apply(opcode, std::vector<float>(256, in), false)[0]; };
    EXPECT_EQ(one("ex2.approx.f32", inf), inf);
    EXPECT_EQ(one("ex2.approx.f32", -inf), 0);
    EXPECT_EQ(one("ex2.approx.f32", 1000), inf);
    EXPECT_EQ(one("ex2.approx.f32", -149), std::numeric_limits<float>::denorm_min());
    EXPECT_EQ(one("ex2.approx.ftz.f32", -149), 0);
    EXPECT_EQ(one("lg2.approx.f32", 0), -inf);
    EXPECT_EQ(one("lg2.approx.f32", inf), inf);
    EXPECT_EQ(one("lg2.approx.f32", std::numeric_limits<float>::denorm_min()), -149);
    EXPECT_EQ(one("lg2.approx.ftz.f32", std::numeric_limits<float>::denorm_min()), -inf);
    EXPECT_TRUE(std::signbit(one("sin.approx.f32", -0.0f)));
    EXPECT_EQ(one("tanh.approx.f32", inf), 1);
    EXPECT_EQ(one("tanh.approx.f32", -inf), -1);
    for (const char* opcode :
         {"ex2.approx.f32", "lg2.approx.f32", "sin.approx.f32", "cos.approx.f32", "tanh.approx.f32", "sqrt.approx.f32", "rcp.approx.f32"}) {
        EXPECT_EQ(std::bit_cast<std::uint32_t>(one(opcode, nan)), 0x7FFFFFFFu) << opcode;
    }
    for (const char* opcode : {"sin.approx.f32", "cos.approx.f32"}) EXPECT_TRUE(std::isnan(one(opcode, inf))) << opcode;
    for (const char* opcode : {"lg2.approx.f32", "rsqrt.approx.f32"}) EXPECT_TRUE(std::isnan(one(opcode, -1))) << opcode;
}

}  // namespace
}  // namespace mergelane::ptx
