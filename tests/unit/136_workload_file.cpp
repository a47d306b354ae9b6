// SPDX-License-Identifier: MIT
// Workloads in files: what names them, and the hash of what they consist of.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/error.hpp"
#include "runs/plan.hpp"
#include "workload/file/workload_file.hpp"

using namespace mergelane;

namespace {

namespace fs = std::filesystem;

class WorkloadFile : public testing::Test {
protected:
    void SetUp() override {
        folder_ = fs::temp_directory_path() / ("workload_file." + std::to_string(getpid()));
        fs::create_directories(folder_);
    }
    void TearDown() override { fs::remove_all(folder_); }
    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(folder_ / name, std::ios::binary) << text;
        return (folder_ / name).string();
    }
    fs::path folder_;
};

}  // namespace

TEST_F(WorkloadFile, NamesAndCommands) {
    for (const char* name : {"a.mlt", "dir/a.toml", "kernelslist.g", "x/kernelslist", "k.traceg", "k.traceg.xz", "k.tracez"})
        EXPECT_TRUE(is_workload_file(name));
    for (const char* name : {"hotspot", "mlt", "./app 1", "a.cu"}) EXPECT_FALSE(is_workload_file(name));
    EXPECT_TRUE(is_program_command("./app 100"));
    EXPECT_FALSE(is_program_command("hotspot"));
    EXPECT_FALSE(is_program_command("app dir/file"));
    EXPECT_EQ(command_words("./app  1 'a b' \"c'd\" ''"), (std::vector<std::string>{"./app", "1", "a b", "c'd", ""}));
    EXPECT_THROW(command_words("./app 'open"), InputError);
}

TEST_F(WorkloadFile, TheHashIsOfContentsOfAllFiles) {
    const std::string ptx = write("k.ptx", "one"), data = write("x.bin", "1234");
    const std::string manifest = write("m.toml", "ptx = \"k.ptx\"\n[buffers.x]\ntype = \"f32\"\ncount = 1\nfile = \"x.bin\"\n");
    const std::string before = content_hash(manifest);
    fs::copy_file(manifest, folder_ / "other.toml");
    EXPECT_EQ(content_hash((folder_ / "other.toml").string()), before);
    write("x.bin", "1235");
    const std::string changed = content_hash(manifest);
    EXPECT_NE(changed, before);
    write("k.ptx", "two");
    EXPECT_NE(content_hash(manifest), changed);

    write("kernel-1.traceg", "ab");
    write("kernel-2.traceg", "c");
    const std::string list = write("kernelslist.g", "MemcpyHtoD,0x0,1\nkernel-1.traceg\nkernel-2.traceg\n");
    const std::string listed = content_hash(list);
    write("kernel-1.traceg", "a");
    write("kernel-2.traceg", "bc");
    EXPECT_NE(content_hash(list), listed) << "the same bytes, divided differently";
}

TEST_F(WorkloadFile, ErrorsNameTheFile) {
    for (const std::string& name : {std::string("no/such.mlt"), folder_.string() + "/x.mlt", write("m.toml", "ptx = \"missing.ptx\"\n")}) {
        try {
            content_hash(name);
            FAIL() << name;
        } catch (const InputError& error) {
            EXPECT_NE(std::string(error.what()).find(name.ends_with(".toml") ? "missing.ptx" : name), std::string::npos) << error.what();
        }
    }
    fs::create_directories(folder_ / "folder.mlt");
    EXPECT_THROW(content_hash((folder_ / "folder.mlt").string()), InputError);
}

TEST_F(WorkloadFile, PlansKnowFilesByTheirContent) {
    const std::string a = write("a.toml", "ptx = \"k.ptx\"\n"), b = write("b.toml", "ptx = \"k.ptx\"\n");
    write("k.ptx", "one");
    study::Plan plan;
    const std::size_t first = plan.add({"icc60", {}, a, "tiny", 1});
    EXPECT_EQ(plan.add({"icc60", {}, a, "paper", 7}), first) << "files have neither sizes nor seeds";
    EXPECT_EQ(plan.add({"icc60", {}, b, "tiny", 1}), first) << "nor names";
    const study::PlannedRun run = plan.run(first);
    EXPECT_EQ(study::run_key(plan.machine_of(first).config_hash, run.spec, study::recording_key(run.spec)), run.key);
    write("k.ptx", "two");
    study::Plan later;
    later.add({"icc60", {}, a, "tiny", 1});
    EXPECT_NE(later.run(0).key, run.key);
}
