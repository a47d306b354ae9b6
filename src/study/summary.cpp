// SPDX-License-Identifier: MIT
#include "study/summary.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "files/data_paths.hpp"

namespace mergelane::study {

std::vector<std::filesystem::path> default_result_dirs() {
    return data_paths("MERGELANE_RESULTS", "results", "docs/reproduction");
}

std::size_t Summary::count(Verdict verdict) const {
    std::size_t sum = 0;
    for (const StudyResult& paper : papers) sum += paper.count(verdict);
    return sum;
}

namespace {

std::string met(const Experiment& e, Level level) {
    return e.of(level) == 0 ? "-" : fmt::format("{} of {}", e.met(level), e.of(level));
}

/// "7 of 13 pass, 2 only reported".
template <class Counted>
std::string counts(const Counted& counted) {
    const std::size_t pass = counted.count(Verdict::pass), fail = counted.count(Verdict::fail);
    std::string text = fmt::format("{} of {} pass", pass, pass + fail);
    if (const std::size_t reported = counted.count(Verdict::reported); reported != 0) text += fmt::format(", {} only reported", reported);
    if (const std::size_t open = counted.count(Verdict::not_run); open != 0) text += fmt::format(", {} not run", open);
    return text;
}

}  // namespace

std::string to_text(const Summary& summary) {
    std::size_t figure = 8, title = 8;
    for (const StudyResult& paper : summary.papers) {
        for (const Experiment& e : paper.experiments) {
            figure = std::max(figure, e.figure.size() + 2);
            title = std::max(title, e.title.size() + 2);
        }
    }
    std::string text;
    for (const StudyResult& paper : summary.papers) {
        text += fmt::format("{}: {}\n", paper.paper, paper.title);
        text += fmt::format("  {:<9}{:<{}}{:<{}}{:<10}{:>10}{:>10}\n", "", "", figure, "", title, "verdict", "headline", "details");
        for (const Experiment& e : paper.experiments)
            text += fmt::format("  {:<9}{:<{}}{:<{}}{:<10}{:>10}{:>10}\n", e.id, e.figure, figure, e.title, title, in_words(e.verdict()),
                                met(e, Level::headline), met(e, Level::detail));
        text += fmt::format("  {} on {}\n\n", counts(paper), paper.machine);
    }
    return text + fmt::format("All papers: {}\n", counts(summary));
}

std::string to_csv(const Summary& summary) {
    std::string text = "paper,experiment,figure,title,verdict,headline_met,headline,details_met,details\n";
    for (const StudyResult& paper : summary.papers) {
        for (const Experiment& e : paper.experiments)
            text += fmt::format("{},{},{},{},{},{},{},{},{}\n", csv_field(paper.paper), csv_field(e.id), csv_field(e.figure),
                                csv_field(e.title), in_words(e.verdict()), e.met(Level::headline), e.of(Level::headline),
                                e.met(Level::detail), e.of(Level::detail));
    }
    return text;
}

std::string to_svg(const Summary& summary) {
    constexpr int kSquare = 30, kLeft = 120, kTop = 40;
    std::size_t most = 0;
    for (const StudyResult& paper : summary.papers) most = std::max(most, paper.experiments.size());
    const int width = kLeft + static_cast<int>(most) * kSquare + 130;
    const int height = kTop + static_cast<int>(summary.papers.size()) * (kSquare + 6) + 34;
    std::string text = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" "
        "font-size=\"12\"><title>Experiments of the papers</title><rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
        "<text x=\"10\" y=\"22\" font-size=\"14\">Experiments of the papers, by verdict</text>",
        width, height);
    const auto colour = [](Verdict verdict) {
        return verdict == Verdict::pass ? "#5b9f5b" : verdict == Verdict::fail ? "#c0504d" : "#c8c8c8";
    };
    int y = kTop;
    for (const StudyResult& paper : summary.papers) {
        text += fmt::format("<text x=\"10\" y=\"{}\">{}</text>", y + 19, paper.paper);
        int x = kLeft;
        for (const Experiment& e : paper.experiments) {
            text += fmt::format(
                "<g><title>{} {}: {}</title><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>"
                "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"white\">{}</text></g>",
                e.id, e.title, in_words(e.verdict()), x, y, kSquare - 3, kSquare - 3, colour(e.verdict()), x + (kSquare - 3) / 2, y + 18,
                e.id.substr(e.id.rfind('-') + 1));
            x += kSquare;
        }
        text += fmt::format("<text x=\"{}\" y=\"{}\">{} of {}</text>", x + 8, y + 19, paper.count(Verdict::pass),
                            paper.count(Verdict::pass) + paper.count(Verdict::fail));
        y += kSquare + 6;
    }
    text += fmt::format(
        "<text x=\"10\" y=\"{}\">green: passes, red: does not, grey: only reported; numbers are those of the experiments</text></svg>\n",
        y + 18);
    return text;
}

}  // namespace mergelane::study
