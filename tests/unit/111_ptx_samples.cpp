// SPDX-License-Identifier: MIT
// Kernels that nvcc compiled (tests/data/ptx/samples.cu), against the same computation in C++, with several quanta and with
// the portable handlers: results must not depend on either.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/rng.hpp"
#include "ptx_helpers.hpp"

namespace mergelane::ptx {
namespace {

struct Setting {
    std::uint32_t quantum;
    bool portable;
    const char* file;
};

class PtxSamples : public ::testing::TestWithParam<Setting> {
protected:
    PtxSamples() : device(test_data(GetParam().file), GetParam().file) {
        device.options.quantum = GetParam().quantum;
        device.options.portable = GetParam().portable;
        device.options.budget = 100'000'000;
    }
    bool fast() const { return std::string(GetParam().file) != "samples.ptx"; }
    std::vector<float> floats(std::size_t count, float low, float high) {
        std::vector<float> values(count);
        for (float& v : values) v = low + (high - low) * static_cast<float>(rng.next() >> 40) / static_cast<float>(1 << 24);
        return values;
    }
    void near(const std::vector<float>& got, const std::vector<double>& want, double relative) {
        ASSERT_EQ(got.size(), want.size());
        for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], relative * std::max(1.0, std::abs(want[i]))) << i;
    }
    TestDevice device;
    Rng rng{7};
};

TEST_P(PtxSamples, Saxpy) {
    const auto x = floats(1000, -1, 1), y = floats(1000, -1, 1);
    const Addr dx = device.put(x), dy = device.put(y);
    device.run("saxpy", {4}, {256}, dy, dx, 2.5f, 1000);
    const auto got = device.get<float>(dy, 1000);
    for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(got[i], std::fma(2.5f, x[i], y[i]));
}

TEST_P(PtxSamples, Matmul) {
    constexpr int n = 48;
    const auto a = floats(n * n, -1, 1), b = floats(n * n, -1, 1);
    const Addr da = device.put(a), db = device.put(b), dc = device.zeros<float>(n * n);
    device.run("matmul", {n / 16, n / 16}, {16, 16}, dc, da, db, n);
    std::vector<float> want(n * n);
    for (int r = 0; r < n; ++r)
        for (int c = 0; c < n; ++c) {
            float sum = 0;
            for (int k = 0; k < n; ++k) sum = std::fma(a[static_cast<std::size_t>(r * n + k)], b[static_cast<std::size_t>(k * n + c)], sum);
            want[static_cast<std::size_t>(r * n + c)] = sum;
        }
    EXPECT_EQ(device.get<float>(dc, n * n), want);
}

TEST_P(PtxSamples, Reduce) {
    std::vector<int> in(5000);
    for (int& v : in) v = static_cast<int>(rng.below(1000)) - 500;
    const Addr din = device.put(in), out = device.zeros<int>(1);
    device.dynamic_shared = 64;
    device.run("reduce", {5}, {256}, out, din, 5000);
    EXPECT_EQ(device.get<int>(out, 1)[0], std::accumulate(in.begin(), in.end(), 0));
}

TEST_P(PtxSamples, Histogram) {
    std::vector<unsigned char> data(10000);
    std::vector<unsigned> want(256);
    for (auto& v : data) ++want[v = static_cast<unsigned char>(rng.below(200))];
    const Addr d = device.put(data), bins = device.zeros<unsigned>(256);
    device.run("histogram", {3}, {192}, bins, d, 10000);
    EXPECT_EQ(device.get<unsigned>(bins, 256), want);
}

TEST_P(PtxSamples, Stencil) {
    constexpr int w = 50, h = 37;
    const auto in = floats(w * h, 0, 100);
    const Addr d = device.put(in), out = device.zeros<float>(w * h);
    device.run("stencil", {4, 5}, {16, 8}, out, d, w, h);
    std::vector<double> want;
    for (int y = 0; y < h; ++y)
        for (int x = 0; x < w; ++x) {
            const auto at = [&](int px, int py) {
                return double{in[static_cast<std::size_t>(std::clamp(py, 0, h - 1) * w + std::clamp(px, 0, w - 1))]};
            };
            want.push_back(at(x, y) + 0.2 * (at(x - 1, y) + at(x + 1, y) + at(x, y - 1) + at(x, y + 1) - 4 * at(x, y)));
        }
    near(device.get<float>(out, w * h), want, 1e-5);
}

