// SPDX-License-Identifier: MIT
// Reads what 'mergelane campaign export --sqlite' writes (run_table.hpp). The file may come from anyone.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "campaign/run_table.hpp"

namespace mergelane::study {

/// `choose` is given all columns and returns the numbers of those to read; `row` is given their cells, valid until it returns. `proceed` is
/// asked now and then, and false ends the reading. Throws InputError for a file that is not such an export.
void read_sqlite(const std::filesystem::path& file, const std::function<std::vector<std::size_t>(const std::vector<TableColumn>&)>& choose,
                 const std::function<void(std::span<const TableCell>)>& row, const std::function<bool()>& proceed);

}  // namespace mergelane::study
