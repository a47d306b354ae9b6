// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>
#include <utility>

#include "core/error.hpp"
#include "files/atomic_file.hpp"
#include "runs/store.hpp"

namespace mergelane::study {

namespace fs = std::filesystem;

Store::Store(fs::path directory, std::string label) : directory_(std::move(directory)), label_(std::move(label)) {
    std::error_code problem;
    fs::create_directories(directory_, problem);
    if (access(directory_.c_str(), W_OK | X_OK) != 0)
        throw InputError(fmt::format("cannot keep results in '{}' ({}); choose another directory with --store", directory_.string(),
                                     std::strerror(errno)));
}

Store::~Store() {
    if (fd_ >= 0) close(fd_);
}

void Store::open_file() {
    char host[128] = "host";
    if (gethostname(host, sizeof host - 1) != 0) std::strcpy(host, "host");
    // Never a name that was used before: a merged file may say that it holds the first bytes of it.
    std::random_device random;
    while (fd_ < 0) {
        file_ = directory_ / fmt::format("{}{}.{}.{:08x}{:08x}{}", label_, host, getpid(), random(), random(), kPlainSuffix);
        fd_ = open(file_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
        if (fd_ < 0 && errno != EEXIST)
            throw InputError(fmt::format("cannot write '{}': {}; check disk space and permissions", file_.string(), std::strerror(errno)));
    }
}

/// By someone who merged the store and thought that nobody was at work. Its name goes first, see remove_merged_parts().
bool Store::removed() const {
    struct stat ours {
    }, named{};
    return fstat(fd_, &ours) != 0 || stat(file_.c_str(), &named) != 0 || ours.st_ino != named.st_ino;
}

void Store::sync() {
    if (fd_ >= 0 && (fsync(fd_) != 0 || !sync_folder(file_) || !sync_folder(directory_)))
        throw InputError(fmt::format("cannot write '{}': {}; some of it may be lost; free disk space and repeat the command",
                                     file_.string(), std::strerror(errno)));
}

void Store::append_line(std::string_view line) {
    check_length(line.size(), directory_);
    if (fd_ >= 0 && removed()) close(std::exchange(fd_, -1));
    if (fd_ < 0) open_file();
    write_whole(fd_, line, file_);
    if (!removed()) return;
    close(std::exchange(fd_, -1));
    open_file();
    write_whole(fd_, line, file_);
}

}  // namespace mergelane::study
