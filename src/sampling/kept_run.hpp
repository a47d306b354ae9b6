// SPDX-License-Identifier: MIT
// What a sampled run has finished, in a folder: a killed run continues from there. Every part is a file of its own, which appears under its
// name when it is complete.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "sampling/passes.hpp"

namespace mergelane::sampling {

/// The folder keeps something that this run cannot continue from: damage, or another run.
class CannotContinue : public InputError {
public:
    using InputError::InputError;
};

/// All that a run's result depends on, by name.
using RunIdentity = std::vector<std::pair<std::string, std::string>>;

class KeptRun {
public:
    /// Throws CannotContinue if the folder keeps a run with another identity, or other files, and InputError if it cannot be written.
    KeptRun(std::filesystem::path folder, const RunIdentity& identity);

    /// Nothing if the part was not kept. Throws CannotContinue if it is damaged.
    std::optional<std::string> load(const std::string& part) const;
    void save(const std::string& part, std::string_view bytes) const;
    /// Throws CannotContinue: the part cannot be read.
    [[noreturn]] void refuse(const std::string& part) const;

private:
    std::string checksum(const std::string& part, std::string_view bytes) const;

    std::filesystem::path folder_;
    std::string key_;  ///< of the identity: parts of other runs are not taken
};

std::string to_bytes(const Signatures& signatures);
std::string to_bytes(const Pass& pass);
/// False: these bytes were not made by to_bytes().
bool from_bytes(std::string_view bytes, Signatures& signatures);
/// `pass.result` is that of a run without launches, and is filled with what was kept.
bool from_bytes(std::string_view bytes, Pass& pass);

}  // namespace mergelane::sampling
