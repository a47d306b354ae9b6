// SPDX-License-Identifier: MIT
// Preloaded into a program, makes one of its calls fail: run.py in this folder fails every call of every command in turn.
//   MERGELANE_FAULT=CLASS:N    the N-th call of this class fails, counted from main(); CLASS:N+ that one and all later ones
//   MERGELANE_FAULT_COUNTS=F   at its end the process writes how many calls of each class it made
// Processes that it starts are left alone. The classes are in kClasses. What glibc calls internally is out of reach, so stdio streams and
// the heap are intercepted where they begin.
// A process that replaces itself (`mergelane cuda`) goes on counting in the new program, from its constructors to the destructors of its
// libraries: the CUDA runtime is told of the kernels before main() and writes its result after it. Who called malloc cannot be told apart,
// because our library allocates through libstdc++ as the program does; therefore run.py starts a program that allocates nothing itself,
// and all that fails there is ours. The program's standard output is its own and is left alone.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {

enum Class { kOpen, kWrite, kSync, kRename, kClose, kMap, kAlloc, kNumClasses };
struct ClassInfo {
    const char* name;
    int error;
};
constexpr ClassInfo kClasses[kNumClasses] = {{"open", EMFILE}, {"write", ENOSPC}, {"fsync", EIO},   {"rename", EACCES},
                                             {"close", EIO},   {"mmap", ENOMEM},  {"alloc", ENOMEM}};

std::atomic<bool> active{false};
std::atomic<std::uint64_t> calls[kNumClasses];
int failing = -1;
std::uint64_t fail_at = 0;
bool fail_later = false;
int counts_file = -1;
constexpr const char* kCarried = "MERGELANE_FAULT_CALLS";  ///< calls before execv(), in the order of kClasses
char preloaded[4096], counts_name[4096];                   ///< what execv() passes on

/// While it exists, allocations of this thread succeed: in calls that end the process without them, and that are not ours.
struct Spared {
    static __thread bool now;
    Spared() { now = true; }
    ~Spared() { now = false; }
};
__thread bool Spared::now = false;

/// Whether this call is to fail; errno then says why.
bool fails(Class kind) {
    if (!active.load(std::memory_order_relaxed) || Spared::now) return false;
    const std::uint64_t n = ++calls[kind];
    if (kind != failing || (fail_later ? n < fail_at : n != fail_at)) return false;
    errno = kClasses[kind].error;
    return true;
}

void write_counts() {
    active = false;
    char text[400];
    int length = 0;
    for (int i = 0; i < kNumClasses; ++i)
        length +=
            std::snprintf(text + length, sizeof text - length, "%s %lu\n", kClasses[i].name, static_cast<unsigned long>(calls[i].load()));
    if (counts_file >= 0) syscall(SYS_write, counts_file, text, length);
}

/// Text of the environment that is needed after it is gone from there.
void keep(const char* name, char (&text)[4096]) {
    const char* const value = std::getenv(name);
    std::snprintf(text, sizeof text, "%s", value == nullptr ? "" : value);
}

void read_settings() {
    keep("LD_PRELOAD", preloaded);
    keep("MERGELANE_FAULT_COUNTS", counts_name);
    if (const char* carried = std::getenv(kCarried)) {
        char* at = const_cast<char*>(carried);
        for (std::atomic<std::uint64_t>& count : calls) count = std::strtoull(at, &at, 10);
    }
    if (const char* fault = std::getenv("MERGELANE_FAULT")) {
        const char* colon = std::strchr(fault, ':');
        for (int i = 0; colon != nullptr && i < kNumClasses; ++i) {
            if (std::strncmp(fault, kClasses[i].name, static_cast<std::size_t>(colon - fault)) == 0) failing = i;
        }
        if (colon != nullptr) fail_at = std::strtoull(colon + 1, nullptr, 10);
        fail_later = fault[std::strlen(fault) - 1] == '+';
    }
    if (const char* file = std::getenv("MERGELANE_FAULT_COUNTS")) {
        // Far from the numbers the program gets.
        const int low = static_cast<int>(syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
        counts_file = static_cast<int>(syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, 200));
        syscall(SYS_close, low);
    }
    for (const char* name : {"LD_PRELOAD", "MERGELANE_FAULT_COUNTS", kCarried}) unsetenv(name);
}

void pass_settings_on() {
    char text[200];
    int length = 0;
    for (const std::atomic<std::uint64_t>& count : calls)
        length += std::snprintf(text + length, sizeof text - length, "%lu ", static_cast<unsigned long>(count.load()));
    setenv(kCarried, text, 1);
    setenv("LD_PRELOAD", preloaded, 1);
    if (counts_name[0] != '\0') setenv("MERGELANE_FAULT_COUNTS", counts_name, 1);
}

ssize_t write_to_stdout(void*, const char* text, std::size_t size) {
    const ssize_t written = write(STDOUT_FILENO, text, size);
    return written < 0 ? 0 : written;  // a cookie reports an error by 0
}

using Main = int (*)(int, char**, char**);
Main real_main = nullptr;

