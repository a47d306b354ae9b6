// SPDX-License-Identifier: MIT
#include "sampling/kept_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "files/atomic_file.hpp"
#include "files/field_bytes.hpp"
#include "files/input_file.hpp"

namespace mergelane::sampling {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kFormat = "mergelane sampled run 2\n";
constexpr std::size_t kHashDigits = 32;
constexpr std::uint64_t kMostIdentity = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostPart = std::uint64_t{4} << 30;

template <class Stream, class T>
void numbers(Stream& stream, std::vector<T>& list) {
    stream.size(list, sizeof(T));
    for (T& number : list) stream(number);
}

template <class Stream>
void transfer(Stream& stream, Signature& launch) {
    stream(launch.kernel);
    for (Dim3* dim : {&launch.grid, &launch.block}) stream(dim->x), stream(dim->y), stream(dim->z);
    stream(launch.shared_bytes);
    stream(launch.warp_instructions);
    stream(launch.thread_instructions);
    for (std::uint64_t& count : launch.mix) stream(count);
    for (Signature::Access& access : launch.access) {
        for (std::uint64_t* count : {&access.accesses, &access.lanes, &access.lines, &access.sectors}) stream(*count);
    }
    for (std::uint8_t& rank : launch.footprint.registers()) stream(rank);
    for (std::uint64_t& count : launch.reuse) stream(count);
}

template <class Stream>
void transfer(Stream& stream, Signatures& kept) {
    stream.size(kept.launches, Footprint::kRegisters);
    for (Signature& launch : kept.launches) transfer(stream, launch);
    stream.size(kept.traffic, 3 * sizeof(std::uint64_t));
    for (L2Traffic& launch : kept.traffic) stream(launch.missed), stream(launch.fetched), stream(launch.written_back);
    stream.size(kept.parts, 5 * sizeof(std::uint64_t));
    for (LongLaunch& launch : kept.parts) {
        stream(launch.wave);
        stream(launch.warm_up);
        stream.size(launch.ctas, sizeof(CtaRange));
        for (CtaRange& ctas : launch.ctas) stream(ctas.first), stream(ctas.end);
        stream.size(launch.known, sizeof(Known));
        for (Known& known : launch.known) {
            for (std::uint64_t& count : known) stream(count);
        }
        stream.size(launch.lines, Footprint::kRegisters);
        for (Footprint& lines : launch.lines) {
            for (std::uint8_t& rank : lines.registers()) stream(rank);
        }
    }
    stream(kept.seconds);
}

template <class Stream>
void transfer(Stream& stream, LoadTimes& times) {
    stream(times.loads);
    stream(times.total);
    numbers(stream, times.spent);
    numbers(stream, times.stalled);
}

template <class Stream>
void transfer(Stream& stream, KernelResult& kernel) {
    stream(kernel.name);
    stream(kernel.ctas);
    stream(kernel.ctas_per_sm);
    stream(kernel.limited_by);
    stream(kernel.registers);
    // The name is one of a table, which outlives it.
    const auto& names = kRegisterCountNames;
    auto from = static_cast<std::uint8_t>(std::find(names.begin(), names.end(), kernel.registers_from) - names.begin());
    stream(from);
    kernel.registers_from = from < names.size() ? names[from] : std::string_view();
    stream(kernel.start);
    stream(kernel.cycles);
    stream(kernel.warp_instructions);
    numbers(stream, kernel.values);
    transfer(stream, kernel.load_times);
}

template <class Stream>
void transfer(Stream& stream, Pass& pass) {
    RunResult& result = pass.result;
    stream(result.digest);
    stream(result.workload);
    stream(result.cpu_seconds);
    for (StatValue& stat : result.stats) stream(stat.value), stream(stat.highest);
    transfer(stream, result.load_times);
    for (auto& [name, counts] : result.per_unit) numbers(stream, counts);
    stream.size(pass.launches, sizeof(std::uint64_t));
    for (Simulated& launch : pass.launches) {
        stream(launch.launch);
        transfer(stream, launch.result);
        for (std::uint64_t* number : {&launch.span, &launch.gap, &launch.waves, &launch.warp_instructions}) stream(*number);
        numbers(stream, launch.chosen);
        stream.size(launch.stretches, 3 * sizeof(std::uint64_t));
        for (Counts& stretch : launch.stretches) {
            stream(stretch.span);
            stream(stretch.cycles);
            numbers(stream, stretch.values);
        }
    }
    stream(pass.warmed);
    stream(pass.seconds);
    stream(pass.warming_seconds);
}

template <class Part>
std::string packed(const Part& part) {
    Part copy = part;
    FieldWriter out;
    transfer(out, copy);
    return std::move(out.bytes);
}

template <class Part>
bool unpack(std::string_view bytes, Part& part) {
    FieldReader in(bytes);
    transfer(in, part);
    return in.good();
}

std::string text_of(const RunIdentity& identity) {
    std::string text(kFormat);
    for (const auto& [name, value] : identity) text += fmt::format("{} = {}\n", name, value);
    return text;
}

/// The value of `name`, or what says that there is none.
std::string value_in(std::string_view text, std::string_view name) {
    const std::size_t at = text.find(fmt::format("\n{} = ", name));
    if (at == std::string_view::npos) return "not given";
    const std::size_t begin = at + name.size() + 4;
    return std::string(text.substr(begin, text.find('\n', begin) - begin));
}

[[noreturn]] void refuse_run(const fs::path& folder, std::string_view kept, const RunIdentity& identity) {
    if (!kept.starts_with(kFormat))
        throw CannotContinue(fmt::format("'{}' keeps no run that this version can continue; name another folder", folder.string()));
    for (const auto& [name, value] : identity) {
        if (const std::string other = value_in(kept, name); other != value)
            throw CannotContinue(
                fmt::format("'{}' keeps a run in which {} is {}, but here it is {}; continue it with the same options, or name "
                            "another folder",
                            folder.string(), name, other, value));
    }
    throw CannotContinue(fmt::format("'{}' keeps a run with other options; name another folder", folder.string()));
}

/// Besides what a process may be writing there, or may have been writing when it was killed.
bool has_other_files(const fs::path& folder) {
    std::error_code problem;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, problem)) {
        if (!is_temporary(entry.path())) return true;
    }
    return false;
}

}  // namespace

