// SPDX-License-Identifier: MIT
#include "report/html_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "report/page.hpp"

namespace mergelane {

using namespace report;

namespace {

/// As given, or derived from the criteria: one failure fails, and all must have passed.
std::string verdict_of_experiment(const Json& experiment) {
    if (const std::string given = text(experiment, "verdict"); !given.empty()) return given;
    const Json& criteria = list(experiment, "criteria");
    const auto is = [](const char* verdict) { return [verdict](const Json& c) { return text(c, "verdict") == verdict; }; };
    if (std::any_of(criteria.begin(), criteria.end(), is("fail"))) return "fail";
    if (!criteria.empty() && std::all_of(criteria.begin(), criteria.end(), is("not_judged"))) return "not_judged";
    return !criteria.empty() && std::all_of(criteria.begin(), criteria.end(), is("pass")) ? "pass" : "not_run";
}

/// A word and a symbol in addition to the colour, for colour-blind readers and for print.
std::string badge(const std::string& verdict) {
    if (verdict == "pass") return "<span class=\"verdict pass\">\xE2\x9C\x93 pass</span>";
    if (verdict == "fail") return "<span class=\"verdict fail\">\xE2\x9C\x97 fail</span>";
    if (verdict == "not_judged") return "<span class=\"verdict other\">not evaluated</span>";
    if (verdict == "not_run" || verdict.empty()) return "<span class=\"verdict other\">\xE2\x80\x93 not run</span>";
    return "<span class=\"verdict other\">" + escaped(verdict) + "</span>";
}

std::string with_unit(const std::string& value, const std::string& unit) {
    return value.empty() || unit.empty() ? value : value + "\xC2\xA0" + unit;
}

std::string band_text(const Json& criterion) {
    if (const std::string expected = text(criterion, "expected"); !expected.empty()) return expected;
    const std::string low = text(criterion, "low"), high = text(criterion, "high"), unit = text(criterion, "unit");
    if (!low.empty() && !high.empty()) return with_unit(low == high ? low : low + " to " + high, unit);
    if (!low.empty()) return (member(criterion, "strict") == Json(true) ? "> " : "\xE2\x89\xA5 ") + with_unit(low, unit);
    if (!high.empty()) return "\xE2\x89\xA4 " + with_unit(high, unit);
    return "";
}

/// The band as a box, the measured value as a dot, the published one as a diamond; empty if there is no band or no number.
std::string band_drawing(const Json& criterion) {
    const auto low = number(criterion, "low"), high = number(criterion, "high");
    const auto measured = number(criterion, "measured"), published = number(criterion, "published");
    if (!low || !high || !measured || !(*low < *high)) return "";
    double from = std::min(*low, *measured), to = std::max(*high, *measured);
    if (published) {
        from = std::min(from, *published);
        to = std::max(to, *published);
    }
    const auto at = [&](double value) { return 8 + (value - from) / (to - from) * 104; };
    std::string out = fmt::format(
        "<svg class=\"band drawn\" width=\"120\" height=\"16\" viewBox=\"0 0 120 16\" aria-hidden=\"true\"><line x1=\"2\" x2=\"118\" "
        "y1=\"8\" "
        "y2=\"8\" "
        "stroke=\"#8b949e\"/><rect x=\"{:.1f}\" y=\"3\" width=\"{:.1f}\" height=\"10\" fill=\"#cfe3f1\" stroke=\"#0072B2\"/>",
        at(*low), std::max(1.0, at(*high) - at(*low)));
    if (published)
        out += fmt::format("<path d=\"M{:.1f} 2.5l4.5 5.5l-4.5 5.5l-4.5 -5.5z\" fill=\"white\" stroke=\"black\" stroke-width=\"1.3\"/>",
                           at(*published));
    out += fmt::format("<circle cx=\"{:.1f}\" cy=\"8\" r=\"3.8\" fill=\"#000000\"/></svg>", at(*measured));
    return out;
}

std::string kind_text(const std::string& kind) {
    if (kind == "S") return "sign";
    if (kind == "O") return "order";
    if (kind == "M") return "magnitude";
    return kind;
}

/// Such columns are right-aligned.
bool reads_like_a_number(std::string_view value) {
    for (const std::string_view unit : {"%", " ", "\xC2\xA0"}) {
        if (value.ends_with(unit)) value.remove_suffix(unit.size());
    }
    return value.find_first_of("0123456789") != std::string_view::npos &&
           value.find_first_not_of("0123456789+-.,eE") == std::string_view::npos;
}

/// [[name, value], ...] as rows.
std::string pairs_table(const Json& pairs, const char* caption) {
    std::string rows;
    for (const Json& pair : pairs) {
        if (!pair.is_array() || pair.size() < 2) continue;
        rows += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escaped(text_of(pair[0])), escaped(text_of(pair[1])));
    }
    if (rows.empty()) return "";
    return fmt::format("<div class=\"scroll\" tabindex=\"0\"><table><caption>{}</caption><tbody>\n{}</tbody></table></div>\n", caption,
                       rows);
}

class Report {
public:
    explicit Report(const Json& results) : results_(results), page_(title(results)) {}