TEST_P(PtxSamples, BreadthFirstSearchAndSparseProduct) {
    constexpr int n = 700;
    std::vector<int> row = {0}, col;
    for (int v = 0; v < n; ++v) {
        for (std::uint32_t e = rng.below(7); e > 0; --e) col.push_back(static_cast<int>(rng.below(n)));
        row.push_back(static_cast<int>(col.size()));
    }
    std::vector<int> level(n, -1), want(n, -1), queue = {0};
    level[0] = want[0] = 0;
    for (std::size_t q = 0; q < queue.size(); ++q)
        for (int e = row[static_cast<std::size_t>(queue[q])]; e < row[static_cast<std::size_t>(queue[q]) + 1]; ++e) {
            const int u = col[static_cast<std::size_t>(e)];
            if (want[static_cast<std::size_t>(u)] >= 0) continue;
            want[static_cast<std::size_t>(u)] = want[static_cast<std::size_t>(queue[q])] + 1;
            queue.push_back(u);
        }
    const Addr dl = device.put(level), dr = device.put(row), dc = device.put(col), changed = device.zeros<int>(1);
    for (int now = 0;; ++now) {
        device.memory.fill(changed, 0, 4);
        device.run("bfs_step", {3}, {256}, dl, dr, dc, n, now, changed);
        if (device.get<int>(changed, 1)[0] == 0) break;
    }
    EXPECT_EQ(device.get<int>(dl, n), want);

    const auto val = floats(col.size(), -1, 1), x = floats(n, -1, 1);
    const Addr dv = device.put(val), dx = device.put(x), dy = device.zeros<float>(n);
    device.run("spmv", {3}, {256}, dy, dv, dc, dr, dx, n);
    std::vector<float> product(n);
    for (std::size_t r = 0; r < n; ++r)
        for (int e = row[r]; e < row[r + 1]; ++e)
            product[r] =
                std::fma(val[static_cast<std::size_t>(e)], x[static_cast<std::size_t>(col[static_cast<std::size_t>(e)])], product[r]);
    EXPECT_EQ(device.get<float>(dy, n), product);
}

TEST_P(PtxSamples, BlackScholes) {
    constexpr int n = 300;
    const auto s = floats(n, 5, 30), x = floats(n, 1, 100), t = floats(n, 0.25f, 10);
    const Addr ds = device.put(s), dx = device.put(x), dt = device.put(t), call = device.zeros<float>(n), put = device.zeros<float>(n);
    device.run("black_scholes", {3}, {128}, call, put, ds, dx, dt, 0.02f, 0.3f, n);
    std::vector<double> want_call, want_put;
    for (std::size_t i = 0; i < n; ++i) {
        const auto normal = [](double d) { return 0.5 * std::erfc(-d / std::sqrt(2.0)); };
        const double root = std::sqrt(double{t[i]}), d1 = (std::log(double{s[i]} / x[i]) + (0.02 + 0.045) * t[i]) / (0.3 * root),
                     d2 = d1 - 0.3 * root;
        const double e = std::exp(-0.02 * t[i]);
        want_call.push_back(s[i] * normal(d1) - x[i] * e * normal(d2));
        want_put.push_back(x[i] * e * normal(-d2) - s[i] * normal(-d1));
    }
    near(device.get<float>(call, n), want_call, 1e-4);
    near(device.get<float>(put, n), want_put, 1e-4);
}

TEST_P(PtxSamples, Transpose) {
    constexpr std::size_t w = 64, h = 96;
    const auto in = floats(w * h, 0, 1);
    const Addr d = device.put(in), out = device.zeros<float>(w * h);
    device.run("transpose", {2, 3}, {32, 8}, out, d, static_cast<int>(w), static_cast<int>(h));
    const auto got = device.get<float>(out, w * h);
    for (std::size_t y = 0; y < h; ++y)
        for (std::size_t x = 0; x < w; ++x) ASSERT_EQ(got[x * h + y], in[y * w + x]);
}

TEST_P(PtxSamples, Bodies) {
    constexpr std::size_t n = 96;
    const auto pos = floats(n * 4, -1, 1);
    const Addr d = device.put(pos), out = device.zeros<float>(n * 4);
    device.run("bodies", {3}, {32}, out, d, static_cast<int>(n));
    std::vector<double> want(n * 4);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) {
            double delta[3], r = 0.01;
            for (std::size_t k = 0; k < 3; ++k) delta[k] = double{pos[j * 4 + k]} - pos[i * 4 + k], r += delta[k] * delta[k];
            for (std::size_t k = 0; k < 3; ++k) want[i * 4 + k] += delta[k] * pos[j * 4 + 3] / (r * std::sqrt(r));
        }
    near(device.get<float>(out, n * 4), want, 1e-3);
}

