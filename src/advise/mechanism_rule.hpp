// SPDX-License-Identifier: MIT
// Which mechanism helps a workload most, predicted from its profile alone by a rule that was learnt from measured programs. The rule is a
// file of numbers: a time for each mechanism, whose logarithm is linear in a few properties of the profile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profile/profile.hpp"

namespace mergelane {

/// A metric of a profile, brought into the range from 0 to 1.
struct RuleTerm {
    enum class Kind : std::uint8_t {
        percent,     ///< a hundredth, at most 1
        rest,        ///< 1 minus that
        saturating,  ///< x / (x + half)
        excess       ///< 1 - 1 / x, 0 up to 1
    };
    std::string metric;  ///< "GROUP.NAME"
    Kind kind = Kind::percent;
    double half = 1;
};

/// The product of its terms.
struct RuleProperty {
    std::string name;
    std::string meaning;
    std::vector<RuleTerm> terms;
    double mean = 0;  ///< of the programs
};

struct RuleMechanism {
    std::string name;
    std::string set;                                      ///< overrides that switch it on
    std::string base;                                     ///< what it is compared with; empty: the rule's machine as it is
    bool named = true;                                    ///< may be recommended
    double time = 1;                                      ///< with it, of the time without, of a program with mean properties
    std::vector<std::pair<std::size_t, double>> weights;  ///< by property, of the logarithm
    double low = 1, high = 1;                             ///< measured over predicted gain of left-out programs: 10 % and 90 % points
    double mean = 1, worst = 1;                           ///< measured gains
    std::string worst_program;
};

struct MechanismRule {
    struct Accuracy {
        std::string name;
        std::uint64_t near = 0;  ///< left-out programs for which what it names is the best, or within `near_percent` of it
        double lost = 0;         ///< mean loss against the best, in percent
    };

    std::string machine, study, method;
    std::uint64_t planned = 0;          ///< programs of the study
    std::vector<std::string> programs;  ///< that it was learnt from
    double near_percent = 3;
    double least_time = 0, most_time = 0;  ///< measured: predictions stay in between
    std::vector<Accuracy> accuracy;        ///< the rule's first, then those of rules without properties
    std::vector<RuleProperty> properties;
    std::vector<RuleMechanism> mechanisms;
};

/// Throws InputError with file and line.
MechanismRule read_mechanism_rule(const std::filesystem::path& file);
MechanismRule parse_mechanism_rule(std::string_view text, const std::string& name);
/// $MERGELANE_MECHANISM_RULE, else the installed one, else data/ of the source tree. Throws InputError if there is none.
std::filesystem::path default_mechanism_rule();

struct MechanismAdvice {
    struct Gain {
        double predicted = 1, low = 1, high = 1;
        std::vector<double> saved;  ///< by property, in percent of the time: what it adds to that of a program with mean properties
    };
    std::string workload;
    std::vector<double> values;               ///< of the properties
    std::vector<Gain> gains;                  ///< of the mechanisms
    std::vector<std::size_t> order;           ///< of the mechanisms, the largest predicted gain first
    std::optional<std::size_t> best;          ///< none: no mechanism is predicted to gain
    std::vector<ProfileMetric> metrics = {};  ///< all that the rule may use
};

/// Throws InputError for a rule that asks for a metric that no profile has.
MechanismAdvice apply(const MechanismRule& rule, const std::string& workload, std::vector<ProfileMetric> metrics);

std::string mechanism_text(const MechanismRule& rule, const MechanismAdvice& advice);
std::string mechanism_json(const MechanismRule& rule, const MechanismAdvice& advice);

}  // namespace mergelane