int counted_main(int argc, char** argv, char** environment) {
    read_settings();
    stdout = fopencookie(nullptr, "w", {nullptr, write_to_stdout, nullptr, nullptr});
    std::atexit(write_counts);
    active = true;
    return real_main(argc, argv, environment);
}

template <typename Function>
Function next(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

/// `arguments`: the mode, where a file may be created.
int open_file(int folder, const char* path, int flags, va_list arguments) {
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
    return fails(kOpen) ? -1 : static_cast<int>(syscall(SYS_openat, folder, path, flags, mode));
}

}  // namespace

// Names and signatures are glibc's.
extern "C" {

int __libc_start_main(Main main, int argc, char** argv, void (*init)(), void (*fini)(), void (*rtld_fini)(), void* stack_end) {
    real_main = main;
    using Start = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
    const auto start = next<Start>("__libc_start_main");
    if (std::getenv(kCarried) == nullptr) return start(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
    read_settings();
    on_exit([](int, void*) { write_counts(); }, nullptr);  // the first to be registered is the last to be called
    active = true;
    return start(main, argc, argv, init, fini, rtld_fini, stack_end);
}

int execv(const char* path, char* const* words) noexcept {
    active = false;
    pass_settings_on();
    next<int (*)(const char*, char* const*)>("execv")(path, words);
    for (const char* name : {"LD_PRELOAD", "MERGELANE_FAULT_COUNTS", kCarried}) unsetenv(name);
    active = true;
    return -1;
}

int openat(int folder, const char* path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const int file = open_file(folder, path, flags, arguments);
    va_end(arguments);
    return file;
}
int open(const char* path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const int file = open_file(AT_FDCWD, path, flags, arguments);
    va_end(arguments);
    return file;
}
int open64(const char* path, int flags, ...) __attribute__((alias("open")));
int openat64(int folder, const char* path, int flags, ...) __attribute__((alias("openat")));
FILE* fopen(const char* path, const char* mode) {
    return fails(kOpen) ? nullptr : next<FILE* (*)(const char*, const char*)>("fopen")(path, mode);
}
FILE* fopen64(const char* path, const char* mode) __attribute__((alias("fopen")));

ssize_t write(int file, const void* data, std::size_t size) {
    return fails(kWrite) ? -1 : syscall(SYS_write, file, data, size);
}
ssize_t writev(int file, const iovec* parts, int count) {
    return fails(kWrite) ? -1 : syscall(SYS_writev, file, parts, count);
}
ssize_t pwrite(int file, const void* data, std::size_t size, off_t at) {
    return fails(kWrite) ? -1 : syscall(SYS_pwrite64, file, data, size, at);
}
ssize_t pwrite64(int file, const void* data, std::size_t size, off_t at) __attribute__((alias("pwrite")));
int ftruncate(int file, off_t size) noexcept {
    return fails(kWrite) ? -1 : static_cast<int>(syscall(SYS_ftruncate, file, size));
}
int ftruncate64(int file, off_t size) noexcept __attribute__((alias("ftruncate")));

int fsync(int file) {
    return fails(kSync) ? -1 : static_cast<int>(syscall(SYS_fsync, file));
}
int fdatasync(int file) {
    return fails(kSync) ? -1 : static_cast<int>(syscall(SYS_fdatasync, file));
}

int rename(const char* from, const char* to) noexcept {
    return fails(kRename) ? -1 : static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int link(const char* from, const char* to) noexcept {
    return fails(kRename) ? -1 : static_cast<int>(syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0));
}

int close(int file) {
    const long closed = syscall(SYS_close, file);  // a failing close() has closed
    return fails(kClose) ? -1 : static_cast<int>(closed);
}
int fclose(FILE* file) {
    const int closed = next<int (*)(FILE*)>("fclose")(file);
    return fails(kClose) ? EOF : closed;
}

void* mmap(void* address, std::size_t size, int protection, int flags, int file, off_t at) noexcept {
    if (fails(kMap)) return MAP_FAILED;
    return reinterpret_cast<void*>(syscall(SYS_mmap, address, size, protection, flags, file, at));
}
void* mmap64(void* address, std::size_t size, int protection, int flags, int file, off_t at) noexcept __attribute__((alias("mmap")));

/// libzstd 1.5 uses the dictionary it could not allocate.
void* ZSTD_createCDict(const void* bytes, std::size_t size, int level) {
    const Spared spared;
    return next<void* (*)(const void*, std::size_t, int)>("ZSTD_createCDict")(bytes, size, level);
}
/// glibc aborts when it cannot remember what to destroy at the end of a thread.
int __cxa_thread_atexit_impl(void (*destroy)(void*), void* object, void* library) {
    const Spared spared;
    return next<int (*)(void (*)(void*), void*, void*)>("__cxa_thread_atexit_impl")(destroy, object, library);
}

void* malloc(std::size_t size) {
    return fails(kAlloc) ? nullptr : __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
    return fails(kAlloc) ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) {
    return fails(kAlloc) ? nullptr : __libc_realloc(old, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
    return fails(kAlloc) ? nullptr : __libc_memalign(alignment, size);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
    void* memory = fails(kAlloc) ? nullptr : __libc_memalign(alignment, size);
    if (memory == nullptr) return ENOMEM;
    *out = memory;
    return 0;
}

}  // extern "C"
