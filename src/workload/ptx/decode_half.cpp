// SPDX-License-Identifier: MIT
// Conversions, comparisons and atomics of f16, bf16 and narrower formats, alone, in pairs and in vectors.
#include <algorithm>

#include "workload/ptx/decode.hpp"

namespace mergelane::ptx {

namespace {

/// A conversion that PTX has, with its modifiers; Type::none stands for every integer type.
struct HalfForm {
    Type to, from;
    std::string_view rounds;  ///< "-": none
    std::string_view flags;
};
constexpr std::string_view kDirected = "rn rz rm rp";
constexpr std::string_view kIntegral = "rni rzi rmi rpi";
constexpr HalfForm kHalfForms[] = {
    {Type::f16, Type::f16, "- rni rzi rmi rpi", "sat"},
    {Type::bf16, Type::bf16, "- rni rzi rmi rpi", ""},
    {Type::f16, Type::bf16, "- rn rz rm rp", ""},
    {Type::bf16, Type::f16, "- rn rz rm rp", ""},
    {Type::f16, Type::f32, kDirected, "ftz sat"},
    {Type::f16, Type::f32, "rn rz", "relu satfinite"},
    {Type::bf16, Type::f32, kDirected, "ftz"},
    {Type::bf16, Type::f32, "rn rz", "relu satfinite"},
    {Type::f16, Type::f64, kDirected, "sat"},
    {Type::bf16, Type::f64, kDirected, ""},
    {Type::f16, Type::none, kDirected, "sat"},
    {Type::bf16, Type::none, kDirected, ""},
    {Type::f16x2, Type::f32, "rn rz", "relu satfinite"},
    {Type::bf16x2, Type::f32, "rn rz", "relu satfinite"},
    {Type::tf32, Type::f32, "rn rz", "relu"},
    {Type::tf32, Type::f32, "rna", "satfinite"},
    {Type::e4m3x2, Type::f32, "rn", "relu satfinite"},
    {Type::e5m2x2, Type::f32, "rn", "relu satfinite"},
    {Type::e4m3x2, Type::f16x2, "rn", "relu satfinite"},
    {Type::e5m2x2, Type::f16x2, "rn", "relu satfinite"},
    {Type::f16x2, Type::e4m3x2, "rn", "relu"},
    {Type::f16x2, Type::e5m2x2, "rn", "relu"},
    {Type::f32, Type::f16, "-", "ftz sat"},
    {Type::f32, Type::bf16, "- rn rz rm rp", "ftz"},  // exact: the direction does not matter
    {Type::f64, Type::f16, "-", "sat"},
    {Type::f64, Type::bf16, "- rn rz rm rp", ""},
    {Type::none, Type::f16, kIntegral, "sat"},  // integers always saturate
    {Type::none, Type::bf16, kIntegral, ""},
};

bool lists(std::string_view list, std::string_view word) {
    bool found = false;
    each_word(list, [&](std::string_view one) { found = found || one == word; });
    return found;
}
bool fits(Type type, Type form) {
    return form == Type::none ? type >= Type::u8 && type <= Type::s64 : type == form;
}
bool fits(const Instruction& instruction, const HalfForm& form, Type to, Type from) {
    if (!fits(to, form.to) || !fits(from, form.from)) return false;
    bool rounds = lists(form.rounds, "-");
    for (std::size_t i = 1; i < instruction.words.size(); ++i) {
        const std::string_view word = instruction.words[i];
        if (type_of(word) != Type::none || lists(form.flags, word)) continue;
        if (!lists(form.rounds, word)) return false;
        rounds = true;
    }
    return rounds;
}

}  // namespace

/// cvt from or to f16, bf16, tf32, e4m3 and e5m2; a pair from two sources has the first one in its upper half.
void Decoder::op_cvt_half(const Instruction& instruction) {
    const Type to = found_.types[0];
    const Type from = found_.types[1];
    const bool bytes = to == Type::e4m3x2 || to == Type::e5m2x2;
    const bool two = from == Type::f32 && (to == Type::f16x2 || to == Type::bf16x2 || bytes);
    expect_operands(instruction, two ? 3 : 2);
    const auto known = [&](const HalfForm& form) { return fits(instruction, form, to, from); };
    if (std::none_of(std::begin(kHalfForms), std::end(kHalfForms), known) || (bytes && !found_.finite)) unsupported();
    Inst inst;
    inst.a = any_source(instruction.operands[1], from, inst.count);
    if (two) inst.b = source(instruction.operands[2], from);
    inst.d = any_destination(instruction.operands[0], to, inst.bytes);
    const bool integer_source = fits(from, Type::none);
    const bool integer_result = fits(to, Type::none);
    if (inst.count < type_bytes(from) || inst.bytes < type_bytes(to) || (!integer_source && inst.count != type_bytes(from)) ||
        (!integer_result && inst.bytes != type_bytes(to)))
        fail("a register of {} has the wrong width; use one as wide as its type", in_quotes(instruction.opcode));
    inst.sub = static_cast<std::uint8_t>(found_.round);
    inst.offset =
        (found_.ftz ? kFlushes : 0) | (found_.saturate ? kSaturates : 0) | (found_.relu ? kRectifies : 0) | (found_.finite ? kFinite : 0);
    Choice made = choice(Op::cvt, to, found_);
    made.from = from;
    emit(inst, made, Type::f32);
}

/// set of pairs: both comparisons into predicates of their own, then a choice between all ones (or 1.0) and 0 for each half.
void Decoder::op_set_pair(const Instruction& instruction) {
    const Type result = found_.types[0];
    const Type type = found_.types[1];
    const bool words = result == Type::u32 || result == Type::s32 || result == Type::b32;
    if (!words && result != type) unsupported();
    Choice made = choice(Op::setp, type, found_);
    Inst inst = comparison(instruction, type, made);
    inst.d = new_predicate();
    inst.d2 = new_predicate();
    emit(inst, made);
    Inst pick;
    pick.a = constant(words ? 0xFFFFFFFFu : type == Type::f16x2 ? 0x3C003C00u : 0x3F803F80u, 4);
    pick.b = constant(0, 4);
    pick.c = inst.d;
    pick.d2 = inst.d2;
    pick.d = destination(instruction.operands[0], Type::b32);
    emit(pick, choice(Op::selp_halves, Type::b32, {}), type);
}

/// atom and red of f16 and bf16, and of vectors.
void Decoder::op_atomic_elements(const Instruction& instruction, Choice made) {
    constexpr std::size_t kMostBytes = 16;
    const std::size_t first = instruction.words[0] == "red" ? 0 : 1;
    const auto parts = [&](const Operand& operand) {
        return operand.kind == Operand::Kind::vector ? operand.parts : std::vector<Operand>{operand};
    };
    const std::vector<Operand> sources = parts(instruction.operands[first + 1]);
    std::vector<Operand> results = first == 0 ? std::vector<Operand>{} : parts(instruction.operands[0]);
    const bool discarded = results.size() == 1 && results[0].kind == Operand::Kind::sink;
    const std::size_t count = instruction.has("v2") ? 2 : instruction.has("v4") ? 4 : instruction.has("v8") ? 8 : 1;
    if (sources.size() != count || (first == 1 && !discarded && results.size() != count) || count * type_bytes(type_) > kMostBytes)
        fail("{} needs {} values of {} bytes, in braces if there are several; fix its operands", in_quotes(instruction.opcode), count,
             type_bytes(type_));
    if (discarded) results.clear();
    Inst inst;
    inst.space = space_word(instruction);
    inst.store = true;
    inst.bytes = static_cast<std::uint8_t>(type_bytes(type_));
    inst.count = static_cast<std::uint8_t>(count);
    address(instruction.operands[first], inst);
    inst.memory = program_->timed.memory_count++;
    std::vector<Slot> slots;
    for (const Operand& operand : sources) slots.push_back(source(operand, type_));
    for (std::size_t k = 0; k < count; ++k) {
        const bool wanted = k < results.size() && results[k].kind != Operand::Kind::sink;
        slots.push_back(wanted ? destination(results[k], type_) : kAbsent);
    }
    inst.list = static_cast<std::uint32_t>(program_->lists.size());
    program_->lists.insert(program_->lists.end(), slots.begin(), slots.end());
    made.op = Op::atom_elements;
    emit(inst, made);
    memory_attributes(instruction, inst, type_);
}

}  // namespace mergelane::ptx
