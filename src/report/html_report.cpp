// SPDX-License-Identifier: MIT
#include "report/html_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "report/chart.hpp"
#include "report/embedded.hpp"

namespace mergelane {

using namespace report;

namespace {

constexpr std::string_view kWide = "<table class=\"wide\">";

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
        "<svg class=\"band\" width=\"120\" height=\"16\" viewBox=\"0 0 120 16\" aria-hidden=\"true\"><line x1=\"2\" x2=\"118\" y1=\"8\" "
        "y2=\"8\" "
        "stroke=\"#8b949e\"/><rect x=\"{:.1f}\" y=\"3\" width=\"{:.1f}\" height=\"10\" fill=\"#cfe3f1\" stroke=\"#0072B2\"/>",
        at(*low), std::max(1.0, at(*high) - at(*low)));
    if (published)
        out += fmt::format("<path d=\"M{:.1f} 2.5l4.5 5.5l-4.5 5.5l-4.5 -5.5z\" fill=\"#fff\" stroke=\"#000\" stroke-width=\"1.3\"/>",
                           at(*published));
    out += fmt::format("<circle cx=\"{:.1f}\" cy=\"8\" r=\"3.8\" fill=\"#000\"/></svg>", at(*measured));
    return out;
}

std::string kind_text(const std::string& kind) {
    if (kind == "S") return "sign";
    if (kind == "O") return "order";
    if (kind == "M") return "magnitude";
    return kind;
}

bool is_alphanumeric(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 128 && std::isalnum(byte) != 0;
}

/// Scrolls where it is wider than the page.
std::string table_of(std::string_view head, std::string_view rows, std::string_view opening = "<table>") {
    return fmt::format("<div class=\"scroll\">{}<thead><tr>{}</tr></thead><tbody>\n{}</tbody></table></div>\n", opening, head, rows);
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
    return fmt::format("<table><caption>{}</caption><tbody>\n{}</tbody></table>\n", caption, rows);
}

class Page {
public:
    explicit Page(const Json& results) : results_(results) {}

    std::string write() {
        name_experiments();
        std::string body = header() + summary();
        std::size_t index = 0;
        for (const Json& experiment : list(results_, "experiments")) body += section(experiment, index++);
        body += workloads() + configuration() + runs() + footer();
        std::string page;
        page.reserve(body.size() + 1'500'000);
        page += "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
        // Whatever this page contains, it cannot load or send anything.
        page +=
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; "
            "style-src 'unsafe-inline'; img-src data: blob:\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
        page.append("<title>").append(escaped(title())).append("</title>\n<style>\n").append(embedded::page_style());
        page.append("</style>\n</head>\n<body>\n").append(body);
        page.append("<script type=\"application/json\" id=\"results\">").append(script_json(results_)).append("</script>\n");
        page.append("<script type=\"application/json\" id=\"charts\">").append(script_json(specifications_)).append("</script>\n");
        for (const std::string_view source : {embedded::vega(), embedded::vega_lite(), embedded::vega_embed(), embedded::page_script()}) {
            // The last line of a bundle names a source map, which does not exist here.
            const std::size_t end = source.find("//# sourceMappingURL=", source.size() - std::min<std::size_t>(source.size(), 200));
            page.append("<script>").append(source.substr(0, end)).append("</script>\n");
        }
        page += "</body>\n</html>\n";
        return page;
    }

private:
    std::string title() const {
        if (const std::string given = text(results_, "title"); !given.empty()) return given;
        const std::string paper = text(results_, "paper");
        return paper.empty() ? "Reproduction" : "Reproduction of " + paper;
    }

    /// Links survive reordering of the experiments, and unusual names.
    void name_experiments() {
        std::set<std::string> used = {"workloads", "configuration", "runs", "results", "charts"};
        for (const Json& experiment : list(results_, "experiments")) {
            std::string name;
            for (const char c : text(experiment, "id")) {
                if (is_alphanumeric(c))
                    name += static_cast<char>(std::tolower(c));
                else if (!name.empty() && name.back() != '-')
                    name += '-';
            }
            if (name.empty()) name = "experiment";
            const std::string base = name;
            for (int i = 2; !used.insert(name).second; ++i) name = fmt::format("{}-{}", base, i);
            anchors_.push_back(name);
        }
    }

