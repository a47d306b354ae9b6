// SPDX-License-Identifier: MIT
#include "report/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "report/embedded.hpp"

namespace mergelane::report {

namespace {

/// One row per x (and part), one column per series, with published values next to the measured ones.
std::string values_table(const Chart& chart) {
    const bool stacked = chart.kind == Chart::Kind::stacked;
    std::string head = head_cell(chart.x_title.empty() ? "x" : chart.x_title);
    if (stacked) head += head_cell("part");
    for (const std::string& series : chart.series) head += head_cell(series.empty() ? chart.y_title : series, true);
    const bool whole_groups =
        std::any_of(chart.published.begin(), chart.published.end(), [](const auto& p) { return p.series == Chart::kNone; });
    if (whole_groups) head += head_cell("published", true);
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
                cells += cell(value, true);
            }
            if (!any) continue;
            rows += fmt::format("<tr><th scope=\"row\">{}</th>{}{}</tr>\n", escaped(chart.xs[x]),
                                !stacked ? "" : cell(part == Chart::kNone ? "total" : chart.parts[part]), cells);
        }
    }
    return table_of(head, rows,
                    chart.published.empty() ? "<table>" : "<table><caption class=\"small\">In parentheses: published.</caption>");
}

/// Colours of our own drawings in the dark. Vega gets the same table as JSON.
std::string dark_rules() {
    std::string rules;
    for (const auto& [light, dark] : dark_colours())
        rules += fmt::format(".drawn[fill=\"{0}\"],.drawn [fill=\"{0}\"]{{fill:{1}}}.drawn [stroke=\"{0}\"]{{stroke:{1}}}\n", light, dark);
    return "@media screen and (prefers-color-scheme: dark) {\n" + rules + "}\n";
}

Json dark_table() {
    Json table = Json::object();
    for (const auto& [light, dark] : dark_colours()) table[light] = dark;
    return table;
}

std::string licences() {
    return fmt::format(
        "<details><summary>Charts are drawn by Vega, Vega-Lite and Vega-Embed; their "
        "licences</summary>\n<pre>{}\n{}\n{}\n{}</pre></details>\n",
        escaped(embedded::vega_licence()), escaped(embedded::vega_lite_licence()), escaped(embedded::vega_embed_licence()),
        escaped(embedded::contained_licences()));
}

std::string script_data(std::string_view id, const Json& json) {
    return fmt::format("<script type=\"application/json\" id=\"{}\">{}</script>\n", id, script_json(json));
}

}  // namespace

bool is_alphanumeric(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 128 && std::isalnum(byte) != 0;
}

std::string cell(const std::string& text, bool number) {
    return fmt::format("<td{}>{}</td>", number ? " class=\"n\"" : "", escaped(text));
}

std::string head_cell(const std::string& text, bool number) {
    return fmt::format("<th{}>{}</th>", number ? " class=\"n\"" : "", escaped(text));
}

std::string table_of(std::string_view head, std::string_view rows, std::string_view opening) {
    return fmt::format("<div class=\"scroll\" tabindex=\"0\">{}<thead><tr>{}</tr></thead><tbody>\n{}</tbody></table></div>\n", opening,
                       head, rows);
}

void Page::fact(std::string_view name, const std::string& value, bool code) {
    if (value.empty()) return;
    facts_ += fmt::format("<div><dt>{}</dt><dd{}>{}</dd></div>\n", escaped(name), code ? " class=\"code\"" : "", escaped(value));
}

std::string Page::section(const std::string& title, const std::string& name, const std::string& heading_html) {
    std::string anchor;
    for (const char c : name.empty() ? title : name) {
        if (is_alphanumeric(c))
            anchor += static_cast<char>(std::tolower(c));
        else if (!anchor.empty() && anchor.back() != '-')
            anchor += '-';
    }
    if (anchor.empty()) anchor = "section";
    const std::string base = anchor;
    for (int i = 2; !anchors_.insert(anchor).second; ++i) anchor = fmt::format("{}-{}", base, i);
    body_ += fmt::format("{}<section id=\"{}\">\n<h2>{}</h2>\n", sections_.empty() ? "" : "</section>\n", anchor,
                         heading_html.empty() ? escaped(title) : heading_html);
    sections_.emplace_back(anchor, title);
    return anchor;
}

void Page::add(const Chart& chart, std::size_t index) {
    const std::string name = chart_name(chart, index);
    if (chart.points.empty() && chart.published.empty()) {
        add(fmt::format("<p class=\"small\">{}: no values.</p>\n", escaped(name)));
        return;
    }
    figure(name, vega_lite(chart), svg(chart));
    add(fmt::format("<details><summary>Values of this chart</summary>\n{}</details>\n", values_table(chart)));
}

