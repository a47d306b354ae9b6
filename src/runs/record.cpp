// SPDX-License-Identifier: MIT
#include "runs/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/json_text.hpp"
#include "core/text.hpp"
#include "runs/line_cursor.hpp"

namespace mergelane::study {

namespace {

using RecordJson = nlohmann::ordered_json;

constexpr std::size_t kMostOverrides = 4096;  ///< of one run; a machine has some hundred keys
constexpr std::string_view kSumMark = ",\"sum\":\"";
constexpr std::size_t kSumDigits = 16;
constexpr std::size_t kSumLength = kSumMark.size() + kSumDigits + 2;

std::string checksum(std::string_view text) {
    return hash_text(text).substr(0, kSumDigits);
}

bool has_sum(std::string_view line) {
    return line.size() > kSumLength && line.ends_with("\"}") && line.substr(line.size() - kSumLength).starts_with(kSumMark);
}

/// A kernel's numbers; returns its name as it is written.
std::string_view kernel_at(LineCursor& at, KernelRecord& kernel) {
    const std::string_view name = at.text("[");
    kernel.cycles = at.number<std::uint64_t>(",");
    kernel.warp_instructions = at.number<std::uint64_t>(",");
    at.need("]");
    return name;
}

template <typename Number = std::uint64_t>
std::map<std::string, Number> counters_of(std::string_view object) {
    std::map<std::string, Number> map;
    RecordLine::each_number<Number>(object, [&](std::string_view name, Number value) { map.emplace_hint(map.end(), name, value); });
    return map;
}

}  // namespace

bool is_text(std::string_view written) {
    return written.find('\\') == std::string_view::npos || RecordJson::accept(fmt::format("\"{}\"", written));
}
std::string plain_text(std::string_view written) {
    if (written.find('\\') == std::string_view::npos) return std::string(written);
    return RecordJson::parse(fmt::format("\"{}\"", written)).get<std::string>();
}

std::optional<std::uint64_t> RunRecord::kernel_cycles() const {
    if (sampled()) {
        const auto at = sample.facts.find("kernel_cycles");
        return at == sample.facts.end() ? std::nullopt : std::optional(at->second);
    }
    if (kernels.empty() && cycles != 0) return std::nullopt;
    std::uint64_t sum = 0;
    for (const KernelRecord& kernel : kernels) sum += kernel.cycles;
    return sum;
}

std::uint64_t RunRecord::stat(const std::string& name) const {
    if (const auto at = stats.find(name); at != stats.end()) return at->second;
    const auto known = names_of<std::string_view>(stats, [](const auto& stat) -> const std::string& { return stat.first; });
    throw InputError(fmt::format("{} on {}: {}", spec.workload, spec.gpu, unknown_statistic(name, known)));
}

std::optional<double> RunRecord::half_width(const std::string& name) const {
    if (!sampled()) return 0;
    const auto at = sample.half_widths.find(name);
    return at == sample.half_widths.end() ? std::nullopt : std::optional(at->second);
}

std::vector<StatValue> RunRecord::counted() const {
    std::vector<StatValue> list;
    for (const auto& [name, value] : stats) list.push_back({name, "", "", value});
    return list;
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
    if (r.sampled()) json["sample"] = r.spec.sample;
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
        if (r.sampled()) {
            json["sampled"] = r.sample.facts;
            json["half_widths"] = r.sample.half_widths;
        }
    } else {
        json["message"] = r.message;
    }
    std::string line = json_text(json);
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
    LineCursor at(line);
    at.need("{\"schema\":");
    if (at.number<int>("") != schema) return std::nullopt;
    r.key_ = at.text(",\"key\":");
    const std::string_view status = at.text(",\"status\":");
    r.done_ = status == "done";
    r.gpu_ = at.text(",\"gpu\":");
    std::size_t overrides = 0;
    r.overrides_ = at.array(",\"overrides\":", [&] { at.text(""), ++overrides; });
    r.workload_ = at.text(",\"workload\":");
    r.size_ = at.text(",\"size\":");
    r.seed_ = at.number<std::uint64_t>(",\"seed\":");
    if (at.left().starts_with(",\"kernels\":")) r.kernels_ = at.text(",\"kernels\":");
    if (at.left().starts_with(",\"sample\":")) {
        r.sample_ = at.text(",\"sample\":");
        if (r.sample_.empty()) return std::nullopt;
    }
    r.seconds_ = at.number<double>(",\"seconds\":");
    r.rest_ = at.left();
    if (!at.good() || overrides > kMostOverrides || (!r.done_ && status != "failed") || (!summed && !r.record())) return std::nullopt;
    return r;
}

