// SPDX-License-Identifier: MIT
// Preloaded into a program, writes down what it does to the files below a folder, in order: power.py in this folder computes from it what
// a host that loses its power at any moment would still have.
//   MERGELANE_POWER_ROOT=FOLDER  MERGELANE_POWER_LOG=FILE
// Lines: "create INODE PATH", "write INODE OFFSET HEX", "sync INODE", "names FOLDER", "rename FROM\tTO", "link FROM\tTO", "remove PATH",
// "other CALL" for what power.py does not know.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

template <typename Function>
Function next(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

std::string absolute(const char* path) {
    if (path[0] == '/') return path;
    char folder[4096];
    return getcwd(folder, sizeof folder) == nullptr ? std::string(path) : std::string(folder) + "/" + path;
}

bool below_root(const std::string& path) {
    const char* root = std::getenv("MERGELANE_POWER_ROOT");
    return root != nullptr && path.rfind(root, 0) == 0;
}

void note(const std::string& line) {
    const char* log = std::getenv("MERGELANE_POWER_LOG");
    const long file = log == nullptr ? -1 : syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file < 0) return;
    const std::string text = line + "\n";
    if (syscall(SYS_write, file, text.data(), text.size()) != static_cast<long>(text.size())) std::abort();
    syscall(SYS_close, file);
}

std::string path_of(int file) {
    char path[4096];
    const ssize_t length = readlink(("/proc/self/fd/" + std::to_string(file)).c_str(), path, sizeof path);
    return length < 0 ? "" : std::string(path, static_cast<std::size_t>(length));
}

/// Whether it is a file below the root; `number` becomes its inode.
bool is_ours(int file, std::string& number) {
    struct stat facts {};
    if (fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode) || !below_root(path_of(file))) return false;
    number = std::to_string(facts.st_ino);
    return true;
}

void note_write(int file, const char* data, ssize_t size) {
    std::string number;
    if (size <= 0 || !is_ours(file, number)) return;
    std::string line = "write " + number + " " + std::to_string(lseek(file, 0, SEEK_CUR) - size) + " ";
    for (ssize_t i = 0; i < size; ++i) {
        constexpr char kDigits[] = "0123456789abcdef";
        line += kDigits[static_cast<unsigned char>(data[i]) >> 4];
        line += kDigits[static_cast<unsigned char>(data[i]) & 15];
    }
    note(line);
}

int noted_open(int folder, const char* path, int flags, mode_t mode) {
    const int file = static_cast<int>(syscall(SYS_openat, folder, path, flags, mode));
    std::string number;
    if (file >= 0 && (flags & (O_CREAT | O_TRUNC)) != 0 && is_ours(file, number))
        note((flags & O_EXCL) != 0 ? "create " + number + " " + path_of(file) : "other open without O_EXCL " + path_of(file));
    return file;
}

int noted_pair(const char* what, const char* from, const char* to, int result) {
    if (result == 0 && below_root(absolute(to))) note(std::string(what) + " " + absolute(from) + "\t" + absolute(to));
    return result;
}

int noted_removal(const char* path, int result) {
    if (result == 0 && below_root(absolute(path))) note("remove " + absolute(path));
    return result;
}

}  // namespace

// Names and signatures are glibc's.
extern "C" {

int open(const char* path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return noted_open(AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) __attribute__((alias("open")));

ssize_t write(int file, const void* data, std::size_t size) {
    const ssize_t written = syscall(SYS_write, file, data, size);
    note_write(file, static_cast<const char*>(data), written);
    return written;
}
ssize_t writev(int file, const iovec* parts, int count) {
    std::string number;
    if (is_ours(file, number)) note("other writev " + path_of(file));
    return syscall(SYS_writev, file, parts, count);
}
int ftruncate(int file, off_t size) noexcept {
    std::string number;
    if (is_ours(file, number)) note("other ftruncate " + path_of(file));
    return static_cast<int>(syscall(SYS_ftruncate, file, size));
}
int ftruncate64(int file, off_t size) noexcept __attribute__((alias("ftruncate")));

int fsync(int file) {
    const int result = static_cast<int>(syscall(SYS_fsync, file));
    std::string number;
    struct stat facts {};
    if (result == 0 && is_ours(file, number)) note("sync " + number);
    if (result == 0 && fstat(file, &facts) == 0 && S_ISDIR(facts.st_mode)) note("names " + path_of(file));
    return result;
}

int rename(const char* from, const char* to) noexcept {
    return noted_pair("rename", from, to, static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0)));
}
int link(const char* from, const char* to) noexcept {
    return noted_pair("link", from, to, static_cast<int>(syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0)));
}
int unlink(const char* path) noexcept {
    return noted_removal(path, static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, 0)));
}
int remove(const char* path) noexcept {
    return noted_removal(path, next<int (*)(const char*)>("remove")(path));
}

}  // extern "C"
