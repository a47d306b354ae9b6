// SPDX-License-Identifier: MIT
#include "workload/ptx/module.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <set>

#include "core/error.hpp"
#include "core/text.hpp"
#include "workload/ptx/decode.hpp"
#include "workload/ptx/lexer.hpp"
#include "workload/ptx/parser.hpp"

namespace mergelane::ptx {

namespace {

std::uint64_t next_id() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
}
}  // namespace

std::vector<std::uint32_t> Function::param_offsets() const {
    std::vector<std::uint32_t> offsets;
    std::uint64_t at = 0;
    for (const Variable& param : params) {
        at = (at + param.align - 1) / param.align * param.align;
        offsets.push_back(static_cast<std::uint32_t>(at));
        at += param.bytes;
    }
    return offsets;
}
std::uint32_t Function::param_bytes() const {
    return params.empty() ? 0 : param_offsets().back() + static_cast<std::uint32_t>(params.back().bytes);
}

Module::Module(std::string text, std::string file_name) : text_(std::move(text)), file_(std::move(file_name)), id_(next_id()) {}
Module::~Module() = default;

std::vector<std::string_view> Module::kernels() const {
    std::vector<std::string_view> names;
    for (const auto& function : functions_) {
        if (function->entry && function->defined) names.push_back(function->name);
    }
    return names;
}

const Function* Module::find_function(std::string_view name) const {
    const auto found = function_index_.find(name);
    return found == function_index_.end() ? nullptr : functions_[found->second].get();
}

const Variable* Module::find_variable(std::string_view name) const {
    const auto found = variable_index_.find(name);
    return found == variable_index_.end() ? nullptr : &variables_[found->second];
}

std::vector<const Function*> Module::addressed_functions() const {
    std::set<std::string_view> named;
    for (const Variable& variable : variables_) {
        for (const Relocation& relocation : variable.relocations) named.insert(relocation.symbol);
    }
    for (const auto& function : functions_) {
        for (const Instruction& instruction : function->code) {
            if (instruction.words[0] == "mov" && instruction.operands.size() == 2) named.insert(instruction.operands[1].name);
        }
    }
    std::vector<const Function*> found;
    for (const auto& function : functions_) {
        if (!function->entry && function->defined && named.contains(function->name)) found.push_back(function.get());
    }
    return found;
}

const Function& Module::kernel(std::string_view name) const {
    const Function* found = find_function(name);
    if (found != nullptr && found->entry && found->defined) {
        if (!found->fault.empty()) throw InputError(found->fault);
        return *found;
    }
    const std::string message = unknown_word("kernel", name.substr(0, 200), kernels()).substr(0, 1500);
    const std::string mangled = fmt::format("_Z{}{}", name.size(), name);
    for (const std::string_view known : kernels()) {
        if (known.starts_with(mangled))
            throw InputError(
                fmt::format("{}: {}; C++ mangles names: write '{}', or declare the kernel extern \"C\"", file_, message, known));
    }
    throw InputError(fmt::format("{}: {}", file_, message));
}

const Program& Module::program(std::string_view kernel) const {
    const std::lock_guard lock(programs_mutex_);
    const auto found = programs_.find(kernel);
    if (found != programs_.end()) return *found->second;
    return *programs_.emplace(std::string(kernel), Decoder(*this, select_for_host()).run(kernel)).first->second;
}

bool Module::placement_dependent(std::string_view kernel) const {
    return program(kernel).placement_dependent;
}

std::vector<std::byte> Module::pack(std::string_view name, const std::vector<Argument>& arguments) const {
    const Function& function = kernel(name);
    if (arguments.size() != function.params.size()) {
        throw InputError(fmt::format("{}: kernel {} has {} parameters but {} arguments are given; give one for each", file_,
                                     in_quotes(name), function.params.size(), arguments.size()));
    }
    std::vector<std::byte> block(function.param_bytes());
    const std::vector<std::uint32_t> offsets = function.param_offsets();
    for (std::size_t p = 0; p < arguments.size(); ++p) {
        if (arguments[p].bytes != function.params[p].bytes) {
            throw InputError(fmt::format("{}: argument {} of kernel {} has {} bytes but its parameter {}; change its type", file_, p,
                                         in_quotes(name), arguments[p].bytes, function.params[p].bytes));
        }
        std::memcpy(block.data() + offsets[p], arguments[p].data, arguments[p].bytes);
    }
    return block;
}

std::shared_ptr<const Module> parse_to_check(std::string_view text, const std::string& file_name) {
    if (text.size() > kMostTextBytes)
        throw InputError(fmt::format("{}:1: the file is larger than {} bytes; split it", file_name, kMostTextBytes));
    auto module = std::make_shared<Module>(std::string(text), file_name);
    Parser(*module).run();
    return module;
}

std::shared_ptr<const Module> parse_module(std::string_view text, const std::string& file_name) {
    std::shared_ptr<const Module> module = parse_to_check(text, file_name);
    if (!module->fault().empty()) throw InputError(module->fault());
    return module;
}

}  // namespace mergelane::ptx