void Page::figure(const std::string& name, Json specification, std::string_view plain_html) {
    add(fmt::format("<figure aria-label=\"{}\">\n<div data-chart=\"{}\"><div class=\"plain\">{}</div></div>\n</figure>\n", escaped(name),
                    specifications_.size(), plain_html));
    specifications_.push_back(std::move(specification));
}

void Page::data(std::string_view id, const Json& json) {
    data_ += script_data(id, json);
}

std::string Page::contents() const {
    if (sections_.size() < 2) return "";
    std::string entries;
    for (const auto& [anchor, title] : sections_) entries += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", anchor, escaped(title));
    return fmt::format("<nav id=\"contents\" aria-label=\"Contents\">\n<ol>\n{}</ol>\n</nav>\n", entries);
}

std::string Page::write() const {
    std::string page;
    page.reserve(body_.size() + data_.size() + 1'500'000);
    page += "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
    // Whatever this page contains, it cannot load or send anything.
    page +=
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; "
        "style-src 'unsafe-inline'; img-src data: blob:\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n";
    page.append("<title>").append(escaped(title_)).append("</title>\n<style>\n").append(embedded::page_style()).append(dark_rules());
    page.append("</style>\n</head>\n<body>\n<header>\n<h1>").append(escaped(title_)).append("</h1>\n").append(lead_);
    if (!facts_.empty()) page.append("<dl class=\"facts\">\n").append(facts_).append("</dl>\n");
    page.append("</header>\n")
        .append(contents())
        .append("<main>\n")
        .append(intro_)
        .append(body_)
        .append(sections_.empty() ? "" : "</section>\n");
    page.append("</main>\n<footer class=\"small\">\n").append(footer_).append(specifications_.empty() ? "" : licences());
    page.append("</footer>\n").append(data_);
    if (!specifications_.empty()) {
        page.append(script_data("charts", specifications_)).append(script_data("dark", dark_table()));
        for (const std::string_view source : {embedded::vega(), embedded::vega_lite(), embedded::vega_embed(), embedded::page_script()}) {
            // The last line of a bundle names a source map, which does not exist here.
            const std::size_t end = source.find("//# sourceMappingURL=", source.size() - std::min<std::size_t>(source.size(), 200));
            page.append("<script>").append(source.substr(0, end)).append("</script>\n");
        }
    }
    page += "</body>\n</html>\n";
    return page;
}

std::string Page::fragment() const {
    // The rules of page.css, for this element only: the page around it has its own, and its own colours.
    static constexpr std::string_view kStyle =
        ".mergelane .bottleneck{border-left:5px solid #0072b2;padding:4px 14px;margin:8px 0}\n"
        ".mergelane .facts{display:flex;flex-wrap:wrap;gap:2px 24px;margin:8px 0}\n"
        ".mergelane .facts div{display:flex;gap:6px}\n"
        ".mergelane .facts dt{font-weight:400;opacity:.7}.mergelane .facts dd{margin:0;font-weight:600}\n"
        ".mergelane .stack{display:grid;grid-template-columns:minmax(80px,220px) 1fr;gap:4px 12px;align-items:center}\n"
        ".mergelane .stack b{font-weight:400;text-align:right}.mergelane .stack div{display:flex;height:26px}\n"
        ".mergelane .stack i{display:block;min-width:0}\n"
        ".mergelane .legend{display:flex;flex-wrap:wrap;gap:2px 18px;padding:0;margin:8px 0;list-style:none}\n"
        ".mergelane .legend i{display:inline-block;width:12px;height:12px;margin-right:6px}\n"
        ".mergelane .c0{background:#0072b2}.mergelane .c1{background:#e69f00}.mergelane .c2{background:#009e73}\n"
        ".mergelane .c3{background:#cc79a7}.mergelane .c4{background:#56b4e9}.mergelane .c5{background:#d55e00}\n"
        ".mergelane .issued{background:#2b8a3e}.mergelane .empty{background:#b8c0c8}\n";
    return fmt::format("<div class=\"mergelane\">\n<style>\n{}</style>\n<h3>{}</h3>\n{}<dl class=\"facts\">\n{}</dl>\n{}{}</div>\n", kStyle,
                       escaped(title_), lead_, facts_, body_, sections_.empty() ? "" : "</section>\n");
}

}  // namespace mergelane::report
