// SPDX-License-Identifier: MIT
#include "formula/expression.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/error.hpp"
#include "files/toml_text.hpp"
#include "formula/expression_node.hpp"
#include "formula/series.hpp"

namespace mergelane::study {

namespace {

using Node = ExpressionNode;
using Kind = Node::Kind;
using Numbers = std::vector<double>;

constexpr std::uint64_t kMaxSteps = 200'000;
constexpr std::size_t kMaxText = 2000;
constexpr std::size_t kMaxCalls = 12;  // of measures within each other
constexpr std::size_t kMaxArguments = 4096;

std::string_view type_of(const Value& value) {
    return std::holds_alternative<double>(value) ? "a number" : std::holds_alternative<Numbers>(value) ? "per-workload values" : "a text";
}

double binary(std::string_view mark, double a, double b) {
    if (is_missing(a) || is_missing(b)) return kMissing;
    if (mark == "+") return a + b;
    if (mark == "-") return a - b;
    if (mark == "*") return a * b;
    if (mark == "/") return b == 0 ? kMissing : a / b;
    if (mark == "<") return a < b ? 1 : 0;
    if (mark == "<=") return a <= b ? 1 : 0;
    if (mark == ">") return a > b ? 1 : 0;
    if (mark == ">=") return a >= b ? 1 : 0;
    return (a == b) == (mark == "==") ? 1 : 0;
}

/// Applies an operator to numbers and per-workload values element by element.
Value combine(const std::function<double(double, double)>& operation, const Value& a, const Value& b) {
    const double* x = std::get_if<double>(&a);
    const double* y = std::get_if<double>(&b);
    if (x != nullptr && y != nullptr) return operation(*x, *y);
    const Numbers* many = x != nullptr ? std::get_if<Numbers>(&b) : std::get_if<Numbers>(&a);
    Numbers result(many->size());
    for (std::size_t i = 0; i < result.size(); ++i)
        result[i] = operation(x != nullptr ? *x : std::get<Numbers>(a)[i], y != nullptr ? *y : std::get<Numbers>(b)[i]);
    return result;
}

Value each(const std::function<double(double)>& operation, const Value& a) {
    return combine([&](double x, double) { return operation(x); }, a, 0.0);
}

/// All numbers of the arguments, one after another.
Numbers flat(std::span<const Value> arguments) {
    Numbers all;
    for (const Value& value : arguments) {
        if (const double* number = std::get_if<double>(&value)) all.push_back(*number);
        if (const Numbers* numbers = std::get_if<Numbers>(&value)) all.insert(all.end(), numbers->begin(), numbers->end());
    }
    return all;
}

double lowest(std::span<const Value> arguments) {
    Numbers numbers = flat(arguments);
    for (double& number : numbers) number = -number;
    return -Series{"", std::move(numbers)}.highest();
}

/// For each workload the one of its values that `better` prefers; missing where one of them is.
Value best_of_each(std::span<const Value> arguments, const std::function<double(double, double)>& better) {
    Numbers best = std::get<Numbers>(arguments.front());
    for (const Value& value : arguments) {
        const Numbers& other = std::get<Numbers>(value);
        for (std::size_t i = 0; i < best.size(); ++i)
            best[i] = is_missing(best[i]) || is_missing(other[i]) ? kMissing : better(best[i], other[i]);
    }
    return best;
}

Value joined(std::span<const Value> arguments) {
    std::vector<std::string> texts;
    for (const Value& value : arguments) texts.push_back(plain_text(value));
    return fmt::format("{}", fmt::join(texts, ", "));
}

enum class Takes { numbers, workloads, anything };

struct Builtin {
    FunctionInfo info;
    Takes takes;
    Value (*call)(std::span<const Value>);
};

/// Ranks; equal values have the mean of their ranks.
Numbers ranks(const Numbers& values) {
    Numbers places;
    for (const double x : values) {
        const auto below = std::count_if(values.begin(), values.end(), [&](double y) { return y < x; });
        const auto equal = std::count(values.begin(), values.end(), x);
        places.push_back(static_cast<double>(below) + static_cast<double>(equal - 1) / 2);
    }
    return places;
}

/// Spearman's: 1 when both rise together. Without two different values on each side there is none.
double rank_correlation(const Numbers& a, const Numbers& b) {
    const auto missing = [](const Numbers& values) { return std::any_of(values.begin(), values.end(), is_missing); };
    if (missing(a) || missing(b)) return kMissing;
    const Numbers x = ranks(a), y = ranks(b);
    const double middle = static_cast<double>(x.size() - 1) / 2;
    double xx = 0, yy = 0, xy = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        xx += (x[i] - middle) * (x[i] - middle);
        yy += (y[i] - middle) * (y[i] - middle);
        xy += (x[i] - middle) * (y[i] - middle);
    }
    return xx == 0 || yy == 0 ? kMissing : xy / std::sqrt(xx * yy);
}

Value geometric_mean_where(const Numbers& values, const Numbers& condition) {
    Series chosen;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (is_missing(condition[i])) return kMissing;
        if (condition[i] != 0) chosen.values.push_back(values[i]);
    }
    return chosen.geometric_mean();
}

