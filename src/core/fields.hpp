// SPDX-License-Identifier: MIT
// Field tables. A Spec lists its configuration values, a Stats struct its counters; the parser, `describe`,
// `config show`, the hash, the summary, JSON and CSV all read these same tables.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace mergelane {

class Registry;

/// One configuration value: where it lives, what it means, what it may be.
struct SpecField {
    enum class Kind { integer, boolean, choice, text, integers };

    std::string key;  ///< dotted, for example "l1.size_kib"
    Kind kind = Kind::integer;
    std::string_view unit;
    std::string_view meaning;
    std::uint32_t* integer = nullptr;
    bool* boolean = nullptr;
    std::string* text = nullptr;         ///< also of a choice that is kept by name
    std::uint8_t* enumerator = nullptr;  ///< of a choice that is kept as an enumeration: which one
    std::vector<std::uint32_t>* integers = nullptr;
    std::uint32_t min = 0;
    std::uint32_t max = 0;
    std::vector<std::string_view> choices;
    std::vector<std::string_view> choice_meanings;  ///< of each choice, where it has one
    std::string neutral;  ///< of a key added after machines got their names: with this value they are what they were; empty: none

    std::string value() const {
        if (kind == Kind::integer) return std::to_string(*integer);
        if (kind == Kind::boolean) return *boolean ? "true" : "false";
        if (enumerator != nullptr) return std::string(choices[*enumerator]);
        if (kind != Kind::integers) return *text;
        std::string list;
        for (const std::uint32_t number : *integers) list += (list.empty() ? "" : ",") + std::to_string(number);
        return list;
    }
    /// Takes one of the choices; false: there is no such.
    bool choose(std::string_view word) const {
        const auto at = std::find(choices.begin(), choices.end(), word);
        if (at == choices.end()) return false;
        if (enumerator != nullptr)
            *enumerator = static_cast<std::uint8_t>(at - choices.begin());
        else
            text->assign(word);
        return true;
    }
};

/// Collects the fields of a Spec; each part's `fields()` calls it once per value.
class SpecFields {
public:
    /// `registry`: knows what may be chosen by name, and outlives the fields.
    explicit SpecFields(const Registry& registry) : registry_(&registry) {}

    void section(std::string_view name) { prefix_.assign(name).push_back('.'); }

    void integer(std::string_view key, std::uint32_t& target, std::uint32_t min, std::uint32_t max, std::string_view unit,
                 std::string_view meaning) {
        SpecField field = make(key, SpecField::Kind::integer, unit, meaning);
        field.integer = &target;
        field.min = min;
        field.max = max;
        list_.push_back(std::move(field));
    }
    void boolean(std::string_view key, bool& target, std::string_view meaning) {
        SpecField field = make(key, SpecField::Kind::boolean, "", meaning);
        field.boolean = &target;
        list_.push_back(std::move(field));
    }
    void choice(std::string_view key, std::string& target, std::vector<std::string_view> choices, std::string_view meaning) {
        SpecField field = make(key, SpecField::Kind::choice, "", meaning);
        field.text = &target;
        field.choices = std::move(choices);
        list_.push_back(std::move(field));
    }
    /// `names`: of the enumerators, in their order.
    template <class E>
    void enumeration(std::string_view key, E& target, std::vector<std::string_view> names, std::string_view meaning) {
        static_assert(std::is_same_v<std::underlying_type_t<E>, std::uint8_t>, "write enum class E : std::uint8_t");
        SpecField field = make(key, SpecField::Kind::choice, "", meaning);
        field.enumerator = reinterpret_cast<std::uint8_t*>(&target);
        field.choices = std::move(names);
        list_.push_back(std::move(field));
    }
    void integers(std::string_view key, std::vector<std::uint32_t>& target, std::uint32_t min, std::uint32_t max, std::string_view unit,
                  std::string_view meaning) {
        SpecField field = make(key, SpecField::Kind::integers, unit, meaning);
        field.integers = &target;
        field.min = min;
        field.max = max;
        list_.push_back(std::move(field));
    }
    /// A policy of kind T, by its name. Defined with the registry.
    template <class T>
    void policy(std::string_view key, std::string& target, std::string_view meaning);
    /// `most`: characters.
    void text(std::string_view key, std::string& target, std::string_view unit, std::string_view meaning, std::uint32_t most = 200) {
        SpecField field = make(key, SpecField::Kind::text, unit, meaning);
        field.text = &target;
        field.max = most;
        list_.push_back(std::move(field));
    }
    /// All keys of this section and of those below it count only when this is true: what is switched off is no part of the machine.
    void switched_by(bool enabled) {
        if (!enabled) off_.push_back(prefix_);
    }
    /// Of the field added last: the value with which the machine is what it was before there was this key.
    void neutral(std::string_view value) { list_.back().neutral = value; }
    /// Whether a field makes a difference to the machine, and so to its hash.
    bool counts(const SpecField& field) const {
        for (const std::string& section : off_) {
            if (field.key.compare(0, section.size(), section) == 0) return false;
        }
        return field.neutral.empty() || field.value() != field.neutral;
    }

    const std::vector<SpecField>& list() const& { return list_; }
    std::vector<SpecField> list() && { return std::move(list_); }

private:
    SpecField make(std::string_view key, SpecField::Kind kind, std::string_view unit, std::string_view meaning) const {
        if (prefix_.size() < 2) throw std::logic_error("fields() must name its section before the key '" + std::string(key) + "'");
        SpecField field;
        field.key.assign(prefix_).append(key);
        field.kind = kind;
        field.unit = unit;
        field.meaning = meaning;
        return field;
    }

    const Registry* registry_;
    std::string prefix_;
    std::vector<SpecField> list_;
    std::vector<std::string> off_;  ///< prefixes of sections that are switched off
};

/// One counter of one component. Names are string literals in the Stats structs, so views stay valid.
struct StatField {
    std::string_view group;  ///< for example "l1"
    std::string_view name;   ///< for example "sector_accesses"
    std::string_view unit;
    std::string_view meaning;
    std::uint64_t value = 0;
};

/// Collects the counters of one component in a fixed order.
class StatFields {
public:
    void group(std::string_view name) { group_ = name; }
    void add(std::string_view name, std::uint64_t value, std::string_view unit, std::string_view meaning) {
        list_.push_back({group_, name, unit, meaning, value});
    }
    const std::vector<StatField>& list() const { return list_; }
    void clear() { list_.clear(); }

private:
    std::string_view group_;
    std::vector<StatField> list_;
};

}  // namespace mergelane