TEST_P(PtxSamples, DoubleMath) {
    constexpr std::size_t n = 200;
    std::vector<double> in(n);
    for (double& v : in) v = (static_cast<double>(rng.next() >> 11) / 9007199254740992.0 - 0.5) * 20;
    in[3] = 0;
    const Addr d = device.put(in), out = device.zeros<double>(n * 6);
    device.run("double_math", {2}, {128}, out, d, static_cast<int>(n));
    const auto got = device.get<double>(out, n * 6);
    for (std::size_t i = 0; i < n; ++i) {
        const double x = in[i];
        const double want[6] = {std::exp(x),
                                std::log(std::abs(x) + 0.5),
                                std::sin(x * 100),
                                std::pow(std::abs(x) + 0.1, 1.7),
                                std::sqrt(std::abs(x)) / (x * x + 3),
                                std::tanh(x) + std::atan(x)};
        for (std::size_t k = 0; k < 6; ++k) ASSERT_NEAR(got[i * 6 + k], want[k], 1e-13 * std::max(1.0, std::abs(want[k]))) << x << ' ' << k;
    }
}

TEST_P(PtxSamples, FloatMath) {
    constexpr std::size_t n = 200;
    const auto in = floats(n, -5, 5);
    const Addr d = device.put(in), out = device.zeros<float>(n * 8);
    device.run("float_math", {2}, {128}, out, d, static_cast<int>(n));
    const auto got = device.get<float>(out, n * 8);
    for (std::size_t i = 0; i < n; ++i) {
        const double x = in[i];
        const double want[8] = {std::exp(x),
                                std::log(double{std::abs(in[i]) + 0.5f}),
                                std::sin(double{in[i] * 1000}),
                                std::pow(double{std::abs(in[i]) + 0.1f}, 1.7f),
                                std::cos(x) / (x * x + 3),
                                std::tanh(x) + std::atan(x),
                                std::rint(double{in[i] * 10}) + std::floor(x) + std::ceil(x) + std::trunc(x),
                                std::fmod(double{in[i] * 50}, 3.0)};
        for (std::size_t k = 0; k < 8; ++k)
            ASSERT_NEAR(got[i * 8 + k], want[k], (fast() ? 2e-5 : 1e-6) * std::max(1.0, std::abs(want[k]))) << x << ' ' << k;
    }
}

TEST_P(PtxSamples, StructParameterLocalArrayCallAndVariables) {
    struct Parcel {
        short tag;
        float weight[3];
        Addr where;
        long long big;
    };
    std::vector<int> where(8);
    std::iota(where.begin(), where.end(), 100);
    const Parcel parcel{-3, {1.5f, 2.25f, 8.0f}, device.put(where), 1000003};
    const Addr out = device.zeros<long long>(64);
    device.run("parcels", {1}, {64}, out, parcel);
    const int table[8] = {2, 3, 5, 7, 11, 13, 17, 19};
    const auto got = device.get<long long>(out, 64);
    for (int i = 0; i < 64; ++i) {
        int stack[8], v = i + 1, steps = 0;
        for (int k = 0; k < 8; ++k) stack[(k * 3 + i) % 8] = where[static_cast<std::size_t>(k)] + table[k];
        for (; v != 1 && steps < 200; ++steps) v = (v & 1) != 0 ? 3 * v + 1 : v / 2;
        ASSERT_EQ(got[static_cast<std::size_t>(i)],
                  parcel.tag + static_cast<long long>(parcel.weight[i % 3] * 4) + stack[i % 8] * parcel.big + steps + v)
            << i;
    }
    EXPECT_EQ(device.get<int>(device.memory.symbol(*device.module, "counter"), 1)[0], 42);
}

TEST_P(PtxSamples, LocksWithinAWarpAndWaitingForLaterCtas) {
    const Addr lock = device.zeros<int>(1), sum = device.zeros<int>(1), flag = device.zeros<int>(20);
    device.run("spin_lock", {2}, {64}, lock, sum, 3);
    EXPECT_EQ(device.get<int>(sum, 1)[0], 2 * 64 * 3);
    device.run("backwards", {20}, {32}, flag, 20);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(device.get<int>(flag, 20)[static_cast<std::size_t>(i)], i + 1);
}

