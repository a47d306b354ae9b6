// SPDX-License-Identifier: MIT
#include "study/study_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/text.hpp"
#include "sim/simulation.hpp"

namespace mergelane::study {

namespace {

using Json = nlohmann::json;

/// Columns as wide as they need to be; the first to the left, the others to the right.
std::string aligned(const Table& table) {
    std::vector<std::size_t> widths;
    for (const std::string& column : table.columns) widths.push_back(column.size());
    for (const auto& row : table.rows) {
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    const auto line = [&](const std::vector<std::string>& cells) {
        std::string text = "  ";
        for (std::size_t i = 0; i < cells.size(); ++i)
            text += i == 0 ? fmt::format("{:<{}}", cells[i], widths[i]) : fmt::format("  {:>{}}", cells[i], widths[i]);
        text.erase(text.find_last_not_of(' ') + 1);
        return text + "\n";
    };
    std::string text = table.title.empty() ? "" : fmt::format("  {}\n", table.title);
    text += line(table.columns);
    for (const auto& row : table.rows) text += line(row);
    return text;
}

/// As many digits as tell something.
std::string short_number(double value) {
    if (is_missing(value)) return "-";
    if (value == std::floor(value) && std::abs(value) < 1e9) return fmt::format("{:.0f}", value == 0 ? 0 : value);
    return std::abs(value) < 1 ? fmt::format("{:.2g}", value) : number_text(value, std::abs(value) < 10 ? 2 : 1);
}

std::string band(const Criterion& c) {
    if (!c.expected.empty()) return c.expected;
    if (c.low && c.high)
        return *c.low == *c.high ? short_number(*c.low) : fmt::format("{} .. {}", short_number(*c.low), short_number(*c.high));
    if (c.low) return fmt::format("{} {}", c.strict ? ">" : ">=", short_number(*c.low));
    return c.high ? fmt::format("<= {}", short_number(*c.high)) : "";
}

std::string measured_text(const Criterion& c) {
    if (const std::string* text = std::get_if<std::string>(&c.measured)) return *text;
    return short_number(std::get<double>(c.measured));
}

/// Empty where the input makes no difference that shows.
std::string spread(const Criterion& c) {
    if (!c.seeds || is_missing(c.seeds->least)) return c.seeds && c.seeds->verdict_varies ? "verdict varies" : "";
    const std::string least = short_number(c.seeds->least);
    const std::string most = short_number(c.seeds->most);
    return fmt::format("{}{}", least == most ? "" : fmt::format("{} .. {}", least, most), c.seeds->verdict_varies ? " verdict varies" : "");
}

Table criteria_table(const Experiment& e) {
    Table table{"", {"criterion", "kind", "measured", "published", "band", "unit", "verdict"}, {}};
    const bool details = e.of(Level::detail) != 0;
    if (details) table.columns.insert(table.columns.begin() + 1, "level");
    const bool several = std::any_of(e.criteria.begin(), e.criteria.end(), [](const Criterion& c) { return c.seeds.has_value(); });
    const std::ptrdiff_t after_measured = details ? 4 : 3;
    if (several) table.columns.insert(table.columns.begin() + after_measured, "by seed");
    for (const Criterion& c : e.criteria) {
        table.rows.push_back({c.text, c.kind, measured_text(c), c.published ? short_number(*c.published) : "", band(c), c.unit,
                              std::string(in_words(c.verdict))});
        if (details) table.rows.back().insert(table.rows.back().begin() + 1, std::string(to_text(c.level)));
        if (several) table.rows.back().insert(table.rows.back().begin() + after_measured, spread(c));
    }
    return table;
}

/// "3 of 4 criteria"; where there are details, both counts.
std::string criteria_met(const Experiment& e) {
    const std::size_t details = e.of(Level::detail);
    if (e.criteria.empty()) return "no criteria";
    if (details == 0) return fmt::format("{} of {} criteria", e.met(Level::headline), e.of(Level::headline));
    return fmt::format("headline {} of {}, details {} of {}", e.met(Level::headline), e.of(Level::headline), e.met(Level::detail), details);
}

std::string plain(std::optional<double> value) {
    return !value || is_missing(*value) ? "" : fmt::format("{}", *value);
}

Json number(std::optional<double> value) {
    return !value || is_missing(*value) ? Json() : Json(*value);
}

Json points(const std::vector<ChartPoint>& list) {
    Json array = Json::array();
    for (const ChartPoint& p : list) {
        Json point{{"x", p.x}, {"series", p.series}, {"y", number(p.y)}};
        if (!p.part.empty()) point["part"] = p.part;
        array.push_back(std::move(point));
    }
    return array;
}

Json experiment_json(const Experiment& e) {
    Json json{{"id", e.id}, {"figure", e.figure}, {"title", e.title}, {"verdict", to_text(e.verdict())}, {"notes", e.notes}};
    json["headline_met"] = e.met(Level::headline);
    json["headline_of"] = e.of(Level::headline);
    json["detail_met"] = e.met(Level::detail);
    json["detail_of"] = e.of(Level::detail);
    json["criteria"] = Json::array();
    for (const Criterion& c : e.criteria) {
        Json criterion{{"text", c.text},         {"kind", c.kind}, {"published", number(c.published)}, {"low", number(c.low)},
                       {"high", number(c.high)}, {"unit", c.unit}, {"verdict", to_text(c.verdict)}};
        criterion["level"] = to_text(c.level);
        const std::string* text = std::get_if<std::string>(&c.measured);
        criterion["measured"] = text != nullptr ? Json(*text) : number(std::get<double>(c.measured));
        if (c.strict) criterion["strict"] = true;
        if (!c.expected.empty()) criterion["expected"] = c.expected;
        if (c.seeds)
            criterion["seeds"] = {
                {"least", number(c.seeds->least)}, {"most", number(c.seeds->most)}, {"verdict_varies", c.seeds->verdict_varies}};
        json["criteria"].push_back(std::move(criterion));
    }
    json["charts"] = Json::array();
    for (const Chart& chart : e.charts) {
        json["charts"].push_back({{"kind", chart.kind},
                                  {"title", chart.title},
                                  {"x_title", chart.x_title},
                                  {"y_title", chart.y_title},
                                  {"baseline", number(chart.baseline)},
                                  {"data", points(chart.data)},
                                  {"published", points(chart.published)}});
    }
    json["tables"] = Json::array();
    for (const Table& table : e.tables)
        json["tables"].push_back({{"title", table.title}, {"columns", table.columns}, {"rows", table.rows}});
    return json;
}

}  // namespace

std::string to_text(const StudyResult& result) {
    std::string text = fmt::format("{}\nsize {}, {} ({}), network : DRAM bandwidth {:.2f} to 1, mergelane {}\n", result.title, result.size,
                                   result.machine, result.machine_hash.substr(0, 12), result.network_to_dram, result.version);
    if (result.seeds.size() > 1 && result.seeded.empty()) {
        text += "no workload of the study depends on its input (seeded), so there is one result for all seeds\n";
    } else if (result.seeds.size() > 1) {
        text += fmt::format(
            "values are for seed {0}; \"by seed\" is the range over seeds {0} to {1} of {2}; the other workloads do not depend on the "
            "seed\n",
            result.seeds.front(), result.seeds.back(), fmt::join(result.seeded, " and "));
    }
    for (const Experiment& e : result.experiments) {
        text += fmt::format("\n{}  {}  ({}): {}\n", e.id, e.title, e.figure, in_words(e.verdict()));
        for (const Table& table : e.tables) text += "\n" + aligned(table);
        if (!e.criteria.empty()) text += "\n" + aligned(criteria_table(e));
        for (const std::string& note : e.notes) text += fmt::format("  {}\n", note);
    }
    std::size_t failed = 0;
    std::size_t missing = 0;
    for (const StudyRun& run : result.runs) {
        if (run.record == nullptr) {
            ++missing;
        } else if (!run.record->done) {
            if (failed++ == 0) text += "\nFailed runs (rerun with --retry-failed)\n";
            text += fmt::format("  {} with {}: {}\n", run.run.spec.workload, fmt::join(run.run.spec.overrides, ", "), run.record->message);
        }
    }
    text += "\nSummary\n";
    std::size_t id = 7, figure = 9, title = 44;
    for (const Experiment& e : result.experiments) {
        id = std::max(id, e.id.size() + 1);
        figure = std::max(figure, e.figure.size() + 1);
        title = std::max(title, e.title.size() + 1);
    }
    for (const Experiment& e : result.experiments) {
        text += fmt::format("  {:<{}}{:<{}}{:<{}}", e.id, id, e.figure, figure, e.title, title);
        text += e.verdict() == Verdict::not_judged ? std::string("not evaluated\n")
                                                   : fmt::format("{:<9}{}\n", in_words(e.verdict()), criteria_met(e));
    }
    const std::size_t unjudged = result.count(Verdict::not_judged);
    const std::size_t reported = result.count(Verdict::reported);
    std::vector<std::string> counts;
    if (const std::size_t judged = result.experiments.size() - unjudged - reported)
        counts.push_back(fmt::format("{} of {} pass", result.count(Verdict::pass), judged));
    if (const std::size_t open = result.count(Verdict::not_run)) counts.push_back(fmt::format("{} not run", open));
    if (unjudged != 0) counts.push_back(fmt::format("{} not evaluated", unjudged));
    if (reported != 0) counts.push_back(fmt::format("{} only reported", reported));
    text += fmt::format("{}", fmt::join(counts, ", "));
    if (failed + missing != 0) text += fmt::format("; of {} runs {} failed and {} are missing", result.runs.size(), failed, missing);
    text += "\n";
    if (unjudged != 0)
        text += fmt::format("Size {} only tests that everything works: grids are smaller than the machine. --size paper is evaluated.\n",
                            result.size);
    return text;
}

Json to_json(const StudyResult& result) {
    Json json{{"schema", 1}, {"paper", result.paper}, {"title", result.title}, {"version", result.version}, {"size", result.size}};
    json["seeds"] = result.seeds;
    json["seeded"] = result.seeded;
    json["machine"] = {{"name", result.machine},
                       {"hash", result.machine_hash},
                       {"facts", result.machine_facts},
                       {"network_to_dram_bandwidth", result.network_to_dram}};
    json["experiments"] = Json::array();
    for (const Experiment& e : result.experiments) json["experiments"].push_back(experiment_json(e));
    json["workloads"] = Json::array();
    for (const auto& [name, list] : result.workloads) json["workloads"].push_back({{"name", name}, {"properties", list}});
    json["runs"] = Json::array();
    for (const StudyRun& run : result.runs) {
        Json record{{"key", run.run.key},
                    {"gpu", run.run.spec.gpu},
                    {"overrides", run.run.spec.overrides},
                    {"workload", run.run.spec.workload},
                    {"seed", run.run.spec.seed}};
        const bool done = run.record != nullptr && run.record->done;
        record["status"] = run.record == nullptr ? "not_run" : done ? "done" : "failed";
        record["digest"] = done ? Json(run.record->digest) : Json();
        record["cycles"] = done ? Json(run.record->cycles) : Json();
        if (run.record != nullptr && !done) record["message"] = run.record->message;
        json["runs"].push_back(std::move(record));
    }
    return json;
}

namespace {

/// Two rows per machine but the first: means of its ratios.
void add_means(const Comparison& c, Table& table) {
    for (const auto& [label, mean] : {std::pair{"mean", &Series::mean}, std::pair{"geometric mean", &Series::geometric_mean}}) {
        for (std::size_t m = 1; m < c.machines.size(); ++m) {
            std::vector<std::string> row{m == 1 ? label : "", c.machines[m].name};
            for (const ComparedQuantity& q : c.quantities) {
                if (q.digits >= 0) row.emplace_back();
                if (q.compared) row.push_back(number_text((q.ratios[m].*mean)(), 3));
            }
            table.rows.push_back(std::move(row));
        }
    }
}

/// "1.234 +- 0.005"; the width is left out where it is unknown or there is none.
std::string with_width(double value, const std::vector<Series>& widths, std::size_t machine, std::size_t workload, int digits) {
    const double width = widths.empty() ? kMissing : widths[machine].at(workload);
    const std::string text = number_text(value, digits);
    return std::isnan(width) || std::isnan(value) ? text : fmt::format("{} +- {}", text, number_text(width, digits));
}

/// A row per workload and machine.
Table comparison_table(const Comparison& c) {
    Table table{"", {"workload", ""}, {}};
    for (const ComparedQuantity& q : c.quantities) {
        if (q.digits >= 0) table.columns.push_back(q.name + (q.digits == 0 ? "" : ", " + q.unit));
        if (q.compared) table.columns.push_back(q.digits >= 0 ? "/ " + c.machines.front().name : q.name + " / " + c.machines.front().name);
    }
    for (std::size_t w = 0; w < c.workloads.size(); ++w) {
        for (std::size_t m = 0; m < c.machines.size(); ++m) {
            std::vector<std::string> row{m == 0 ? c.workloads[w] : "", c.machines[m].name};
            for (const ComparedQuantity& q : c.quantities) {
                if (q.digits >= 0) row.push_back(with_width(q.values[m].at(w), q.half_widths, m, w, q.digits));
                if (q.compared) row.push_back(m == 0 ? "" : with_width(q.ratios[m].at(w), q.ratio_half_widths, m, w, 3));
            }
            table.rows.push_back(std::move(row));
        }
    }
    if (c.workloads.size() > 1) add_means(c, table);
    return table;
}

}  // namespace

std::string to_text(const Comparison& c) {
    std::string text;
    for (const ComparedMachine& m : c.machines)
        text += fmt::format("{}: {}; validated: {}\n", m.name, m.label(), m.validated.empty() ? "not stated" : m.validated);
    text += fmt::format("size {}\n\n", c.size) + aligned(comparison_table(c));
    if (!c.quantities.empty()) {
        const std::vector<Series>& times = c.quantities.front().ratios;
        std::size_t fastest = 0;
        for (std::size_t m = 1; m < times.size(); ++m) {
            if (times[m].geometric_mean() < times[fastest].geometric_mean()) fastest = m;
        }
        text += fmt::format("\nfastest by the geometric mean of the kernel time: {} ({}); 'mergelane explain' says what limits each\n",
                            c.machines[fastest].name, c.machines[fastest].label());
    }
    for (const std::string& note : c.notes) text += fmt::format("note: {}\n", note);
    for (const std::string& failure : c.failures) text += fmt::format("failed: {}\n", failure);
    return text;
}

Json to_json(const Comparison& c) {
    Json json{{"schema", 2}, {"version", version()}, {"size", c.size}, {"failures", c.failures}, {"notes", c.notes}};
    json["machines"] = Json::array();
    for (const ComparedMachine& m : c.machines)
        json["machines"].push_back(
            {{"name", m.name}, {"gpu", m.gpu}, {"overrides", m.overrides}, {"core_mhz", m.core_mhz}, {"validated", m.validated}});
    json["workloads"] = c.workloads;
    if (!c.sample.empty()) json["sample"] = {{"options", c.sample}, {"confidence", 0.95}};
    json["quantities"] = Json::array();
    const auto each = [](const std::vector<Series>& list, const auto& value) {
        Json array = Json::array();
        for (const Series& s : list) array.push_back(number(value(s)));
        return array;
    };
    for (const ComparedQuantity& q : c.quantities) {
        Json rows = Json::array();
        for (std::size_t w = 0; w < c.workloads.size(); ++w) {
            const auto at = [w](const Series& s) { return s.at(w); };
            rows.push_back({{"workload", c.workloads[w]}, {"values", each(q.values, at)}, {"ratios", each(q.ratios, at)}});
            if (c.sample.empty()) continue;
            rows.back()["half_widths"] = each(q.half_widths, at);
            rows.back()["ratio_half_widths"] = each(q.ratio_half_widths, at);
        }
        json["quantities"].push_back({{"name", q.name},
                                      {"unit", q.unit},
                                      {"compared", q.compared},
                                      {"values", std::move(rows)},
                                      {"mean_ratios", each(q.ratios, [](const Series& s) { return s.mean(); })},
                                      {"geometric_mean_ratios", each(q.ratios, [](const Series& s) { return s.geometric_mean(); })}});
    }
    return json;
}

std::string to_csv(const Comparison& c) {
    const bool sampled = !c.sample.empty();
    std::string text = fmt::format("workload,quantity,unit,machine,gpu,overrides,value,ratio{}\n", sampled ? ",value +-,ratio +-" : "");
    for (const ComparedQuantity& q : c.quantities) {
        for (std::size_t m = 0; m < c.machines.size(); ++m) {
            const ComparedMachine& machine = c.machines[m];
            const std::string whose = fmt::format("{},{},{},{},{}", csv_field(q.name), csv_field(q.unit), machine.name,
                                                  csv_field(machine.gpu), csv_field(fmt::format("{}", fmt::join(machine.overrides, " "))));
            for (std::size_t w = 0; w < c.workloads.size(); ++w)
                text += fmt::format("{},{},{},{}{}\n", csv_field(c.workloads[w]), whose, plain(q.values[m].at(w)), plain(q.ratios[m].at(w)),
                                    sampled ? "," + plain(q.half_widths[m].at(w)) + "," + plain(q.ratio_half_widths[m].at(w)) : "");
            const char* const unknown = sampled ? ",," : "";
            text += fmt::format("mean,{},,{}{}\n", whose, plain(q.ratios[m].mean()), unknown);
            text += fmt::format("geometric mean,{},,{}{}\n", whose, plain(q.ratios[m].geometric_mean()), unknown);
        }
    }
    return text;
}

}  // namespace mergelane::study
