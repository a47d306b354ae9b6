// SPDX-License-Identifier: MIT
// Control flow and memory of the reference: every lane has a program counter of its own.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <stdexcept>

#include "ptx_reference.hpp"

namespace mergelane::ptx::reference {

namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

u64 truncated(u64 bits, Type type) {
    if (type == Type::pred) return bits & 1;
    const u32 bytes = std::max(type_bytes(type), 2u);
    return bytes == 8 ? bits : bits & ((u64{1} << bytes * 8) - 1);
}

/// The operands of a result or a source, one by one.
void flatten(const Operand& operand, std::vector<const Operand*>& list) {
    if (operand.kind != Operand::Kind::vector && operand.kind != Operand::Kind::pair) return list.push_back(&operand);
    for (const Operand& part : operand.parts) flatten(part, list);
}

class Warp {
public:
    Warp(const Function& kernel, u32 first, u32 threads, const std::vector<u64>& params, Memory& memory)
        : kernel_(kernel), first_(first), params_(params), memory_(memory), registers_(32, std::vector<u64>(kernel.registers.size())) {
        for (u32 i = 0; i < 32; ++i) at_[i] = first + i < threads ? 0 : kernel.code.size();
    }

    u64 run() {
        u64 steps = 0;
        for (;; ++steps) {
            const u64 next = *std::min_element(at_.begin(), at_.end());
            if (next >= kernel_.code.size()) return steps;
            u32 together = 0;
            for (u32 i = 0; i < 32; ++i) together |= u32{at_[i] == next} << i;
            step(kernel_.code[next], together);
        }
    }

private:
    bool guarded(const Instruction& instruction, u32 lane) const {
        return instruction.guard == Operand::kNoReg || (registers_[lane][instruction.guard] != 0) != instruction.guard_negated;
    }
    void step(const Instruction& instruction, u32 together) {
        u32 active = 0;
        for (u32 i = 0; i < 32; ++i) {
            if ((together >> i & 1) == 0) continue;
            ++at_[i];
            if (guarded(instruction, i)) active |= 1u << i;
        }
        if (active == 0) return;
        const std::string_view word = instruction.words[0];
        for (u32 i = 0; i < 32; ++i) {
            if ((active >> i & 1) == 0) continue;
            if (word == "bra") at_[i] = instruction.operands[0].bits;
            if (word == "ret" || word == "exit") at_[i] = kernel_.code.size();
            if (word == "ld" || word == "st" || word == "red") access(instruction, i);
        }
        if (word == "bra" || word == "ret" || word == "exit" || word == "ld" || word == "st" || word == "red" || word == "bar") return;
        compute(instruction, active);
    }

    u64 value(const Operand& operand, Type type, u32 lane) const {
        u64 bits = 0;
        switch (operand.kind) {
            case Operand::Kind::reg: bits = registers_[lane][operand.reg]; break;
            case Operand::Kind::special: bits = special(special_registers()[operand.reg].name, lane); break;
            case Operand::Kind::integer:
            case Operand::Kind::f32:
            case Operand::Kind::f64: bits = operand.bits; break;
            case Operand::Kind::symbol: bits = 0; break;  // the one shared array
            default: throw std::runtime_error("operand without a reference");
        }
        return truncated(operand.negated ? ~bits : bits, type);
    }
    u64 special(std::string_view name, u32 lane) const {
        if (name == "%tid.x") return first_ + lane;
        if (name == "%laneid") return lane;
        throw std::runtime_error("no reference for " + std::string(name));
    }
    void put(const Operand& operand, u32 lane, u64 bits) {
        if (operand.kind == Operand::Kind::reg) registers_[lane][operand.reg] = truncated(bits, kernel_.registers[operand.reg]);
    }

