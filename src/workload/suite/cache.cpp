// SPDX-License-Identifier: MIT
#include "workload/suite/cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <suite_sources.hpp>
#include <utility>

#include "core/hash.hpp"
#include "core/skippable_workload.hpp"
#include "files/atomic_file.hpp"
#include "files/input_file.hpp"
#include "workload/record/recording_file.hpp"
#include "workload/record/recording_version.hpp"

namespace mergelane::suite {

namespace fs = std::filesystem;

namespace {

/// Executes, and stores a copy of every kernel.
class KeepingWorkload final : public Workload {
public:
    KeepingWorkload(std::unique_ptr<SuiteStream> stream, const fs::path& file, std::string_view key, std::uint64_t most_bytes)
        : stream_(std::move(stream)), writer_(file, key, most_bytes) {}
    const std::string& name() const override { return stream_->name(); }
    const KernelSource* next_kernel() override {
        const KernelSource* kernel = stream_->next_kernel();
        if (kernel == nullptr)
            writer_.finish();
        else
            writer_.add(dynamic_cast<const record::RecordedKernel&>(*kernel));
        return kernel;
    }

private:
    std::unique_ptr<SuiteStream> stream_;
    record::RecordingWriter writer_;
};

class KeptWorkload final : public SkippableWorkload {
public:
    KeptWorkload(std::string name, std::unique_ptr<record::RecordingReader> reader) : name_(std::move(name)), reader_(std::move(reader)) {}
    const std::string& name() const override { return name_; }
    const KernelSource* next_kernel() override {
        kernel_.reset();
        if (reader_ != nullptr) kernel_ = reader_->next();
        if (kernel_ == nullptr) reader_.reset();
        return kernel_.get();
    }
    bool skip_kernel() override {
        kernel_.reset();
        if (reader_ != nullptr && !reader_->skip()) reader_.reset();
        return reader_ != nullptr;
    }

private:
    std::string name_;
    std::unique_ptr<record::RecordingReader> reader_;
    std::unique_ptr<record::RecordedKernel> kernel_;
};

using FileClock = fs::file_time_type::clock;

/// Updates the modification time, which eviction relies on. Rarely, because it may be a shared file system.
void note_use(const fs::path& file) {
    std::error_code problem;
    const fs::file_time_type used = fs::last_write_time(file, problem);
    if (!problem && FileClock::now() - used > std::chrono::minutes(10)) fs::last_write_time(file, FileClock::now(), problem);
}

}  // namespace

fs::path default_cache_dir() {
    const auto variable = [](const char* name) {
        const char* value = std::getenv(name);
        return fs::path(value == nullptr ? "" : value);
    };
    if (const fs::path chosen = variable("MERGELANE_CACHE"); !chosen.empty()) return chosen;
    if (const fs::path caches = variable("XDG_CACHE_HOME"); !caches.empty()) return caches / "mergelane";
    if (const fs::path home = variable("HOME"); !home.empty()) return home / ".cache" / "mergelane";
    return {};
}

std::string_view source_hash(const SuiteWorkload& workload) {
    const std::string_view file = workload.module.substr(workload.module.rfind('/') + 1);
    for (const SourceHash& source : kSourceHashes) {
        if (source.file == file) return source.hash;
    }
    throw std::logic_error(
        fmt::format("workload '{}' should be in src/workload/suite/{}.cpp, named after its kernels", workload.name, file));
}

std::string ptx_of(const SuiteWorkload& workload, const KernelFiles& files) {
    return files.text(workload.module) + files.texts(workload.others);
}

std::string recording_key(const SuiteWorkload& workload, Size size, std::uint64_t seed, const ExecutorOptions& options,
                          std::string_view source, std::string_view ptx) {
    return hash_text(fmt::format("recording {}\nworkload {} {} {}\noptions {} {} {}\nsource {}\nptx\n{}", record::kRecordingVersion,
                                 workload.name, kSizeNames[static_cast<std::size_t>(size)], seed, options.quantum, options.first_launch,
                                 options.last_launch, source, ptx));
}

std::string recording_key(std::string_view name, Size size, std::uint64_t seed, const ExecutorOptions& options,
                          const std::vector<fs::path>& dirs) {
    const SuiteWorkload& workload = find_workload(name);
    return recording_key(workload, size, seed, options, source_hash(workload), ptx_of(workload, KernelFiles(dirs)));
}

fs::path cache_file(std::string_view name, Size size, const std::string& key, const fs::path& cache_dir) {
    return cache_dir / fmt::format("{}-{}-{}.recording", name, kSizeNames[static_cast<std::size_t>(size)], key.substr(0, 16));
}
fs::path cache_file(std::string_view name, Size size, std::uint64_t seed, const ExecutorOptions& options, const fs::path& cache_dir,
                    const std::vector<fs::path>& dirs) {
    return cache_file(name, size, recording_key(name, size, seed, options, dirs), cache_dir);
}

namespace {

/// A long recording takes no more than half of what is free on the disk.
std::uint64_t room_for_recording(const fs::path& cache_dir, std::uint64_t most_bytes) {
    if (most_bytes <= kMostRecordingBytes) return most_bytes;
    std::error_code problem;
    fs::create_directories(cache_dir, problem);
    const fs::space_info space = fs::space(cache_dir, problem);
    return problem ? kMostRecordingBytes : std::min<std::uint64_t>(most_bytes, space.available / 2);
}

}  // namespace

std::unique_ptr<Workload> make_cached_suite_workload(std::string_view name, Size size, std::uint64_t seed, const ExecutorOptions& options,
                                                     const fs::path& cache_dir, const std::vector<fs::path>& dirs,
                                                     std::uint64_t most_bytes) {
    check_first_launch(find_workload(name), size, options.first_launch);
    const std::string key = recording_key(name, size, seed, options, dirs);
    const fs::path file = cache_file(name, size, key, cache_dir);
    if (auto reader = record::RecordingReader::open(file, key, record::Checksums::verify, most_bytes)) {
        note_use(file);
        return std::make_unique<KeptWorkload>(suite_workload_name(name, size, seed, options), std::move(reader));
    }
    return std::make_unique<KeepingWorkload>(make_suite_workload(name, size, seed, options, dirs), file, key,
                                             room_for_recording(cache_dir, most_bytes));
}

void limit_cache(const fs::path& cache_dir, std::uint64_t bytes) {
    struct Kept {
        fs::file_time_type used;
        std::uint64_t bytes;
        fs::path file;
    };
    remove_leftovers(cache_dir);
    std::vector<Kept> list;
    std::uint64_t all = 0;
    std::error_code problem;
    for (const fs::directory_entry& entry : fs::directory_iterator(cache_dir, problem)) {
        std::error_code gone;
        const Kept kept{entry.last_write_time(gone), entry.file_size(gone), entry.path()};
        if (gone) continue;
        if (kept.file.extension() != ".recording") continue;
        all += kept.bytes;
        list.push_back(kept);
    }
    std::sort(list.begin(), list.end(), [](const Kept& a, const Kept& b) { return a.used < b.used; });
    for (const Kept& oldest : list) {
        if (all <= bytes || FileClock::now() - oldest.used < std::chrono::hours(1)) return;
        std::error_code gone;
        fs::remove(oldest.file, gone);
        all -= oldest.bytes;
    }
}

fs::path local_copy(const fs::path& recording, const fs::path& local_dir) {
    const fs::path copy = local_dir / recording.filename();
    std::error_code problem;
    const std::uint64_t bytes = fs::file_size(recording, problem);
    if (problem) return recording;
    if (fs::file_size(copy, problem) == bytes && !problem) return copy;
    fs::create_directories(local_dir, problem);
    try {
        const std::unique_ptr<FILE, int (*)(FILE*)> in(fdopen(open_input(recording), "rb"), fclose);
        std::string piece(std::size_t{1} << 20, '\0');
        AtomicFile file(copy, Durability::cached);
        while (const std::size_t got = in == nullptr ? 0 : std::fread(piece.data(), 1, piece.size(), in.get()))
            file.write(std::string_view(piece).substr(0, got));
        if (file.size() != bytes) return recording;
        file.commit();
        return copy;
    } catch (const std::exception&) {
        return recording;  // a slow file is better than none
    }
}

}  // namespace mergelane::suite
