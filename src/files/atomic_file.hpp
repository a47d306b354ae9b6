// SPDX-License-Identifier: MIT
// Files that appear under their name only when they are complete, so that no reader ever sees half of one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace mergelane {

/// Durability after a host crash. `cached` files carry checksums and can be recreated, so they are not synced.
enum class Durability { synced, cached };

/// Writes a temporary file in the target's folder and renames it. The temporary is created with a random name and never through a
/// link, is removed unless commit() succeeds, and can be told from other files if the writer dies (remove_leftovers). Everything
/// throws InputError when the file cannot be written.
class AtomicFile {
public:
    explicit AtomicFile(std::filesystem::path path, Durability durability = Durability::synced);
    ~AtomicFile();
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    void write(std::string_view bytes);
    /// Passes the bytes to the operating system.
    void flush();
    std::uint64_t size() const { return size_; }
    const std::filesystem::path& path() const { return path_; }
    /// For libraries that open files by name; they must be done with it before commit().
    const std::filesystem::path& temporary() const { return temporary_; }

    /// For a process that must end at once: removes the temporaries of all of its files.
    static void discard_all() noexcept;

    /// Renames the file to its final name, replacing an existing file.
    void commit() { publish(true); }
    /// The same unless the file exists: one of several writers wins. Returns whether this one did.
    bool commit_new() { return publish(false); }

private:
    bool publish(bool replace);
    void write_through(std::string_view bytes);
    void discard() noexcept;
    void enlist(bool open) noexcept;
    [[noreturn]] void fail(int reason);

    std::filesystem::path path_, temporary_;
    std::string buffer_;
    std::uint64_t size_ = 0;
    pid_t writer_;  ///< a forked copy of this object must not touch the file
    int file_ = -1;
    mode_t mode_ = 0;  ///< of the user's own file that is replaced; 0: there is none
    Durability durability_;
};

/// Throws InputError with the remedy. `reason`: a value of errno.
[[noreturn]] void cannot_write(const std::filesystem::path& path, int reason);

/// Gives a complete file its name, in the same file system; both survive a crash of the host afterwards.
void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);

/// The names in the folder of `path` survive a crash of the host. False, with errno: they may not.
bool sync_folder(const std::filesystem::path& path);

/// Whether the name is one that AtomicFile gives to temporaries.
bool is_temporary(const std::filesystem::path& path);
/// Removes the temporaries of dead writers from a folder: of this host those whose process is gone, of others those untouched for a
/// day. Files with other names, and whatever is not a regular file, stay. Returns how many.
std::size_t remove_leftovers(const std::filesystem::path& folder) noexcept;

}  // namespace mergelane
