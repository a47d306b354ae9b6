// SPDX-License-Identifier: MIT
// Calls: which functions a kernel may reach, and how arguments and results move. Each function has one place for its registers and
// variables; recursion.cpp is about functions that are active twice in a thread.
#include <algorithm>

#include "core/error.hpp"
#include "core/text.hpp"
#include "workload/ptx/decode.hpp"

namespace mergelane::ptx {

namespace {

/// "call [(results),] callee [, (arguments)] [, prototype];"
struct CallOperands {
    std::vector<Operand> results;
    const Operand* callee = nullptr;
    std::vector<Operand> arguments;
    std::string_view prototype;

    explicit CallOperands(const Instruction& call) {
        std::size_t k = 0;
        const auto at = [&](Operand::Kind kind) { return k < call.operands.size() && call.operands[k].kind == kind; };
        if (at(Operand::Kind::list)) results = call.operands[k++].parts;
        if (at(Operand::Kind::symbol) || at(Operand::Kind::reg)) callee = &call.operands[k++];
        if (at(Operand::Kind::list)) arguments = call.operands[k++].parts;
        if (at(Operand::Kind::symbol)) prototype = call.operands[k++].name;
    }
    bool by_pointer() const { return callee != nullptr && callee->kind == Operand::Kind::reg; }
};

bool fits(const Function& function, const Prototype& prototype) {
    const auto same = [](const std::vector<Variable>& variables, const std::vector<std::uint64_t>& bytes) {
        return std::equal(variables.begin(), variables.end(), bytes.begin(), bytes.end(),
                          [](const Variable& variable, std::uint64_t size) { return variable.bytes == size; });
    };
    return same(function.returns, prototype.returns) && same(function.params, prototype.params);
}

}  // namespace

/// The functions that a call through a pointer may lead to.
std::vector<const Function*> Decoder::pointed_at(const Function& caller, const Instruction& call, std::string_view prototype) {
    const auto known = caller.prototypes.find(prototype);
    if (known == caller.prototypes.end()) {
        fail_at(module_.file_name(), call.line, "a call through a pointer names no .callprototype; write one, as nvcc does");
    }
    if (!addressed_) addressed_ = module_.addressed_functions();
    std::vector<const Function*> found;
    std::copy_if(addressed_->begin(), addressed_->end(), std::back_inserter(found),
                 [&](const Function* function) { return fits(*function, known->second); });
    return found;
}

/// The functions with bodies that a call instruction may lead to.
Decoder::Callees Decoder::called_at(const Function& caller, const Instruction& instruction) {
    const CallOperands call(instruction);
    if (call.by_pointer()) return {true, pointed_at(caller, instruction, call.prototype)};
    const Function* callee = call.callee == nullptr ? nullptr : module_.find_function(call.callee->name);
    if (callee == nullptr || (!callee->defined && is_service(callee->name))) return {};
    if (!callee->defined) {
        fail_at(module_.file_name(), instruction.line, "function {} has no body in this file; link it in when compiling to PTX",
                in_quotes(callee->name));
    }
    return {false, {callee}};
}

/// A function and everything it may call, each once.
void Decoder::collect(const Function& function, std::size_t depth) {
    constexpr std::size_t kDeepest = 64;
    if (frame_of_.contains(function.name)) return;
    if (depth > kDeepest)
        fail_at(module_.file_name(), function.line, "{} is called by a chain of more than {} functions; make it shorter",
                in_quotes(function.name), kDeepest);
    if (!function.fault.empty()) throw InputError(function.fault);
    frame_of_[function.name] = frames_.size();
    frames_.push_back(std::make_unique<Frame>());
    frames_.back()->function = &function;
    program_->placement_dependent = program_->placement_dependent || function.placement_dependent;
    for (const Instruction& instruction : function.code) {
        if (instruction.words[0] != "call") continue;
        const Callees called = called_at(function, instruction);
        for (const Function* callee : called.functions) {
            if (called.by_pointer)
                to_collect_.push_back(callee);
            else
                collect(*callee, depth + 1);
        }
    }
}

void Decoder::collect_all(const Function& kernel) {
    to_collect_ = {&kernel};
    while (!to_collect_.empty()) {
        const Function* next = to_collect_.back();
        to_collect_.pop_back();
        collect(*next, 0);
    }
}

/// An argument or result of a call, on the caller's side.
Decoder::Place Decoder::call_parameter(const Operand& operand) const {
    if (operand.kind != Operand::Kind::symbol) fail("arguments of a call must be .param variables, as nvcc writes them");
    const Place place = find_place(operand.name);
    if (place.space != StateSpace::param || place.kernel_param) fail("{} is not a .param variable; declare it", in_quotes(operand.name));
    return place;
}

/// Where arguments and results of a call move within the lane's parameter memory.
std::uint32_t Decoder::call_site(const Function& callee, const std::vector<Operand>& results, const std::vector<Operand>& arguments) {
    const Frame& target = *frames_[frame_of_.at(callee.name)];
    if (arguments.size() != callee.params.size() || results.size() != callee.returns.size()) {
        fail("{} has {} parameters and {} results, but the call gives {} and {}; make them agree", in_quotes(callee.name),
             callee.params.size(), callee.returns.size(), arguments.size(), results.size());
    }
    CallSite site;
    site.callee = target.first_block;
    site.recursive = target.recursive;
    const auto match = [&](const Operand& mine, const Variable& theirs, bool in) {
        const Place place = call_parameter(mine);
        const Place other = target.variables.at(theirs.name);
        const auto bytes = static_cast<std::uint32_t>(std::min(place.bytes, other.bytes));
        const auto here = static_cast<std::uint32_t>(place.offset);
        const auto there = static_cast<std::uint32_t>(other.offset);
        (in ? site.arguments : site.results).push_back(in ? Copy{here, there, bytes} : Copy{there, here, bytes});
    };
    for (std::size_t p = 0; p < arguments.size(); ++p) match(arguments[p], callee.params[p], true);
    for (std::size_t p = 0; p < results.size(); ++p) match(results[p], callee.returns[p], false);
    program_->calls.push_back(std::move(site));
    return static_cast<std::uint32_t>(program_->calls.size() - 1);
}

void Decoder::decode_call(const Instruction& instruction, Block& block) {
    const CallOperands call(instruction);
    if (call.callee == nullptr) fail("a call needs a function; write: call (result), NAME, (argument);");
    block.line = instruction.line;
    time("call", Type::b32);
    if (call.by_pointer()) {
        PointerSite site;
        site.pointer = source(*call.callee, Type::u64);
        for (const Function* callee : pointed_at(*frame_->function, instruction, call.prototype))
            site.targets.push_back({module_.code_address(callee->name), call_site(*callee, call.results, call.arguments)});
        block.how = End::pointer_call;
        block.target = static_cast<std::uint32_t>(program_->pointer_calls.size());
        program_->pointer_calls.push_back(std::move(site));
        return;
    }
    const std::string_view name = call.callee->name;
    const Function* callee = module_.find_function(name);
    if (callee != nullptr && !callee->defined && is_service(name)) return decode_service(name, call.results, call.arguments, block);
    if (callee == nullptr || !frame_of_.contains(name)) fail("function {} does not exist; declare it with .func", in_quotes(name));
    if (callee->entry) fail("{} is a kernel and cannot be called; launch it", in_quotes(name));
    block.how = End::call;
    block.target = call_site(*callee, call.results, call.arguments);
}

}  // namespace mergelane::ptx
