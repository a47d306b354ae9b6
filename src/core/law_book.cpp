// SPDX-License-Identifier: MIT
#include "core/law_book.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace mergelane {

std::uint64_t LawBook::operator()(std::string_view name) const {
    const auto at = values_.find(std::string(name));
    if (at == values_.end()) throw std::logic_error(fmt::format("an invariant uses '{}', which no component counts", name));
    return at->second;
}

void LawBook::boundary(std::string_view sent, std::string_view received, std::string_view links) {
    balance(fmt::format("{} = {} + on '{}'", sent, received, links), (*this)(sent), (*this)(received) + on_links_(links));
}

void LawBook::balance(std::string_view law, std::uint64_t left, std::uint64_t right) {
    if (left != right) broken_.push_back(fmt::format("{}: {} against {}", law, left, right));
}

}  // namespace mergelane
