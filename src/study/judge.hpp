// SPDX-License-Identifier: MIT
// Experiments, their criteria and verdicts. A criterion on a missing value (formula/series.hpp) has the verdict "not run". Sizes that
// are too small for the paper's effects are not evaluated.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "formula/series.hpp"

namespace mergelane::study {

/// `reported`: an experiment without headline criteria.
enum class Verdict { pass, fail, not_run, not_judged, reported };
std::string_view to_text(Verdict verdict);   ///< as in files: "not_run"
std::string_view in_words(Verdict verdict);  ///< as people read it: "not run"

/// Headline criteria, the paper's main claims, decide the verdict; single workloads and points are details, counted separately.
enum class Level { headline, detail };
std::string_view to_text(Level level);

struct Criterion {
    std::string text;
    std::string kind;  ///< "S" sign, "O" order, "M" magnitude, "exact"
    std::variant<double, std::string> measured = kMissing;
    std::optional<double> published;
    std::optional<double> low, high;  ///< the band
    std::string unit;
    Verdict verdict = Verdict::not_run;
    bool strict = false;        ///< the band's ends do not belong to it
    std::string expected = {};  ///< of an exact text, instead of a band
    Level level = Level::headline;

    struct Spread {
        double least = kMissing, most = kMissing;
        bool verdict_varies = false;
    };
    std::optional<Spread> seeds = std::nullopt;  ///< what other inputs gave; none: only one was tried
};

/// Passes when low <= measured <= high, where given.
Criterion within(std::string kind, std::string text, double measured, std::string unit, std::optional<double> published,
                 std::optional<double> low, std::optional<double> high);
/// Passes when low < measured.
Criterion above(std::string kind, std::string text, double measured, std::string unit, std::optional<double> published, double low);
/// Passes when every number is larger than the one before; `least` is how much larger it must be at least (0: any; negative: may
/// even be so much smaller). Shows the numbers.
Criterion rising(std::string kind, std::string text, const std::vector<double>& numbers, std::string unit, double least = 0);
Criterion exact(std::string text, double measured, double expected, std::string unit);
Criterion exact_text(std::string text, std::string measured, std::string_view expected);

struct ChartPoint {
    std::string x;
    std::string series;
    std::string part;  ///< only of stacked bars
    double y = kMissing;
};
struct Chart {
    std::string kind;  ///< "bars", "stacked" or "lines"
    std::string title, x_title, y_title;
    std::optional<double> baseline;
    std::vector<ChartPoint> data;
    std::vector<ChartPoint> published;
};
struct Table {
    std::string title;
    std::vector<std::string> columns;
    std::vector<std::vector<std::string>> rows;
};

struct Experiment {
    std::string id;      ///< "ICC-5"
    std::string figure;  ///< "Fig 10", "Sec 6.4"
    std::string title;
    std::vector<Criterion> criteria;
    std::vector<Chart> charts;
    std::vector<Table> tables;
    std::vector<std::string> notes;

    /// Passes only if all headline criteria pass.
    Verdict verdict() const;
    std::size_t met(Level level) const;
    std::size_t of(Level level) const;
    /// Resets the verdicts of all criteria, except those that were not run.
    void do_not_judge();
};

/// Rows: workloads, mean, geometric mean if asked for; a column for each series.
Table table_of(std::string title, const std::vector<std::string>& workloads, const std::vector<Series>& series, int digits,
               bool geometric = true);

}  // namespace mergelane::study
