// SPDX-License-Identifier: MIT
// The small machine on which papers illustrate CTA placement.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mergelane::study {

struct PlacementShape {
    std::uint32_t clusters, sms_per_cluster, contexts_per_sm;
    std::uint64_t ctas;
};
/// "1,5 | 3,7 | 2,6 | 4,8": the CTAs, counted from 1, that each SM has received once all contexts were filled and CTAs 1 to `ended` have
/// ended, one after another. Throws InputError for a policy there is not.
std::string placed(std::string_view policy, const PlacementShape& shape, std::uint64_t ended);

}  // namespace mergelane::study
