// SPDX-License-Identifier: MIT
// Everything selected by name: policies, front ends, units, network kinds, workloads, and the configuration sections of mechanisms.
// A registry is a value: built_in_registry() (sim/built_in.hpp) returns a filled one; users add their own entries and pass it on.
#pragma once

#include <concepts>
#include <deque>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <typeindex>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/section.hpp"
#include "core/text.hpp"

namespace mergelane {

/// A property without a default: every declaration of traits must state it.
template <class V>
struct Stated {
    V value;

    template <class U>
    requires std::convertible_to<U, V>
    constexpr Stated(U&& stated) : value(std::forward<U>(stated)) {}
    constexpr const V& operator*() const { return value; }
    constexpr const V* operator->() const { return &value; }
};

/// Properties that must be known before an object is created, if kind T has any.
template <class T>
concept HasTraits = requires {
    typename T::Traits;
};
struct NoTraits {};
template <class T>
struct TraitsOf {
    using Type = NoTraits;
};
template <HasTraits T>
struct TraitsOf<T> {
    using Type = typename T::Traits;
};

/// T defines the factory function (T::Maker), the name in messages (T::kKind, for example "CTA scheduler") and the declared properties
/// (T::Traits).
template <class T>
class NameTable {
public:
    struct Entry {
        std::string name;
        std::string meaning;
        typename TraitsOf<T>::Type traits;
        typename T::Maker make;
    };

    void add(Entry added) {
        for (const Entry& entry : entries_) {
            if (entry.name == added.name) throw std::logic_error("there is a " + std::string(T::kKind) + " '" + added.name + "' already");
        }
        entries_.push_back(std::move(added));
    }
    /// Throws InputError that lists the known names.
    const Entry& find(std::string_view name) const {
        for (const Entry& entry : entries_) {
            if (entry.name == name) return entry;
        }
        throw InputError(unknown_word(T::kKind, name, names()));
    }
    std::vector<std::string_view> names() const { return names_of<std::string_view>(entries_, &Entry::name); }
    const std::deque<Entry>& entries() const { return entries_; }

private:
    std::deque<Entry> entries_;  ///< views of names stay valid
};

class Registry {
public:
    Registry() = default;
    Registry(Registry&&) noexcept = default;
    Registry& operator=(Registry&&) noexcept = default;

    template <class T>
    requires(!HasTraits<T>) void add(std::string name, std::string meaning, typename T::Maker make) {
        table<T>().add({std::move(name), std::move(meaning), {}, std::move(make)});
    }
    template <HasTraits T>
    void add(std::string name, std::string meaning, typename T::Traits traits, typename T::Maker make) {
        table<T>().add({std::move(name), std::move(meaning), std::move(traits), std::move(make)});
    }
    template <class T>
    const typename T::Maker& find(std::string_view name) const {
        return of<T>().find(name).make;
    }
    template <HasTraits T>
    const typename T::Traits& traits(std::string_view name) const {
        return of<T>().find(name).traits;
    }
    template <class T>
    std::vector<std::string_view> names() const {
        return of<T>().names();
    }
    /// All entries of a kind, in order of registration.
    template <class T>
    const NameTable<T>& of() const {
        static const NameTable<T> none;
        const auto at = tables_.find(typeid(T));
        return at == tables_.end() ? none : *static_cast<const NameTable<T>*>(at->second.get());
    }
    /// Configuration of a mechanism, with its default values.
    template <class S>
    void add_section() {
        for (const auto& section : sections_.list()) {
            if (dynamic_cast<const S*>(section.get()) != nullptr) throw std::logic_error("a section was registered twice");
        }
        sections_.add(std::make_unique<S>());
    }
    const Sections& sections() const { return sections_; }

    /// Name and version of user extensions, for example "my-lab 3". Results depend on it, so it is part of every run's key; raise it
    /// like the model version. Empty: no extensions.
    void set_edition(std::string edition) { edition_ = std::move(edition); }
    const std::string& edition() const { return edition_; }

private:
    template <class T>
    NameTable<T>& table() {
        std::shared_ptr<void>& at = tables_[typeid(T)];
        if (at == nullptr) at = std::make_shared<NameTable<T>>();
        return *static_cast<NameTable<T>*>(at.get());
    }

    std::map<std::type_index, std::shared_ptr<void>> tables_;
    Sections sections_;
    std::string edition_;
};

template <class T>
void SpecFields::policy(std::string_view key, std::string& target, std::string_view meaning) {
    choice(key, target, registry_->names<T>(), meaning);
    for (const auto& entry : registry_->of<T>().entries()) list_.back().choice_meanings.push_back(entry.meaning);
}

}  // namespace mergelane
