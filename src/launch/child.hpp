// SPDX-License-Identifier: MIT
// What a child process of a study does: one simulation, or the functional execution that all simulations of a workload share.
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
    bool prepare = false;      ///< only make the recording
    std::uint64_t memory = 0;  ///< most address space in bytes, 0: no limit
    std::int64_t parent = 0;   ///< ends when this process does
    // What the key was made of: a program that would make another one must not leave a result under it.
    std::string config_hash = {}, recording = {};
    std::filesystem::path local = {};  ///< where recordings are copied to before they are read; empty: nowhere
};
std::string to_text(const ChildOrder& order);

/// The program, or a machine's file, is not what it was when the run was planned. The command ends with this code then.
class ProgramChanged : public InputError {
public:
    using InputError::InputError;
};
inline constexpr int kProgramChanged = 5;

/// Carries the order out; returns what goes to standard output. Throws like a simulation. `before` is called first, within the order's
/// limits: tests make a child fail there.
std::string run_child(std::string_view order_text, const Registry& registry = built_in(),
                      const std::function<void(const ChildOrder&)>& before = {});

}  // namespace mergelane::study
