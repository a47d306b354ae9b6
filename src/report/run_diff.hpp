// SPDX-License-Identifier: MIT
// `mergelane diff`: differences between two results of `run --json` or `cuda --json`, largest effect first.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "report/loose_json.hpp"

namespace mergelane {

/// No result is larger. A run with 100,000 kernels writes about 600 MB.
inline constexpr std::size_t kMostResultBytes = std::size_t{1} << 30;

/// What a difference needs of a result; the rest is skipped, not kept. `file` stands for it in messages. Throws InputError for a text that
/// is not such a result, or one that would take absurdly much memory.
report::Json read_run(std::string_view text, const std::string& file);

/// A configuration key as the two runs have it; empty: it has none.
struct ChangedKey {
    std::string key, a, b;
};

struct ChangedNumber {
    std::string name, unit;
    double a = 0, b = 0;
    /// Size of the change: as a share of the cycles, slots or load latency of A, or of the largest counter with the same unit.
    double effect = 0;
    /// Of sampled runs: half-widths of the 95 % intervals of a and b; none known: 0.
    double width_a = 0, width_b = 0;
    double change() const { return b - a; }
    bool has_interval() const { return width_a > 0 || width_b > 0; }
    /// Of the change, and of the quotient b / a, as if the errors of both were independent: runs that draw the same launches differ by
    /// less.
    double change_width() const;
    double ratio_width() const;
};

/// Numbers that are compared with each other, those with the largest effect first.
struct ChangedGroup {
    std::string id, title;
    std::vector<ChangedNumber> numbers;
    std::size_t small = 0;  ///< of them, at the end: an effect below kSmallEffect
};
inline constexpr double kSmallEffect = 0.01;

struct RunDiff {
    struct Side {
        std::string file, version, gpu, workload, config_hash, digest;
    };
    Side a, b;
    std::vector<std::string> notes;  ///< why the runs may not be comparable, as sentences
    std::vector<ChangedKey> configuration;
    std::vector<ChangedGroup> groups;  ///< time first; only those that changed
    bool identical = false;            ///< equal digests: no counter of any component differs
};

RunDiff diff_runs(const report::Json& a, const std::string& file_a, const report::Json& b, const std::string& file_b);

/// `all`: small differences, too.
std::string to_text(const RunDiff& diff, bool all);
std::string to_json(const RunDiff& diff, bool all);

}  // namespace mergelane
