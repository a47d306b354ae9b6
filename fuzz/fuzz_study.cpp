// SPDX-License-Identifier: MIT
// Any text given as study files must be accepted or rejected with an InputError. A line "----" separates study.toml from the file of an
// experiment; without one, the text is an experiment of the ICC study.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "study/study_judge.hpp"

namespace {

using namespace mergelane::study;

/// Once as if nothing had run, once as if everything had and was the same.
void judge_all(const StudySpec& study, const Published& published) {
    static const RunRecord same = [] {
        RunRecord record;
        record.done = true;
        record.cycles = 1000;
        record.warp_instructions = 2000;
        record.stats["noc.request.read_packets"] = 10;
        return record;
    }();
    Sources sources;
    for (int i = 0; i < 2; ++i) {
        const Measurements measurements(study, sources);
        for (const ExperimentSpec& experiment : study.experiments) {
            if (judge(experiment, measurements, published).criteria.size() != experiment.criteria.size()) std::abort();
        }
        sources.run = [](const Configuration&, const StudyWorkload&) { return &same; };
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const std::string top = MERGELANE_SOURCE_DIR;
    static const Published published = Published::read(top + "/data/published.csv");
    static const StudySpec icc = read_study(top + "/studies/icc");
    const std::string text(reinterpret_cast<const char*>(data), size);
    try {
        const std::size_t mark = text.find("\n----\n");
        if (mark != std::string::npos) {
            judge_all(parse_study("fuzz", {"study.toml", text.substr(0, mark)}, {{"fuzz.toml", text.substr(mark + 6)}}), published);
        } else {
            StudySpec study = icc;
            study.experiments = {parse_experiment(study, {"fuzz.toml", text})};
            judge_all(study, published);
        }
    } catch (const mergelane::InputError& error) {
        const std::string_view message = error.what();
        if (message.empty() || message.size() >= 2000) std::abort();
    }
    return 0;
}
