// SPDX-License-Identifier: MIT
// Lines: a head (JSON), a JSON array for each machine and workload (with the options of sampling as its last element if it is sampled), "r
// MACHINE WORKLOAD COUNT" for runs of one machine with workloads that follow each other, "d FIRST COUNT" and "f FIRST COUNT" for runs that
// were done and had failed, "end HASH". A grid of a million runs is some kilobytes.
#include "campaign/plan_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>

#include "campaign/campaign_file.hpp"
#include "core/error.hpp"
#include "core/json_text.hpp"
#include "files/atomic_file.hpp"
#include "files/input_file.hpp"
#include "files/toml_text.hpp"
#include "runs/json_number.hpp"
#include "runs/sample_choice.hpp"

namespace mergelane::study {

namespace fs = std::filesystem;

namespace {

using PlanJson = nlohmann::json;
constexpr std::uint64_t kForm = 1;
constexpr std::uint64_t kSampledForm = 2;  ///< some workload is sampled, which programs that know only the other form must not overlook
constexpr std::size_t kMostBytes = std::size_t{256} << 20;
constexpr std::size_t kMostPlanLine = std::size_t{8} << 20;  ///< the head lists the files of the store

std::string row_text(const PlanJson& row) {
    try {
        return row.dump() + "\n";
    } catch (const PlanJson::exception&) {
        throw InputError(fmt::format("{} is not valid UTF-8, which a plan cannot keep; rename the file or its directory", json_text(row)));
    }
}

std::string tables_text(const Plan& plan) {
    std::string text;
    for (const PlannedMachine& m : plan.machines()) text += row_text(PlanJson::array({m.gpu, m.overrides, m.config_hash}));
    for (const PlannedWorkload& w : plan.workloads()) {
        PlanJson row = PlanJson::array({w.program, w.size, w.seed, w.kernels, w.recording, w.threads});
        if (!w.sample.empty()) row.push_back(w.sample);
        text += row_text(row);
    }
    for (std::size_t first = 0, next = 0; first < plan.size(); first = next) {
        next = first + 1;
        while (next < plan.size() && plan.machine_number(next) == plan.machine_number(first) &&
               plan.workload_number(next) == plan.workload_number(first) + (next - first))
            ++next;
        text += fmt::format("r {} {} {}\n", plan.machine_number(first), plan.workload_number(first), next - first);
    }
    return text;
}

std::string states_text(const std::vector<RunState>& known) {
    std::string text;
    for (std::size_t first = 0, next = 0; first < known.size(); first = next) {
        next = first + 1;
        while (next < known.size() && known[next] == known[first]) ++next;
        if (known[first] != RunState::missing)
            text += fmt::format("{} {} {}\n", known[first] == RunState::done ? 'd' : 'f', first, next - first);
    }
    return text;
}

/// Numbers of a line, after its letter.
std::vector<std::uint64_t> numbers_of(std::string_view line) {
    std::vector<std::uint64_t> list;
    const char* at = line.data() + 1;
    const char* const end = line.data() + line.size();
    while (at < end && *at == ' ') {
        std::uint64_t value = 0;
        const auto [next, problem] = std::from_chars(at + 1, end, value);
        if (problem != std::errc{}) return {};
        list.push_back(value);
        at = next;
    }
    return at == end ? list : std::vector<std::uint64_t>{};
}

/// Refuses a plan of another program: its runs would be kept under keys that are not theirs.
void check_program(const PlanJson& head, const Registry& registry, const std::string& name) {
    if (natural(head.at("schema")) == 2) refuse_schema2(fs::path(name).parent_path());
    const auto differs = [&](const std::string& what, const std::string& planned, const std::string& here) {
        if (planned != here)
            throw InputError(
                fmt::format("{}: was created for {} {}, but this program has {}; use one program for the whole campaign, or create a new "
                            "plan with 'mergelane campaign plan' (finished runs stay in the store)",
                            name, what, planned, here));
    };
    if (const std::uint64_t form = natural(head.at("form")); form != kForm && form != kSampledForm)
        throw InputError(fmt::format("{}: has a different format; create a new plan with 'mergelane campaign plan'", name));
    differs("model", std::to_string(natural(head.at("model"))), std::to_string(kModelVersion));
    differs("schema", std::to_string(natural(head.at("schema"))), std::to_string(kSchema));
    differs("edition", fmt::format("'{}'", head.at("edition").get<std::string>()), fmt::format("'{}'", registry.edition()));
}

/// Takes a text's lines one by one.
class Lines {
public:
    Lines(std::string_view text, std::string name) : left_(text), name_(std::move(name)) {}
    bool more() const { return !left_.empty(); }
    std::string_view next() {
        ++number_;
        const std::size_t end = left_.find('\n');
        if (end == std::string_view::npos) fail();
        if (end > kMostPlanLine) fail(fmt::format("has a line of more than {} MiB, which no plan has", kMostPlanLine >> 20));
        const std::string_view line = left_.substr(0, end);
        left_.remove_prefix(end + 1);
        return line;
    }
    PlanJson json() {
        const std::string_view line = next();
        return parse_json<PlanJson>(line, where());
    }
    [[noreturn]] void fail(std::string_view why = "is corrupt or truncated") const {
        throw InputError(
            fmt::format("{}: {}; create a new plan with 'mergelane campaign plan' (finished runs stay in the store)", where(), why));
    }

private:
    std::string where() const { return fmt::format("{}:{}", name_, std::max<std::size_t>(1, number_)); }

