// SPDX-License-Identifier: MIT
// The executor against a second implementation: every instruction alone, then random kernels.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "ptx_generator.hpp"
#include "ptx_helpers.hpp"
#include "ptx_reference.hpp"

namespace mergelane::ptx {
namespace {

using namespace reference;

const std::vector<const Rule*>& accepted() {
    static const std::vector<const Rule*> list = [] {
        std::vector<std::string> refused;
        return accepted_rules(refused);
    }();
    return list;
}

std::vector<std::uint64_t> input_for(std::uint32_t threads, std::uint64_t seed) {
    Rng rng(seed);
    std::vector<std::uint64_t> values(std::size_t{threads} * kInputBytes / 8);
    for (std::uint64_t& value : values) value = interesting(rng);
    return values;
}

/// Runs the kernel with both; the executed warp instructions, or 0 after a difference.
std::uint64_t agree(const std::string& text, std::uint32_t threads, std::uint64_t seed, const std::string& what) {
    constexpr std::size_t kTotal = 16;
    const std::size_t bytes = kTotal + std::size_t{threads} * kOutputBytes;
    const std::vector<std::uint64_t> input = input_for(threads, seed);
    std::vector<std::byte> got[2];
    Addr addresses[2] = {};
    for (const bool portable : {false, true}) {
        TestDevice device(text);
        device.options.portable = portable;
        addresses[0] = device.put(input);
        addresses[1] = device.zeros<std::byte>(bytes);
        device.run("k", {1, 1, 1}, {threads, 1, 1}, addresses[0], addresses[1]);
        EXPECT_TRUE(device.memory.warnings().empty()) << device.memory.warnings().front();
        got[portable] = device.get<std::byte>(addresses[1], bytes);
    }
    EXPECT_EQ(got[0], got[1]) << what << ": the handlers for this host differ from the portable ones\n" << text;
    Memory memory;
    memory.global_base = addresses[0];
    memory.global.resize(addresses[1] - addresses[0] + bytes);
    memory.shared.resize(std::size_t{(threads + 31) / 32 * 32} * kSharedBytes);
    std::memcpy(memory.global.data(), input.data(), input.size() * 8);
    const auto module = parse_module(text, "test.ptx");
    const std::uint64_t steps = run(module->kernel("k"), threads, {addresses[0], addresses[1]}, memory);
    const std::byte* expected = memory.global.data() + (addresses[1] - addresses[0]);
    for (std::size_t at = 0; at < bytes; at += 2) {
        if (std::memcmp(got[0].data() + at, expected + at, 2) == 0) continue;
        std::uint64_t mine = 0, theirs = 0;
        const std::size_t word = at / 8 * 8;
        std::memcpy(&mine, got[0].data() + word, 8);
        std::memcpy(&theirs, expected + word, 8);
        const std::size_t thread = (at - kTotal) / kOutputBytes, place = (word - kTotal) % kOutputBytes;
        ADD_FAILURE() << what << ": thread " << thread << ", output byte " << place << ": executed " << std::hex << mine << ", reference "
                      << theirs << "\n"
                      << text;
        return 0;
    }
    return steps;
}

TEST(PtxRandom, EveryInstructionWithAReferenceIsAccepted) {
    std::vector<std::string> refused;
    const std::size_t count = accepted_rules(refused).size();
    for (const std::string& rule : refused) {
        const std::string_view opcode = std::string_view(rule).substr(0, rule.find(':'));
        // The decoder may not know half precision yet.
        EXPECT_NE(opcode.find("f16"), std::string_view::npos) << rule;
    }
    EXPECT_GT(count, 1000u);
}

TEST(PtxRandom, EveryInstructionAgreesWithItsReference) {
    std::uint32_t different = 0;
    for (const Rule* rule : accepted()) {
        for (std::uint64_t seed = 0; seed < 4; ++seed) {
            if (agree(kernel_for(*rule), 32, mix64(seed), rule->opcode) != 0) continue;
            ++different;
            break;
        }
        ASSERT_LT(different, 20u) << "too many differences";
    }
}

#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kDefaultGoal = 1'000'000;
#else
constexpr std::uint64_t kDefaultGoal = 200'000;  // of the same kernels; these builds are slow
#endif
/// MERGELANE_RANDOM_PTX: how many warp instructions are executed.
TEST(PtxRandom, KernelsAgreeWithTheReference) {
    const char* wanted = std::getenv("MERGELANE_RANDOM_PTX");
    const std::uint64_t goal = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : kDefaultGoal;
    std::uint64_t done = 0;
    for (std::uint64_t seed = 1; done < goal; ++seed) {
        const auto size = static_cast<std::uint32_t>(100 + mix64(seed) % 901);
        const std::uint32_t threads = seed % 4 == 0 ? 50 : 64;
        const std::uint64_t steps = agree(random_kernel(seed, size, threads, accepted()), threads, seed, "kernel " + std::to_string(seed));
        ASSERT_NE(steps, 0u);
        done += steps;
    }
}

}  // namespace
}  // namespace mergelane::ptx