TEST_P(PtxSamples, Choices) {
    constexpr std::size_t n = 1000;
    std::vector<int> in(n), want(n);
    for (std::size_t i = 0; i < n; ++i) {
        const int v = in[i] = static_cast<int>(rng.next()) >> (i % 24);
        const auto bits = static_cast<unsigned>(v);
        int r = 0;
        switch (v & 15) {
            case 0: r = static_cast<int>(bits * 3); break;
            case 1: r = static_cast<int>(bits - 7); break;
            case 2: r = v ^ 0x55; break;
            case 3: r = v / 5; break;
            case 4: r = v % 9; break;
            case 5: r = (v & 63) * ((v & 63) - 1) / 2; break;
            case 6: r = std::popcount(bits); break;
            case 7: r = std::countl_zero(bits); break;
            case 8:
                for (int k = 0; k < 32; ++k) r |= static_cast<int>((bits >> k & 1) << (31 - k));
                break;
            case 9: r = bits == 0 ? 0 : std::countr_zero(bits) + 1; break;
            case 10: r = static_cast<int>(bits << (v & 7)); break;
            case 11: r = v >> (v & 7); break;
            case 12: r = std::min(v, 100); break;
            case 13: r = static_cast<int>(static_cast<long long>(v) * 12345 >> 32); break;
            case 14: r = (v & 256) != 0 ? 1 : 0; break;
            default: r = static_cast<int>(0 - bits);
        }
        want[i] = r;
    }
    const Addr d = device.put(in), out = device.zeros<int>(n);
    device.run("choices", {8}, {128}, out, d, static_cast<int>(n));
    EXPECT_EQ(device.get<int>(out, n), want);
}

TEST_P(PtxSamples, CompactAndCounts) {
    constexpr int n = 500;
    std::vector<int> in(n), want;
    for (int& v : in)
        if ((v = static_cast<int>(rng.below(1000))) % 3 == 0) want.push_back(v);
    const Addr d = device.put(in), out = device.zeros<int>(n), count = device.zeros<int>(2);
    device.run("compact", {5}, {128}, out, count, d, n);
    const auto counted = device.get<int>(count, 2);
    ASSERT_EQ(counted[0], static_cast<int>(want.size()));
    EXPECT_EQ(counted[1], 4 * 32 + 32);
    auto got = device.get<int>(out, want.size());
    std::sort(got.begin(), got.end());
    std::sort(want.begin(), want.end());
    EXPECT_EQ(got, want);

    const Addr sums = device.zeros<int>(200);
    device.run("counts", {2}, {100}, sums);
    for (const int v : device.get<int>(sums, 200)) ASSERT_EQ(v, 50 * 100 + 10);
}

TEST_P(PtxSamples, MixedWidths) {
    constexpr std::size_t n = 300;
    std::vector<signed char> a(n);
    std::vector<unsigned short> b(n);
    std::vector<unsigned long long> c(n);
    std::vector<long long> want(n);
    for (std::size_t i = 0; i < n; ++i) {
        a[i] = static_cast<signed char>(rng.next());
        b[i] = static_cast<unsigned short>(rng.next());
        c[i] = rng.next() >> (i % 60);
        const auto x = static_cast<signed char>(a[i] * 3 + b[i]);
        const auto y = static_cast<unsigned short>(static_cast<unsigned short>(b[i] - x) >> 3);
        __extension__ using Wide = unsigned __int128;
        const auto high = static_cast<unsigned long long>(Wide{c[i]} * c[i] >> 64);
        want[i] = static_cast<long long>(static_cast<unsigned long long>(x + y) + c[i] / static_cast<unsigned long long>(y + 1) +
                                         c[i] % 1000003 + high +
                                         static_cast<unsigned long long>(static_cast<long long>(x > y       ? 5
                                                                                                : c[i] > 77 ? -3
                                                                                                            : 9)));
    }
    const Addr da = device.put(a), db = device.put(b), dc = device.put(c), out = device.zeros<long long>(n);
    device.run("mixed", {3}, {128}, out, da, db, dc, static_cast<int>(n));
    EXPECT_EQ(device.get<long long>(out, n), want);
}

INSTANTIATE_TEST_SUITE_P(Settings, PtxSamples,
                         ::testing::Values(Setting{20, false, "samples.ptx"}, Setting{1, false, "samples.ptx"},
                                           Setting{0, false, "samples.ptx"}, Setting{20, true, "samples.ptx"},
                                           Setting{20, false, "samples_fast.ptx"}),
                         [](const auto& setting) {
                             return "Quantum" + std::to_string(setting.param.quantum) + (setting.param.portable ? "Portable" : "") +
                                    (std::string(setting.param.file) == "samples.ptx" ? "" : "FastMath");
                         });

}  // namespace
}  // namespace mergelane::ptx