    std::string_view left_;
    std::string name_;
    std::size_t number_ = 0;  ///< of the last line that was taken
};

/// Keys become names of columns; when the plan was made, a machine accepted them.
bool overrides_a_key(std::string_view word) {
    const std::size_t equals = word.find('=');
    const std::string_view key = trim(word.substr(0, equals));
    return equals != std::string_view::npos && !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
               return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
           });
}

void read_tables(Lines& lines, const PlanJson& head, Plan& plan) {
    std::vector<PlannedMachine> machines;
    std::vector<PlannedWorkload> workloads;
    for (auto left = natural(head.at("machines")); left != 0; --left) {
        const PlanJson row = lines.json();
        machines.push_back({row.at(0), row.at(1), row.at(2)});
        for (const std::string& word : machines.back().overrides) {
            if (!overrides_a_key(word)) lines.fail(fmt::format("'{}' overrides no configuration key", printable(word, 60)));
        }
    }
    for (auto left = natural(head.at("workloads")); left != 0; --left) {
        const PlanJson row = lines.json();
        workloads.push_back({row.at(0), row.at(1), natural(row.at(2)), row.at(3), row.at(4), row.at(5)});
        if (row.size() == 6) continue;
        try {
            parse_sample(workloads.back().sample = row.at(6));
        } catch (const InputError& problem) {
            lines.fail(problem.what());
        }
    }
    plan.restore(std::move(machines), std::move(workloads));
}

/// Each run is listed once and states follow each other, so a plan takes no longer than its runs.
void read_runs(Lines& lines, CampaignPlan& into) {
    std::uint64_t stated = 0;
    while (lines.more()) {
        const std::string_view line = lines.next();
        const std::vector<std::uint64_t> n = line.empty() ? std::vector<std::uint64_t>{} : numbers_of(line);
        if (!line.empty() && line[0] == 'r' && n.size() == 3) {
            const std::size_t workloads = into.plan.workloads().size();
            if (n[0] >= into.plan.machines().size() || n[1] > workloads || n[2] > workloads - n[1]) lines.fail();
            if (into.plan.size() + n[2] > kMostRuns) lines.fail(fmt::format("has more than {} runs", kMostRuns));
            for (std::uint64_t i = 0; i < n[2]; ++i) {
                const std::size_t before = into.plan.size();
                if (into.plan.add(static_cast<std::uint32_t>(n[0]), static_cast<std::uint32_t>(n[1] + i)) != before)
                    lines.fail("lists a run twice");
            }
            into.known.resize(into.plan.size(), RunState::missing);
        } else if (n.size() == 2 && n[0] >= stated && n[0] <= into.known.size() && n[1] <= into.known.size() - n[0]) {
            const RunState state = line[0] == 'd' ? RunState::done : RunState::failed;
            std::fill_n(into.known.begin() + static_cast<std::ptrdiff_t>(n[0]), n[1], state);
            stated = n[0] + n[1];
        } else {
            lines.fail();
        }
    }
}

}  // namespace

