// SPDX-License-Identifier: MIT
// Recordings of the benchmarks at size tiny match recordings.txt, as long as the recording version is the same. After raising it
// (workload/record/recording_version.hpp), regenerate the file:
//   MERGELANE_RECORD=1 build/release/tests/mergelane_golden_tests
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "core/hash.hpp"
#include "workload/record/recorded_kernel.hpp"
#include "workload/record/recording_version.hpp"
#include "workload/suite/cache.hpp"

namespace mergelane::suite {
namespace {

const std::filesystem::path kSource = MERGELANE_SOURCE_DIR;
const std::filesystem::path kFile = kSource / "tests/golden/recordings.txt";

void add(Hasher& hasher, const record::RecordedKernel& kernel) {
    const KernelInfo& info = kernel.info();
    hasher.add(info.name);
    for (const Dim3& dim : {info.grid, info.block})
        for (const std::uint64_t size : {dim.x, dim.y, dim.z}) hasher.add(size);
    for (const std::uint64_t value : {info.registers_per_thread, info.register_slots, info.shared_bytes}) hasher.add(value);
    const record::RecordedProgram& program = kernel.program();
    for (const StaticInst& inst : program.instructions) {
        for (const std::uint64_t value : {inst.pc, static_cast<std::uint32_t>(inst.op), static_cast<std::uint32_t>(inst.space)})
            hasher.add(value);
        for (const std::uint64_t value : {inst.lane_bytes, std::uint8_t{inst.bypass_l1}, inst.dst_count, inst.reg_count}) hasher.add(value);
        for (const std::uint64_t reg : inst.regs) hasher.add(reg);
    }
    for (const record::StaticRun& run : program.runs) hasher.add(std::uint64_t{run.first} << 32 | run.count);
    for (const std::uint64_t memory : program.memory_of) hasher.add(memory);
    for (std::uint64_t cta = 0; cta < info.ctas(); ++cta) {
        hasher.add(std::uint64_t{kernel.cta(cta).size()});
        hasher.add(kernel.cta(cta));
    }
}

std::string hash_of_recording(std::string_view name) {
    const auto workload = make_suite_workload(name, Size::tiny, 1, {}, {kSource / "kernels"});
    Hasher hasher;
    while (const KernelSource* kernel = workload->next_kernel()) add(hasher, dynamic_cast<const record::RecordedKernel&>(*kernel));
    return hasher.hex();
}

TEST(GoldenRecordings, ProgramsExecuteWhatTheyDid) {
    std::map<std::string, std::string> recorded;
    std::ifstream in(kFile);
    for (std::string name, hash; in >> name >> hash;) recorded[name] = hash;
    const std::string version = std::to_string(record::kRecordingVersion);
    const bool same_version = recorded["version"] == version;
    std::string text = "version " + version + "\n";
    for (const SuiteWorkload& workload : workloads()) {
        const std::string name(workload.name);
        const std::string hash = hash_of_recording(name);
        text += name + " " + hash + "\n";
        const bool known = recorded.count(name) != 0;
        if (same_version && known) {
            EXPECT_EQ(hash, recorded[name]) << name
                                            << " executes something else than it did. If execution, recording or what programs share "
                                            << "was meant to change, raise kRecordingVersion; if only this program, delete its line of "
                                            << "recordings.txt. Then write the file anew";
        }
    }
    if (std::getenv("MERGELANE_RECORD") != nullptr) {
        if (!HasFailure()) std::ofstream(kFile) << text;
        return;
    }
    std::ifstream again(kFile);
    const std::string file{std::istreambuf_iterator<char>(again), {}};
    EXPECT_EQ(file, text) << "recordings.txt is of another version or other workloads: write it anew";
}

}  // namespace
}  // namespace mergelane::suite