std::uint64_t RecordLine::outcome() const {
    LineCursor at(rest_);
    at.text(",\"version\":");
    return hash_bits(at.left()).low;
}

std::optional<RecordLine::Result> RecordLine::unchecked_result() const {
    Result r;
    LineCursor at(rest_);
    r.version = at.text(",\"version\":");
    r.model = at.number<std::uint32_t>(",\"model\":");
    r.config_hash = at.text(",\"config_hash\":");
    r.digest = at.text(",\"digest\":");
    r.cycles = at.number<std::uint64_t>(",\"cycles\":");
    r.warp_instructions = at.number<std::uint64_t>(",\"warp_instructions\":");
    r.stats = at.counters(",\"stats\":");
    r.highest = at.counters(",\"highest\":");
    KernelRecord kernel;
    r.launched = at.array(",\"launched\":", [&] { kernel_at(at, kernel); });
    if (!sample_.empty()) {
        r.sampled = at.counters(",\"sampled\":");
        r.half_widths = at.counters(",\"half_widths\":");
    }
    return done_ && at.good() && at.left().empty() ? std::optional(r) : std::nullopt;
}

std::optional<RecordLine::Result> RecordLine::result() const {
    const std::optional<Result> r = unchecked_result();
    const auto any = [](std::string_view, auto) {};
    const bool good = r && each_counter(r->stats, any) && each_counter(r->highest, any);
    const bool known = good && (sample_.empty() || (each_counter(r->sampled, any) && each_number<double>(r->half_widths, any)));
    return known ? r : std::nullopt;
}

std::optional<RunRecord> RecordLine::record() const {
    RunRecord r;
    r.key = plain_text(key_);
    r.done = done_;
    r.spec = {plain_text(gpu_), {}, plain_text(workload_), plain_text(size_), seed_, plain_text(kernels_), plain_text(sample_)};
    LineCursor overrides(overrides_);
    overrides.array("", [&] { r.spec.overrides.push_back(plain_text(overrides.text(""))); });
    r.seconds = seconds_;
    if (!done_) {
        LineCursor at(rest_);
        const std::string_view message = at.text(",\"message\":");
        if (!at.good() || !at.left().empty()) return std::nullopt;
        r.message = plain_text(message);
        return r;
    }
    const std::optional<Result> result = this->result();
    if (!result) return std::nullopt;
    r.version = plain_text(result->version);
    r.model = static_cast<std::uint32_t>(result->model);
    r.config_hash = plain_text(result->config_hash);
    r.digest = plain_text(result->digest);
    r.cycles = result->cycles;
    r.warp_instructions = result->warp_instructions;
    r.stats = counters_of(result->stats);
    r.highest = counters_of(result->highest);
    if (r.sampled()) r.sample = {counters_of(result->sampled), counters_of<double>(result->half_widths)};
    LineCursor launched(result->launched);
    launched.array("", [&] {
        KernelRecord& kernel = r.kernels.emplace_back();
        kernel.name = plain_text(kernel_at(launched, kernel));
    });
    return r;
}

std::optional<RunRecord> from_line(std::string_view line) {
    const std::optional<RecordLine> parsed = RecordLine::parse(line);
    return parsed ? parsed->record() : std::nullopt;
}

}  // namespace mergelane::study
