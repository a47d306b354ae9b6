// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "files/toml_text.hpp"
#include "study/study_spec.hpp"
#include "study/study_table.hpp"

namespace mergelane::study {

std::optional<Formula> StudyTable::expression(std::string_view key) {
    const toml::node* found = node(key, false);
    if (found == nullptr) return std::nullopt;
    if (found->is_number()) return parse_expression(fmt::format("{}", found->value<double>().value_or(0)), place(*found));
    if (!found->is_string()) fail(*found, fmt::format("'{}' must be a number or an expression in quotes", key));
    return parse_expression(text_of(*found, key), place(*found));
}

std::optional<Formula> StudyTable::published(std::string_view key) {
    const toml::node* found = node(key, false);
    const auto* words = found == nullptr ? nullptr : found->as_string();
    const auto of_id = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    };
    if (words != nullptr && std::all_of(words->get().begin(), words->get().end(), of_id))
        return parse_expression(fmt::format("published('{}')", words->get()), place(*found));
    return expression(key);
}

namespace {

constexpr std::size_t kMaxList = 64;
constexpr std::size_t kMaxConfigurations = 1000;
constexpr std::string_view kCriterionKinds[] = {"S", "O", "M", "exact"};
constexpr std::string_view kLevels[] = {"headline", "detail"};
constexpr std::string_view kChartKinds[] = {"bars", "stacked", "lines"};

/// "speedup" or "speedup(c, window)".
Measure read_measure(const std::string& head, const StudyTable& section, const toml::node& node) {
    const std::string where = section.place(node);
    Measure measure;
    const std::size_t open = std::min(head.find('('), head.size());
    measure.name = trim(std::string_view(head).substr(0, open));
    std::string_view rest = std::string_view(head).substr(open);
    bool good = is_name(measure.name) && (rest.empty() || rest.ends_with(')'));
    if (good && !rest.empty()) {
        rest = rest.substr(1, rest.size() - 2);
        for (;;) {
            const std::size_t comma = std::min(rest.find(','), rest.size());
            measure.parameters.emplace_back(trim(rest.substr(0, comma)));
            good = good && is_name(measure.parameters.back());
            if (comma == rest.size()) break;
            rest.remove_prefix(comma + 1);
        }
    }
    if (!good)
        fail_at(where, fmt::format("'{}' is not a valid name of a measure; write for example gain or \"gain(c)\"", printable(head, 60)));
    measure.formula = parse_expression(section.text_of(node, head), where);
    return measure;
}

void read_measures(StudyTable& section, const StudySpec& study, std::vector<Measure>& measures) {
    section.entries("measure", false, [&](const std::string& head, const toml::node& node) {
        Measure measure = read_measure(head, section, node);
        const auto same = [&](const Measure& other) { return other.name == measure.name; };
        if (std::any_of(measures.begin(), measures.end(), same) || std::any_of(study.measures.begin(), study.measures.end(), same) ||
            study.lists.contains(measure.name))
            section.fail(node, fmt::format("a measure or list '{}' already exists; choose another name", measure.name));
        measures.push_back(std::move(measure));
    });
}

/// Calls `use` with every way to give the names a value of their list, the first name outermost.
template <typename Use>
void for_all(const StudySpec& study, const std::vector<std::string>& names, const Use& use, Variables variables = {}) {
    if (variables.size() == names.size()) return use(variables);
    for (const Value& value : study.lists.find(names[variables.size()])->second) {
        Variables more = variables;
        more.emplace_back(names[variables.size()], value);
        for_all(study, names, use, std::move(more));
    }
}

/// For names of configurations: only functions every expression has, and lists.
class ListScope final : public Scope {
public:
    explicit ListScope(const StudySpec& study) : study_(study) {}
    const std::vector<Value>* list(std::string_view name) const override { return study_.list(name); }
    std::vector<std::string> names() const override {
        return names_of(study_.lists, [](const auto& list) { return list.first; });
    }

private:
    const StudySpec& study_;
};

/// The lists in braces, each of them known.
std::vector<std::string> lists_in(const StudySpec& study, const Formula& wording) {
    const std::vector<std::string> names = names_in(wording);
    std::size_t product = 1;
    for (const std::string& name : names) {
        const std::vector<Value>* values = study.list(name);
        if (values == nullptr) fail_at(wording.where, unknown_name("list", name, ListScope(study).names()));
        product *= std::max<std::size_t>(1, values->size());
        if (product > kMaxConfigurations)
            fail_at(wording.where, fmt::format("expands to more than {} configurations; use shorter lists", kMaxConfigurations));
    }
    return names;
}

/// [configuration.NAME], where lists in braces make it a family. Where two have the same name, the one with fewer lists
/// counts, so that one written out takes the place of a member of a family.
class ConfigurationReader {
public:
    ConfigurationReader(StudySpec& study, const std::string& file) : study_(study), file_(file) {}

