// SPDX-License-Identifier: MIT
#include "study/study_judge.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/config.hpp"
#include "core/error.hpp"
#include "files/toml_text.hpp"
#include "runs/plan.hpp"
#include "workload/file/workload_file.hpp"
#include "workload/suite/suite.hpp"

namespace mergelane::study {

namespace {

/// The default band of a magnitude: so many times the published change.
constexpr double kBandLow = 0.4;
constexpr double kBandHigh = 2.5;

class ExperimentBuilder {
public:
    ExperimentBuilder(const ExperimentSpec& spec, const Measurements& measurements, const Published& published)
        : spec_(spec),
          names_(measurements.study().workload_names()),
          published_(published),
          scope_(measurements, spec, published),
          evaluator_(scope_) {}

    Experiment build() {
        Experiment e;
        e.id = spec_.id;
        e.figure = spec_.figure;
        e.title = spec_.title;
        for (const CriterionSpec& c : spec_.criteria) {
            e.criteria.push_back(criterion(c));
            e.criteria.back().level = c.level;
        }
        for (const TableSpec& t : spec_.tables) e.tables.push_back(t.rows == "workload" ? workload_table(t) : list_table(t));
        for (const ChartSpec& c : spec_.charts) e.charts.push_back(chart(c));
        for (const NoteSpec& n : spec_.notes) {
            std::string text = evaluator_.text(n.text);
            const double when = n.when ? evaluator_.number(*n.when) : 1;
            if (!is_missing(when) && when != 0) e.notes.push_back(std::move(text));
        }
        return e;
    }

private:
    std::optional<double> number(const std::optional<Formula>& formula) {
        return formula ? std::optional(evaluator_.number(*formula)) : std::nullopt;
    }

    Criterion criterion(const CriterionSpec& c) {
        std::string text = evaluator_.text(c.text);
        std::string unit = evaluator_.text(c.unit);
        const std::optional<double> stated = number(c.published);
        if (!c.rising.empty()) {
            std::vector<double> numbers;
            for (const Formula& sweep : c.rising) {
                for (const Swept& swept : evaluator_.sweep(sweep)) {
                    const double* value = std::get_if<double>(&swept.value);
                    if (value == nullptr) fail_at(sweep.where, "'rising' requires numbers; use mean(...) or at(..., 'WORKLOAD')");
                    numbers.push_back(*value);
                }
            }
            Criterion made = rising(c.kind, std::move(text), numbers, std::move(unit), number(c.step).value_or(0));
            made.published = stated;
            return made;
        }
        if (c.equals) return equal(c, std::move(text), std::move(unit));
        const double measured = evaluator_.number(*c.value);
        if (c.above) return above(c.kind, std::move(text), measured, std::move(unit), stated, evaluator_.number(*c.above));
        std::optional<double> low = number(c.low);
        std::optional<double> high = number(c.high);
        if (!low && !high) {
            low = std::min(kBandLow * *stated, kBandHigh * *stated);
            high = std::max(kBandLow * *stated, kBandHigh * *stated);
        }
        return within(c.kind, std::move(text), measured, std::move(unit), stated, low, high);
    }

    Criterion equal(const CriterionSpec& c, std::string text, std::string unit) {
        const Value measured = evaluator_.value(*c.value);
        const Value expected = evaluator_.value(*c.equals);
        const std::string* words = std::get_if<std::string>(&measured);
        const std::string* expected_words = std::get_if<std::string>(&expected);
        Criterion made;
        if (words != nullptr && expected_words != nullptr) {
            made = exact_text(std::move(text), *words, *expected_words);
            made.unit = std::move(unit);
        } else {
            made = exact(std::move(text), evaluator_.number(*c.value), evaluator_.number(*c.equals), std::move(unit));
        }
        made.kind = c.kind;
        return made;
    }

    /// One for each value of the sweeps, every one with values of the workloads.
    std::vector<std::pair<Series, std::string>> series_of(const std::vector<Formula>& sweeps) {
        std::vector<std::pair<Series, std::string>> list;
        for (const Formula& sweep : sweeps) {
            for (Swept& swept : evaluator_.sweep(sweep)) {
                auto* values = std::get_if<std::vector<double>>(&swept.value);
                if (values == nullptr)
                    fail_at(sweep.where,
                            fmt::format("\"{}\" must give per-workload values; write for example ipc('CONFIGURATION')", sweep.text));
                if (swept.label.empty()) fail_at(sweep.where, fmt::format("\"{}\" has no label; add as 'LABEL'", sweep.text));
                list.emplace_back(Series{std::move(swept.label), std::move(*values)}, std::move(swept.part));
            }
        }
        return list;
    }

    Table workload_table(const TableSpec& t) {
        std::vector<Series> columns;
        for (auto& [series, part] : series_of(t.columns)) columns.push_back(std::move(series));
        Table table = table_of(evaluator_.text(t.title), names_, columns, t.digits, t.geometric);
        table.columns.front() = t.corner;
        if (!t.mean) table.rows.erase(table.rows.begin() + static_cast<std::ptrdiff_t>(names_.size()));
        return table;
    }

