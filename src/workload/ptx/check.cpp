// SPDX-License-Identifier: MIT
#include "workload/ptx/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/text.hpp"
#include "workload/ptx/decode.hpp"

namespace mergelane::ptx {

namespace {

using Json = nlohmann::ordered_json;
using Verdict = CheckedKernel::Verdict;

/// The parts of "file:line: cause; remedy". Some messages have no line.
Refusal parts_of(std::string_view message, const std::string& file) {
    Refusal parts;
    if (message.starts_with(file)) {
        message.remove_prefix(file.size());
        if (message.starts_with(':')) message.remove_prefix(1);
        const auto [end, error] = std::from_chars(message.data(), message.data() + message.size(), parts.line);
        if (error == std::errc{}) message.remove_prefix(static_cast<std::size_t>(end - message.data()));
        message.remove_prefix(std::min(message.find_first_not_of(": "), message.size()));
    }
    const std::size_t semicolon = std::min(message.find("; "), message.size());
    parts.cause = message.substr(0, semicolon);
    parts.remedy = message.substr(std::min(semicolon + 2, message.size()));
    return parts;
}

/// Whether a kernel does no work: what libraries compile where they have no code for an architecture. Arguments of printf are stored in
/// local memory.
bool is_stub(const Function& kernel) {
    constexpr std::string_view kIdle = "ret exit trap brkpt bra mov cvta add";
    constexpr std::string_view kSilent[] = {"vprintf", "__assertfail"};
    return std::all_of(kernel.code.begin(), kernel.code.end(), [&](const Instruction& instruction) {
        const std::string_view word = instruction.words[0];
        if (word == "ld" || word == "st") return instruction.has("param") || (word == "st" && instruction.has("local"));
        if (word == "call")
            return std::any_of(instruction.operands.begin(), instruction.operands.end(), [&](const Operand& operand) {
                return std::find(std::begin(kSilent), std::end(kSilent), operand.name) != std::end(kSilent);
            });
        bool idle = false;
        each_word(kIdle, [&](std::string_view one) { idle = idle || one == word; });
        return idle;
    });
}

CheckedKernel check_kernel(const Module& module, std::string_view name) {
    CheckedKernel checked;
    checked.name = name;
    try {
        if (!module.fault().empty()) throw InputError(module.fault());
        Decoder(module, select_for_host()).run(name);
        if (is_stub(module.kernel(name))) checked.verdict = Verdict::stub;
    } catch (const InputError& error) {
        checked.verdict = Verdict::refused;
        checked.refusal = parts_of(error.what(), module.file_name());
    }
    return checked;
}

struct Reason {
    std::string_view cause;
    std::uint64_t kernels = 0;
    std::uint64_t files = 0;  ///< that have it
    std::string first;        ///< "file:line" of the first one
};

/// Commonest first; equally common ones in the order of their first occurrence. A file without any kernel counts as one.
std::vector<Reason> reasons_of(const std::vector<CheckedFile>& files) {
    std::vector<Reason> list;
    std::map<std::string_view, std::size_t> known;
    std::map<std::string_view, const CheckedFile*> seen_in;
    const auto count = [&](const CheckedFile& file, const Refusal& refusal) {
        const auto [place, fresh] = known.emplace(refusal.cause, list.size());
        if (fresh) list.push_back({refusal.cause, 0, 0, fmt::format("{}:{}", file.name, refusal.line)});
        Reason& reason = list[place->second];
        ++reason.kernels;
        const CheckedFile*& seen = seen_in[refusal.cause];
        reason.files += seen != &file;
        seen = &file;
    };
    for (const CheckedFile& file : files) {
        if (file.kernels.empty() && file.refusal.any()) count(file, file.refusal);
        for (const CheckedKernel& kernel : file.kernels) {
            if (kernel.verdict == Verdict::refused) count(file, kernel.refusal);
        }
    }
    std::stable_sort(list.begin(), list.end(), [](const Reason& a, const Reason& b) { return a.kernels > b.kernels; });
    return list;
}

struct Totals {
    std::uint64_t kernels = 0, accepted = 0, refused = 0, stubs = 0;
};
Totals totals_of(const std::vector<CheckedFile>& files) {
    Totals sum;
    for (const CheckedFile& file : files) {
        sum.kernels += file.kernels.size();
        sum.accepted += file.count(Verdict::accepted);
        sum.refused += file.count(Verdict::refused);
        sum.stubs += file.count(Verdict::stub);
    }
    return sum;
}

std::string_view word_for(Verdict verdict) {
    return verdict == Verdict::accepted ? "accepted" : verdict == Verdict::refused ? "refused" : "stub";
}

}  // namespace

std::uint64_t CheckedFile::count(CheckedKernel::Verdict verdict) const {
    return static_cast<std::uint64_t>(
        std::count_if(kernels.begin(), kernels.end(), [&](const CheckedKernel& kernel) { return kernel.verdict == verdict; }));
}

CheckedFile refused_file(const std::string& name, std::string_view message) {
    return {name, {}, parts_of(message, name)};
}

CheckedFile check_ptx(std::string_view text, const std::string& name, const std::function<void(double)>& progress) {
    CheckedFile checked;
    checked.name = name;
    try {
        const std::shared_ptr<const Module> module = parse_to_check(text, name);
        if (!module->fault().empty()) checked.refusal = parts_of(module->fault(), name);
        const std::vector<std::string_view> kernels = module->kernels();
        for (const std::string_view kernel : kernels) {
            if (progress) progress(static_cast<double>(checked.kernels.size()) / static_cast<double>(kernels.size()));
            checked.kernels.push_back(check_kernel(*module, kernel));
        }
    } catch (const InputError& error) {
        return refused_file(name, error.what());
    }
    return checked;
}

bool any_refused(const std::vector<CheckedFile>& files) {
    return std::any_of(files.begin(), files.end(),
                       [](const CheckedFile& file) { return file.refusal.any() || file.count(Verdict::refused) != 0; });
}

std::string check_table(const std::vector<CheckedFile>& files, bool kernels) {
    std::size_t width = 5;
    for (const CheckedFile& file : files) width = std::max(width, printable(file.name).size());
    std::string text = fmt::format("{:<{}}  {:>8}  {:>8}  {:>8}  {:>8}\n", "file", width, "kernels", "accepted", "refused", "stubs");
    const auto row = [&](const std::string& name, const Totals& sum) {
        text += fmt::format("{:<{}}  {:>8}  {:>8}  {:>8}  {:>8}\n", name, width, sum.kernels, sum.accepted, sum.refused, sum.stubs);
    };
    for (const CheckedFile& file : files) {
        row(printable(file.name),
            {file.kernels.size(), file.count(Verdict::accepted), file.count(Verdict::refused), file.count(Verdict::stub)});
        if (!kernels) continue;
        for (const CheckedKernel& kernel : file.kernels) {
            const bool refused = kernel.verdict == Verdict::refused;
            text += fmt::format("  {:<8}  {}{}\n", word_for(kernel.verdict), printable(kernel.name),
                                refused ? fmt::format(": line {}: {}", kernel.refusal.line, printable(kernel.refusal.cause)) : "");
        }
    }
    if (files.size() > 1) row("total", totals_of(files));
    const std::vector<Reason> reasons = reasons_of(files);
    if (reasons.empty()) return text;
    text += fmt::format("\n{:>8}  {:>6}  {}\n", "refused", "files", "reason (first occurrence)");
    for (const Reason& reason : reasons)
        text += fmt::format("{:>8}  {:>6}  {} ({})\n", reason.kernels, reason.files, printable(reason.cause), printable(reason.first));
    return text;
}

std::string check_json(const std::vector<CheckedFile>& files, std::string_view version) {
    const auto json_of = [](const Refusal& refusal) {
        if (!refusal.any()) return Json(nullptr);
        return Json{{"line", refusal.line}, {"cause", printable(refusal.cause)}, {"remedy", printable(refusal.remedy)}};
    };
    const Totals sum = totals_of(files);
    Json json = {
        {"schema", 1},
        {"version", version},
        {"totals",
         {{"files", files.size()}, {"kernels", sum.kernels}, {"accepted", sum.accepted}, {"refused", sum.refused}, {"stubs", sum.stubs}}},
        {"reasons", Json::array()},
        {"files", Json::array()},
        {"kernels", Json::array()}};
    for (const Reason& reason : reasons_of(files))
        json["reasons"].push_back(
            {{"cause", printable(reason.cause)}, {"kernels", reason.kernels}, {"files", reason.files}, {"first", printable(reason.first)}});
    for (const CheckedFile& file : files) {
        json["files"].push_back({{"file", printable(file.name)}, {"kernels", file.kernels.size()}, {"refusal", json_of(file.refusal)}});
        for (const CheckedKernel& kernel : file.kernels)
            json["kernels"].push_back({{"file", printable(file.name)},
                                       {"kernel", printable(kernel.name)},
                                       {"accepted", kernel.verdict != Verdict::refused},
                                       {"stub", kernel.verdict == Verdict::stub},
                                       {"reason", json_of(kernel.refusal)}});
    }
    return json.dump(2) + "\n";
}

}  // namespace mergelane::ptx
