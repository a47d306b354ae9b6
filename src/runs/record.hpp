// SPDX-License-Identifier: MIT
// The record of one run and its codec: a line of JSON that ends with a checksum of itself.
//
//   {"schema":N,"key":K,"status":"done","gpu":..,"overrides":[..],"workload":..,"size":..,"seed":N,"kernels":..,"seconds":N,
//    "version":..,"model":N,"config_hash":..,"digest":..,"cycles":N,"warp_instructions":N,"stats":{..},"highest":{..},
//    "launched":[[name,cycles,warp_instructions],..],"sum":CHECKSUM}
//
// "kernels" is present if only some ran. A sampled run has "sample":OPTIONS after it, and "sampled":{..},"half_widths":{..} after
// "launched", which is empty: programs that do not know these members refuse the line instead of taking estimates for counts. A failed run
// has "message" in place of what follows "seconds". The checksum makes any other line unlikely, so members are read in this order and no
// other.
#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/result.hpp"
#include "runs/plan.hpp"

namespace mergelane::study {

struct KernelRecord {
    std::string name;
    std::uint64_t cycles = 0;
    std::uint64_t warp_instructions = 0;
};

/// Of a sampled run, whose counters are estimates: what stands behind them, by the names that 'run --json' has for it, with the estimate of
/// "kernel_cycles"; and half-widths of 95 % intervals: of "cycles", "sample.kernel_cycles" and statistics, none if the method states none.
struct SampleRecord {
    std::map<std::string, std::uint64_t> facts;
    std::map<std::string, double> half_widths;
    bool operator==(const SampleRecord&) const = default;
};

/// The result of one simulation, or the reason why there is none.
struct RunRecord {
    std::string key;
    RunSpec spec;
    bool done = false;
    std::string message;  ///< of a failed run
    // The same whenever and wherever it runs:
    std::uint32_t model = 0;
    std::string version;
    std::string config_hash;
    std::string digest;
    std::uint64_t cycles = 0;
    std::uint64_t warp_instructions = 0;
    std::map<std::string, std::uint64_t> stats;
    std::map<std::string, std::uint64_t> highest;  ///< maximum over components, by statistic
    std::vector<KernelRecord> kernels;             ///< in the order they ran; none of a sampled run
    SampleRecord sample;
    // May differ:
    double seconds = 0;  ///< of CPU time

    /// Throws InputError for a statistic that the run did not count.
    std::uint64_t stat(const std::string& name) const;
    bool has_stat(const std::string& name) const { return stats.contains(name); }
    bool sampled() const { return !spec.sample.empty(); }
    /// Of the 95 % interval of a name of SampleRecord; 0 for a run that is not sampled; nothing if it is unknown.
    std::optional<double> half_width(const std::string& name) const;
    /// For energy, which follows from statistics and configuration alone, so it is computed when asked for and not kept with the run.
    std::vector<StatValue> counted() const;
    /// Without launch overhead, estimated if sampled; nothing when the record does not list its kernels.
    std::optional<std::uint64_t> kernel_cycles() const;
    /// Same simulation, same result. One of the two may come from a version with more statistics.
    bool agrees_with(const RunRecord& other) const;
};

/// With its newline.
std::string to_line(const RunRecord& record);

/// A line, verified and split without copying; texts are as written, escapes included. Valid as long as the line.
class RecordLine {
public:
    struct Result {
        std::string_view version, config_hash, digest, stats, highest, launched;
        std::string_view sampled, half_widths;  ///< of a sampled run
        std::uint64_t model = 0, cycles = 0, warp_instructions = 0;
    };

    /// Nothing unless the line is a record of this schema and its checksum is right. `line` may have its newline. Records of schema 2 had
    /// no checksum at first.
    static std::optional<RecordLine> parse(std::string_view line, int schema = kSchema);

    std::string_view key() const { return key_; }
    std::string_view gpu() const { return gpu_; }
    std::string_view overrides() const { return overrides_; }  ///< a JSON array
    std::string_view workload() const { return workload_; }
    std::string_view size() const { return size_; }
    std::string_view kernels() const { return kernels_; }
    std::string_view sample() const { return sample_; }  ///< empty unless sampled
    std::uint64_t seed() const { return seed_; }
    bool done() const { return done_; }
    double seconds() const { return seconds_; }
    /// Hash of what must be the same in all records of a run.
    std::uint64_t outcome() const;
    /// Of a finished run; nothing when the members are not what they should be.
    std::optional<Result> result() const;
    /// The same, for whoever reads all numbers: those of `stats`, `highest`, `sampled` and `half_widths` were not looked at.
    std::optional<Result> unchecked_result() const;
    std::optional<RunRecord> record() const;

    /// `use(name, value)` for every member of an object of counters.
    template <typename Use>
    static bool each_counter(std::string_view object, const Use& use) {
        return each_number<std::uint64_t>(object, use);
    }
    /// The same for any numbers of at least 0.
    template <typename Number, typename Use>
    static bool each_number(std::string_view object, const Use& use);

private:
    std::string_view key_, gpu_, overrides_, workload_, size_, kernels_, sample_, rest_;
    std::uint64_t seed_ = 0;
    double seconds_ = 0;
    bool done_ = false;
};

/// The whole record, if the line is one of this schema.
std::optional<RunRecord> from_line(std::string_view line);

/// What a line without its checksum ends with.
std::string checksum_member(std::string_view line);
/// Of an earlier schema: 'mergelane store convert' reads it, nothing else.
bool is_schema2(std::string_view line);

template <typename Number, typename Use>
bool RecordLine::each_number(std::string_view object, const Use& use) {
    if (object == "{}") return true;
    const char* at = object.data();
    const char* const end = at + object.size();
    while (at < end && (*at == '{' || *at == ',') && ++at < end && *at == '"') {
        const std::string_view rest(at + 1, static_cast<std::size_t>(end - at - 1));
        const std::size_t quote = rest.find('"');
        if (quote == std::string_view::npos || quote + 1 >= rest.size() || rest[quote + 1] != ':') return false;
        Number value = 0;
        const auto [next, problem] = std::from_chars(rest.data() + quote + 2, end, value);
        if (problem != std::errc{}) return false;
        if constexpr (std::is_floating_point_v<Number>) {
            if (!(value >= 0 && value <= std::numeric_limits<Number>::max())) return false;
        }
        use(rest.substr(0, quote), value);
        at = next;
    }
    return at + 1 == end && *at == '}';
}

}  // namespace mergelane::study
