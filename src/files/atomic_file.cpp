// SPDX-License-Identifier: MIT
#include "files/atomic_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <utility>

#include "core/error.hpp"

namespace mergelane {

namespace fs = std::filesystem;

namespace {

std::array<std::atomic<AtomicFile*>, 64> open_files{};  ///< of this process

constexpr std::string_view kSuffix = ".unfinished";
constexpr std::size_t kBuffer = std::size_t{1} << 16;
constexpr std::size_t kMostOfName = 100;  ///< a file's name may be almost as long as the file system allows
constexpr int kTries = 16;

/// Process numbers are the same on other hosts that share the folder.
std::string host_name() {
    char name[65] = {};
    return gethostname(name, sizeof name - 1) == 0 && name[0] != '\0' ? name : "host";
}

/// ".NAME.HOST-PROCESS-RANDOM.unfinished"
fs::path temporary_name(const fs::path& path) {
    std::random_device random;
    return path.parent_path() / fmt::format(".{}.{}-{}-{:08x}{:08x}{}", path.filename().string().substr(0, kMostOfName), host_name(),
                                            getpid(), random(), random(), kSuffix);
}

fs::path folder_of(const fs::path& path) {
    return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

/// The process in a name of the form of temporary_name(), 0 if it has another; `owner` becomes ".NAME.HOST".
pid_t writer_of(std::string_view name, std::string_view& owner) {
    constexpr std::size_t kEnd = 1 + 16 + kSuffix.size();
    if (!name.starts_with('.') || !name.ends_with(kSuffix) || name.size() <= kEnd) return 0;
    const std::string_view random = name.substr(name.size() - kEnd, 17);
    name.remove_suffix(kEnd);
    owner = name.substr(0, name.rfind('-'));
    const char* const end = name.data() + name.size();
    pid_t process = 0;
    if (owner.rfind('.') == 0 || owner.size() == name.size() || std::from_chars(owner.data() + owner.size() + 1, end, process).ptr != end)
        return 0;
    return random.starts_with('-') && random.find_first_not_of("0123456789abcdef", 1) == std::string_view::npos ? process : 0;
}

}  // namespace

bool sync_folder(const fs::path& path) {
    const int folder = open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return errno == EACCES;                                         // a folder that may be written but not read
    const bool synced = fsync(folder) == 0 || errno == EINVAL || errno == ENOTSUP;  // some file systems cannot, and need not
    close(folder);
    return synced;
}

void cannot_write(const fs::path& path, int reason) {
    throw InputError(fmt::format("cannot write '{}': {}; check that its directory exists, is writable and has free space", path.string(),
                                 std::strerror(reason)));
}

AtomicFile::AtomicFile(fs::path path, Durability durability) : path_(std::move(path)), writer_(getpid()), durability_(durability) {
    if (durability == Durability::synced) remove_leftovers(folder_of(path_));  // caches are cleaned by who limits them
    struct stat before {};
    if (lstat(path_.c_str(), &before) == 0 && S_ISREG(before.st_mode) && before.st_uid == geteuid()) mode_ = before.st_mode & 0777;
    for (int tries = 0; file_ < 0 && tries < kTries; ++tries) {
        temporary_ = temporary_name(path_);
        file_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode_ == 0 ? 0666 : mode_ | 0600);
        if (file_ < 0 && errno != EEXIST) break;
    }
    if (file_ < 0) fail(errno);
    enlist(true);
}

/// Adds the file to the list of discard_all(), or removes it; needs neither memory nor locks. If the list is full, the temporary stays.
void AtomicFile::enlist(bool open) noexcept {
    for (std::atomic<AtomicFile*>& place : open_files) {
        AtomicFile* before = open ? nullptr : this;
        if (place.compare_exchange_strong(before, open ? this : nullptr)) return;
    }
}

void AtomicFile::discard_all() noexcept {
    for (std::atomic<AtomicFile*>& place : open_files) {
        if (AtomicFile* const file = place; file != nullptr) file->discard();
    }
}

AtomicFile::~AtomicFile() {
    if (file_ >= 0) discard();
}

void AtomicFile::discard() noexcept {
    enlist(false);
    close(std::exchange(file_, -1));
    if (writer_ == getpid()) unlink(temporary_.c_str());
}

void AtomicFile::fail(int reason) {
    if (file_ >= 0) discard();
    cannot_write(path_, reason);
}

void AtomicFile::write(std::string_view bytes) {
    size_ += bytes.size();
    if (buffer_.size() + bytes.size() >= kBuffer) flush();
    bytes.size() >= kBuffer ? write_through(bytes) : static_cast<void>(buffer_.append(bytes));
}

void AtomicFile::flush() {
    write_through(buffer_);
    buffer_.clear();
}

void AtomicFile::write_through(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(file_, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) fail(written < 0 ? errno : ENOSPC);
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

bool AtomicFile::publish(bool replace) {
    flush();
    if (durability_ == Durability::synced && fsync(file_) != 0) fail(errno);
    if (mode_ != 0) fchmod(file_, mode_);  // some file systems have no modes
    // Network file systems report on closing what they could not write.
    const bool closed = close(std::exchange(file_, -1)) == 0;
    const bool named = closed && (replace ? rename(temporary_.c_str(), path_.c_str()) : link(temporary_.c_str(), path_.c_str())) == 0;
    const int reason = errno;
    enlist(false);
    if (!named || !replace) unlink(temporary_.c_str());
    if (!named && (!closed || replace || reason != EEXIST)) cannot_write(path_, reason);
    if (named && durability_ == Durability::synced && !sync_folder(path_)) cannot_write(path_, errno);
    return named;
}

void rename_durably(const fs::path& from, const fs::path& to) {
    const int file = open(from.c_str(), O_RDONLY | O_CLOEXEC);
    const bool synced = file >= 0 && fsync(file) == 0;
    const int reason = errno;
    if (file >= 0) close(file);
    if (!synced) cannot_write(to, reason);
    if (rename(from.c_str(), to.c_str()) != 0 || !sync_folder(to)) cannot_write(to, errno);
}

bool is_temporary(const fs::path& path) {
    std::string_view owner;
    return writer_of(path.filename().string(), owner) > 0;
}

std::size_t remove_leftovers(const fs::path& folder) noexcept try {
    std::size_t removed = 0;
    // Not with std::filesystem, whose iterator ends the process when there is no memory.
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), closedir);
    while (const dirent* const entry = entries == nullptr ? nullptr : readdir(entries.get())) {
        std::string_view owner;
        const pid_t process = writer_of(entry->d_name, owner);
        struct stat facts {};
        if (process <= 0 || fstatat(dirfd(entries.get()), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(facts.st_mode))
            continue;
        const auto untouched = std::chrono::system_clock::now() - std::chrono::system_clock::from_time_t(facts.st_mtime);
        // Processes of a container may have this host's name without being seen: who writes, touches the file.
        const bool here = owner.ends_with("." + host_name());
        const bool dead =
            here ? untouched > std::chrono::minutes(10) && kill(process, 0) != 0 && errno == ESRCH : untouched > std::chrono::hours(24);
        if (dead && unlinkat(dirfd(entries.get()), entry->d_name, 0) == 0) ++removed;
    }
    return removed;
} catch (...) {
    return 0;  // who cleans up must not fail for it
}

}  // namespace mergelane