    std::string write() {
        facts();
        for (const Json& experiment : list(results_, "experiments")) section(experiment);
        summary();
        workloads();
        configuration();
        runs();
        footer();
        page_.data("results", results_);
        return page_.write();
    }

private:
    static std::string title(const Json& results) {
        if (const std::string given = text(results, "title"); !given.empty()) return given;
        const std::string paper = text(results, "paper");
        return paper.empty() ? "Reproduction" : "Reproduction of " + paper;
    }

    void facts() {
        const Json& machine = member(results_, "machine");
        page_.fact("Paper", text(results_, "paper"));
        page_.fact("Size", text(results_, "size"));
        const Json& seeds = list(results_, "seeds");
        if (!seeds.empty())
            page_.fact(seeds.size() == 1 ? "Seed" : "Seeds",
                       seeds.size() == 1 ? text_of(seeds[0]) : text_of(seeds[0]) + " to " + text_of(seeds.back()));
        page_.fact("Mergelane", text(results_, "version"));
        page_.fact("Machine", text(machine, "name"));
        page_.fact("Configuration", text(machine, "hash"), true);
        if (const auto ratio = number(machine, "network_to_dram_bandwidth"))
            page_.fact("Network : DRAM bandwidth", fmt::format("{:.2f} to 1", *ratio));
    }

    /// "3 of 4"; both counts if there are details.
    static std::string criteria_met(const Json& experiment) {
        std::size_t judged[2] = {}, held[2] = {};
        for (const Json& criterion : list(experiment, "criteria")) {
            const std::size_t level = text(criterion, "level") == "detail" ? 1 : 0;
            judged[level] += text(criterion, "verdict") == "pass" || text(criterion, "verdict") == "fail";
            held[level] += text(criterion, "verdict") == "pass";
        }
        if (judged[0] + judged[1] == 0) return "\xE2\x80\x93";
        if (judged[1] == 0) return fmt::format("{} of {}", held[0], judged[0]);
        return fmt::format("{} of {}, details {} of {}", held[0], judged[0], held[1], judged[1]);
    }

    void summary() {
        const Json& experiments = list(results_, "experiments");
        if (experiments.empty()) {
            page_.lead("<p>These results contain no experiments.</p>\n");
            return;
        }
        std::size_t passed = 0, failed = 0, unjudged = 0, reported = 0, index = 0;
        std::string rows;
        for (const Json& experiment : experiments) {
            const std::string verdict = verdict_of_experiment(experiment);
            passed += verdict == "pass";
            failed += verdict == "fail";
            unjudged += verdict == "not_judged";
            reported += verdict == "reported";
            const std::string id = text(experiment, "id");
            rows += fmt::format(
                "<tr><td class=\"s\"><a href=\"#{}\">{}</a></td><td class=\"s\">{}</td><td>{}</td><td class=\"n\">{}</td><td "
                "class=\"s\">{}</td></tr>\n",
                anchors_[index++], escaped(id.empty() ? "Experiment" : id), escaped(text(experiment, "figure")),
                escaped(text(experiment, "title")), criteria_met(experiment), badge(verdict));
        }
        std::vector<std::string> counts;
        const std::size_t judged = experiments.size() - unjudged - reported;
        if (judged != 0)
            counts.push_back(fmt::format("{} of {} experiments pass, {} {}", passed, judged, failed, failed == 1 ? "fails" : "fail"));
        if (const std::size_t rest = judged - passed - failed; rest != 0) counts.push_back(fmt::format("{} without a verdict", rest));
        if (unjudged != 0) counts.push_back(fmt::format("{} not evaluated", unjudged));
        if (reported != 0) counts.push_back(fmt::format("{} only reported", reported));
        std::string lead = fmt::format("{}.", fmt::join(counts, ", "));
        if (unjudged != 0)
            lead += fmt::format(" Size {} only tests that everything works: grids are smaller than the machine. Size paper is evaluated.",
                                escaped(text(results_, "size")));
        const char* const head =
            "<th>Experiment</th><th>Figure</th><th>What it shows</th><th class=\"n\">Criteria met</th><th>Verdict</th>";
        page_.lead(fmt::format("<p class=\"lead\">{}</p>\n", lead));
        page_.intro(table_of(head, rows, kWide));
    }

