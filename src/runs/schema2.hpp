// SPDX-License-Identifier: MIT
// Stores of record schema 2 (plain, .jsonl.zst, or packed as .jsonl.xz): read once, by 'mergelane store convert', and by nothing else.
#pragma once

#include <filesystem>

#include "runs/record_file.hpp"
#include "sim/built_in.hpp"

namespace mergelane::study {

struct Conversion {
    std::size_t converted = 0;
    std::size_t duplicates = 0;
    LineNotes refused;  ///< records that were left out and why
};

/// Writes the records of a store, or of one of its files, under the keys of today. Each old key is computed again from the record; one that
/// does not match is refused: its machine, workload or model is not known to this program.
Conversion convert_schema2(const std::filesystem::path& from, PackedWriter& to, const Registry& registry);

}  // namespace mergelane::study
