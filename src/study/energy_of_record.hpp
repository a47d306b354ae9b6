// SPDX-License-Identifier: MIT
#pragma once

#include "core/result.hpp"
#include "energy/energy_table.hpp"
#include "study/store.hpp"

namespace mergelane::study {

/// Energy follows from statistics and configuration alone, so it is computed when asked for and not kept with the run.
EnergyReport energy_of_record(const RunRecord& record, const EnergyData& data);

}  // namespace mergelane::study