KeptRun::KeptRun(fs::path folder, const RunIdentity& identity) : folder_(std::move(folder)) {
    const std::string text = text_of(identity);
    key_ = hash_text(text);
    std::error_code problem;
    fs::create_directories(folder_, problem);
    if (problem) cannot_write(folder_, problem.value());
    remove_leftovers(folder_);
    const fs::path file = folder_ / "run.txt";
    if (!fs::exists(file, problem)) {
        if (has_other_files(folder_))
            throw CannotContinue(fmt::format("'{}' has other files in it; name a new folder for --resume", folder_.string()));
        AtomicFile made(file);
        made.write(text);
        made.commit();
        return;
    }
    if (const std::string kept = read_input(file, kMostIdentity); kept != text) refuse_run(folder_, kept, identity);
}

std::optional<std::string> KeptRun::load(const std::string& part) const {
    const fs::path file = folder_ / part;
    std::error_code problem;
    if (!fs::exists(file, problem)) return std::nullopt;
    std::string bytes = read_input(file, kMostPart);
    const std::size_t ends = bytes.size() - std::min(bytes.size(), kHashDigits);
    if (checksum(part, std::string_view(bytes).substr(0, ends)) != std::string_view(bytes).substr(ends)) refuse(part);
    bytes.resize(ends);
    return bytes;
}

std::string KeptRun::checksum(const std::string& part, std::string_view bytes) const {
    Hasher hasher;
    hasher.add(key_);
    hasher.add(part);
    hasher.add(bytes);
    return hasher.hex();
}

void KeptRun::refuse(const std::string& part) const {
    throw CannotContinue(
        fmt::format("'{}' is damaged, or belongs to another run; delete it to do its work again", (folder_ / part).string()));
}

void KeptRun::save(const std::string& part, std::string_view bytes) const {
    AtomicFile file(folder_ / part);
    file.write(bytes);
    file.write(checksum(part, bytes));
    file.commit();
}

std::string to_bytes(const Signatures& signatures) {
    return packed(signatures);
}
std::string to_bytes(const Pass& pass) {
    return packed(pass);
}
bool from_bytes(std::string_view bytes, Signatures& signatures) {
    return unpack(bytes, signatures) && signatures.traffic.size() == signatures.launches.size() &&
           signatures.parts.size() == signatures.launches.size();
}
bool from_bytes(std::string_view bytes, Pass& pass) {
    return unpack(bytes, pass) && !pass.launches.empty();
}

}  // namespace mergelane::sampling
