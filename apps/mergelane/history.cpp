// SPDX-License-Identifier: MIT
#include "history.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "core/error.hpp"
#include "core/text.hpp"
#include "files/atomic_file.hpp"
#include "files/input_file.hpp"
#include "progress.hpp"

namespace mergelane {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = std::size_t{64} << 10;
constexpr double kShort = 10;        ///< seconds of work that nobody waits for
constexpr double kUsualSpeed = 1e6;  ///< warp instructions per second, of one thread (docs/performance.md)

fs::path history_file(const fs::path& cache) {
    return cache / "speeds.tsv";
}

std::string line_of(const PastRun& run) {
    std::string names = printable(run.workload, 200) + "\t" + printable(run.gpu, 200);  // without tabs and line ends of their own
    return fmt::format("{}\t{:.0f}\t{:.3f}\t{:.0f}\n", names, run.instructions, run.seconds, run.mib);
}

std::optional<PastRun> run_in(const std::string& line) {
    std::istringstream text(line);
    PastRun run;
    if (!std::getline(text, run.workload, '\t') || !std::getline(text, run.gpu, '\t')) return std::nullopt;
    if (!(text >> run.instructions >> run.seconds >> run.mib)) return std::nullopt;
    const auto sound = [](double value) { return value >= 0 && value < 1e15; };
    if (!sound(run.instructions) || !sound(run.seconds) || !sound(run.mib)) return std::nullopt;
    return run;
}

}  // namespace

std::vector<PastRun> past_runs(const fs::path& cache) {
    std::vector<PastRun> runs;
    if (cache.empty()) return runs;
    std::string problem;
    std::istringstream lines(read_input(history_file(cache), 2 * kMostBytes, problem).value_or(""));
    for (std::string line; std::getline(lines, line);) {
        if (std::optional<PastRun> run = run_in(line)) runs.push_back(std::move(*run));
    }
    return runs;
}

void note_run(const fs::path& cache, const PastRun& run) {
    if (cache.empty() || run.seconds < 1) return;
    std::error_code ignored;
    fs::create_directories(cache, ignored);
    const fs::path path = history_file(cache);
    const std::string line = line_of(run);
    if (fs::file_size(path, ignored) > kMostBytes && !ignored) {
        std::vector<PastRun> runs = past_runs(cache);
        std::string text;
        for (std::size_t i = runs.size() / 2; i < runs.size(); ++i) text += line_of(runs[i]);
        try {
            AtomicFile file(path, Durability::cached);
            file.write(text + line);
            file.commit();
        } catch (const InputError&) {  // a full disk costs an estimate
        }
        return;
    }
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file < 0) return;
    [[maybe_unused]] const ssize_t written = write(file, line.data(), line.size());  // at once, as others may append, too
    close(file);
}

double most_memory_mib(bool of_children) {
    rusage usage{};
    if (getrusage(of_children ? RUSAGE_CHILDREN : RUSAGE_SELF, &usage) != 0) return 0;
    return static_cast<double>(usage.ru_maxrss) / 1024;
}

std::optional<Expectation> expected_run(const std::vector<PastRun>& past, std::string_view workload, std::string_view gpu,
                                        double instructions) {
    const PastRun* same = nullptr;
    double seconds = 0, executed = 0;
    for (const PastRun& run : past) {
        const bool better = same == nullptr || run.gpu == gpu || same->gpu != gpu;
        if (run.workload == workload && better) same = &run;
        if (run.instructions > 0) {
            seconds += run.seconds;
            executed += run.instructions;
        }
    }
    if (same != nullptr) return Expectation{same->seconds, same->mib, fmt::format("an earlier run of this workload on {}", same->gpu)};
    if (instructions <= 0) return std::nullopt;
    const double speed = seconds > 0 && executed > 0 ? executed / seconds : kUsualSpeed;
    return Expectation{instructions / speed, 0,
                       fmt::format("{:.3g} million warp instructions at {:.2g} million per second, {}", instructions / 1e6, speed / 1e6,
                                   seconds > 0 ? "the mean speed of earlier runs" : "a usual speed")};
}

std::string expectation_text(const Expectation& expectation) {
    if (expectation.seconds < kShort) return "";
    const std::string memory = expectation.mib > 0 ? fmt::format(" and {:.0f} MiB", std::ceil(expectation.mib / 10) * 10) : "";
    return fmt::format("expecting about {}{}, from {}\n", friendly_seconds(expectation.seconds), memory, expectation.from);
}

}  // namespace mergelane
