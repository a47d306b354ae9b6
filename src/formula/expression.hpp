// SPDX-License-Identifier: MIT
// Expressions of study files: formulas over the measurements of the runs.
//
//   change(mean(ipc('DB') / ipc('D')))              numbers, values of the workloads, texts in single quotes
//   min(gain('{n} clusters') for n where n > 6)     as an argument: once for every value of the list n; {n} is put into the text
//   ipc(variant) for variant as '{variant}'         a sweep: one value for each, with a label (and after a comma the part of a stack)
//   Mean gain {gain('DB'):1} %.                     a wording: text with values in braces, here with one digit
//
// A value that could not be measured is missing, and so is what is computed from it. Length, depth and work are bounded.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace mergelane::study {

/// A number, a number for each workload, or a text.
using Value = std::variant<double, std::vector<double>, std::string>;

struct ExpressionNode;
/// Parsed, and where it stands.
struct Formula {
    std::string where;  ///< "studies/icc/fig10.toml:12"
    std::string text;   ///< as written
    std::shared_ptr<const ExpressionNode> root;
};

/// These throw InputError with the location.
Formula parse_expression(std::string_view text, const std::string& where);
Formula parse_sweep(std::string_view text, const std::string& where);
Formula parse_wording(std::string_view text, const std::string& where);
/// The names in braces of a text, in the order they first occur.
std::vector<std::string> names_in(const Formula& wording);
/// Whether the name occurs anywhere in its expressions.
bool mentions(const Formula& formula, std::string_view name);

bool is_name(std::string_view word);

/// A named formula, with parameters if it has any.
struct Measure {
    std::string name;
    std::vector<std::string> parameters;
    Formula formula;
};

/// Description of a function, used by messages and documentation.
struct FunctionInfo {
    std::string_view name;
    std::size_t least, most;  ///< arguments
    std::string_view usage;
    std::string_view meaning;
};
/// Functions available in every expression.
std::vector<FunctionInfo> builtin_functions();

/// Names in addition to the built-in functions.
class Scope {
public:
    virtual ~Scope() = default;
    /// nullptr: unknown name.
    virtual const Measure* measure(std::string_view) const { return nullptr; }
    virtual const std::vector<Value>* list(std::string_view name) const = 0;
    virtual const FunctionInfo* function(std::string_view) const { return nullptr; }
    /// `function` is one that function() returned, with as many arguments as it takes.
    virtual Value call(const FunctionInfo&, std::span<const Value>) const { return 0.0; }
    /// Of measures, lists and functions, for "did you mean".
    virtual std::vector<std::string> names() const = 0;
};

/// One value of a sweep.
struct Swept {
    std::string label, part;
    Value value;
};

using Variables = std::vector<std::pair<std::string, Value>>;

/// Evaluates formulas within a common step limit. Throws InputError with the formula's location.
class Evaluator {
public:
    explicit Evaluator(const Scope& scope) : scope_(scope) {}

    Value value(const Formula& formula, const Variables& variables = {});
    double number(const Formula& formula, const Variables& variables = {});
    std::string text(const Formula& wording, const Variables& variables = {});
    std::vector<Swept> sweep(const Formula& sweep, const Variables& variables = {});

private:
    friend class Evaluation;
    const Scope& scope_;
    std::uint64_t steps_ = 0;
};

/// A value as it stands in a text: numbers in full.
std::string plain_text(const Value& value);

}  // namespace mergelane::study