    void section(const Json& experiment) {
        const std::string given = text(experiment, "id"), figure = text(experiment, "figure"), title = text(experiment, "title");
        const std::string id = given.empty() ? "Experiment" : given;
        anchors_.push_back(page_.section(
            fmt::format("{} {}", id, title), id,
            fmt::format("{}{} {}{}", escaped(id), figure.empty() ? "" : fmt::format(" <span class=\"figure\">({})</span>", escaped(figure)),
                        escaped(title), badge(verdict_of_experiment(experiment)))));
        const Json& charts = list(experiment, "charts");
        for (std::size_t i = 0; i < charts.size(); ++i) page_.add(read_chart(charts[i]), i);
        page_.add(criteria(list(experiment, "criteria")));
        for (const Json& table : list(experiment, "tables")) page_.add(data_table(table));
        std::string notes;
        for (const Json& note : list(experiment, "notes")) {
            if (const std::string words = text_of(note); !words.empty()) notes += fmt::format("<li>{}</li>\n", escaped(words));
        }
        if (!notes.empty()) page_.add(fmt::format("<h3>Notes</h3>\n<ul class=\"notes\">\n{}</ul>\n", notes));
    }

    static std::string criteria(const Json& criteria) {
        if (criteria.empty()) return "";
        std::string rows;
        bool several = false;  // seeds
        bool details = false;
        for (const Json& criterion : criteria) {
            several = several || member(criterion, "seeds").is_object();
            details = details || text(criterion, "level") == "detail";
        }
        const auto by_seed = [](const Json& criterion, const std::string& unit) {
            const Json& seeds = member(criterion, "seeds");
            const std::string least = text(seeds, "least"), most = text(seeds, "most");
            std::string words = least == most ? "" : with_unit(least + " to " + most, unit);
            if (member(seeds, "verdict_varies") == Json(true)) words += words.empty() ? "verdict varies" : ", verdict varies";
            return "<td>" + escaped(words) + "</td>";
        };
        for (const Json& criterion : criteria) {
            const std::string unit = text(criterion, "unit");
            const auto value = [&](const char* key) {
                const std::string words = text(criterion, key);
                return escaped(member(criterion, key).is_number() ? with_unit(words, unit) : words);
            };
            rows += fmt::format(
                "<tr><td>{}</td>{}<td>{}</td><td>{}</td>{}<td>{}</td><td class=\"s\">{}</td><td>{}</td><td class=\"s\">{}</td></tr>\n",
                escaped(text(criterion, "text")), details ? "<td>" + escaped(text(criterion, "level")) + "</td>" : "",
                escaped(kind_text(text(criterion, "kind"))), value("measured"), several ? by_seed(criterion, unit) : "", value("published"),
                escaped(band_text(criterion)), band_drawing(criterion), badge(text(criterion, "verdict")));
        }
        const std::string head = fmt::format(
            "<th>Criterion</th>{}<th>Kind</th><th>Measured\xC2\xA0\xE2\x97\x8F</th>{}<th>Published\xC2\xA0"
            "\xE2\x97\x87</th><th>Accepted</th><th></th><th>Verdict</th>",
            details ? "<th>Level</th>" : "", several ? "<th>By seed</th>" : "");
        return "<h3>Criteria</h3>\n" + table_of(head, rows, kWide);
    }