    void read(const std::string& head, const StudyTable& parent, const toml::node& node) {
        const toml::table* table = node.as_table();
        if (table == nullptr) parent.fail(node, fmt::format("configuration '{0}' must be a table; write [configuration.\"{0}\"]", head));
        StudyTable section(*table, file_, fmt::format("[configuration.\"{}\"]", head));
        const Formula name = parse_wording(head, section.where());
        const std::string base = section.text("base", false);
        const Formula machine = section.wording("machine", false);
        std::vector<Formula> set;
        for (const std::string& text : section.texts("set", false)) set.push_back(parse_wording(text, section.where("set")));
        section.done();
        const std::vector<std::string> lists = lists_in(study_, name);
        const ListScope scope(study_);
        Evaluator evaluator(scope);
        for_all(study_, lists, [&](const Variables& variables) {
            Written written{
                {evaluator.text(name, variables), {}, section.where(), evaluator.text(machine, variables), {}}, "", lists.size()};
            if (!base.empty()) written.base = evaluator.text(parse_wording(base, section.where("base")), variables);
            for (const Formula& text : set) change(written.configuration, text, variables, evaluator);
            add(std::move(written));
        });
    }
    void finish() {
        for (Written& written : written_) {
            Configuration configuration = written.configuration;
            const Written* base = &written;
            for (std::size_t depth = 0; !base->base.empty(); ++depth) {
                if (depth == 8)
                    fail_at(
                        written.configuration.where,
                        fmt::format("bases of '{}' are nested more than 8 deep or form a cycle; remove one", written.configuration.name));
                const auto at = index_.find(base->base);
                if (at == index_.end())
                    fail_at(base->configuration.where,
                            unknown_name("base", base->base, names_of(index_, [](const auto& known) { return known.first; })));
                base = &written_[at->second];
                after_base(configuration, base->configuration);
                const auto& more = base->configuration.overrides;
                configuration.overrides.insert(configuration.overrides.begin(), more.begin(), more.end());
                for (const auto& [workload, own] : base->configuration.by_workload) {
                    std::vector<std::string>& list = configuration.by_workload[workload];
                    list.insert(list.begin(), own.begin(), own.end());
                }
                if (configuration.machine.empty()) configuration.machine = base->configuration.machine;
            }
            study_.configurations.push_back(std::move(configuration));
        }
    }

private:
    struct Written {
        Configuration configuration;
        std::string base;
        std::size_t lists = 0;
    };
    /// What a base changes by workload is changed before what is built on it changes for all.
    void after_base(Configuration& configuration, const Configuration& base) const {
        if (base.by_workload.empty()) return;
        for (const StudyWorkload& workload : study_.workloads) {
            std::vector<std::string>& list = configuration.by_workload[workload.name];
            list.insert(list.begin(), configuration.overrides.begin(), configuration.overrides.end());
        }
        configuration.overrides.clear();
    }
    /// A text that uses `workload` differs by workload.
    void change(Configuration& configuration, const Formula& text, const Variables& variables, Evaluator& evaluator) const {
        if (!mentions(text, "workload")) {
            configuration.overrides.push_back(evaluator.text(text, variables));
            return;
        }
        for (const StudyWorkload& workload : study_.workloads) {
            Variables more = variables;
            more.emplace_back("workload", workload.name);
            configuration.by_workload[workload.name].push_back(evaluator.text(text, more));
        }
    }
    void add(Written written) {
        const std::string name = written.configuration.name;
        const auto [at, is_new] = index_.try_emplace(name, written_.size());
        if (is_new) {
            if (written_.size() == kMaxConfigurations)
                fail_at(written.configuration.where, fmt::format("more than {} configurations; use shorter lists", kMaxConfigurations));
            written_.push_back(std::move(written));
            return;
        }
        Written& other = written_[at->second];
        if (written.lists == other.lists)
            fail_at(written.configuration.where, fmt::format("duplicate configuration '{}'; choose another name", printable(name, 60)));
        if (written.lists < other.lists) other = std::move(written);
    }

