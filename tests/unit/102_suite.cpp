// SPDX-License-Identifier: MIT
// The benchmarks without executing them: the table, inputs and launches of the host programs, the references.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <regex>
#include <set>

#include "core/error.hpp"
#include "kernel_metadata.hpp"
#include "workload/suite/kernel_files.hpp"
#include "workload/suite/suite.hpp"

namespace mergelane::suite {
namespace {

const std::filesystem::path kKernels = std::filesystem::path(MERGELANE_SOURCE_DIR) / "kernels";

/// Executes nothing; remembers what was written and launched.
class NotingDevice final : public Device {
public:
    Addr allocate_bytes(std::uint64_t bytes) override { return std::exchange(next_, next_ + (bytes + 511) / 512 * 512); }
    void write_bytes(Addr to, const void* from, std::uint64_t bytes) override {
        note(to);
        const auto* data = static_cast<const unsigned char*>(from);
        for (std::uint64_t i = 0; i < bytes; ++i) hash = (hash ^ data[i]) * 0x100000001B3ull;
    }
    void read_bytes(Addr, void* to, std::uint64_t bytes) override { std::memset(to, 0, bytes); }
    void fill_bytes(Addr to, int value, std::uint64_t bytes) override {
        note(to);
        note(static_cast<std::uint64_t>(value));
        note(bytes);
    }
    void launch_kernel(const KernelCall& call) override { calls.push_back(call); }

