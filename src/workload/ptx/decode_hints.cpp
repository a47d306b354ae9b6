// SPDX-License-Identifier: MIT
// L2 eviction priorities (ADR 0054). A cache policy is a value in a register; the timing model needs what it says of an instruction, so the
// policy is followed back to the instruction that makes it. A policy that is not found that way is no hint.
#include <algorithm>
#include <bit>
#include <utility>

#include "workload/ptx/decode.hpp"

namespace mergelane::ptx {

namespace {

constexpr std::pair<std::string_view, L2Priority> kPriorities[] = {{"L2::evict_normal", L2Priority::normal},
                                                                   {"L2::evict_first", L2Priority::first},
                                                                   {"L2::evict_last", L2Priority::last},
                                                                   {"L2::evict_unchanged", L2Priority::unchanged}};
/// Policies that programs write as numbers, because CUTLASS does (cute/arch/copy_sm90_desc.hpp).
constexpr std::pair<std::uint64_t, L2Priority> kKnownPolicies[] = {
    {0x1000000000000000, L2Priority::normal}, {0x12F0000000000000, L2Priority::first}, {0x14F0000000000000, L2Priority::last}};
constexpr std::uint32_t kMostMoves = 8;  ///< between a policy and its use

std::vector<L2Priority> priorities_in(const Instruction& instruction) {
    std::vector<L2Priority> found;
    for (const std::string_view word : instruction.words) {
        for (const auto& [name, priority] : kPriorities) {
            if (name == word) found.push_back(priority);
        }
    }
    return found;
}

bool is_register(const Operand& operand, std::uint32_t reg) {
    return operand.kind == Operand::Kind::reg && operand.reg == reg;
}

/// Whether it may write the register; some that only read it count, too.
bool writes(const Instruction& instruction, std::uint32_t reg) {
    if (instruction.operands.empty()) return false;
    const Operand& to = instruction.operands[0];
    return is_register(to, reg) ||
           std::any_of(to.parts.begin(), to.parts.end(), [reg](const Operand& part) { return is_register(part, reg); });
}

}  // namespace

/// What all instructions that write the register, moves aside, say in the same way; nothing if they do not agree.
template <class Value, class Read>
std::optional<Value> Decoder::known_value(const Operand& operand, const Read& read, std::uint32_t moves) const {
    if (operand.kind != Operand::Kind::reg) return read(operand, nullptr);
    std::optional<Value> common;
    for (const Instruction& writer : frame_->function->code) {
        if (!writes(writer, operand.reg)) continue;
        const bool moved = writer.words[0] == "mov" && writer.operands.size() == 2 && moves < kMostMoves;
        const std::optional<Value> value =
            moved ? known_value<Value>(writer.operands[1], read, moves + 1) : read(writer.operands[0], &writer);
        if (!value || (common && *common != *value)) return std::nullopt;
        common = value;
    }
    return common;
}

/// Of createpolicy.fractional, in sixteenths.
std::optional<std::uint32_t> Decoder::policy_fraction(const Instruction& maker) const {
    if (maker.operands.size() < 2) return L2Hint::kWhole;
    return known_value<std::uint32_t>(
        maker.operands[1],
        [](const Operand& operand, const Instruction* writer) -> std::optional<std::uint32_t> {
            double fraction = 0;
            if (writer == nullptr && operand.kind == Operand::Kind::f64)
                fraction = std::bit_cast<double>(operand.bits);
            else if (writer == nullptr && operand.kind == Operand::Kind::f32)
                fraction = std::bit_cast<float>(static_cast<std::uint32_t>(operand.bits));
            if (!(fraction > 0 && fraction <= 1)) return std::nullopt;
            return std::max(1u, static_cast<std::uint32_t>(fraction * L2Hint::kWhole + 0.5));
        },
        0);
}

L2Hint Decoder::policy_hint(const Operand& policy) const {
    const auto read = [this](const Operand& operand, const Instruction* writer) -> std::optional<L2Hint> {
        if (writer == nullptr) {
            for (const auto& [bits, priority] : kKnownPolicies) {
                if (operand.kind == Operand::Kind::integer && operand.bits == bits) return L2Hint::of(priority);
            }
            return std::nullopt;
        }
        if (writer->words[0] != "createpolicy" || !writer->has("fractional")) return std::nullopt;
        const std::vector<L2Priority> named = priorities_in(*writer);
        const std::optional<std::uint32_t> fraction = policy_fraction(*writer);
        if (named.empty() || !fraction) return std::nullopt;
        return L2Hint::of(named[0], *fraction, named.size() > 1 && named[1] == L2Priority::first);
    };
    return known_value<L2Hint>(policy, read, 0).value_or(L2Hint{});
}

/// Of an access to global memory. A cache policy is the last operand. The cache operators .cs and .lu are evict_first.
L2Hint Decoder::l2_hint(const Instruction& instruction) const {
    if (instruction.has("L2::cache_hint")) return policy_hint(instruction.operands.back());
    if (const std::vector<L2Priority> named = priorities_in(instruction); !named.empty()) return L2Hint::of(named[0]);
    return instruction.has("cs") || instruction.has("lu") ? L2Hint::of(L2Priority::first) : L2Hint{};
}

}  // namespace mergelane::ptx