using Arguments = std::span<const Value>;
Series series(Arguments a) {
    return {"", flat(a)};
}
Value sum(Arguments a) {
    double total = 0;
    for (const double x : flat(a)) total += x;
    return total;
}
Value count(Arguments a) {
    double total = 0;
    for (const double x : flat(a)) total += is_missing(x) ? kMissing : x != 0 ? 1 : 0;
    return total;
}

constexpr std::size_t kAny = kMaxArguments;
const Builtin kBuiltins[] = {
    {{"abs", 1, 1, "abs(x)", "absolute value"},
     Takes::numbers,
     [](Arguments a) { return each([](double x) { return std::abs(x); }, a[0]); }},
    {{"change", 1, 1, "change(ratio)", "ratio as a change in percent: 1.1 gives +10"},
     Takes::numbers,
     [](Arguments a) { return each(change, a[0]); }},
    {{"percent", 2, 2, "percent(part, whole)", "share in percent; 0 if the whole is 0"},
     Takes::numbers,
     [](Arguments a) { return combine([](double part, double whole) { return whole == 0 ? 0 : 100 * part / whole; }, a[0], a[1]); }},
    {{"mean", 1, kAny, "mean(values)", "arithmetic mean"}, Takes::numbers, [](Arguments a) { return Value(series(a).mean()); }},
    {{"median", 1, kAny, "median(values)", "median"}, Takes::numbers, [](Arguments a) { return Value(series(a).median()); }},
    {{"geomean", 1, kAny, "geomean(values)", "geometric mean"},
     Takes::numbers,
     [](Arguments a) { return Value(series(a).geometric_mean()); }},
    {{"geomean_where", 2, 2, "geomean_where(values, condition)", "geometric mean over the workloads for which the condition is not 0"},
     Takes::workloads,
     [](Arguments a) { return geometric_mean_where(std::get<Numbers>(a[0]), std::get<Numbers>(a[1])); }},
    {{"geomean_low", 1, kAny, "geomean_low(values)", "lower end of the 95 % bootstrap interval of the geometric mean"},
     Takes::numbers,
     [](Arguments a) { return Value(series(a).geometric_interval().first); }},
    {{"geomean_high", 1, kAny, "geomean_high(values)", "upper end of the 95 % bootstrap interval of the geometric mean"},
     Takes::numbers,
     [](Arguments a) { return Value(series(a).geometric_interval().second); }},
    {{"min", 1, kAny, "min(a, b, ...)", "smallest"}, Takes::numbers, [](Arguments a) { return Value(lowest(a)); }},
    {{"max", 1, kAny, "max(a, b, ...)", "largest"}, Takes::numbers, [](Arguments a) { return Value(series(a).highest()); }},
    {{"each_max", 1, kAny, "each_max(values, values, ...)", "per-workload maximum of several values"},
     Takes::workloads,
     [](Arguments a) { return best_of_each(a, [](double x, double y) { return std::max(x, y); }); }},
    {{"each_min", 1, kAny, "each_min(values, values, ...)", "per-workload minimum of several values"},
     Takes::workloads,
     [](Arguments a) { return best_of_each(a, [](double x, double y) { return std::min(x, y); }); }},
    {{"rank_correlation", 2, 2, "rank_correlation(values, values)", "Spearman's rank correlation over the workloads"},
     Takes::workloads,
     [](Arguments a) { return Value(rank_correlation(std::get<Numbers>(a[0]), std::get<Numbers>(a[1]))); }},
    {{"sum", 1, kAny, "sum(a, b, ...)", "sum"}, Takes::numbers, sum},
    {{"count", 1, kAny, "count(condition, ...)", "number of nonzero values"}, Takes::numbers, count},
    {{"texts", 0, kAny, "texts('a', 'b', ...)", "texts joined by commas"}, Takes::anything, joined},
};
/// Whose place is known.
class PlacedError : public InputError {
public:
    using InputError::InputError;
};

