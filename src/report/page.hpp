// SPDX-License-Identifier: MIT
// What all HTML pages share: heading, table of contents, sections, tables, charts. A page is one file that loads nothing. Whatever is
// called `html` is inserted verbatim: use escaped() for every text that is not a literal.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "report/chart.hpp"

namespace mergelane::report {

class Page {
public:
    explicit Page(std::string title) : title_(std::move(title)) {}

    /// A line of the heading; nothing if `value` is empty.
    void fact(std::string_view name, const std::string& value, bool code = false);
    /// Above the table of contents: what a reader must see first.
    void lead(std::string_view html) { lead_ += html; }
    /// Between the table of contents and the first section.
    void intro(std::string_view html) { intro_ += html; }
    /// Starts a section, ends the previous one. The table of contents lists `title`; `heading_html` replaces it in the heading. The anchor
    /// is derived from `name` (from the title if empty) and returned; a second section of the same name gets another one.
    std::string section(const std::string& title, const std::string& name = "", const std::string& heading_html = "");
    void add(std::string_view html) { body_ += html; }
    /// A chart with its values in a table, or a sentence if it has none. `index`: which chart of the section it is.
    void add(const Chart& chart, std::size_t index = 0);
    /// A drawing by Vega-Lite. `plain_html` is shown where scripts do not run.
    void figure(const std::string& name, Json specification, std::string_view plain_html);
    void footer(std::string_view html) { footer_ += html; }
    /// JSON for scripts that read the page, as an element with this id.
    void data(std::string_view id, const Json& json);

    std::string write() const;
    /// Heading, lead, facts and sections as an element of another page, such as a notebook. For pages without figures.
    std::string fragment() const;

private:
    std::string contents() const;

    std::string title_, facts_, lead_, intro_, body_, footer_, data_;
    std::vector<std::pair<std::string, std::string>> sections_;  ///< anchor and title
    std::set<std::string> anchors_ = {"contents", "charts", "dark", "results"};
    Json specifications_ = Json::array();
};

inline constexpr std::string_view kWide = "<table class=\"wide\">";
/// Scrolls where it is wider than the page. `opening`: the tag, and a caption if there is one.
std::string table_of(std::string_view head, std::string_view rows, std::string_view opening = "<table>");
/// Cells of numbers are right-aligned.
std::string cell(const std::string& text, bool number = false);
std::string head_cell(const std::string& text, bool number = false);
/// ASCII only, in every locale.
bool is_alphanumeric(char c);

}  // namespace mergelane::report
