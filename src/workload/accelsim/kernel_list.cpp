// SPDX-License-Identifier: MIT
#include "workload/accelsim/kernel_list.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <sstream>
#include <vector>

#include "core/error.hpp"
#include "files/input_file.hpp"
#include "workload/accelsim/text_scan.hpp"
#include "workload/accelsim/traced_kernel.hpp"

namespace mergelane::accelsim {

namespace {

constexpr std::uintmax_t kMostList = 64 << 20;  ///< bytes of a kernelslist.g

/// Lists, file names that lead to them, and what they say about other things.
std::vector<std::string> read_list(const std::string& path, const ReplayOptions& options) {
    std::istringstream file(read_input(path, kMostList));
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    std::vector<std::string> kernels;
    std::string line;
    std::uint64_t ignored = 0;
    std::uint64_t first_ignored = 0;
    std::string ignored_text;
    for (std::uint64_t number = 1; std::getline(file, line); ++number) {
        while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t')) line.pop_back();
        if (line.find('\0') != std::string::npos)
            throw InputError(fmt::format("{}:{}: holds a zero byte; a list of kernels is plain text, is the file damaged?", path, number));
        if (line.empty() || line.starts_with("Memcpy")) continue;  // replay starts with cold caches, so copies have no effect
        if (!line.starts_with("kernel")) {
            if (ignored++ == 0) {
                first_ignored = number;
                ignored_text = shown(line, 60);
            }
            continue;
        }
        if (!is_trace_name(line))
            throw InputError(fmt::format("{}:{}: '{}' is not a .traceg, .traceg.xz or .tracez file; unpack other kinds first", path, number,
                                         shown(line, 200)));
        const std::string name = (folder / line).string();
        if (std::error_code failed; !std::filesystem::is_regular_file(name, failed))
            throw InputError(fmt::format("{}:{}: there is no trace file '{}' next to the list; copy it there or remove the line", path,
                                         number, shown(line, 200)));
        kernels.push_back(name);
    }
    if (ignored != 0 && options.warn)
        options.warn(fmt::format("{}:{}: '{}' is neither a kernel nor a copy and is ignored{}", path, first_ignored, ignored_text,
                                 ignored == 1 ? "" : fmt::format(", as are {} more lines", ignored - 1)));
    if (kernels.empty() && ignored_text.starts_with("-kernel name"))
        throw InputError(fmt::format("{}:{}: this is a trace, not a list of kernels; its name must end in .traceg", path, first_ignored));
    if (kernels.empty()) throw InputError(fmt::format("{}:1: names no kernels; a line 'kernel-1.traceg' would name one", path));
    return kernels;
}

class TracedWorkload final : public Workload {
public:
    TracedWorkload(std::string name, std::vector<std::string> files, const ReplayOptions& options)
        : name_(std::move(name)), files_(std::move(files)), options_(options) {}

    const std::string& name() const override { return name_; }

    const KernelSource* next_kernel() override {
        close_kernel();
        if (next_ == files_.size()) return nullptr;
        kernel_ = std::make_unique<TracedKernel>(std::make_unique<TraceFile>(files_[next_++], options_.progress), options_.timed);
        return kernel_.get();
    }

private:
    void close_kernel() {
        if (kernel_ == nullptr) return;
        unknown_.merge(kernel_->program().unknown_opcodes());
        untimed_.merge(kernel_->program().untimed_opcodes());
        replays_ += kernel_->program().has_replay_regions() ? 1 : 0;
        kernel_.reset();
        if (next_ != files_.size() || !options_.warn) return;
        warn_of(unknown_, "unknown opcodes, treated as integer ALU instructions");
        warn_of(untimed_, "opcodes without timing, counted as instructions without memory accesses");
        if (replays_ != 0)
            options_.warn(
                fmt::format("{}: {} with spin loops that the tracer recorded once; they run once, and the time that they would wait "
                            "is not modelled",
                            name_, replays_ == 1 ? "1 kernel" : fmt::format("{} kernels", replays_)));
        replays_ = 0;
    }

    void warn_of(std::set<std::string>& opcodes, std::string_view problem) const {
        if (opcodes.empty()) return;
        std::string list;
        for (const std::string& opcode : opcodes) list += (list.empty() ? "" : ", ") + opcode;
        options_.warn(fmt::format("{}: {}: {}", name_, problem, list));
        opcodes.clear();
    }

    std::string name_;
    std::vector<std::string> files_;
    ReplayOptions options_;
    std::size_t next_ = 0;
    std::unique_ptr<TracedKernel> kernel_;
    std::set<std::string> unknown_;
    std::set<std::string> untimed_;
    std::uint64_t replays_ = 0;  ///< kernels with replay regions
};

}  // namespace

void parse_kernel_range(std::string_view text, ReplayOptions& options) {
    const std::size_t dash = text.find('-');
    const auto number = [](std::string_view digits, std::uint64_t& value) {
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        return error == std::errc{} && end == digits.data() + digits.size() && value != 0;
    };
    bool fine = number(text.substr(0, dash), options.first_kernel);
    options.last_kernel = dash == std::string_view::npos ? options.first_kernel : ~std::uint64_t{0};
    if (dash != std::string_view::npos && dash + 1 != text.size()) fine = fine && number(text.substr(dash + 1), options.last_kernel);
    if (!fine || options.first_kernel > options.last_kernel)
        throw InputError(fmt::format("--kernels '{}' is not a range; kernels are counted from 1: 3, 2-5 or 4- (to the end)", shown(text)));
}

bool is_trace_name(std::string_view name) {
    return name.ends_with(".traceg") || name.ends_with(".traceg.xz") || name.ends_with(".tracez");
}

std::vector<std::string> trace_files(const std::string& path, const ReplayOptions& options) {
    if (is_trace_name(path)) return {path};
    return read_list(path, options);
}

std::unique_ptr<Workload> open_trace(const std::string& path, const ReplayOptions& options) {
    std::vector<std::string> files = trace_files(path, options);
    if (options.first_kernel > files.size())
        throw InputError(fmt::format("{}: has {} kernel{}, but the range starts at {}; kernels are counted from 1", path, files.size(),
                                     files.size() == 1 ? "" : "s", options.first_kernel));
    if (options.last_kernel < files.size()) files.resize(options.last_kernel);
    files.erase(files.begin(), files.begin() + static_cast<std::ptrdiff_t>(options.first_kernel - 1));
    return std::make_unique<TracedWorkload>(path, std::move(files), options);
}

}  // namespace mergelane::accelsim