    void compute(const Instruction& instruction, u32 active) {
        std::vector<const Operand*> results, sources;
        flatten(instruction.operands[0], results);
        for (std::size_t k = 1; k < instruction.operands.size(); ++k) flatten(instruction.operands[k], sources);
        const Rule* rule = find_rule(instruction.opcode, results.size(), sources.size());
        if (rule == nullptr) throw std::runtime_error("no reference for " + std::string(instruction.opcode));
        u64 in[32][8] = {}, out[32][8] = {};
        for (u32 i = 0; i < 32; ++i) {
            for (std::size_t k = 0; k < rule->sources.size(); ++k) in[i][k] = value(*sources[k], rule->sources[k], i);
        }
        if (rule->lanes) {
            for (u32 i = 0; i < 32; ++i) {
                if ((active >> i & 1) == 0) continue;
                const u32 members = rule->member_mask ? static_cast<u32>(value(*sources.back(), Type::b32, i)) & active : active;
                u64 of_all[32][8] = {};
                rule->lanes({members, in, of_all});
                std::copy_n(of_all[i], 8, out[i]);
            }
        }
        for (u32 i = 0; i < 32; ++i) {
            if ((active >> i & 1) == 0) continue;
            if (rule->lane) rule->lane({in[i], out[i], &carry_[i]});
            for (std::size_t k = 0; k < results.size(); ++k) put(*results[k], i, out[i][k]);
        }
    }

    std::byte* place(const Operand& address, bool shared, std::size_t bytes, u32 lane) {
        u64 at = static_cast<u64>(address.offset) + (address.reg != Operand::kNoReg ? registers_[lane][address.reg] : 0);
        std::vector<std::byte>& memory = shared ? memory_.shared : memory_.global;
        if (!shared) at -= memory_.global_base;
        if (at > memory.size() || memory.size() - at < bytes) throw std::runtime_error("an access outside of memory");
        return memory.data() + at;
    }

    /// ld.param, ld and st of global and shared memory, and red.add on integers.
    void access(const Instruction& instruction, u32 lane) {
        const bool load = instruction.words[0] == "ld";
        const Operand& address = instruction.operands[load ? 1 : 0];
        std::vector<const Operand*> data;
        flatten(instruction.operands[load ? 0 : 1], data);
        const Type type = type_of(instruction.words.back());
        const std::size_t bytes = type_bytes(type);
        if (instruction.has("param")) {
            for (std::size_t p = 0; p < kernel_.params.size(); ++p) {
                if (kernel_.params[p].name == address.name) put(*data[0], lane, params_[p]);
            }
            return;
        }
        std::byte* at = place(address, instruction.has("shared"), bytes * data.size(), lane);
        for (const Operand* operand : data) {
            u64 bits = 0;
            std::memcpy(&bits, at, bytes);
            if (is_signed(type) && bytes < 8)
                bits = static_cast<u64>(static_cast<std::int64_t>(bits << (64 - 8 * bytes)) >> (64 - 8 * bytes));
            if (load) put(*operand, lane, bits);
            const u64 stored = load ? 0 : value(*operand, Type::b64, lane);
            const u64 changed = instruction.words[0] == "red" ? bits + stored : stored;
            if (!load) std::memcpy(at, &changed, bytes);
            at += bytes;
        }
    }

    const Function& kernel_;
    u32 first_;
    const std::vector<u64>& params_;
    Memory& memory_;
    std::vector<std::vector<u64>> registers_;
    std::array<u64, 32> at_{};
    std::array<bool, 32> carry_{};
};

}  // namespace

const Rule* find_rule(std::string_view opcode, std::size_t results, std::size_t sources) {
    static const auto index = [] {
        std::multimap<std::string_view, const Rule*> made;
        for (const Rule& rule : rules()) made.emplace(rule.opcode, &rule);
        return made;
    }();
    const auto [from, to] = index.equal_range(opcode);
    for (auto rule = from; rule != to; ++rule) {
        if (rule->second->results.size() == results && rule->second->sources.size() + rule->second->member_mask == sources)
            return rule->second;
    }
    return nullptr;
}

std::uint64_t run(const Function& kernel, std::uint32_t threads, const std::vector<std::uint64_t>& params, Memory& memory) {
    u64 steps = 0;
    for (u32 first = 0; first < threads; first += 32) steps += Warp(kernel, first, threads, params, memory).run();
    return steps;
}

}  // namespace mergelane::ptx::reference