std::string CampaignPlan::runs_id() const {
    return hash_text(tables_text(plan));
}

std::string CampaignPlan::label() const {
    return hash_text(to_text(*this)).substr(0, 8);
}

std::vector<std::uint32_t> CampaignPlan::shard(std::uint32_t index, std::uint32_t shards) const {
    // By turns, but another one begins each round: by the golden ratio, which no period of the plan is a multiple of.
    constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;
    const auto first_of = [&](std::uint64_t round) { return static_cast<std::uint32_t>((((round * kGolden) >> 32) * shards) >> 32); };
    std::vector<std::uint32_t> list;
    std::uint64_t round = 0;
    std::uint32_t turn = 0, next = first_of(0);
    for (std::uint32_t run = 0; run < plan.size(); ++run) {
        if (known[run] == RunState::done) continue;
        if (next == index) list.push_back(run);
        next = next + 1 == shards ? 0 : next + 1;
        if (++turn == shards) {
            turn = 0;
            next = first_of(++round);
        }
    }
    return list;
}

void CampaignPlan::note(const StoreIndex& index) {
    known.assign(plan.size(), RunState::missing);
    for (std::size_t run = 0; run < plan.size(); ++run) {
        if (const KnownRun* found = index.find(plan.key(run))) known[run] = found->done ? RunState::done : RunState::failed;
    }
    read = index.read;
}

std::string to_text(const CampaignPlan& plan) {
    PlanJson head = PlanJson::object();
    const std::vector<PlannedWorkload>& workloads = plan.plan.workloads();
    const bool sampled = std::any_of(workloads.begin(), workloads.end(), [](const PlannedWorkload& w) { return !w.sample.empty(); });
    head["form"] = sampled ? kSampledForm : kForm;
    head["title"] = plan.title;
    head["model"] = kModelVersion;
    head["schema"] = kSchema;
    head["edition"] = plan.plan.registry().edition();
    head["machines"] = plan.plan.machines().size();
    head["workloads"] = plan.plan.workloads().size();
    head["read"] = plan.read;
    std::string text = json_text(head) + "\n" + tables_text(plan.plan) + states_text(plan.known);
    return text + "end " + hash_text(text) + "\n";
}

CampaignPlan parse_plan(std::string_view text, const std::string& name, const Registry& registry) {
    CampaignPlan result(registry);
    constexpr std::size_t kEnd = 4 + 32 + 1;
    Lines whole(text, name);
    if (text.size() <= kEnd) whole.fail();
    const std::string_view body = text.substr(0, text.size() - kEnd);
    if (text.substr(body.size()) != "end " + hash_text(body) + "\n") whole.fail();
    Lines lines(body, name);
    try {
        const PlanJson head = lines.json();
        check_program(head, registry, name);
        result.title = head.at("title");
        for (const PlanJson& file : head.at("read")) result.read.emplace_back(file.at(0), natural(file.at(1)));
        read_tables(lines, head, result.plan);
    } catch (const PlanJson::exception&) {
        lines.fail();
    }
    read_runs(lines, result);
    return result;
}

CampaignPlan read_plan(const fs::path& directory, const Registry& registry) {
    const fs::path file = directory / kPlanName;
    std::error_code problem;
    if (fs::status(file, problem).type() == fs::file_type::not_found)
        throw InputError(
            fmt::format("'{}' has no plan; give a campaign file or a study, as in 'mergelane campaign plan sweep.toml --store {}'",
                        directory.string(), directory.string()));
    return parse_plan(read_input(file, kMostBytes), file.string(), registry);
}

void write_plan(const CampaignPlan& plan, const fs::path& directory, bool replace) {
    std::error_code ignored;
    fs::create_directories(directory, ignored);
    AtomicFile file(directory / kPlanName);
    file.write(to_text(plan));
    // Of several who come at the same time, one wins, and all use its plan.
    replace ? file.commit() : static_cast<void>(file.commit_new());
}

}  // namespace mergelane::study
