// SPDX-License-Identifier: MIT
// A file of recorded kernels in launch order, to be replayed without executing them again.
//
// Magic, key, and per kernel: length of the head (8 bytes), head (description, instructions, lengths of the CTAs' strings), the
// strings, and a checksum of the key, the kernel's number, head and strings. A head of length 0 and the number of kernels end the file.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "files/atomic_file.hpp"
#include "workload/record/checksums.hpp"
#include "workload/record/recorded_kernel.hpp"

namespace mergelane::record {

/// Writes to a temporary name and renames at the end. Never throws: if a file cannot be written, there is no recording.
class RecordingWriter {
public:
    static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;  ///< longer recordings are not kept, unless asked for

    RecordingWriter(const std::filesystem::path& path, std::string_view key, std::uint64_t most_bytes = kMostBytes) noexcept;

    void add(const RecordedKernel& kernel) noexcept;
    /// All kernels are written: the file becomes visible to others.
    void finish() noexcept;

private:
    std::string key_;
    std::uint64_t most_bytes_;
    std::optional<AtomicFile> file_;  ///< none: nothing is kept
    std::uint64_t kernels_ = 0;
    std::uint64_t bytes_ = 0;
};

/// The data read is not the data written: the file must not be used again.
class DamagedRecording : public InputError {
public:
    using InputError::InputError;
};

class RecordingReader {
public:
    /// nullptr if there is no such file, it has a different key, it is incomplete, or much longer than `most_bytes`.
    static std::unique_ptr<RecordingReader> open(const std::filesystem::path& path, std::string_view key,
                                                 Checksums checksums = Checksums::verify,
                                                 std::uint64_t most_bytes = RecordingWriter::kMostBytes);

    /// nullptr after the last kernel. Throws DamagedRecording.
    std::unique_ptr<RecordedKernel> next();
    /// Passes over the next kernel, without checking its strings; false after the last one. Throws DamagedRecording.
    bool skip();

private:
    RecordingReader() = default;
    [[noreturn]] void damaged() const;
    bool next_head(std::string& bytes);
    /// Once the file is shorter, or cannot be read, nothing else is read.
    void read(void* to, std::size_t bytes) { good_ = good_ && std::fread(to, 1, bytes, file_.get()) == bytes; }
    std::uint64_t read_number();

    std::filesystem::path path_;
    std::string key_;
    Checksums checksums_ = Checksums::verify;
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{nullptr, std::fclose};
    bool good_ = true;
    std::uint64_t left_ = 0;  ///< bytes of kernels
    std::uint64_t kernels_ = 0;
};

}  // namespace mergelane::record
