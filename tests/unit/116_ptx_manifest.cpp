// SPDX-License-Identifier: MIT
// Launch manifests: valid ones, and the error messages of invalid ones.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/error.hpp"
#include "ptx_helpers.hpp"
#include "workload/ptx/manifest.hpp"

namespace mergelane::ptx {
namespace {

class PtxManifest : public ::testing::Test {
protected:
    PtxManifest() : folder_(std::filesystem::temp_directory_path() / ("mergelane-manifest-" + std::to_string(getpid()))) {
        std::filesystem::create_directories(folder_);
        std::ofstream(folder_ / "k.ptx") << test_data("samples.ptx");
    }
    ~PtxManifest() override { std::filesystem::remove_all(folder_); }
    std::unique_ptr<Workload> load(const std::string& text, const ExecOptions& options = {}) {
        std::ofstream(folder_ / "m.toml") << text;
        return load_manifest((folder_ / "m.toml").string(), [this](const std::string& warning) { warnings.push_back(warning); }, options);
    }
    std::string problem(const std::string& text) {
        try {
            load(text);
        } catch (const InputError& error) {
            return error.what();
        }
        return "";
    }
    std::vector<std::string> warnings;

private:
    std::filesystem::path folder_;
};

const std::string kBuffers =
    "ptx = 'k.ptx'\n[buffers.y]\ntype = 'f32'\ncount = 512\n[buffers.x]\ntype = 'f32'\ncount = 512\ninit = 'iota'\n";
const std::string kLaunch = "[[launch]]\nkernel = 'saxpy'\ngrid = [2]\nblock = 256\n";

TEST_F(PtxManifest, LaunchesInOrder) {
    const auto workload = load(kBuffers + kLaunch + "repeat = 2\narguments = ['y', 'x', 2.0, 512]\n" + kLaunch +
                               "arguments = [{ buffer = 'y' }, { buffer = 'x', offset = 4 }, { f32 = 1 }, { hex = '00020000' }]\n");
    EXPECT_EQ(workload->name(), "m");
    for (int k = 0; k < 3; ++k) {
        const KernelSource* kernel = workload->next_kernel();
        ASSERT_NE(kernel, nullptr);
        EXPECT_EQ(kernel->info().ctas(), 2u);
        EXPECT_EQ(kernel->info().warps_per_cta(), 8u);
        EXPECT_EQ(warnings.empty(), k < 2);  // the last launch reads one element too far
    }
    EXPECT_EQ(workload->next_kernel(), nullptr);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find("saxpy"), std::string::npos);
}

/// Who runs a manifest sets the limit; its author can only lower it.
TEST_F(PtxManifest, TheSmallerBudgetCounts) {
    const auto fails = [&](const std::string& budget, std::uint64_t of_user) {
        ExecOptions options;
        options.budget = of_user;
        const auto workload = load(budget + kBuffers + kLaunch + "arguments = ['y', 'x', 2.0, 512]\n", options);
        try {
            workload->next_kernel();
            return false;
        } catch (const InputError& error) {
            EXPECT_NE(std::string(error.what()).find("raise --max-instructions"), std::string::npos) << error.what();
            return true;
        }
    };
    EXPECT_TRUE(fails("budget = 0\n", 10));
    EXPECT_TRUE(fails("budget = 1000000\n", 10));
    EXPECT_TRUE(fails("budget = 10\n", 1000000));
    EXPECT_TRUE(fails("budget = 10\n", 0));
    EXPECT_TRUE(fails("", 10));
    EXPECT_FALSE(fails("budget = 0\n", 0));
    EXPECT_FALSE(fails("budget = 1000000\n", 1000000));
}

TEST_F(PtxManifest, ARecordingThatMemoryWouldNotHoldIsGivenUp) {
    ExecOptions options;
    options.most_recorded = 1 << 20;
    const std::string launch = "[[launch]]\nkernel = 'saxpy'\ngrid = 50000\nblock = 256\narguments = ['y', 'x', 2.0, 512]\n";
    const auto workload = load(kBuffers + launch, options);
    try {
        workload->next_kernel();
        FAIL() << "it was recorded";
    } catch (const InputError& error) {
        const std::string message = error.what();
        EXPECT_NE(message.find("its recording has more than 1 MiB after "), std::string::npos) << message;
        EXPECT_NE(message.find("of 50000 CTAs; launch it with fewer CTAs"), std::string::npos) << message;
    }
    EXPECT_NE(load(kBuffers + launch)->next_kernel(), nullptr);
}

TEST_F(PtxManifest, SaysWhatIsWrongAndWhere) {
    const std::pair<std::string, std::string> cases[] = {
        {"", "has no 'ptx'; add ptx = "},
        {"ptx = 'nothing.ptx'\n", "m.toml:1: cannot read 'nothing.ptx'"},
        {"ptx = 3\n", "m.toml:1: 'ptx' must be a text"},
        {"ptx = 'k.ptx'\nkernal = 'saxpy'\n", "m.toml:1: the manifest has no 'kernel'; is 'kernal' meant to be it?"},
        {"ptx = 'k.ptx'\n", "has no 'kernel'"},
        {kBuffers + "[[launch]]\nkernel = 'saxpi'\ngrid = 1\nblock = 1\n", "did you mean 'saxpy'"},
        {kBuffers + "[[launch]]\nkernel = 'saxpy'\ngrid = [1, 2, 3, 4]\nblock = 1\n", "one to three numbers"},
        {kBuffers + "[[launch]]\nkernel = 'saxpy'\ngrid = 0\nblock = 1\n", "from 1 to"},
        {kBuffers + kLaunch + "arguments = ['y', 'x', 2.0]\n", "has 4 parameters but 3 arguments"},
        {kBuffers + kLaunch + "arguments = ['y', 'z', 2.0, 1]\n", "unknown buffer 'z'"},
        {kBuffers + kLaunch + "arguments = ['y', 'x', 'x', 1]\n", "has 8 bytes but its parameter 4"},
        {kBuffers + kLaunch + "arguments = ['y', 'x', { hex = '0g' }, 1]\n", "0-9 and a-f"},
        {kBuffers + kLaunch, "has 4 parameters but 0 arguments"},
        {"ptx = 'k.ptx'\n[buffers.a]\ntype = 'f33'\ncount = 1\n", "unknown type 'f33'"},
        {"ptx = 'k.ptx'\n[buffers.a]\ntype = 'f32'\ncount = 1\ninit = 'noise'\n", "unknown initialisation 'noise'"},
        {"ptx = 'k.ptx'\n[buffers.a]\ntype = 'f64'\ncount = 17179869184\n", "out of simulated device memory"},
        {"ptx = [[[\n", "not valid TOML"},
        {"ptx = " + std::string(100, '['), "nested too deeply"},
    };
    for (const auto& [text, expected] : cases) {
        const std::string message = problem(text);
        EXPECT_NE(message.find(expected), std::string::npos) << text << "\nwanted: " << expected << "\ngot: " << message;
    }
    EXPECT_THROW(load_manifest("/no/such/manifest.toml"), InputError);
}

}  // namespace
}  // namespace mergelane::ptx
