// SPDX-License-Identifier: MIT
// Recordings in files: they round-trip, and incomplete ones are detected.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/error.hpp"
#include "ptx_helpers.hpp"
#include "workload/record/recording_file.hpp"

namespace mergelane::record {
namespace {

namespace fs = std::filesystem;

class RecordingFile : public ::testing::Test {
protected:
    void SetUp() override {
        folder_ = fs::temp_directory_path() / ("mergelane_recording_" + std::to_string(getpid()));
        file_ = folder_ / "sub" / "saxpy.recording";
        ptx::TestDevice device(ptx::test_data("samples.ptx"));
        device.record = true;
        const Addr y = device.zeros<float>(1000), x = device.zeros<float>(1000);
        for (const std::uint32_t block : {256u, 64u})
            kernels_.push_back(device.run("saxpy", {ceil(1000, block)}, {block}, y, x, 1.0f, 1000));
    }
    void TearDown() override { fs::remove_all(folder_); }

    static std::uint32_t ceil(std::uint32_t value, std::uint32_t by) { return (value + by - 1) / by; }
    const RecordedKernel& kernel(std::size_t index) const { return static_cast<const RecordedKernel&>(*kernels_[index]); }
    void write(std::string_view key = "key") {
        RecordingWriter writer(file_, key);
        for (std::size_t k = 0; k < kernels_.size(); ++k) writer.add(kernel(k));
        EXPECT_FALSE(fs::exists(file_));
        writer.finish();
    }
    std::string bytes() const {
        std::ifstream file(file_, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    void overwrite(const std::string& bytes) const { std::ofstream(file_, std::ios::binary) << bytes; }
    /// Reads all; the number of kernels, 0 when the file is not taken, -1 when it is found damaged.
    int read() const {
        const auto reader = RecordingReader::open(file_, "key");
        if (reader == nullptr) return 0;
        try {
            int count = 0;
            while (reader->next() != nullptr) ++count;
            return count;
        } catch (const InputError& error) {
            EXPECT_NE(std::string(error.what()).find("--no-cache"), std::string::npos);
            return -1;
        }
    }

    fs::path folder_, file_;
    std::vector<std::unique_ptr<KernelSource>> kernels_;
};

TEST_F(RecordingFile, KernelsComeBackAsTheyWere) {
    write();
    const auto reader = RecordingReader::open(file_, "key");
    ASSERT_NE(reader, nullptr);
    for (std::size_t k = 0; k < 2; ++k) {
        const auto got = reader->next();
        ASSERT_NE(got, nullptr);
        EXPECT_EQ(got->info().name, "saxpy");
        EXPECT_EQ(got->info().ctas(), kernel(k).info().ctas());
        EXPECT_EQ(got->info().registers_per_thread, kernel(k).info().registers_per_thread);
        EXPECT_EQ(got->info().register_slots, kernel(k).info().register_slots);
        EXPECT_EQ(got->totals.warp_instructions, kernel(k).totals.warp_instructions);
        EXPECT_EQ(got->totals.bytes, kernel(k).totals.bytes);
        ASSERT_EQ(got->instructions().size(), kernel(k).instructions().size());
        for (std::size_t i = 0; i < got->instructions().size(); ++i) {
            const StaticInst &a = got->instructions()[i], &b = kernel(k).instructions()[i];
            EXPECT_EQ(a.pc, b.pc);
            EXPECT_EQ(a.op, b.op);
            EXPECT_EQ(a.space, b.space);
            EXPECT_EQ(a.lane_bytes, b.lane_bytes);
            EXPECT_EQ(a.bypass_l1, b.bypass_l1);
            EXPECT_EQ(a.l2_hint, b.l2_hint);
            EXPECT_EQ(a.dst_count, b.dst_count);
            EXPECT_EQ(a.reg_count, b.reg_count);
            EXPECT_EQ(a.regs, b.regs);
        }
        EXPECT_EQ(got->program().memory_of, kernel(k).program().memory_of);
        for (std::uint64_t cta = 0; cta < got->info().ctas(); ++cta) EXPECT_EQ(got->cta(cta), kernel(k).cta(cta));
    }
    EXPECT_EQ(reader->next(), nullptr);
}

TEST_F(RecordingFile, KernelsCanBeSkipped) {
    write();
    auto reader = RecordingReader::open(file_, "key");
    ASSERT_TRUE(reader->skip());
    const auto second = reader->next();
    ASSERT_NE(second, nullptr);
    for (std::uint64_t cta = 0; cta < second->info().ctas(); ++cta) EXPECT_EQ(second->cta(cta), kernel(1).cta(cta));
    EXPECT_FALSE(reader->skip());
    reader = RecordingReader::open(file_, "key");
    EXPECT_TRUE(reader->skip() && reader->skip());
    EXPECT_EQ(reader->next(), nullptr);
}

TEST_F(RecordingFile, AnUnfinishedOneLeavesNothing) {
    { RecordingWriter(file_, "key").add(kernel(0)); }
    EXPECT_TRUE(fs::is_empty(file_.parent_path()));
    EXPECT_EQ(read(), 0);
}

TEST_F(RecordingFile, AnotherKeyIsAnotherRecording) {
    write();
    EXPECT_EQ(RecordingReader::open(file_, "kez"), nullptr);
    EXPECT_EQ(RecordingReader::open(file_, "key2"), nullptr);
    EXPECT_EQ(read(), 2);
}

TEST_F(RecordingFile, KernelsOfAnotherRecordingAreDamage) {
    // As if two files of equal length had been exchanged but for their keys, which are all that tells the recordings of two seeds apart.
    write("kez");
    std::string exchanged = bytes();
    exchanged[exchanged.find("kez") + 2] = 'y';
    overwrite(exchanged);
    EXPECT_EQ(read(), -1);
    // The same kernels in another order.
    fs::remove(file_);
    write();
    const std::string whole = bytes();
    const std::size_t start = 16 + 3, end = whole.size() - 16;
    const std::size_t half = [&] {
        std::uint64_t head = 0;
        std::memcpy(&head, whole.data() + start, sizeof head);
        std::size_t size = 8 + head + 8;
        for (std::uint64_t cta = 0; cta < kernel(0).info().ctas(); ++cta) size += kernel(0).cta(cta).size();
        return size;
    }();
    overwrite(whole.substr(0, start) + whole.substr(start + half, end - start - half) + whole.substr(start, half) + whole.substr(end));
    EXPECT_EQ(read(), -1);
}

TEST_F(RecordingFile, AFileThatIsMostlyAHoleIsNotRead) {
    write();
    std::string broken = bytes();
    const std::uint64_t head = std::uint64_t{40} << 30;
    std::memcpy(broken.data() + 16 + 3, &head, sizeof head);
    overwrite(broken);
    fs::resize_file(file_, std::uint64_t{50} << 30);
    EXPECT_EQ(read(), 0);
}

TEST_F(RecordingFile, DamageIsNoticed) {
    write();
    const std::string whole = bytes();
    for (std::size_t at = 0; at < whole.size(); at += 7) {
        std::string broken = whole;
        broken[at] = static_cast<char>(broken[at] ^ 0x15);
        overwrite(broken);
        EXPECT_LE(read(), 0) << at;
    }
    for (std::size_t size = 0; size < whole.size(); size += 11) {
        overwrite(whole.substr(0, size));
        EXPECT_LE(read(), 0) << size;
    }
}

TEST_F(RecordingFile, WhereNothingCanBeWrittenNothingIsKept) {
    fs::create_directories(folder_);
    std::ofstream(folder_ / "sub") << "a file where a folder should be";
    write();
    EXPECT_EQ(read(), 0);
}

}  // namespace
}  // namespace mergelane::record