    static std::string data_table(const Json& table) {
        const auto flush_right = [&](std::size_t column) {
            bool any = false;
            for (const Json& row : list(table, "rows")) {
                if (!row.is_array() || column >= row.size()) continue;
                const std::string value = text_of(row[column]);
                if (!value.empty() && !reads_like_a_number(value)) return false;
                any = any || !value.empty();
            }
            return any;
        };
        std::vector<const char*> classes;
        const auto class_of = [&](std::size_t column) {
            while (classes.size() <= column) classes.push_back(flush_right(classes.size()) ? " class=\"n\"" : "");
            return classes[column];
        };
        std::string head, rows;
        std::size_t column = 0;
        for (const Json& name : list(table, "columns")) head += fmt::format("<th{}>{}</th>", class_of(column++), escaped(text_of(name)));
        for (const Json& row : list(table, "rows")) {
            if (!row.is_array()) continue;
            rows += "<tr>";
            column = 0;
            for (const Json& value : row) rows += fmt::format("<td{}>{}</td>", class_of(column++), escaped(text_of(value)));
            rows += "</tr>\n";
        }
        if (head.empty() && rows.empty()) return "";
        const std::string title = text(table, "title");
        return table_of(head, rows, title.empty() ? "<table>" : fmt::format("<table><caption>{}</caption>", escaped(title)));
    }

    /// One column per property, in order of first appearance.
    void workloads() {
        std::vector<std::string> properties;
        const Json& workloads = list(results_, "workloads");
        for (const Json& workload : workloads) {
            for (const Json& pair : list(workload, "properties")) {
                if (!pair.is_array() || pair.size() < 2) continue;
                const std::string name = text_of(pair[0]);
                if (std::find(properties.begin(), properties.end(), name) == properties.end()) properties.push_back(name);
            }
        }
        std::string head = "<th>Workload</th>", rows;
        for (const std::string& property : properties) head += fmt::format("<th class=\"n\">{}</th>", escaped(property));
        for (const Json& workload : workloads) {
            if (!workload.is_object()) continue;
            rows += fmt::format("<tr><th scope=\"row\">{}</th>", escaped(text(workload, "name")));
            for (const std::string& property : properties) {
                std::string value;
                for (const Json& pair : list(workload, "properties")) {
                    if (pair.is_array() && pair.size() >= 2 && text_of(pair[0]) == property) value = text_of(pair[1]);
                }
                rows += fmt::format("<td class=\"n\">{}</td>", escaped(value));
            }
            rows += "</tr>\n";
        }
        if (rows.empty()) return;
        page_.section("Workloads");
        page_.add(table_of(head, rows));
    }

    void configuration() {
        const Json& machine = member(results_, "machine");
        const std::string facts = pairs_table(list(machine, "facts"), "Machine");
        const std::string hash = text(machine, "hash"), name = text(machine, "name");
        if (facts.empty() && hash.empty() && name.empty()) return;
        page_.section("Configuration");
        page_.add(fmt::format("<p>{}{}</p>\n{}", name.empty() ? "" : "<strong>" + escaped(name) + "</strong>",
                              hash.empty() ? "" : fmt::format(" \xC2\xB7 configuration hash <code>{}</code>", escaped(hash)), facts));
    }

    void runs() {
        const Json& runs = list(results_, "runs");
        if (runs.empty()) return;
        std::string rows;
        for (const Json& run : runs) {
            std::string overrides;
            for (const Json& entry : list(run, "overrides")) overrides += (overrides.empty() ? "" : " ") + text_of(entry);
            rows += fmt::format(
                "<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"code\">{}</td><td class=\"n\">{}</td><td class=\"code\">{}</td></tr>\n",
                escaped(text(run, "key")), escaped(text(run, "gpu")), escaped(text(run, "workload")), escaped(overrides),
                escaped(text(run, "cycles")), escaped(text(run, "digest")));
        }
        const char* const head =
            "<th>Key</th><th>Machine</th><th>Workload</th><th>Overrides</th><th class=\"n\">Cycles</th><th>Digest</th>";
        page_.section("Runs");
        page_.add(fmt::format("<details><summary>{} {}</summary>\n{}</details>\n", runs.size(), runs.size() == 1 ? "run" : "runs",
                              table_of(head, rows)));
    }

    void footer() {
        std::string csv;
        for (const char c : csv_of(results_))
            csv += is_alphanumeric(c) ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
        page_.footer(fmt::format(
            "<p class=\"screen\"><a download=\"results.csv\" href=\"data:text/csv;charset=utf-8,{}\">All values as CSV</a></p>\n"
            "<p>Criteria evaluate sign (the change has the published direction), order (techniques and workloads rank as published) and "
            "magnitude (the mean is within the accepted band). White diamonds mark published values.</p>\n",
            csv));
    }

    const Json& results_;
    Page page_;
    std::vector<std::string> anchors_;
};

}  // namespace

std::string html_report(const nlohmann::ordered_json& results) {
    return Report(results).write();
}

}  // namespace mergelane