    StudySpec& study_;
    const std::string& file_;
    std::vector<Written> written_;
    std::map<std::string, std::size_t, std::less<>> index_;
};

Value list_value(const StudyTable& section, const toml::node& node) {
    if (const auto number = node.value<double>(); node.is_number() && std::isfinite(*number)) return *number;
    if (node.is_string() && node.as_string()->get().size() <= StudyTable::kMaxName) return node.as_string()->get();
    section.fail(node, fmt::format("a list contains numbers or texts of at most {} characters; write one of these", StudyTable::kMaxName));
}

/// HS = "hotspot", or with a choice of kernels and changes of its own: ATAX_1 = { program = "atax", kernels = "1", set = ["..."] }.
StudyWorkload read_workload(const std::string& name, const StudyTable& parent, const toml::node& node, const std::string& file) {
    StudyWorkload workload;
    workload.name = name;
    workload.where = parent.place(node);
    const toml::table* table = node.as_table();
    if (table == nullptr) {
        workload.program = parent.text_of(node, name);
        return workload;
    }
    StudyTable section(*table, file, fmt::format("workload '{}'", name));
    workload.program = section.text("program");
    workload.kernels = section.text("kernels", false);
    workload.overrides = section.texts("set", false);
    workload.apart = section.flag("apart", false);
    workload.size = section.text("size", false);
    workload.seed = section.whole("seed", 0, 1'000'000, 0);
    section.done();
    return workload;
}

void read_study_file(StudySpec& study, const StudyText& file) {
    const TomlFile toml(file.text, file.name);
    StudyTable section(toml.root(), toml.name(), "study.toml");
    study.title = section.text("title");
    study.machine = section.text("machine");
    study.machine_where = section.where("machine");
    study.reference = section.text("reference");
    section.entries("workloads", true, [&](const std::string& name, const toml::node& node) {
        study.workloads.push_back(read_workload(name, section, node, file.name));
        study.lists["workload"].push_back(name);
    });
    if (study.workloads.empty()) section.fail("workloads", "no workloads; add one, for example HS = \"hotspot\"");
    for (const std::string& name : section.texts("seeded", false)) {
        const auto at =
            std::find_if(study.workloads.begin(), study.workloads.end(), [&](const StudyWorkload& w) { return w.name == name; });
        if (at == study.workloads.end()) section.fail("seeded", unknown_name("workload", name, study.workload_names()));
        at->seeded = true;
    }
    section.entries("list", false, [&](const std::string& name, const toml::node& node) {
        const toml::array* array = node.as_array();
        if (!is_name(name) || study.lists.contains(name))
            section.fail(node, fmt::format("'{}' is not a valid name of a list; choose another", name));
        if (array == nullptr || array->empty() || array->size() > kMaxList)
            section.fail(node, fmt::format("list '{}' must have 1 to {} values; write [a, b, ...]", name, kMaxList));
        for (const toml::node& value : *array) study.lists[name].push_back(list_value(section, value));
    });
    read_measures(section, study, study.measures);
    ConfigurationReader configurations(study, file.name);
    section.entries("configuration", true,
                    [&](const std::string& name, const toml::node& node) { configurations.read(name, section, node); });
    configurations.finish();
    section.done();
    if (study.find(study.reference) == nullptr)
        section.fail("reference", unknown_name("configuration", study.reference, study.configuration_names()));
}

CriterionSpec read_criterion(StudyTable& section) {
    CriterionSpec c;
    c.where = section.where();
    c.kind = section.one_of("kind", "kind", kCriterionKinds);
    if (section.has("level") && section.one_of("level", "level", kLevels) == to_text(Level::detail)) c.level = Level::detail;
    c.text = section.wording("text");
    c.unit = section.wording("unit", false);
    c.value = section.expression("value");
    c.rising = section.sweeps("rising", false);
    c.step = section.expression("step");
    c.published = section.published("published");
    c.low = section.expression("low");
    c.high = section.expression("high");
    c.above = section.expression("above");
    c.equals = section.published("equals");
    const int rules = (c.low || c.high ? 1 : 0) + (c.above ? 1 : 0) + (c.equals ? 1 : 0) + (c.rising.empty() ? 0 : 1);
    if (rules > 1) fail_at(c.where, "a criterion has exactly one rule; keep low and high, above, equals, or rising");
    if (rules == 0 && !(c.kind == "M" && c.published))
        fail_at(c.where,
                "a criterion requires a rule; add low, high, above, equals or rising (kind \"M\" with published has a default band)");
    if (c.value.has_value() == !c.rising.empty()) fail_at(c.where, "a criterion requires either value or rising; give one of them");
    if (c.step && c.rising.empty()) section.fail("step", "'step' requires 'rising'; remove it");
    return c;
}

TableSpec read_table(StudyTable& section, const StudySpec& study) {
    TableSpec t;
    t.where = section.where();
    t.title = section.wording("title");
    t.rows = section.text("rows", false, "workload");
    if (!study.lists.contains(t.rows)) section.fail("rows", unknown_name("list", t.rows, ListScope(study).names()));
    t.row = section.wording("row", false, fmt::format("{{{}}}", t.rows));
    t.corner = section.text("corner", false, t.rows);
    t.columns = section.sweeps("columns", true);
    const double digits = section.number("digits").value_or(3);
    if (!(digits >= 0 && digits <= 9)) section.fail("digits", "'digits' must be 0 to 9");
    t.digits = static_cast<int>(digits);
    t.mean = section.flag("mean", t.rows == "workload");
    t.geometric = section.flag("geometric", t.mean);
    if (t.rows != "workload" && (t.mean || t.geometric))
        fail_at(t.where, "only tables with a row per workload have means; remove 'mean' and 'geometric'");
    return t;
}

ChartSpec read_chart(StudyTable& section) {
    ChartSpec c;
    c.where = section.where();
    c.kind = section.one_of("kind", "kind", kChartKinds);
    c.title = section.wording("title");
    c.x_title = section.wording("x_title", c.kind == "lines", "workload");
    c.y_title = section.wording("y_title");
    c.baseline = section.number("baseline");
    c.series = section.sweeps("series", true);
    section.entries("published", false, [&](const std::string& series, const toml::node& node) {
        const toml::table* table = node.as_table();
        if (table == nullptr) section.fail(node, fmt::format("write [chart.published.\"{}\"] and below it WORKLOAD = \"ID\"", series));
        section.in_order(*table, [&](const std::string& x, const toml::node& id) {
            c.published.push_back({section.place(id), series, x, section.text_of(id, x)});
        });
    });
    return c;
}

/// "ICC-9" before "ICC-10".
std::pair<std::string, std::uint64_t> order_of(const std::string& id) {
    const std::size_t digits = id.find_last_not_of("0123456789") + 1;
    const std::string number = id.substr(digits);
    return {id.substr(0, digits), number.empty() || number.size() > 9 ? 0 : std::stoull(number)};
}

}  // namespace

