// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/kernel.hpp"

namespace mergelane {

/// A registered workload, for `mergelane run --workload NAME`.
struct NamedWorkload {
    struct Request {
        std::string size;  ///< as in `--size`: "tiny", "paper", "large"
        std::uint64_t seed = 1;
    };
    static constexpr std::string_view kKind = "workload";
    using Maker = std::function<std::unique_ptr<Workload>(const Request&)>;
};

}  // namespace mergelane