    /// Rows of a list; cells are numbers or texts.
    Table list_table(const TableSpec& t) {
        Table table{evaluator_.text(t.title), {t.corner}, {}};
        for (const Value& value : *scope_.list(t.rows)) {
            std::vector<std::string> columns{t.corner};
            std::vector<std::string> row{evaluator_.text(t.row, {{t.rows, value}})};
            for (const Formula& column : t.columns) {
                for (const Swept& cell : evaluator_.sweep(column, {{t.rows, value}})) {
                    const double* number = std::get_if<double>(&cell.value);
                    if (std::holds_alternative<std::vector<double>>(cell.value))
                        fail_at(column.where, fmt::format("\"{}\" must give a number or a text; use mean(...)", column.text));
                    row.push_back(number != nullptr ? number_text(*number, t.digits) : std::get<std::string>(cell.value));
                    columns.push_back(cell.label);
                }
            }
            if (columns.size() != row.size() || (!table.rows.empty() && columns.size() != table.columns.size()))
                fail_at(t.where, "the rows of this table have different columns; remove 'where'");
            table.columns = std::move(columns);
            table.rows.push_back(std::move(row));
        }
        return table;
    }

    Chart chart(const ChartSpec& c) {
        Chart made{c.kind, evaluator_.text(c.title), evaluator_.text(c.x_title), evaluator_.text(c.y_title), c.baseline, {}, {}};
        auto list = series_of(c.series);
        if (c.kind == "stacked") together(list);
        if (c.kind == "lines") {
            for (std::size_t w = 0; w <= names_.size(); ++w) {
                for (const auto& [s, part] : list)
                    made.data.push_back({s.label, w == names_.size() ? "mean" : names_[w], "", w == names_.size() ? s.mean() : s.at(w)});
            }
        } else {
            for (const auto& [s, part] : list) {
                if (part.empty() == (c.kind == "stacked"))
                    fail_at(c.where, "stacked bars require parts, and no other chart has them; write as 'LABEL', 'PART'");
                for (std::size_t w = 0; w < names_.size(); ++w) made.data.push_back({names_[w], s.label, part, s.at(w)});
                made.data.push_back({"mean", s.label, part, s.mean()});
            }
        }
        for (const PublishedMark& mark : c.published) made.published.push_back(point(mark, made));
        return made;
    }

    /// The parts of a bar one after another.
    static void together(std::vector<std::pair<Series, std::string>>& list) {
        std::vector<std::string> labels;
        for (const auto& [s, part] : list) {
            if (std::find(labels.begin(), labels.end(), s.label) == labels.end()) labels.push_back(s.label);
        }
        const auto place = [&](const auto& entry) { return std::find(labels.begin(), labels.end(), entry.first.label) - labels.begin(); };
        std::stable_sort(list.begin(), list.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
    }

    /// With a baseline the published change is drawn relative to it.
    ChartPoint point(const PublishedMark& mark, const Chart& chart) {
        double value = 0;
        try {
            value = published_.change(mark.id);
        } catch (const InputError& error) {
            fail_at(mark.where, fmt::format("the chart {}", error.what()));
        }
        const auto same = [&](const ChartPoint& p) { return p.x == mark.x && p.series == mark.series; };
        if (std::none_of(chart.data.begin(), chart.data.end(), same)) {
            std::vector<std::string> known;
            for (const ChartPoint& p : chart.data) {
                if (std::string name = fmt::format("{}.{}", p.series, p.x); std::find(known.begin(), known.end(), name) == known.end())
                    known.push_back(std::move(name));
            }
            fail_at(mark.where, unknown_name("point of the chart", fmt::format("{}.{}", mark.series, mark.x), known));
        }
        return {mark.x, mark.series, "", chart.baseline ? *chart.baseline * (1 + value / 100) : value};
    }

    const ExperimentSpec& spec_;
    std::vector<std::string> names_;
    const Published& published_;
    StudyScope scope_;
    Evaluator evaluator_;
};

}  // namespace

Experiment judge(const ExperimentSpec& experiment, const Measurements& measurements, const Published& published) {
    return ExperimentBuilder(experiment, measurements, published).build();
}

void check(const StudySpec& study, const Published& published) {
    try {
        load_config(study.machine, {}, default_preset_dirs(), *study.registry);
    } catch (const InputError& error) {
        if (study.machine_where.empty()) throw;
        fail_at(study.machine_where, error.what());
    }
    for (const Configuration& configuration : study.configurations) {
        if (study.machine_of(configuration) == kNoMachine) continue;
        try {
            // What differs by workload shows with the first; the others are read when their runs are planned.
            load_config(study.machine_of(configuration), overrides_of(configuration, study.workloads.front()), default_preset_dirs(),
                        *study.registry);
        } catch (const InputError& error) {
            fail_at(configuration.where, fmt::format("configuration '{}': {}", configuration.name, error.what()));
        }
    }
    for (const StudyWorkload& workload : study.workloads) {
        try {
            if (!is_workload_file(workload.program) && !is_program_command(workload.program)) suite::find_workload(workload.program);
            launches(workload.kernels);
            if (!workload.size.empty()) suite::parse_size(workload.size);
        } catch (const InputError& error) {
            fail_at(workload.where, error.what());
        }
    }
    const Sources sources = installed_sources(study);
    for (const ExperimentSpec& experiment : study.experiments) {
        const StudySpec seen = study.seen_by(experiment);
        judge(experiment, Measurements(seen, sources), published);
    }
}

StudySpec read_and_check(const std::filesystem::path& folder, const Published& published, const Registry& registry,
                         const std::string& machine) {
    StudySpec spec = read_study(folder);
    spec.registry = &registry;
    if (!machine.empty()) {
        spec.machine = machine;
        spec.machine_where.clear();
    }
    check(spec, published);
    return spec;
}

}  // namespace mergelane::study