const Configuration* StudySpec::find(std::string_view name) const {
    const auto at = std::find_if(configurations.begin(), configurations.end(), [&](const Configuration& c) { return c.name == name; });
    return at == configurations.end() ? nullptr : &*at;
}

const std::vector<Value>* StudySpec::list(std::string_view name) const {
    const auto at = lists.find(name);
    return at == lists.end() ? nullptr : &at->second;
}

std::vector<std::string> overrides_of(const Configuration& configuration, const StudyWorkload& workload) {
    std::vector<std::string> all = configuration.overrides;
    if (const auto own = configuration.by_workload.find(workload.name); own != configuration.by_workload.end())
        all.insert(all.end(), own->second.begin(), own->second.end());
    all.insert(all.end(), workload.overrides.begin(), workload.overrides.end());
    return all;
}

StudySpec StudySpec::seen_by(const ExperimentSpec& experiment) const {
    StudySpec seen = *this;
    seen.workloads.clear();
    seen.lists["workload"].clear();
    const auto& named = experiment.workloads;
    for (const StudyWorkload& workload : workloads) {
        if (named.empty() ? workload.apart : std::find(named.begin(), named.end(), workload.name) == named.end()) continue;
        seen.workloads.push_back(workload);
        seen.lists["workload"].push_back(workload.name);
    }
    return seen;
}

