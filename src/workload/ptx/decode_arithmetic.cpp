// SPDX-License-Identifier: MIT
// Arithmetic, logic, comparisons, moves and conversions.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "workload/ptx/decode.hpp"
#include "workload/ptx/lexer.hpp"
#include "workload/ptx/warp.hpp"

namespace mergelane::ptx {

namespace {

struct Named {
    std::string_view name;
    Op op;
};
constexpr std::array<Named, 31> kPlain = {{
    {"add", Op::add},   {"sub", Op::sub},     {"div", Op::div},   {"rem", Op::rem}, {"neg", Op::neg},           {"abs", Op::abs},
    {"min", Op::min},   {"max", Op::max},     {"fma", Op::fma},   {"sad", Op::sad}, {"and", Op::and_},          {"or", Op::or_},
    {"xor", Op::xor_},  {"not", Op::not_},    {"cnot", Op::cnot}, {"shl", Op::shl}, {"shr", Op::shr},           {"rcp", Op::rcp},
    {"sqrt", Op::sqrt}, {"rsqrt", Op::rsqrt}, {"ex2", Op::ex2},   {"lg2", Op::lg2}, {"sin", Op::sin},           {"cos", Op::cos},
    {"tanh", Op::tanh}, {"brev", Op::brev},   {"popc", Op::popc}, {"clz", Op::clz}, {"copysign", Op::copysign}, {"bmsk", Op::bmsk},
    {"prmt", Op::prmt},
}};
Op plain(std::string_view name) {
    for (const Named& known : kPlain) {
        if (known.name == name) return known.op;
    }
    return Op::nop;
}

constexpr std::array<std::pair<std::string_view, Compare>, 18> kCompares = {{{"eq", Compare::eq},
                                                                             {"ne", Compare::ne},
                                                                             {"lt", Compare::lt},
                                                                             {"le", Compare::le},
                                                                             {"gt", Compare::gt},
                                                                             {"ge", Compare::ge},
                                                                             {"lo", Compare::lt},
                                                                             {"ls", Compare::le},
                                                                             {"hi", Compare::gt},
                                                                             {"hs", Compare::ge},
                                                                             {"equ", Compare::equ},
                                                                             {"neu", Compare::neu},
                                                                             {"ltu", Compare::ltu},
                                                                             {"leu", Compare::leu},
                                                                             {"gtu", Compare::gtu},
                                                                             {"geu", Compare::geu},
                                                                             {"num", Compare::num},
                                                                             {"nan", Compare::nan}}};
bool find_compare(const Instruction& instruction, Compare& found) {
    for (std::size_t i = 1; i < instruction.words.size(); ++i) {
        for (const auto& [name, compare] : kCompares) {
            if (name != instruction.words[i]) continue;
            found = compare;
            return true;
        }
    }
    return false;
}

}  // namespace

const std::vector<Decoder::Row>& Decoder::rows() {
    static const std::vector<Row> table = {
        {"add", &Decoder::op_binary},
        {"sub", &Decoder::op_binary},
        {"addc", &Decoder::op_carry},
        {"subc", &Decoder::op_carry},
        {"mul", &Decoder::op_mul},
        {"mul24", &Decoder::op_mul},
        {"mad", &Decoder::op_mul},
        {"mad24", &Decoder::op_mul},
        {"madc", &Decoder::op_carry},
        {"fma", &Decoder::op_ternary},
        {"div", &Decoder::op_binary},
        {"rem", &Decoder::op_binary},
        {"neg", &Decoder::op_unary},
        {"abs", &Decoder::op_unary},
        {"min", &Decoder::op_binary},
        {"max", &Decoder::op_binary},
        {"sad", &Decoder::op_ternary},
        {"dp4a", &Decoder::op_dot},
        {"dp2a", &Decoder::op_dot},
        {"and", &Decoder::op_logic},
        {"or", &Decoder::op_logic},
        {"xor", &Decoder::op_logic},
        {"not", &Decoder::op_logic},
        {"cnot", &Decoder::op_unary},
        {"shl", &Decoder::op_shift},
        {"shr", &Decoder::op_shift},
        {"shf", &Decoder::op_bits},
        {"prmt", &Decoder::op_bits},
        {"bfe", &Decoder::op_bits},
        {"bfi", &Decoder::op_bits},
        {"bfind", &Decoder::op_bits},
        {"bmsk", &Decoder::op_bits},
        {"brev", &Decoder::op_unary},
        {"popc", &Decoder::op_bits},
        {"clz", &Decoder::op_bits},
        {"lop3", &Decoder::op_lop3},
        {"copysign", &Decoder::op_binary},
        {"rcp", &Decoder::op_unary},
        {"sqrt", &Decoder::op_unary},
        {"rsqrt", &Decoder::op_unary},
        {"ex2", &Decoder::op_unary},
        {"lg2", &Decoder::op_unary},
        {"sin", &Decoder::op_unary},
        {"cos", &Decoder::op_unary},
        {"tanh", &Decoder::op_unary},
        {"setp", &Decoder::op_setp},
        {"set", &Decoder::op_set},
        {"selp", &Decoder::op_selp},
        {"slct", &Decoder::op_slct},
        {"testp", &Decoder::op_testp},
        {"mov", &Decoder::op_mov},
        {"cvt", &Decoder::op_cvt},
        {"cvta", &Decoder::op_cvta},
        {"isspacep", &Decoder::op_isspacep},
        {"ld", &Decoder::op_load},
        {"ldu", &Decoder::op_load},
        {"st", &Decoder::op_store},
        {"atom", &Decoder::op_atomic},
        {"red", &Decoder::op_atomic},
        {"membar", &Decoder::op_nothing},
        {"fence", &Decoder::op_nothing},
        {"nanosleep", &Decoder::op_nothing},
        {"prefetch", &Decoder::op_nothing},
        {"prefetchu", &Decoder::op_nothing},
        {"bar", &Decoder::op_nothing},
        {"barrier", &Decoder::op_nothing},
        {"brkpt", &Decoder::op_nothing},
        {"pmevent", &Decoder::op_nothing},
        {"discard", &Decoder::op_nothing},
        {"applypriority", &Decoder::op_nothing},
        {"shfl", &Decoder::op_shfl},
        {"vote", &Decoder::op_vote},
        {"activemask", &Decoder::op_activemask},
        {"match", &Decoder::op_match},
        {"redux", &Decoder::op_redux},
    };
    return table;
}

void Decoder::op_unary(const Instruction& instruction) {
    expect_operands(instruction, 2, 2);
    const Words found = words(instruction);
    const Type type = found.last();
    Inst inst;
    inst.a = source(instruction.operands[1], type);
    inst.d = destination(instruction.operands[0], type);
    inst.sub = static_cast<std::uint8_t>(found.round);
    emit(inst, choice(plain(instruction.words[0]), type, found));
    time(instruction.opcode, type);
}

void Decoder::op_binary(const Instruction& instruction) {
    const Words found = words(instruction);
    if (found.carry_out) return op_carry(instruction);
    expect_operands(instruction, 3, 3);
    const Type type = found.last();
    Inst inst;
    inst.a = source(instruction.operands[1], type);
    inst.b = source(instruction.operands[2], type);
    inst.d = destination(instruction.operands[0], type);
    inst.sub = static_cast<std::uint8_t>(found.round);
    Op op = plain(instruction.words[0]);
    if (instruction.has("NaN")) op = op == Op::min ? Op::min_nan : Op::max_nan;
    if (instruction.has("xorsign")) unsupported();
    emit(inst, choice(op, type, found));
    time(instruction.opcode, type);
}

void Decoder::op_ternary(const Instruction& instruction) {
    expect_operands(instruction, 4, 4);
    const Words found = words(instruction);
    const Type type = found.last();
    Inst inst;
    inst.a = source(instruction.operands[1], type);
    inst.b = source(instruction.operands[2], type);
    inst.c = source(instruction.operands[3], type);
    inst.d = destination(instruction.operands[0], type);
    inst.sub = static_cast<std::uint8_t>(found.round);
    emit(inst, choice(plain(instruction.words[0]), type, found));
    time(instruction.opcode, type);
}

/// mul, mad and their 24-bit and widening forms.
void Decoder::op_mul(const Instruction& instruction) {
    const Words found = words(instruction);
    if (found.carry_out) return op_carry(instruction);
    const Type type = found.last();
    const bool mad = instruction.words[0] == "mad" || instruction.words[0] == "mad24";
    const bool narrow = instruction.words[0] == "mul24" || instruction.words[0] == "mad24";
    expect_operands(instruction, mad ? 4 : 3, mad ? 4 : 3);
    const bool wide = instruction.has("wide");
    const bool high = instruction.has("hi");
    const auto wider = [&] {
        switch (type) {
            case Type::u16: return Type::u32;
            case Type::s16: return Type::s32;
            case Type::u32: return Type::u64;
            case Type::s32: return Type::s64;
            default: unsupported();
        }
    };
    const Type result = wide ? wider() : type;
    Op op = mad ? (wide ? Op::mad_wide : high ? Op::mad_hi : Op::mad_lo) : (wide ? Op::mul_wide : high ? Op::mul_hi : Op::mul_lo);
    if (narrow) op = mad ? (high ? Op::nop : Op::mad24_lo) : (high ? Op::mul24_hi : Op::mul24_lo);
    if (op == Op::nop || (found.saturate && !is_float(type))) unsupported();
    Inst inst;
    inst.a = source(instruction.operands[1], type);
    inst.b = source(instruction.operands[2], type);
    if (mad) inst.c = source(instruction.operands[3], result);
    inst.d = destination(instruction.operands[0], result);
    inst.sub = static_cast<std::uint8_t>(found.round);
    emit(inst, choice(op, type, found));
    time(instruction.opcode, type);
}

void Decoder::op_carry(const Instruction& instruction) {
    const Words found = words(instruction);
    const Type type = found.last();
    const std::string_view word = instruction.words[0];
    const bool mad = word == "mad" || word == "madc";
    expect_operands(instruction, mad ? 4 : 3, mad ? 4 : 3);
    if (is_float(type) || type_bytes(type) < 4) unsupported();
    Inst inst;
    inst.a = source(instruction.operands[1], type);
    inst.b = source(instruction.operands[2], type);
    if (mad) inst.c = source(instruction.operands[3], type);
    inst.d = destination(instruction.operands[0], type);
    const bool takes = word == "addc" || word == "subc" || word == "madc";
    inst.sub = static_cast<std::uint8_t>((takes ? kCarryIn : 0) | (found.carry_out ? kCarryOut : 0));
    const bool high = instruction.has("hi");
    if (mad && high && is_signed(type)) unsupported();
    const Op op = mad ? (high ? Op::mad_hi_carry : Op::mad_lo_carry) : word.starts_with("add") ? Op::add_carry : Op::sub_carry;
    emit(inst, choice(op, type, found));
    time(instruction.opcode, type);
}

/// and, or, xor, not: on bits, or on predicates.
void Decoder::op_logic(const Instruction& instruction) {
    const Words found = words(instruction);
    const bool is_not = instruction.words[0] == "not";
    if (found.last() != Type::pred) return is_not ? op_unary(instruction) : op_binary(instruction);
    expect_operands(instruction, is_not ? 2 : 3, is_not ? 2 : 3);
    Inst inst;
    inst.a = source_predicate(instruction.operands[1]);
    if (!is_not) inst.b = source_predicate(instruction.operands[2]);
    inst.d = destination_predicate(instruction.operands[0]);
    if (inst.d == kAbsent) inst.d = new_predicate();
    const std::string_view word = instruction.words[0];
    emit(inst, choice(is_not ? Op::pred_not : word == "and" ? Op::pred_and : word == "or" ? Op::pred_or : Op::pred_xor, Type::pred, found));
    time(instruction.opcode, Type::b32);
}

void Decoder::op_shift(const Instruction& instruction) {
    expect_operands(instruction, 3, 3);
    const Words found = words(instruction);
    const Type type = found.last();
    Inst inst;
    inst.a = source(instruction.operands[1], type);
    inst.b = source(instruction.operands[2], Type::u32);
    inst.d = destination(instruction.operands[0], type);
    emit(inst, choice(plain(instruction.words[0]), type, found));
    time(instruction.opcode, type);
}

void Decoder::op_bits(const Instruction& instruction) {
    const std::string_view word = instruction.words[0];
    const Words found = words(instruction);
    const Type type = found.last();
    Inst inst;
    Op op = plain(word);
    Type result = type;
    if (word == "popc" || word == "clz" || word == "bfind") {
        expect_operands(instruction, 2, 2);
        if (is_float(type) || type_bytes(type) < 4) unsupported();
        inst.a = source(instruction.operands[1], type);
        result = Type::u32;
        if (word == "bfind") op = Op::bfind;
        inst.sub = instruction.has("shiftamt") ? 1 : 0;
    } else if (word == "bmsk") {
        expect_operands(instruction, 3, 3);
        inst.a = source(instruction.operands[1], Type::u32);
        inst.b = source(instruction.operands[2], Type::u32);
        inst.sub = instruction.has("wrap") ? 1 : 0;
        result = Type::u32;
    } else if (word == "bfi") {
        expect_operands(instruction, 5, 5);
        op = Op::bfi;
        if (type_bytes(type) < 4) unsupported();
        inst.a = source(instruction.operands[1], type);
        inst.b = source(instruction.operands[2], type);
        inst.c = source(instruction.operands[3], Type::u32);
        inst.d2 = source(instruction.operands[4], Type::u32);
    } else if (word == "bfe") {
        expect_operands(instruction, 4, 4);
        op = Op::bfe;
        inst.a = source(instruction.operands[1], type);
        inst.b = source(instruction.operands[2], Type::u32);
        inst.c = source(instruction.operands[3], Type::u32);
    } else {  // shf, prmt
        expect_operands(instruction, 4, 4);
        inst.a = source(instruction.operands[1], Type::b32);
        inst.b = source(instruction.operands[2], Type::b32);
        inst.c = source(instruction.operands[3], Type::b32);
        result = Type::b32;
        if (word == "shf") {
            op = instruction.has("l") ? Op::shf_l : Op::shf_r;
            inst.sub = instruction.has("wrap") ? 1 : 0;
        } else {
            constexpr std::array<std::string_view, 7> kModes = {"", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
            for (std::size_t m = 1; m < kModes.size(); ++m) {
                if (instruction.has(kModes[m])) inst.sub = static_cast<std::uint8_t>(m);
            }
        }
    }
    inst.d = destination(instruction.operands[0], result);
    emit(inst, choice(op, type, found));
    time(instruction.opcode, type);
}

void Decoder::op_lop3(const Instruction& instruction) {
    expect_operands(instruction, 5, 5);
    Inst inst;
    inst.a = source(instruction.operands[1], Type::b32);
    inst.b = source(instruction.operands[2], Type::b32);
    inst.c = source(instruction.operands[3], Type::b32);
    inst.d = destination(instruction.operands[0], Type::b32);
    const std::uint64_t table = immediate(instruction.operands[4]);
    if (table > 255) fail("lop3's table is a number from 0 to 255; fix it");
    inst.sub = static_cast<std::uint8_t>(table);
    emit(inst, choice(Op::lop3, Type::b32, {}));
    time(instruction.opcode, Type::b32);
}

void Decoder::op_dot(const Instruction& instruction) {
    expect_operands(instruction, 4, 4);
    const Words found = words(instruction);
    if (found.types.size() != 2) unsupported();
    Inst inst;
    inst.a = source(instruction.operands[1], Type::b32);
    inst.b = source(instruction.operands[2], Type::b32);
    inst.c = source(instruction.operands[3], Type::b32);
    inst.d = destination(instruction.operands[0], Type::b32);
    inst.sub = static_cast<std::uint8_t>((is_signed(found.types[0]) ? 1 : 0) | (is_signed(found.types[1]) ? 2 : 0));
    const Op op = instruction.words[0] == "dp4a" ? Op::dp4a : instruction.has("hi") ? Op::dp2a_hi : Op::dp2a_lo;
    emit(inst, choice(op, Type::b32, found));
    time(instruction.opcode, Type::b32);
}

void Decoder::op_setp(const Instruction& instruction) {
    expect_operands(instruction, 3, 4);
    const Words found = words(instruction);
    const Type type = found.last();
    Inst inst;
    Choice made = choice(Op::setp, type, found);
    if (!find_compare(instruction, made.compare)) unsupported();
    inst.a = source(instruction.operands[1], type);
    inst.b = source(instruction.operands[2], type);
    if (instruction.operands.size() == 4) {
        inst.sub = instruction.has("and")   ? kCombineAnd
                   : instruction.has("or")  ? kCombineOr
                   : instruction.has("xor") ? kCombineXor
                                            : std::uint8_t{0};
        if (inst.sub == 0) fail("setp with a third operand needs .and, .or or .xor; add it");
        inst.negate = instruction.operands[3].negated;
        inst.c = source_predicate(instruction.operands[3]);
    }
    const Operand& result = instruction.operands[0];
    if (result.kind == Operand::Kind::pair) {
        inst.d = destination_predicate(result.parts[0]);
        inst.d2 = destination_predicate(result.parts[1]);
    } else {
        inst.d = destination_predicate(result);
    }
    emit(inst, made);
    time(instruction.opcode, type);
}

/// set: a comparison into a predicate of its own, then a choice between all ones (or 1.0) and 0.
void Decoder::op_set(const Instruction& instruction) {
    expect_operands(instruction, 3, 4);
    const Words found = words(instruction);
    if (found.types.size() != 2) unsupported();
    const Type result = found.types[0];
    const Type type = found.types[1];
    Inst inst;
    Choice made = choice(Op::setp, type, found);
    if (!find_compare(instruction, made.compare)) unsupported();
    inst.a = source(instruction.operands[1], type);
    inst.b = source(instruction.operands[2], type);
    if (instruction.operands.size() == 4) {
        inst.sub = instruction.has("and") ? kCombineAnd : instruction.has("or") ? kCombineOr : kCombineXor;
        inst.negate = instruction.operands[3].negated;
        inst.c = source_predicate(instruction.operands[3]);
    }
    inst.d = new_predicate();
    emit(inst, made);
    Inst pick;
    pick.a = constant(result == Type::f32 ? 0x3F800000u : 0xFFFFFFFFu, 4);
    pick.b = constant(0, 4);
    pick.c = inst.d;
    pick.d = destination(instruction.operands[0], result);
    if (type_bytes(result) != 4) unsupported();
    emit(pick, choice(Op::selp, Type::b32, {}));
    time(instruction.opcode, type);
}

void Decoder::op_selp(const Instruction& instruction) {
    expect_operands(instruction, 4, 4);
    const Words found = words(instruction);
    const Type type = found.last();
    Inst inst;
    inst.a = source(instruction.operands[1], type);
    inst.b = source(instruction.operands[2], type);
    inst.negate = instruction.operands[3].negated;
    inst.c = source_predicate(instruction.operands[3]);
    inst.d = destination(instruction.operands[0], type);
    emit(inst, choice(Op::selp, type, found));
    time(instruction.opcode, type);
}

/// slct: a where the last operand is not negative, else b.
void Decoder::op_slct(const Instruction& instruction) {
    expect_operands(instruction, 4, 4);
    const Words found = words(instruction);
    if (found.types.size() != 2) unsupported();
    Inst test;
    Choice made = choice(Op::setp, found.types[1], found);
    made.compare = Compare::ge;
    test.a = source(instruction.operands[3], found.types[1]);
    test.b = constant(0, type_bytes(found.types[1]));
    test.d = new_predicate();
    emit(test, made);
    Inst inst;
    inst.a = source(instruction.operands[1], found.types[0]);
    inst.b = source(instruction.operands[2], found.types[0]);
    inst.c = test.d;
    inst.d = destination(instruction.operands[0], found.types[0]);
    emit(inst, choice(Op::selp, found.types[0], {}));
    time(instruction.opcode, found.types[0]);
}

void Decoder::op_testp(const Instruction& instruction) {
    expect_operands(instruction, 2, 2);
    const Words found = words(instruction);
    constexpr std::array<std::string_view, 6> kProperties = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
    Inst inst;
    inst.sub = 99;
    for (std::size_t p = 0; p < kProperties.size(); ++p) {
        if (instruction.has(kProperties[p])) inst.sub = static_cast<std::uint8_t>(p);
    }
    if (inst.sub == 99) unsupported();
    inst.a = source(instruction.operands[1], found.last());
    inst.d = destination_predicate(instruction.operands[0]);
    if (inst.d == kAbsent) inst.d = new_predicate();
    emit(inst, choice(Op::testp, found.last(), found));
    time(instruction.opcode, found.last());
}

void Decoder::op_mov(const Instruction& instruction) {
    expect_operands(instruction, 2, 2);
    const Words found = words(instruction);
    const Type type = found.last();
    const Operand& to = instruction.operands[0];
    const Operand& from = instruction.operands[1];
    Inst inst;
    Choice made = choice(Op::mov, type, found);
    if (type == Type::none) unsupported();
    if (type == Type::pred) {
        made.op = Op::pred_mov;
        inst.a = source_predicate(from);
        inst.d = destination_predicate(to);
        if (inst.d == kAbsent) inst.d = new_predicate();
    } else if (from.kind == Operand::Kind::vector || to.kind == Operand::Kind::vector) {
        const bool packs = from.kind == Operand::Kind::vector;
        const std::vector<Operand>& parts = packs ? from.parts : to.parts;
        if ((parts.size() != 2 && parts.size() != 4) || type_bytes(type) / parts.size() < 2) unsupported();
        const Type part = type_bytes(type) / parts.size() == 4 ? Type::b32 : Type::b16;
        made.op = packs ? Op::pack : Op::unpack;
        (packs ? made.src_bytes : made.dst_bytes) = static_cast<std::uint8_t>(type_bytes(part));
        inst.list = static_cast<std::uint32_t>(program_->lists.size());
        inst.count = static_cast<std::uint8_t>(parts.size());
        for (const Operand& operand : parts) {
            const bool sink = operand.kind == Operand::Kind::sink;
            program_->lists.push_back(packs ? source(operand, part) : sink ? kAbsent : destination(operand, part));
        }
        (packs ? inst.d : inst.a) = packs ? destination(to, type) : source(from, type);
    } else {
        inst.a = source(from, type);
        inst.d = destination(to, type);
    }
    emit(inst, made);
    time(touches_special_ ? "mov.special" : "mov", type);
}

void Decoder::op_cvt(const Instruction& instruction) {
    expect_operands(instruction, 2, 2);
    Words found = words(instruction);
    if (found.types.size() != 2 || found.types[0] == Type::pred || found.types[1] == Type::pred) unsupported();
    const Type to = found.types[0];
    const Type from = found.types[1];
    // Only integral results may leave the direction out; nvcc always gives one where it matters.
    if (is_float(to) && is_float(from) && to == from && found.round < Round::int_nearest && found.round != Round::none)
        found.round = Round::none;
    Choice made = choice(Op::cvt, to, found);
    made.from = from;
    Inst inst;
    inst.a = any_source(instruction.operands[1], from, inst.count);
    inst.d = any_destination(instruction.operands[0], to, inst.bytes);
    if (is_float(from) && inst.count != type_bytes(from)) unsupported();
    if (is_float(to) && inst.bytes != type_bytes(to)) unsupported();
    if (inst.count < type_bytes(from) || inst.bytes < type_bytes(to))
        fail(fmt::format("a register of {} is too narrow; use a wider one", in_quotes(instruction.opcode)));
    made.src_bytes = inst.count;
    made.dst_bytes = inst.bytes;
    const bool integers = !is_float(to) && !is_float(from);
    inst.sub = integers ? static_cast<std::uint8_t>(found.saturate) : static_cast<std::uint8_t>(found.round);
    if (is_float(from) && !is_float(to) && found.round < Round::int_nearest) inst.sub = static_cast<std::uint8_t>(Round::int_zero);
    emit(inst, made);
    time(instruction.opcode, is_float(to) ? to : from);
}

/// Generic addresses of shared and local memory lie in windows; everything else is the same in both.
void Decoder::op_cvta(const Instruction& instruction) {
    expect_operands(instruction, 2, 2);
    const Words found = words(instruction);
    const Type type = found.last();
    const StateSpace space = space_word(instruction);
    if (type_bytes(type) != 8 || space == StateSpace::generic) unsupported();
    if (space == StateSpace::param) fail("generic addresses of parameters are not supported; copy the parameter to a variable");
    std::uint64_t window = space == StateSpace::shared ? kSharedWindow : space == StateSpace::local ? kLocalWindow : 0;
    if (instruction.has("to")) window = std::uint64_t{0} - window;
    Inst inst;
    inst.a = source(instruction.operands[1], type);
    inst.d = destination(instruction.operands[0], type);
    if (window != 0) inst.b = constant(window, 8);
    emit(inst, choice(window != 0 ? Op::add : Op::mov, Type::u64, {}));
    time(instruction.opcode, type);
}

void Decoder::op_isspacep(const Instruction& instruction) {
    expect_operands(instruction, 2, 2);
    Inst inst;
    inst.a = source(instruction.operands[1], Type::u64);
    inst.d = destination_predicate(instruction.operands[0]);
    if (inst.d == kAbsent) inst.d = new_predicate();
    inst.sub = static_cast<std::uint8_t>(space_word(instruction));
    emit(inst, choice(Op::isspacep, Type::u64, {}));
    time(instruction.opcode, Type::u64);
}

}  // namespace mergelane::ptx
