// SPDX-License-Identifier: MIT
#include "files/input_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/error.hpp"

namespace mergelane {

int open_input(const std::filesystem::path& path, std::string& problem, std::uint64_t* bytes) {
    // Not blocking, so that a pipe given by mistake is refused instead of waited for.
    const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat status {};
    if (file < 0 || ::fstat(file, &status) != 0) {
        problem = errno == ENOENT ? "no such file; check the path"
                                  : fmt::format("cannot be read ({}); check the path and its permissions", std::strerror(errno));
    } else if (!S_ISREG(status.st_mode)) {
        problem = S_ISDIR(status.st_mode) ? "is a directory; give a file in it" : "is not a regular file; give one, or a copy";
        errno = EINVAL;
    } else {
        if (bytes != nullptr) *bytes = static_cast<std::uint64_t>(status.st_size);
        return file;
    }
    if (file >= 0) ::close(file);
    return -1;
}

int open_input(const std::filesystem::path& path, std::uint64_t* bytes) {
    std::string problem;
    const int file = open_input(path, problem, bytes);
    if (file < 0) throw InputError(fmt::format("{}: {}", path.string(), problem));
    return file;
}

std::size_t read_at(int file, std::uint64_t offset, char* to, std::size_t bytes, const std::string& name) {
    std::size_t done = 0;
    while (done < bytes) {
        const ssize_t got = ::pread(file, to + done, bytes - done, static_cast<off_t>(offset + done));
        if (got == 0) break;
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw InputError(fmt::format("{}: cannot be read: {}", name, std::strerror(errno)));
        done += static_cast<std::size_t>(got);
    }
    return done;
}

std::optional<std::string> read_input(const std::filesystem::path& path, std::uint64_t most, std::string& problem) {
    std::uint64_t bytes = 0;
    const int file = open_input(path, problem, &bytes);
    if (file < 0) return std::nullopt;
    // Reads past the limit, if only to show that it is passed. Files of /proc state no size, and some cannot be read.
    std::array<char, 16384> chunk;
    std::string text;
    text.reserve(std::min(bytes, most + chunk.size()));
    ssize_t got = 0;
    while (text.size() <= most && (got = ::read(file, chunk.data(), chunk.size())) > 0)
        text.append(chunk.data(), static_cast<std::size_t>(got));
    if (got < 0) problem = fmt::format("cannot be read ({}); check the file", std::strerror(errno));
    ::close(file);
    if (got < 0) return std::nullopt;
    return text;
}

std::string read_input(const std::filesystem::path& path, std::uint64_t most) {
    std::string problem;
    std::optional<std::string> text = read_input(path, most, problem);
    if (text && text->size() > most) problem = fmt::format("has more than {} MiB; is it the right file?", most >> 20);
    if (!problem.empty()) throw InputError(fmt::format("{}: {}", path.string(), problem));
    return std::move(*text);
}

}  // namespace mergelane
