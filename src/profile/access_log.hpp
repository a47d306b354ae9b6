// SPDX-License-Identifier: MIT
// The global memory accesses of a kernel's CTAs, recorded once so that they can be replayed in any order.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/kernel.hpp"
#include "profile/add_counts.hpp"

namespace mergelane {

class AccessLog {
public:
    enum class Kind : std::uint8_t { load, store, atomic };

    /// A 128-byte line touched by a warp's access.
    class Entry {
    public:
        Entry(Addr line, std::uint32_t sectors, Kind kind, bool past_l1, std::uint32_t site)
            : bits_(line << kLineShift | std::uint64_t{site} << kSiteShift | (past_l1 ? kPast : 0) |
                    static_cast<std::uint64_t>(kind) << kKindShift | sectors) {}
        Addr line() const { return bits_ >> kLineShift; }
        /// One bit per 32-byte sector.
        std::uint32_t sectors() const { return static_cast<std::uint32_t>(bits_ & 15); }
        Kind kind() const { return static_cast<Kind>(bits_ >> kKindShift & 3); }
        bool past_l1() const { return (bits_ & kPast) != 0; }
        /// The load of the program, see sites().
        std::uint32_t site() const { return static_cast<std::uint32_t>(bits_ >> kSiteShift & 255); }
        /// The last line of a warp's access.
        bool ends() const { return (bits_ & kEnd) != 0; }
        void end() { bits_ |= kEnd; }

    private:
        static constexpr std::uint32_t kKindShift = 4;
        static constexpr std::uint64_t kEnd = 64;
        static constexpr std::uint64_t kPast = 128;
        static constexpr std::uint32_t kSiteShift = 8;
        static constexpr std::uint32_t kLineShift = 16;
        std::uint64_t bits_;
    };

    /// A load of the program.
    struct Site {
        std::uint32_t pc = 0;
        std::uint64_t sectors = 0;       ///< requested
        std::uint64_t near_sectors = 0;  ///< of those, omitted because the CTA accessed them just before
    };
    static constexpr std::uint32_t kUnknownSite = 255;  ///< all beyond the first 255

    struct Options {
        std::uint64_t most_entries = std::uint64_t{1} << 27;  ///< 1 GiB
        std::function<void(std::uint64_t done, std::uint64_t total)> progress;
    };

    /// Reads every CTA once; its warps take turns, access by access. Loads of lines that the same CTA touched just before are only counted,
    /// because every L1 holds those. Throws InputError if there are more entries than `options` allow, or a CTA does not end.
    AccessLog(const KernelSource& kernel, const Options& options);

    const KernelInfo& info() const { return info_; }
    std::uint64_t ctas() const { return begin_.size() - 1; }
    std::span<const Entry> of(std::uint64_t cta) const { return {entries_.data() + begin_[cta], entries_.data() + begin_[cta + 1]}; }
    std::span<const Entry> all() const { return entries_; }

    struct Counts {
        std::uint64_t warp_instructions = 0;
        std::uint64_t loads = 0;           ///< warp-level, of global memory
        std::uint64_t load_lines = 0;      ///< 128-byte lines of each
        std::uint64_t load_sectors = 0;    ///< 32 bytes
        std::uint64_t near_sectors = 0;    ///< of those, omitted because the CTA accessed them just before
        std::uint64_t watched = 0;         ///< loads of sampled CTAs, whose registers were tracked
        std::uint64_t found = 0;           ///< of those, loads whose address comes from memory: lists, trees, index arrays
        std::uint64_t watched_shared = 0;  ///< the same for shared memory
        std::uint64_t found_shared = 0;    ///< tables, histograms

        void add(const Counts& other) { add_counts(*this, other); }
    };
    const Counts& counts() const { return counts_; }
    const std::vector<Site>& sites() const { return sites_; }

private:
    class Recorder;

    KernelInfo info_;
    std::vector<Entry> entries_;
    std::vector<std::uint64_t> begin_;  ///< by CTA
    Counts counts_;
    std::vector<Site> sites_;
};

}  // namespace mergelane
