// SPDX-License-Identifier: MIT
// A worker process of a study: one simulation, or the functional execution shared by all simulations of a workload.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "runs/store.hpp"

namespace mergelane::study {

/// The first argument that makes the command a child; the second is the order.
inline constexpr std::string_view kChildArgument = "--study-child";

struct ChildOrder {
    RunSpec spec;
    std::string key;
    std::filesystem::path cache;
    bool prepare = false;      ///< only create the recording
    std::uint64_t memory = 0;  ///< address-space limit in bytes, 0: no limit
    std::int64_t parent = 0;   ///< ends when this process does
    // Inputs of the key: a program that computes a different key must not store a result under this one.
    std::string config_hash = {}, recording = {};
    std::filesystem::path local = {};  ///< where recordings are copied to before they are read; empty: nowhere
    std::filesystem::path keep = {};   ///< of a sampled run: folder of what is finished, to continue from if it is killed
};
std::string to_text(const ChildOrder& order);

/// Exit code if the program or a machine file changed after the run was planned.
class ProgramChanged : public InputError {
public:
    using InputError::InputError;
};
inline constexpr int kProgramChanged = 5;

/// Executes the order; returns the text for standard output. Throws like a simulation. `before` is called first, within the order's
/// limits: tests make a child fail there.
std::string run_child(std::string_view order_text, const Registry& registry = built_in(),
                      const std::function<void(const ChildOrder&)>& before = {});

}  // namespace mergelane::study
