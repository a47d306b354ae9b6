// SPDX-License-Identifier: MIT
// What a mechanism declares in addition to its code: configuration and its checks, invariants, metrics, and hardware structures.
// The configuration reader, `describe`, the hash, invariants, summary, energy and cost models use this declaration; none of them
// knows the mechanism.
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "core/fields.hpp"
#include "core/law_book.hpp"
#include "core/metrics.hpp"
#include "core/problems.hpp"
#include "core/structure.hpp"

namespace mergelane {

class Sections;

class Section {
public:
    virtual ~Section() = default;
    virtual std::unique_ptr<Section> clone() const = 0;

    virtual void fields(SpecFields& f) = 0;
    /// Whether the mechanism is enabled. An inactive section (disabled, or its choice is not selected) has no checks, invariants,
    /// metrics or structures, and its values are not part of the configuration hash.
    virtual bool enabled() const { return true; }
    virtual void check(const MachineFacts& /*machine*/, const Sections& /*others*/, Problems&) const {}
    virtual void laws(LawBook&) const {}
    virtual void metrics(Metrics&) const {}
    virtual void structures(const MachineFacts&, Structures&) const {}
    /// Of a mechanism that has a paper; declared by one of its sections.
    virtual std::optional<Publication> publication() const { return std::nullopt; }

protected:
    Section() = default;
    Section(const Section&) = default;
    Section& operator=(const Section&) = default;
};

/// struct MySpec : SectionOf<MySpec> { ... };  Base: the kind of section, where it has makers of its own.
template <class T, class Base = Section>
class SectionOf : public Base {
public:
    std::unique_ptr<Section> clone() const override { return std::make_unique<T>(static_cast<const T&>(*this)); }
};

/// The sections of a machine, copied with it and looked up by type.
class Sections {
public:
    Sections() = default;
    Sections(const Sections& other) {
        for (const auto& section : other.list_) list_.push_back(section->clone());
    }
    Sections(Sections&&) noexcept = default;
    Sections& operator=(Sections other) noexcept {
        list_.swap(other.list_);
        return *this;
    }
    ~Sections() = default;

    void add(std::unique_ptr<Section> section) { list_.push_back(std::move(section)); }

    template <class T>
    T& get() {
        return const_cast<T&>(std::as_const(*this).template get<T>());
    }
    template <class T>
    const T& get() const {
        for (const auto& section : list_) {
            if (const T* found = dynamic_cast<const T*>(section.get())) return *found;
        }
        throw std::logic_error(std::string("no section of type ") + typeid(T).name() + " was registered");
    }
    const std::vector<std::unique_ptr<Section>>& list() const { return list_; }
    /// Those of kind T that are enabled, in order of registration.
    template <class T>
    std::vector<const T*> enabled() const {
        std::vector<const T*> found;
        for (const auto& section : list_) {
            const T* one = dynamic_cast<const T*>(section.get());
            if (one != nullptr && one->enabled()) found.push_back(one);
        }
        return found;
    }

private:
    std::vector<std::unique_ptr<Section>> list_;
};

}  // namespace mergelane
