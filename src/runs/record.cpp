// SPDX-License-Identifier: MIT
#include "runs/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/result.hpp"
#include "runs/json_number.hpp"

namespace mergelane::study {

namespace {

using RecordJson = nlohmann::ordered_json;

constexpr std::string_view kSumMark = ",\"sum\":\"";
constexpr std::size_t kSumDigits = 16;
constexpr std::size_t kSumLength = kSumMark.size() + kSumDigits + 2;

std::string checksum(std::string_view text) {
    return hash_text(text).substr(0, kSumDigits);
}

bool has_sum(std::string_view line) {
    return line.size() > kSumLength && line.ends_with("\"}") && line.substr(line.size() - kSumLength).starts_with(kSumMark);
}

/// Reads a line from left to right; once something else is found than expected, nothing more is.
class Cursor {
public:
    explicit Cursor(std::string_view text) : left_(text) {}
    bool good() const { return good_; }
    std::string_view left() const { return left_; }

    bool skip(std::string_view expected) {
        if (!good_ || !left_.starts_with(expected)) return false;
        left_.remove_prefix(expected.size());
        return true;
    }
    void need(std::string_view expected) { good_ = skip(expected); }
    /// Without its quotes, with its escapes.
    std::string_view text(std::string_view name) {
        need(name);
        need("\"");
        std::size_t end = left_.find('"');
        while (end != std::string_view::npos && escaped(end)) end = left_.find('"', end + 1);
        const std::string_view value = take(end);
        need("\"");
        return value;
    }
    template <typename Number>
    Number number(std::string_view name) {
        need(name);
        Number value{};
        if (!good_) return value;
        const auto [end, problem] = std::from_chars(left_.data(), left_.data() + left_.size(), value);
        good_ = problem == std::errc{} && std::isfinite(static_cast<double>(value));
        if (good_) left_.remove_prefix(static_cast<std::size_t>(end - left_.data()));
        return value;
    }
    /// An object of counters; no name has an escape, so its first brace ends it.
    std::string_view counters(std::string_view name) {
        need(name);
        const std::size_t end = left_.find('}');
        return take(end == std::string_view::npos ? end : end + 1);
    }
    /// An array, texts of which may have any character.
    std::string_view array(std::string_view name) {
        need(name);
        std::size_t depth = 0;
        for (std::size_t at = 0; good_ && at < left_.size(); ++at) {
            if (left_[at] == '"') {
                do at = left_.find('"', at + 1);
                while (at != std::string_view::npos && escaped(at));
                if (at == std::string_view::npos) break;
            } else if (left_[at] == '[') {
                ++depth;
            } else if (left_[at] == ']' && --depth == 0) {
                return take(at + 1);
            }
            if (depth == 0) break;
        }
        return take(std::string_view::npos);
    }

private:
    std::string_view take(std::size_t length) {
        good_ = good_ && length != std::string_view::npos;
        if (!good_) return {};
        const std::string_view value = left_.substr(0, length);
        left_.remove_prefix(length);
        return value;
    }
    bool escaped(std::size_t at) const {
        std::size_t backslashes = 0;
        while (backslashes < at && left_[at - backslashes - 1] == '\\') ++backslashes;
        return backslashes % 2 != 0;
    }