    std::uint64_t hash = 0xCBF29CE484222325ull;  ///< FNV-1a of everything that was written, and where to
    std::vector<KernelCall> calls;

private:
    void note(std::uint64_t value) {
        for (int i = 0; i < 8; ++i, value >>= 8) hash = (hash ^ (value & 255)) * 0x100000001B3ull;
    }
    Addr next_ = 0x10000;
};

class Each : public ::testing::TestWithParam<const SuiteWorkload*> {};

std::vector<const SuiteWorkload*> all() {
    std::vector<const SuiteWorkload*> list;
    for (const SuiteWorkload& workload : workloads()) list.push_back(&workload);
    return list;
}
INSTANTIATE_TEST_SUITE_P(Workload, Each, ::testing::ValuesIn(all()), [](const auto& given) {
    std::string name(given.param->name);
    std::replace(name.begin(), name.end(), '+', 'p');
    return name;
});

/// Bytes of a kernel's parameter list as its PTX declares it.
std::size_t declared_param_bytes(const std::string& ptx, const std::string& kernel) {
    const std::size_t begin = ptx.find(".entry " + kernel + "(");
    EXPECT_NE(begin, std::string::npos) << kernel;
    const std::string list = ptx.substr(begin, ptx.find('{', begin) - begin);
    const std::regex param(R"(\.param (?:\.align (\d+) )?\.[a-z](\d+) \w+(?:\[(\d+)\])?)");
    std::size_t bytes = 0;
    for (std::sregex_iterator at(list.begin(), list.end(), param), end; at != end; ++at) {
        const std::size_t element = std::stoul((*at)[2]) / 8;
        const std::size_t alignment = (*at)[1].matched ? std::stoul((*at)[1]) : element;
        bytes = (bytes + alignment - 1) / alignment * alignment + element * ((*at)[3].matched ? std::stoul((*at)[3]) : 1);
    }
    return bytes;
}

TEST(Suite, NamesAreUniqueAndEveryPapersSuiteIsThere) {
    std::set<std::string_view> names, modules;
    std::size_t icc = 0;
    for (const SuiteWorkload& workload : workloads()) {
        EXPECT_TRUE(names.insert(workload.name).second) << workload.name;
        modules.insert(workload.module);
        EXPECT_FALSE(workload.meaning.empty());
        if (workload.papers.starts_with("icc")) ++icc;
    }
    EXPECT_EQ(names.size(), 81u);
    EXPECT_EQ(modules.size(), 63u) << "three networks have one, so have four products, five more programs share two, five products on "
                                      "tensor units have one, and three "
                                      "programs have two sizes";
    EXPECT_EQ(icc, 11u);
}

TEST(Suite, AWrongNameIsAnsweredWithTheNearest) {
    EXPECT_EQ(find_workload("b+tree").module, "rodinia/btree");
    try {
        find_workload("hotspt");
        FAIL();
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("did you mean 'hotspot'?"), std::string::npos) << error.what();
    }
    EXPECT_EQ(parse_size("large"), Size::large);
    EXPECT_THROW(parse_size("huge"), InputError);
}

TEST(Suite, MissingKernelFilesAreExplained) {
    EXPECT_THROW(KernelFiles({"/nonexistent"}), InputError);
    const KernelFiles files({kKernels});
    EXPECT_THROW(files.text("rodinia/nothing"), InputError);
}

TEST_P(Each, LaunchesTheKernelsOfItsModuleWithTheirParameters) {
    const SuiteWorkload& workload = *GetParam();
    std::map<std::string_view, std::string> ptx = {{workload.module, {}}};
    for (std::string_view left = workload.others; !left.empty();) {
        const std::string_view module = left.substr(0, left.find(' '));
        ptx[module];
        left.remove_prefix(std::min(left.size(), module.size() + 1));
    }
    for (auto& [module, text] : ptx) text = KernelFiles({kKernels}).text(module);
    NotingDevice device;
    workload.make(Size::tiny, 1)->run(device);
    std::set<std::string_view> checked;
    for (const KernelCall& call : device.calls) {
        if (!checked.insert(call.kernel).second) continue;
        ASSERT_TRUE(ptx.contains(call.module)) << call.module;
        const std::map<std::string, KernelResources> there = kernel_metadata(kKernels, call.module);
        const std::string kernel(call.kernel);
        EXPECT_EQ(call.params.size(), declared_param_bytes(ptx[call.module], kernel)) << kernel;
        ASSERT_TRUE(there.contains(kernel)) << kernel;
        EXPECT_GT(there.at(kernel).registers, 0u);
        EXPECT_LE(call.block.count(), 1024u);
        EXPECT_GT(call.grid.count(), 0u);
    }
}

/// Most modules have one program, some several.
TEST(Suite, ProgramsOfAModuleLaunchAllItsKernels) {
    std::map<std::string_view, std::set<std::string>> launched;
    for (const SuiteWorkload& workload : workloads()) {
        NotingDevice device;
        workload.make(Size::tiny, 1)->run(device);
        for (const KernelCall& call : device.calls) launched[call.module].insert(std::string(call.kernel));
    }
    for (const auto& [module, kernels] : launched) {
        std::set<std::string> there;
        for (const auto& [name, resources] : kernel_metadata(kKernels, module)) there.insert(name);
        EXPECT_EQ(kernels, there) << module;
    }
}

TEST_P(Each, InputsDependOnTheSeedAndOnNothingElse) {
    const SuiteWorkload& workload = *GetParam();
    const auto hash = [&](std::uint64_t seed) {
        NotingDevice device;
        workload.make(Size::tiny, seed)->run(device);
        return device.hash;
    };
    const std::uint64_t first = hash(1);
    EXPECT_EQ(hash(1), first);
    EXPECT_NE(hash(2), first);
}

TEST_P(Each, TheReferenceRejectsADeviceThatComputesNothing) {
    NotingDevice device;
    const auto problem = GetParam()->make(Size::tiny, 1);
    problem->run(device);
    const Verdict verdict = problem->verify();
    EXPECT_FALSE(verdict.correct);
    EXPECT_FALSE(verdict.problem.empty());
    EXPECT_GT(verdict.compared, 0u);
}

TEST_P(Each, ShapesAreThoseOfTheLaunches) {
    NotingDevice device;
    GetParam()->make(Size::tiny, 1)->run(device);
    std::uint64_t launches = 0, ctas = 0;
    for (const KernelShape& shape : measured_launch_shapes(*GetParam(), Size::tiny)) {
        launches += shape.launches;
        ctas += shape.ctas;
    }
    EXPECT_EQ(launches, device.calls.size());
    std::uint64_t want = 0;
    for (const KernelCall& call : device.calls) want += call.grid.count();
    EXPECT_EQ(ctas, want);
}

TEST(Suite, InputsAreTheSameOnEveryHost) {
    std::uint64_t hash = 0, first = 0, second = 0, third = 0, fourth = 0, fifth = 0, sixth = 0, seventh = 0, eighth = 0;
    std::size_t count = 0;
    for (const SuiteWorkload& workload : workloads()) {
        NotingDevice device;
        workload.make(Size::tiny, 1)->run(device);
        hash = mix64(hash ^ device.hash);
        if (++count == 30) first = hash;
        if (count == 44) second = hash;
        if (count == 49) third = hash;
        if (count == 53) fourth = hash;
        if (count == 61) fifth = hash;
        if (count == 74) sixth = hash;
        if (count == 75) seventh = hash;
        if (count == 78) eighth = hash;
    }
    EXPECT_EQ(first, 17179132570163202269u) << "new programs come behind those that are there";
    EXPECT_EQ(second, 5917700962759891295u) << "as above";
    EXPECT_EQ(third, 173398740878195126u) << "as above";
    EXPECT_EQ(fourth, 8990148876727769867u) << "as above";
    EXPECT_EQ(fifth, 9372540081592422660u) << "as above";
    EXPECT_EQ(sixth, 14470861337133967144u) << "as above";
    EXPECT_EQ(seventh, 9936154357963458156u) << "as above";
    EXPECT_EQ(eighth, 12613144751448643626u) << "as above";
    EXPECT_EQ(hash, 17887240816350831989u) << "changed on purpose? Results of earlier versions can no longer be compared; say so";
}

TEST(Suite, PackedParametersAreNaturallyAligned) {
    ParamPacker packer;
    packer.add(std::uint32_t{1});
    packer.add(DeviceArray<float>{0x1122334455667788, 3});
    packer.add(2.0f);
    const std::vector<std::byte> bytes = packer.take();
    ASSERT_EQ(bytes.size(), 20u);
    EXPECT_EQ(bytes[8], std::byte{0x88});
}

TEST(Suite, VerdictsKeepTheFirstProblem) {
    Verdict verdict = compare("a", {1.0f, 2.0f}, {1.0, 2.5}, 1e-3, 0);
    EXPECT_FALSE(verdict.correct);
    const std::string first = verdict.problem;
    EXPECT_NE(first.find("a[1]"), std::string::npos);
    verdict &= compare_exact<int>("b", {1}, {2});
    EXPECT_EQ(verdict.problem, first);
    EXPECT_EQ(verdict.compared, 3u);
    EXPECT_FALSE(compare("nan", {std::nanf("")}, {1.0}, 1, 1).correct);
    EXPECT_FALSE(compare("short", {}, {1.0}, 1, 1).correct);
}

}  // namespace
}  // namespace mergelane::suite
