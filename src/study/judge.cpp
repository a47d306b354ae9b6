// SPDX-License-Identifier: MIT
#include "study/judge.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mergelane::study {

std::string_view to_text(Verdict verdict) {
    static constexpr std::string_view kNames[] = {"pass", "fail", "not_run", "not_judged", "reported"};
    return kNames[static_cast<std::size_t>(verdict)];
}

std::string_view to_text(Level level) {
    return level == Level::detail ? "detail" : "headline";
}

std::string_view in_words(Verdict verdict) {
    return verdict == Verdict::not_run ? "not run" : verdict == Verdict::not_judged ? "not evaluated" : to_text(verdict);
}

namespace {

Verdict verdict_of(bool known, bool good) {
    return !known ? Verdict::not_run : good ? Verdict::pass : Verdict::fail;
}

}  // namespace

Criterion within(std::string kind, std::string text, double measured, std::string unit, std::optional<double> published,
                 std::optional<double> low, std::optional<double> high) {
    const bool good = (!low || measured >= *low) && (!high || measured <= *high);
    return {std::move(text), std::move(kind), measured, published, low, high, std::move(unit), verdict_of(!is_missing(measured), good)};
}

Criterion above(std::string kind, std::string text, double measured, std::string unit, std::optional<double> published, double low) {
    Criterion criterion = within(std::move(kind), std::move(text), measured, std::move(unit), published, low, std::nullopt);
    if (!is_missing(measured)) criterion.verdict = verdict_of(true, measured > low);
    criterion.strict = true;
    return criterion;
}

Criterion rising(std::string kind, std::string text, const std::vector<double>& numbers, std::string unit, double least) {
    Criterion criterion{std::move(text), std::move(kind), std::string(),   std::nullopt,
                        std::nullopt,    std::nullopt,    std::move(unit), Verdict::not_run};
    std::string shown;
    bool known = !numbers.empty();
    bool good = true;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        shown += fmt::format("{}{}", i == 0 ? "" : ", ", number_text(numbers[i], 2));
        known = known && !is_missing(numbers[i]);
        if (i == 0) continue;
        const double step = numbers[i] - numbers[i - 1];
        good = good && (least == 0 ? step > 0 : step >= least);
    }
    criterion.measured = shown;
    criterion.verdict = verdict_of(known, good);
    return criterion;
}

Criterion exact(std::string text, double measured, double expected, std::string unit) {
    return {std::move(text), "exact",  measured,        expected,
            expected,        expected, std::move(unit), verdict_of(!is_missing(measured), measured == expected)};
}

Criterion exact_text(std::string text, std::string measured, std::string_view expected) {
    const bool good = measured == expected;
    Criterion criterion{std::move(text), "exact", std::move(measured), {}, {}, {}, "", verdict_of(true, good)};
    criterion.expected = expected;
    return criterion;
}

Verdict Experiment::verdict() const {
    if (of(Level::headline) == 0) return Verdict::reported;
    const auto any = [&](Verdict verdict) {
        return std::any_of(criteria.begin(), criteria.end(),
                           [&](const Criterion& c) { return c.level == Level::headline && c.verdict == verdict; });
    };
    if (any(Verdict::fail)) return Verdict::fail;
    if (any(Verdict::not_run)) return Verdict::not_run;
    return any(Verdict::not_judged) ? Verdict::not_judged : Verdict::pass;
}

std::size_t Experiment::met(Level level) const {
    return static_cast<std::size_t>(std::count_if(criteria.begin(), criteria.end(),
                                                  [&](const Criterion& c) { return c.level == level && c.verdict == Verdict::pass; }));
}

std::size_t Experiment::of(Level level) const {
    return static_cast<std::size_t>(std::count_if(criteria.begin(), criteria.end(), [&](const Criterion& c) { return c.level == level; }));
}

void Experiment::do_not_judge() {
    for (Criterion& criterion : criteria) {
        if (criterion.verdict != Verdict::not_run) criterion.verdict = Verdict::not_judged;
    }
}

Table table_of(std::string title, const std::vector<std::string>& workloads, const std::vector<Series>& series, int digits,
               bool geometric) {
    Table table{std::move(title), {"workload"}, {}};
    for (const Series& s : series) table.columns.push_back(s.label);
    const auto row = [&](const std::string& name, const auto& value) {
        table.rows.push_back({name});
        for (const Series& s : series) table.rows.back().push_back(number_text(value(s), digits));
    };
    for (std::size_t i = 0; i < workloads.size(); ++i) row(workloads[i], [&](const Series& s) { return s.values[i]; });
    row("mean", [](const Series& s) { return s.mean(); });
    if (geometric) row("geometric", [](const Series& s) { return s.geometric_mean(); });
    return table;
}

}  // namespace mergelane::study
