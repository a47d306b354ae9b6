// SPDX-License-Identifier: MIT
// Field tables. A Spec lists its configuration values, a Stats struct its counters; the parser, `describe`,
// `config show`, the hash, the summary, JSON and CSV all read these same tables.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace mergelane {

class Registry;
class Section;

/// Keys that are active only while another key has one of these values: "lsu.front", {"warp_pool"}.
struct Belonging {
    std::string key;
    std::vector<std::string_view> choices;
};

/// One configuration value: where it lives, what it means, what it may be.
struct SpecField {
    enum class Kind { integer, boolean, choice, text, integers };

    std::string key;  ///< dotted, for example "l1.size_kib"
    Kind kind = Kind::integer;
    std::string_view unit;
    std::string_view meaning;
    std::uint32_t* integer = nullptr;
    bool* boolean = nullptr;
    std::string* text = nullptr;         ///< also for a choice stored by name
    std::uint8_t* enumerator = nullptr;  ///< for a choice stored as an enumerator
    std::vector<std::uint32_t>* integers = nullptr;
    std::uint32_t min = 0;
    std::uint32_t max = 0;
    std::vector<std::string_view> choices;
    std::vector<std::string_view> choice_meanings;  ///< of each choice; may be empty
    std::shared_ptr<const Belonging> belongs;       ///< nullptr: always active
    const Section* section = nullptr;               ///< the section that declares it, if any
    bool active = true;                             ///< false: it belongs to a choice that was not selected or to a disabled mechanism

    std::string value() const {
        if (kind == Kind::integer) return std::to_string(*integer);
        if (kind == Kind::boolean) return *boolean ? "true" : "false";
        if (enumerator != nullptr) return std::string(choices[*enumerator]);
        if (kind != Kind::integers) return *text;
        std::string list;
        for (const std::uint32_t number : *integers) list += (list.empty() ? "" : ",") + std::to_string(number);
        return list;
    }
    /// Sets one of the choices; returns false for an unknown one.
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
    /// `registry` holds the choices and must outlive the fields.
    explicit SpecFields(const Registry& registry) : registry_(&registry) {}

    void section(std::string_view name) {
        prefix_.assign(name).push_back('.');
        belongs_ = nullptr;
    }
    /// The keys that follow in this section are used only while `key`, a choice or a boolean, has one of these values.
    void belongs_to(std::string_view key, std::vector<std::string_view> choices) {
        belongs_ = std::make_shared<const Belonging>(Belonging{std::string(key), std::move(choices)});
    }

    void integer(std::string_view key, std::uint32_t& target, std::uint32_t min, std::uint32_t max, std::string_view unit,
                 std::string_view meaning) {
        add(key, SpecField::Kind::integer, unit, meaning, min, max).integer = &target;
    }
    void boolean(std::string_view key, bool& target, std::string_view meaning) {
        add(key, SpecField::Kind::boolean, "", meaning).boolean = &target;
    }
    void choice(std::string_view key, std::string& target, std::vector<std::string_view> choices, std::string_view meaning) {
        SpecField& field = add(key, SpecField::Kind::choice, "", meaning);
        field.text = &target;
        field.choices = std::move(choices);
    }
    /// `names`: of the enumerators, in their order.
    template <class E>
    void enumeration(std::string_view key, E& target, std::vector<std::string_view> names, std::string_view meaning) {
        static_assert(std::is_same_v<std::underlying_type_t<E>, std::uint8_t>, "write enum class E : std::uint8_t");
        SpecField& field = add(key, SpecField::Kind::choice, "", meaning);
        field.enumerator = reinterpret_cast<std::uint8_t*>(&target);
        field.choices = std::move(names);
    }
    void integers(std::string_view key, std::vector<std::uint32_t>& target, std::uint32_t min, std::uint32_t max, std::string_view unit,
                  std::string_view meaning) {
        add(key, SpecField::Kind::integers, unit, meaning, min, max).integers = &target;
    }
    /// A policy of kind T, by its name. Defined with the registry.
    template <class T>
    void policy(std::string_view key, std::string& target, std::string_view meaning);
    /// `most`: characters.
    void text(std::string_view key, std::string& target, std::string_view unit, std::string_view meaning, std::uint32_t most = 200) {
        add(key, SpecField::Kind::text, unit, meaning, 0, most).text = &target;
    }
    /// Fields from index `first` on belong to a section, which may be disabled.
    void end_section(std::size_t first, const Section& section, bool enabled) {
        for (std::size_t i = first; i < list_.size(); ++i) {
            list_[i].section = &section;
            list_[i].active = enabled;
        }
    }
    /// After all fields were added: determines the active ones. Throws std::logic_error for a field that belongs to an unknown choice.
    void settle() {
        const Belonging* last = nullptr;
        bool met = true;
        for (SpecField& field : list_) {
            if (field.belongs == nullptr) continue;
            if (field.belongs.get() != last) met = is_met(*(last = field.belongs.get()), field.key);
            field.active = field.active && met;
        }
    }

    const std::vector<SpecField>& list() const& { return list_; }
    std::vector<SpecField> list() && { return std::move(list_); }

private:
    SpecField& add(std::string_view key, SpecField::Kind kind, std::string_view unit, std::string_view meaning, std::uint32_t min = 0,
                   std::uint32_t max = 0) {
        if (prefix_.size() < 2) throw std::logic_error("fields() must name its section before the key '" + std::string(key) + "'");
        SpecField& field = list_.emplace_back();
        field.key.assign(prefix_).append(key);
        field.kind = kind;
        field.unit = unit;
        field.meaning = meaning;
        field.min = min;
        field.max = max;
        field.belongs = belongs_;
        return field;
    }
    bool is_met(const Belonging& belongs, const std::string& user) const {
        const auto at = std::find_if(list_.begin(), list_.end(), [&](const SpecField& field) { return field.key == belongs.key; });
        if (at == list_.end() || (at->kind != SpecField::Kind::choice && at->kind != SpecField::Kind::boolean))
            throw std::logic_error("'" + user + "' belongs to '" + belongs.key + "', which is no choice");
        return std::find(belongs.choices.begin(), belongs.choices.end(), at->value()) != belongs.choices.end();
    }

    const Registry* registry_;
    std::string prefix_;
    std::shared_ptr<const Belonging> belongs_;
    std::vector<SpecField> list_;
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