ExperimentSpec parse_experiment(const StudySpec& study, const StudyText& file) {
    const TomlFile toml(file.text, file.name);
    StudyTable section(toml.root(), toml.name(), "the experiment");
    ExperimentSpec e;
    e.file = file.name;
    e.id = section.text("id");
    if (e.id.empty() || e.id.find('/') != std::string::npos || e.id.front() == '.')
        section.fail("id", "an id begins the names of the experiment's files; it must not be empty, begin with '.' or contain '/'");
    e.figure = section.text("figure");
    e.title = section.text("title");
    e.baseline = section.flag("baseline", false);
    const ListScope scope(study);
    Evaluator evaluator(scope);
    for (const std::string& text : section.texts("configurations", true)) {
        const Formula name = parse_wording(text, section.where("configurations"));
        for_all(study, lists_in(study, name), [&](const Variables& variables) {
            e.configurations.push_back(evaluator.text(name, variables));
            if (study.find(e.configurations.back()) == nullptr)
                fail_at(name.where, unknown_name("configuration", e.configurations.back(), study.configuration_names()));
        });
    }
    e.workloads = section.texts("workloads", false);
    const std::vector<std::string> known = study.workload_names();
    for (const std::string& name : e.workloads) {
        if (std::find(known.begin(), known.end(), name) == known.end()) section.fail("workloads", unknown_name("workload", name, known));
    }
    if (study.seen_by(e).workloads.empty())
        fail_at(section.where(), "the experiment has no workloads: all of study.toml are marked apart; list some with workloads = [...]");
    read_measures(section, study, e.measures);
    section.each<StudyTable>("criterion", [&](StudyTable& s) { e.criteria.push_back(read_criterion(s)); });
    section.each<StudyTable>("table", [&](StudyTable& s) { e.tables.push_back(read_table(s, study)); });
    section.each<StudyTable>("chart", [&](StudyTable& s) { e.charts.push_back(read_chart(s)); });
    section.each<StudyTable>("note", [&](StudyTable& s) { e.notes.push_back({s.wording("text"), s.expression("when")}); });
    section.done();
    if (e.criteria.empty() && e.tables.empty() && e.charts.empty())
        fail_at(section.where(), "the experiment has no output; add [[criterion]], [[table]] or [[chart]]");
    return e;
}

StudySpec parse_study(const std::string& paper, const StudyText& study, const std::vector<StudyText>& experiments) {
    StudySpec spec;
    spec.paper = paper;
    read_study_file(spec, study);
    for (const StudyText& file : experiments) {
        ExperimentSpec experiment = parse_experiment(spec, file);
        for (const ExperimentSpec& other : spec.experiments) {
            if (other.id == experiment.id)
                fail_at(file.name + ":1", fmt::format("'{}' is already the id of '{}'; choose another one", experiment.id, other.file));
        }
        spec.experiments.push_back(std::move(experiment));
    }
    std::stable_sort(spec.experiments.begin(), spec.experiments.end(),
                     [](const ExperimentSpec& a, const ExperimentSpec& b) { return order_of(a.id) < order_of(b.id); });
    return spec;
}

}  // namespace mergelane::study