    std::string header() const {
        const Json& machine = member(results_, "machine");
        std::string facts;
        const auto fact = [&](const char* name, const std::string& value, bool code = false) {
            if (!value.empty())
                facts += fmt::format("<div><dt>{}</dt><dd{}>{}</dd></div>\n", name, code ? " class=\"code\"" : "", escaped(value));
        };
        fact("Paper", text(results_, "paper"));
        fact("Size", text(results_, "size"));
        const Json& seeds = list(results_, "seeds");
        if (!seeds.empty())
            fact(seeds.size() == 1 ? "Seed" : "Seeds",
                 seeds.size() == 1 ? text_of(seeds[0]) : text_of(seeds[0]) + " to " + text_of(seeds.back()));
        fact("Mergelane", text(results_, "version"));
        fact("Machine", text(machine, "name"));
        fact("Configuration", text(machine, "hash"), true);
        if (const auto ratio = number(machine, "network_to_dram_bandwidth"))
            fact("Network : DRAM bandwidth", fmt::format("{:.2f} to 1", *ratio));
        return fmt::format("<header>\n<h1>{}</h1>\n<dl class=\"facts\">\n{}</dl>\n</header>\n", escaped(title()), facts);
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

    std::string summary() const {
        const Json& experiments = list(results_, "experiments");
        if (experiments.empty()) return "<p>These results contain no experiments.</p>\n";
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
        return fmt::format("<p class=\"lead\">{}</p>\n{}", lead, table_of(head, rows, kWide));
    }

    std::string section(const Json& experiment, std::size_t index) {
        const std::string id = text(experiment, "id"), figure = text(experiment, "figure");
        std::string out = fmt::format("<section id=\"{}\">\n<h2>{}{} {}{}</h2>\n", anchors_[index], id.empty() ? "Experiment" : escaped(id),
                                      figure.empty() ? "" : fmt::format(" <span class=\"figure\">({})</span>", escaped(figure)),
                                      escaped(text(experiment, "title")), badge(verdict_of_experiment(experiment)));
        const Json& charts = list(experiment, "charts");
        for (std::size_t i = 0; i < charts.size(); ++i) out += figure_of(read_chart(charts[i]), i);
        out += criteria(list(experiment, "criteria"));
        for (const Json& table : list(experiment, "tables")) out += data_table(table);
        std::string notes;
        for (const Json& note : list(experiment, "notes")) {
            if (const std::string words = text_of(note); !words.empty()) notes += fmt::format("<li>{}</li>\n", escaped(words));
        }
        if (!notes.empty()) out += fmt::format("<h3>Notes</h3>\n<ul class=\"notes\">\n{}</ul>\n", notes);
        return out + "</section>\n";
    }

    std::string figure_of(const Chart& chart, std::size_t index) {
        const std::string name = escaped(chart_name(chart, index));
        if (chart.points.empty() && chart.published.empty()) return fmt::format("<p class=\"small\">{}: no values.</p>\n", name);
        const std::size_t number = specifications_.size();
        specifications_.push_back(vega_lite(chart));
        return fmt::format(
            "<figure aria-label=\"{}\">\n<div data-chart=\"{}\"><div class=\"plain\">{}</div></div>\n</figure>\n"
            "<details><summary>Values of this chart</summary>\n{}</details>\n",
            name, number, svg(chart), values_table(chart));
    }

    /// One row per x (and part), one column per series, with published values next to the measured ones.
    static std::string values_table(const Chart& chart) {
        const bool stacked = chart.kind == Chart::Kind::stacked;
        std::string head = fmt::format("<th>{}</th>", escaped(chart.x_title.empty() ? "x" : chart.x_title));
        if (stacked) head += "<th>part</th>";
        for (const std::string& series : chart.series) head += fmt::format("<th class=\"n\">{}</th>", escaped(series));
        const bool whole_groups =
            std::any_of(chart.published.begin(), chart.published.end(), [](const auto& p) { return p.series == Chart::kNone; });
        if (whole_groups) head += "<th class=\"n\">published</th>";
        std::string rows;
        for (std::size_t x = 0; x < chart.xs.size(); ++x) {
            std::vector<std::size_t> parts(chart.parts.size());
            for (std::size_t part = 0; part < parts.size(); ++part) parts[part] = part;
            if (stacked) parts.push_back(Chart::kNone);
            for (const std::size_t part : parts) {
                std::string cells;
                bool any = false;
                for (std::size_t series = 0; series <= chart.series.size(); ++series) {
                    const bool group = series == chart.series.size();
                    if (group && !whole_groups) break;
                    const auto measured = group ? std::nullopt : chart.measured(x, series, part);
                    const auto published = chart.published_value(x, group ? Chart::kNone : series, part);
                    any = any || measured || published;
                    std::string value = measured ? readable(*measured) : "";
                    if (published) value += (value.empty() ? "(" : " (") + readable(*published) + ")";
                    cells += fmt::format("<td class=\"n\">{}</td>", value);
                }
                if (!any) continue;
                rows += fmt::format("<tr><th scope=\"row\">{}</th>{}{}</tr>\n", escaped(chart.xs[x]),
                                    !stacked ? "" : fmt::format("<td>{}</td>", part == Chart::kNone ? "total" : escaped(chart.parts[part])),
                                    cells);
            }
        }
        return table_of(head, rows,
                        chart.published.empty() ? "<table>" : "<table><caption class=\"small\">In parentheses: published.</caption>");
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
    std::string workloads() const {
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
        if (rows.empty()) return "";
        return fmt::format("<section id=\"workloads\">\n<h2>Workloads</h2>\n{}</section>\n", table_of(head, rows));
    }

    std::string configuration() const {
        const Json& machine = member(results_, "machine");
        const std::string facts = pairs_table(list(machine, "facts"), "Machine");
        const std::string hash = text(machine, "hash"), name = text(machine, "name");
        if (facts.empty() && hash.empty() && name.empty()) return "";
        return fmt::format("<section id=\"configuration\">\n<h2>Configuration</h2>\n<p>{}{}</p>\n{}</section>\n",
                           name.empty() ? "" : "<strong>" + escaped(name) + "</strong>",
                           hash.empty() ? "" : fmt::format(" \xC2\xB7 configuration hash <code>{}</code>", escaped(hash)), facts);
    }

    std::string runs() const {
        const Json& runs = list(results_, "runs");
        if (runs.empty()) return "";
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
        return fmt::format("<section id=\"runs\">\n<h2>Runs</h2>\n<details><summary>{} {}</summary>\n{}</details>\n</section>\n",
                           runs.size(), runs.size() == 1 ? "run" : "runs", table_of(head, rows));
    }

    std::string footer() const {
        static const std::string licences = escaped(embedded::vega_licence()) + "\n" + escaped(embedded::vega_lite_licence()) + "\n" +
                                            escaped(embedded::vega_embed_licence()) + "\n" + escaped(embedded::contained_licences());
        std::string csv;
        for (const char c : csv_of(results_))
            csv += is_alphanumeric(c) ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
        return fmt::format(
            "<footer class=\"small\">\n"
            "<p class=\"screen\"><a download=\"results.csv\" href=\"data:text/csv;charset=utf-8,{}\">All values as CSV</a></p>\n"
            "<p>Criteria evaluate sign (the change has the published direction), order (techniques and workloads rank as published) and "
            "magnitude (the mean is within the accepted band). White diamonds mark published values.</p>\n"
            "<details><summary>Charts are drawn by Vega, Vega-Lite and Vega-Embed; their licences</summary>\n"
            "<pre>{}</pre></details>\n"
            "</footer>\n",
            csv, licences);
    }

    const Json& results_;
    std::vector<std::string> anchors_;
    Json specifications_ = Json::array();
};

}  // namespace

std::string html_report(const nlohmann::json& results) {
    return Page(results).write();
}

}  // namespace mergelane