/// An error is reported at its location, with the location it was used at.
template <typename Work>
auto at_its_place(const Formula& formula, const Work& work) {
    try {
        return work();
    } catch (const PlacedError& error) {
        const std::string message = error.what();
        if (message.starts_with(formula.where + ":") || message.find(" (used at ") != std::string::npos) throw;
        throw PlacedError(fmt::format("{} (used at {})", message, formula.where));
    } catch (const InputError& error) {
        throw PlacedError(fmt::format("{}: \"{}\" {}", formula.where, printable(formula.text, 80), error.what()));
    }
}

/// These know the list of their argument, so the evaluator does them.
constexpr FunctionInfo kBefore{"before", 1, 1, "before(LIST), the previous value of the list", "the previous value of the list"};
constexpr FunctionInfo kMatching{"matching", 2, 2,
                                 "matching(LIST, OTHER), the value of another list (or of the list named 'OTHER') at the current position",
                                 "the value of another list at the current position"};

}  // namespace

std::vector<FunctionInfo> builtin_functions() {
    std::vector<FunctionInfo> all{kBefore, kMatching};
    for (const Builtin& builtin : kBuiltins) all.push_back(builtin.info);
    return all;
}

std::string plain_text(const Value& value) {
    if (const std::string* text = std::get_if<std::string>(&value)) return *text;
    if (const double* number = std::get_if<double>(&value)) return is_missing(*number) ? "-" : fmt::format("{}", *number);
    throw InputError("puts per-workload values into a text; take mean(...) or at(..., 'WORKLOAD')");
}

/// The evaluation of one formula.
class Evaluation {
public:
    Evaluation(Evaluator& evaluator, const Variables& variables) : evaluator_(evaluator), scope_(evaluator.scope_), variables_(variables) {}

    Value of(const Node& node) {
        step();
        switch (node.kind) {
            case Kind::number: return node.number;
            case Kind::literal: return node.text;
            case Kind::wording: return wording(node);
            case Kind::name: return name(node);
            case Kind::call: return call(node);
            case Kind::binary: return binary_of(node);
            case Kind::negative: {
                const Value value = of(node.children[0]);
                if (std::holds_alternative<std::string>(value)) throw InputError("has a sign before a text; remove it");
                return each([](double x) { return -x; }, value);
            }
            case Kind::loop:
            case Kind::sweep: break;
        }
        throw InputError("has a loop where one value is expected; put it into min(), max(), sum(), count() or texts()");
    }

    std::string wording(const Node& node) {
        std::string text;
        for (const Node& child : node.children) {
            step();
            const Value value = of(child);
            if (child.format.empty()) {
                text += plain_text(value);
            } else if (const double* number = std::get_if<double>(&value)) {
                text += child.format == "+" ? is_missing(*number) ? "-" : fmt::format("{:+}", *number)
                                            : number_text(*number, child.format[0] - '0');
            } else {
                throw InputError(fmt::format("formats {} as a number; leave out ':{}'", type_of(value), child.format));
            }
            if (text.size() > kMaxText) throw InputError(fmt::format("produces a text of more than {} characters; shorten it", kMaxText));
        }
        return text;
    }