    std::string_view left_;
    bool good_ = true;
};

/// Throws what the library throws for texts that are none.
std::string plain(std::string_view written) {
    if (written.find('\\') == std::string_view::npos) return std::string(written);
    return RecordJson::parse(fmt::format("\"{}\"", written)).get<std::string>();
}

std::map<std::string, std::uint64_t> counters_of(std::string_view object, bool& good) {
    std::map<std::string, std::uint64_t> map;
    good =
        RecordLine::each_counter(object, [&](std::string_view name, std::uint64_t value) { map.emplace_hint(map.end(), name, value); }) &&
        good;
    return map;
}

}  // namespace

std::optional<std::uint64_t> RunRecord::kernel_cycles() const {
    if (kernels.empty() && cycles != 0) return std::nullopt;
    std::uint64_t sum = 0;
    for (const KernelRecord& kernel : kernels) sum += kernel.cycles;
    return sum;
}

std::uint64_t RunRecord::stat(const std::string& name) const {
    if (const auto at = stats.find(name); at != stats.end()) return at->second;
    std::vector<std::string_view> known;
    for (const auto& [counted, value] : stats) known.push_back(counted);
    throw InputError(fmt::format("{} on {}: {}", spec.workload, spec.gpu, unknown_statistic(name, known)));
}

bool RunRecord::agrees_with(const RunRecord& other) const {
    const auto counts_the_same = [&other](const auto& stat) {
        const auto at = other.stats.find(stat.first);
        return at == other.stats.end() || at->second == stat.second;
    };
    return key == other.key && model == other.model && config_hash == other.config_hash && cycles == other.cycles &&
           warp_instructions == other.warp_instructions && std::all_of(stats.begin(), stats.end(), counts_the_same) &&
           (stats.size() != other.stats.size() || digest == other.digest);
}

std::string checksum_member(std::string_view line) {
    return fmt::format("{}{}\"}}", kSumMark, checksum(line));
}

bool is_schema2(std::string_view line) {
    return line.starts_with("{\"schema\":2,");
}

std::string to_line(const RunRecord& r) {
    RecordJson json;
    json["schema"] = kSchema;
    json["key"] = r.key;
    json["status"] = r.done ? "done" : "failed";
    json["gpu"] = r.spec.gpu;
    json["overrides"] = r.spec.overrides;
    json["workload"] = r.spec.workload;
    json["size"] = r.spec.size;
    json["seed"] = r.spec.seed;
    if (!r.spec.kernels.empty()) json["kernels"] = r.spec.kernels;
    json["seconds"] = r.seconds;
    if (r.done) {
        json["version"] = r.version;
        json["model"] = r.model;
        json["config_hash"] = r.config_hash;
        json["digest"] = r.digest;
        json["cycles"] = r.cycles;
        json["warp_instructions"] = r.warp_instructions;
        json["stats"] = r.stats;
        json["highest"] = r.highest;
        RecordJson launched = RecordJson::array();
        for (const KernelRecord& k : r.kernels) launched.push_back({k.name, k.cycles, k.warp_instructions});
        json["launched"] = std::move(launched);
    } else {
        json["message"] = r.message;
    }
    std::string line = json.dump(-1, ' ', false, RecordJson::error_handler_t::replace);
    line.pop_back();
    return line + checksum_member(line) + "\n";
}

std::optional<RecordLine> RecordLine::parse(std::string_view line, int schema) {
    if (line.ends_with('\n')) line.remove_suffix(1);
    const bool summed = has_sum(line);
    if (summed) {
        const std::string_view sum = line.substr(line.size() - kSumLength + kSumMark.size(), kSumDigits);
        line.remove_suffix(kSumLength);
        if (sum != checksum(line)) return std::nullopt;
    } else {
        if (schema != 2 || !line.ends_with('}')) return std::nullopt;
        line.remove_suffix(1);
    }
    RecordLine r;
    Cursor at(line);
    at.need("{\"schema\":");
    if (at.number<int>("") != schema) return std::nullopt;
    r.key_ = at.text(",\"key\":");
    const std::string_view status = at.text(",\"status\":");
    r.done_ = status == "done";
    r.gpu_ = at.text(",\"gpu\":");
    r.overrides_ = at.array(",\"overrides\":");
    r.workload_ = at.text(",\"workload\":");
    r.size_ = at.text(",\"size\":");
    r.seed_ = at.number<std::uint64_t>(",\"seed\":");
    if (at.left().starts_with(",\"kernels\":")) r.kernels_ = at.text(",\"kernels\":");
    r.seconds_ = at.number<double>(",\"seconds\":");
    r.rest_ = at.left();
    if (!at.good() || (!r.done_ && status != "failed") || (!summed && !r.record())) return std::nullopt;
    return r;
}

std::uint64_t RecordLine::outcome() const {
    Cursor at(rest_);
    at.text(",\"version\":");
    return hash_bits(at.left()).low;
}

std::optional<RecordLine::Result> RecordLine::result() const {
    Result r;
    Cursor at(rest_);
    r.version = at.text(",\"version\":");
    r.model = at.number<std::uint32_t>(",\"model\":");
    r.config_hash = at.text(",\"config_hash\":");
    r.digest = at.text(",\"digest\":");
    r.cycles = at.number<std::uint64_t>(",\"cycles\":");
    r.warp_instructions = at.number<std::uint64_t>(",\"warp_instructions\":");
    r.stats = at.counters(",\"stats\":");
    r.highest = at.counters(",\"highest\":");
    r.launched = at.array(",\"launched\":");
    if (!done_ || !at.good() || !at.left().empty()) return std::nullopt;
    return r;
}

std::optional<RunRecord> RecordLine::record() const {
    try {
        RunRecord r;
        r.key = plain(key_);
        r.done = done_;
        r.spec = {plain(gpu_), RecordJson::parse(overrides_), plain(workload_), plain(size_), seed_, plain(kernels_)};
        r.seconds = seconds_;
        if (!done_) {
            Cursor at(rest_);
            r.message = plain(at.text(",\"message\":"));
            return at.good() && at.left().empty() ? std::optional(std::move(r)) : std::nullopt;
        }
        const std::optional<Result> result = this->result();
        if (!result) return std::nullopt;
        r.version = plain(result->version);
        r.model = static_cast<std::uint32_t>(result->model);
        r.config_hash = plain(result->config_hash);
        r.digest = plain(result->digest);
        r.cycles = result->cycles;
        r.warp_instructions = result->warp_instructions;
        bool good = true;
        r.stats = counters_of(result->stats, good);
        r.highest = counters_of(result->highest, good);
        for (const RecordJson& k : RecordJson::parse(result->launched)) r.kernels.push_back({k.at(0), natural(k.at(1)), natural(k.at(2))});
        return good ? std::optional(std::move(r)) : std::nullopt;
    } catch (const RecordJson::exception&) {
        return std::nullopt;
    }
}

std::optional<RunRecord> from_line(std::string_view line) {
    const std::optional<RecordLine> parsed = RecordLine::parse(line);
    return parsed ? parsed->record() : std::nullopt;
}

}  // namespace mergelane::study
