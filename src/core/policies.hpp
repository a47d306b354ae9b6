// SPDX-License-Identifier: MIT
// Creates the policies that a component selects by name.
#pragma once

#include <memory>
#include <string_view>

#include "core/registry.hpp"

namespace mergelane {

/// The registry, and the machine's sections, which hold the policies' configuration: the last argument of every policy factory.
/// Refers to both; they live as long as the machine.
class Policies {
public:
    Policies(const Registry& registry, const Sections& sections) : registry_(&registry), sections_(&sections) {}

    template <class T, class... Arguments>
    std::unique_ptr<T> make(std::string_view name, const Arguments&... arguments) const {
        return registry_->find<T>(name)(arguments..., *sections_);
    }
    const Registry& registry() const { return *registry_; }
    const Sections& sections() const { return *sections_; }

private:
    const Registry* registry_;
    const Sections* sections_;
};

/// The policies of some folders only, for components used without a machine: policies_of<add_replacements>().
template <void (*... add)(Registry&)>
const Policies& policies_of() {
    static const Registry registry = [] {
        Registry filled;
        (add(filled), ...);
        return filled;
    }();
    static const Policies policies(registry, registry.sections());
    return policies;
}

}  // namespace mergelane