    std::vector<Swept> sweep(const Node& node) {
        const Node& value = node.children[0];
        std::vector<Swept> all;
        loop(value, 0, [&](const Value& swept) {
            Swept one{"", "", swept};
            if (node.children.size() > 1) {
                one.label = wording(node.children[1]);
            } else if (value.kind == Kind::loop) {
                std::vector<std::string> labels;
                for (const std::string& name : value.names) labels.push_back(plain_text(*variable(name)));
                one.label = fmt::format("{}", fmt::join(labels, ", "));
            }
            if (node.children.size() > 2) one.part = wording(node.children[2]);
            all.push_back(std::move(one));
        });
        return all;
    }

private:
    void step() {
        if (++evaluator_.steps_ > kMaxSteps) throw InputError(fmt::format("takes more than {} steps; use shorter lists", kMaxSteps));
    }
    const Value* variable(std::string_view name) const {
        const auto at = std::find_if(variables_.rbegin(), variables_.rend(), [&](const auto& v) { return v.first == name; });
        return at == variables_.rend() ? nullptr : &at->second;
    }
    const std::vector<Value>& list(const std::string& name) const {
        if (const std::vector<Value>* values = scope_.list(name)) return *values;
        throw InputError(fmt::format("has 'for {0}', but there is no list '{0}'; define it under [list] in study.toml", name));
    }

    [[noreturn]] void unknown(const std::string& name) const {
        std::vector<std::string> known = scope_.names();
        for (const auto& [variable, value] : variables_) known.push_back(variable);
        for (const FunctionInfo& function : builtin_functions()) known.emplace_back(function.name);
        throw InputError("has " + unknown_name("name", name, known));
    }

    Value name(const Node& node) {
        if (const Value* value = variable(node.text)) return *value;
        return call(node);
    }

    Value call(const Node& node) {
        if (node.text == kBefore.name || node.text == kMatching.name) return neighbour(node);
        std::vector<Value> arguments;
        for (const Node& child : node.children) {
            loop(child, 0, [&](const Value& value) {
                if (arguments.size() >= kMaxArguments)
                    throw InputError(fmt::format("has more than {} arguments; use shorter lists", kMaxArguments));
                arguments.push_back(value);
            });
        }
        if (const Measure* found = scope_.measure(node.text)) return measure(*found, std::move(arguments));
        for (const Builtin& builtin : kBuiltins) {
            if (builtin.info.name != node.text) continue;
            // A loop may come to nothing: where any number will do, what was written counts.
            const std::size_t given = builtin.info.most == kAny ? std::max(arguments.size(), node.children.size()) : arguments.size();
            count(builtin.info.name, builtin.info.usage, builtin.info.least, builtin.info.most, given);
            for (const Value& value : arguments) {
                const bool good = builtin.takes == Takes::anything || std::holds_alternative<Numbers>(value) ||
                                  (builtin.takes == Takes::numbers && std::holds_alternative<double>(value));
                if (!good)
                    throw InputError(fmt::format("passes {} {}; it expects {}", builtin.info.usage, type_of(value),
                                                 builtin.takes == Takes::numbers ? "numbers" : "per-workload values"));
            }
            Value result = builtin.call(arguments);
            if (const std::string* text = std::get_if<std::string>(&result); text != nullptr && text->size() > kMaxText)
                throw InputError(fmt::format("produces a text of more than {} characters; use shorter lists", kMaxText));
            return result;
        }
        if (const FunctionInfo* function = scope_.function(node.text)) {
            count(function->name, function->usage, function->least, function->most, arguments.size());
            return scope_.call(*function, arguments);
        }
        unknown(node.text);
    }

    Value measure(const Measure& found, std::vector<Value> arguments) {
        count(found.name, fmt::format("{}({})", found.name, fmt::join(found.parameters, ", ")), found.parameters.size(),
              found.parameters.size(), arguments.size());
        if (std::find(active_.begin(), active_.end(), &found) != active_.end())
            throw InputError(fmt::format("defines measure '{}' in terms of itself; remove one reference of the cycle", found.name));
        if (active_.size() >= kMaxCalls) throw InputError(fmt::format("nests measures more than {} deep; use fewer", kMaxCalls));
        Variables inner;
        for (std::size_t i = 0; i < arguments.size(); ++i) inner.emplace_back(found.parameters[i], std::move(arguments[i]));
        std::swap(variables_, inner);
        active_.push_back(&found);
        Value result = at_its_place(found.formula, [&] { return of(*found.formula.root); });
        active_.pop_back();
        std::swap(variables_, inner);
        return result;
    }

    Value neighbour(const Node& node) {
        const bool is_before = node.text == kBefore.name;
        const auto list_at = [&](std::size_t i) -> const std::vector<Value>* {
            if (i >= node.children.size()) return nullptr;
            const Node& child = node.children[i];
            if (child.kind == Kind::wording && i == 1) return scope_.list(wording(child));
            return child.kind == Kind::name ? scope_.list(child.text) : nullptr;
        };
        const std::vector<Value>* own = list_at(0);
        const std::vector<Value>* other = is_before ? own : list_at(1);
        const Value* present = own == nullptr ? nullptr : variable(node.children[0].text);
        if (present == nullptr || other == nullptr || node.children.size() != (is_before ? 1 : 2) || own->size() != other->size())
            throw InputError(fmt::format("uses {}() on something that is not a list of 'for' (or lists of different lengths); write {}",
                                         node.text, is_before ? kBefore.usage : kMatching.usage));
        const auto place = static_cast<std::size_t>(std::find(own->begin(), own->end(), *present) - own->begin());
        if (place == own->size())
            throw InputError(fmt::format("uses {0}({1}) on a value that is not in the list '{1}'; pass a value of the list", node.text,
                                         node.children[0].text));
        return (*other)[is_before && place > 0 ? place - 1 : place];
    }

    Value binary_of(const Node& node) {
        const Value a = of(node.children[0]);
        const Value b = of(node.children[1]);
        const bool first = std::holds_alternative<std::string>(a);
        const bool second = std::holds_alternative<std::string>(b);
        if (first && second && (node.text == "==" || node.text == "!=")) return (a == b) == (node.text == "==") ? 1.0 : 0.0;
        if (first || second) throw InputError(fmt::format("applies '{}' to {} and {}; use numbers", node.text, type_of(a), type_of(b)));
        return combine([&](double x, double y) { return binary(node.text, x, y); }, a, b);
    }

    /// Calls `use` for every value; of one that is no loop, for itself.
    void loop(const Node& node, std::size_t depth, const std::function<void(const Value&)>& use) {
        if (node.kind != Kind::loop) return use(of(node));
        if (depth == node.names.size()) {
            // The value first and always, so that a mistake in it is found whatever was measured.
            const Value value = of(node.children[0]);
            if (node.conditional) {
                const Value condition = of(node.children[1]);
                const double* number = std::get_if<double>(&condition);
                if (number == nullptr)
                    throw InputError(fmt::format("has {} after 'where'; write a comparison of numbers", type_of(condition)));
                if (is_missing(*number) || *number == 0) return;
            }
            return use(value);
        }
        const std::string& name = node.names[depth];
        for (const Value& value : list(name)) {
            step();
            variables_.emplace_back(name, value);
            loop(node, depth + 1, use);
            variables_.pop_back();
        }
    }

    static void count(std::string_view name, std::string_view usage, std::size_t least, std::size_t most, std::size_t given) {
        if (given >= least && given <= most) return;
        throw InputError(fmt::format("passes {} {} argument{}; write {}", name, given, given == 1 ? "" : "s", usage));
    }

    Evaluator& evaluator_;
    const Scope& scope_;
    Variables variables_;
    std::vector<const Measure*> active_;
};

Value Evaluator::value(const Formula& formula, const Variables& variables) {
    return at_its_place(formula, [&] { return Evaluation(*this, variables).of(*formula.root); });
}

double Evaluator::number(const Formula& formula, const Variables& variables) {
    const Value result = value(formula, variables);
    if (const double* number = std::get_if<double>(&result)) return *number;
    return at_its_place(formula, [&]() -> double {
        throw InputError(fmt::format("gives {} where a number is expected; {}", type_of(result),
                                     std::holds_alternative<Numbers>(result) ? "take mean(...) or at(..., 'WORKLOAD')" : "write a number"));
    });
}

std::string Evaluator::text(const Formula& formula, const Variables& variables) {
    return at_its_place(formula, [&] { return Evaluation(*this, variables).wording(*formula.root); });
}

std::vector<Swept> Evaluator::sweep(const Formula& formula, const Variables& variables) {
    return at_its_place(formula, [&] { return Evaluation(*this, variables).sweep(*formula.root); });
}

}  // namespace mergelane::study
