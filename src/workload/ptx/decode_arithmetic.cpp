// SPDX-License-Identifier: MIT
// Arithmetic, logic, comparisons, moves and conversions.
#include "workload/ptx/decode.hpp"
#include "workload/ptx/warp.hpp"

namespace mergelane::ptx {

namespace {

constexpr std::string_view kCompares[] = {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
constexpr std::string_view kUnsignedCompares[] = {"", "", "lo", "ls", "hi", "hs"};
constexpr std::string_view kCombinations[] = {"", "and", "or", "xor"};  ///< kCombineAnd and so on
constexpr std::string_view kPermutations[] = {"", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
constexpr std::string_view kProperties[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};

}  // namespace

const std::vector<Decoder::Row>& Decoder::rows() {
    static const std::vector<Row> table = {
        {"add", &Decoder::op_plain, Op::add, 2},
        {"sub", &Decoder::op_plain, Op::sub, 2},
        {"addc subc madc", &Decoder::op_carry},
        {"mul mul24 mad mad24", &Decoder::op_mul},
        {"fma", &Decoder::op_plain, Op::fma, 3},
        {"div", &Decoder::op_plain, Op::div, 2},
        {"rem", &Decoder::op_plain, Op::rem, 2},
        {"neg", &Decoder::op_plain, Op::neg, 1},
        {"abs", &Decoder::op_plain, Op::abs, 1},
        {"min", &Decoder::op_plain, Op::min, 2},
        {"max", &Decoder::op_plain, Op::max, 2},
        {"sad", &Decoder::op_plain, Op::sad, 3},
        {"dp4a dp2a", &Decoder::op_dot},
        {"and", &Decoder::op_logic, Op::and_, 2},
        {"or", &Decoder::op_logic, Op::or_, 2},
        {"xor", &Decoder::op_logic, Op::xor_, 2},
        {"not", &Decoder::op_logic, Op::not_, 1},
        {"cnot", &Decoder::op_plain, Op::cnot, 1},
        {"shl", &Decoder::op_shift, Op::shl},
        {"shr", &Decoder::op_shift, Op::shr},
        {"shf", &Decoder::op_bits},
        {"prmt", &Decoder::op_bits, Op::prmt},
        {"bfe", &Decoder::op_bits, Op::bfe},
        {"bfi", &Decoder::op_bits, Op::bfi},
        {"bfind", &Decoder::op_bits, Op::bfind},
        {"bmsk", &Decoder::op_bits, Op::bmsk},
        {"brev", &Decoder::op_plain, Op::brev, 1},
        {"popc", &Decoder::op_bits, Op::popc},
        {"clz", &Decoder::op_bits, Op::clz},
        {"lop3", &Decoder::op_lop3},
        {"copysign", &Decoder::op_plain, Op::copysign, 2},
        {"rcp", &Decoder::op_plain, Op::rcp, 1},
        {"sqrt", &Decoder::op_plain, Op::sqrt, 1},
        {"rsqrt", &Decoder::op_plain, Op::rsqrt, 1},
        {"ex2", &Decoder::op_plain, Op::ex2, 1},
        {"lg2", &Decoder::op_plain, Op::lg2, 1},
        {"sin", &Decoder::op_plain, Op::sin, 1},
        {"cos", &Decoder::op_plain, Op::cos, 1},
        {"tanh", &Decoder::op_plain, Op::tanh, 1},
        {"setp", &Decoder::op_setp},
        {"set", &Decoder::op_set},
        {"selp", &Decoder::op_selp},
        {"slct", &Decoder::op_slct},
        {"testp", &Decoder::op_testp},
        {"mov", &Decoder::op_mov},
        {"cvt", &Decoder::op_cvt},
        {"cvta", &Decoder::op_cvta},
        {"isspacep", &Decoder::op_isspacep},
        {"ld ldu st", &Decoder::op_access},
        {"atom red", &Decoder::op_atomic},
        {"membar fence nanosleep prefetch prefetchu bar barrier brkpt pmevent discard applypriority griddepcontrol setmaxnreg",
         &Decoder::op_nothing},
        {"shfl", &Decoder::op_shfl},
        {"vote", &Decoder::op_vote},
        {"activemask", &Decoder::op_activemask},
        {"match", &Decoder::op_match},
        {"redux", &Decoder::op_redux},
        {"ldmatrix", &Decoder::op_matrix_rows, Op::ldmatrix},
        {"stmatrix", &Decoder::op_matrix_rows, Op::stmatrix},
        {"movmatrix", &Decoder::op_movmatrix},
        {"mma", &Decoder::op_mma},
        {"wmma", &Decoder::op_wmma},
        {"cp", &Decoder::op_cp},
        {"mbarrier", &Decoder::op_mbarrier},
        {"szext", &Decoder::op_szext},
        {"fns", &Decoder::op_fns},
        {"vadd2 vadd4 vsub2 vsub4 vabsdiff2 vabsdiff4 vmin2 vmin4 vmax2 vmax4 vset2 vset4", &Decoder::op_video},
        {"createpolicy", &Decoder::op_createpolicy},
        {"tex tld4", &Decoder::op_texture},
        {"suld sust", &Decoder::op_surface},
        {"mapa", &Decoder::op_mapa},
        {"getctarank", &Decoder::op_getctarank},
        {"elect", &Decoder::op_elect},
        {"wgmma", &Decoder::op_wgmma_product},
    };
    return table;
}

/// One to three sources and a result of the same type.
void Decoder::op_plain(const Instruction& instruction) {
    if (found_.carry_out && (row_->op == Op::add || row_->op == Op::sub)) return op_carry(instruction);
    if (found_.types.size() != 1) unsupported();  // of mixed precision
    Inst inst = registers(instruction, type_, std::vector<Type>(row_->sources, type_));
    inst.sub = static_cast<std::uint8_t>(found_.round);
    Op op = row_->op;
    const bool smallest = op == Op::min;
    if (instruction.has("NaN")) op = smallest ? Op::min_nan : Op::max_nan;
    if (instruction.has("xorsign")) {
        if (!instruction.has("abs")) unsupported();
        op = instruction.has("NaN") ? (smallest ? Op::min_nan_xorsign : Op::max_nan_xorsign) : smallest ? Op::min_xorsign : Op::max_xorsign;
    } else if (instruction.has("abs")) {
        unsupported();
    }
    emit(inst, choice(op, type_, found_), type_);
}

/// mul, mad and their 24-bit and widening forms.
void Decoder::op_mul(const Instruction& instruction) {
    if (found_.carry_out) return op_carry(instruction);
    const bool mad = instruction.words[0] == "mad" || instruction.words[0] == "mad24";
    const bool narrow = instruction.words[0] == "mul24" || instruction.words[0] == "mad24";
    const bool wide = instruction.has("wide");
    const bool high = instruction.has("hi");
    const auto wider = [&] {
        switch (type_) {
            case Type::u16: return Type::u32;
            case Type::s16: return Type::s32;
            case Type::u32: return Type::u64;
            case Type::s32: return Type::s64;
            default: unsupported();
        }
    };
    const Type result = wide ? wider() : type_;
    Op op = mad ? (wide ? Op::mad_wide : high ? Op::mad_hi : Op::mad_lo) : (wide ? Op::mul_wide : high ? Op::mul_hi : Op::mul_lo);
    if (narrow) op = mad ? (high ? Op::mad24_hi : Op::mad24_lo) : (high ? Op::mul24_hi : Op::mul24_lo);
    if (found_.saturate && !is_float(type_) && op != Op::mad_hi && op != Op::mad24_hi) unsupported();
    Inst inst = mad ? registers(instruction, result, {type_, type_, result}) : registers(instruction, result, {type_, type_});
    inst.sub = static_cast<std::uint8_t>(found_.round);
    emit(inst, choice(op, type_, found_), type_);
}

void Decoder::op_carry(const Instruction& instruction) {
    const std::string_view word = instruction.words[0];
    const bool mad = word == "mad" || word == "madc";
    if (is_float(type_) || type_bytes(type_) < 4) unsupported();
    Inst inst = registers(instruction, type_, std::vector<Type>(mad ? 3 : 2, type_));
    const bool takes = word == "addc" || word == "subc" || word == "madc";
    inst.sub = static_cast<std::uint8_t>((takes ? kCarryIn : 0) | (found_.carry_out ? kCarryOut : 0));
    const bool high = instruction.has("hi");
    if (mad && high && is_signed(type_)) unsupported();
    const Op op = mad ? (high ? Op::mad_hi_carry : Op::mad_lo_carry) : word.starts_with("add") ? Op::add_carry : Op::sub_carry;
    emit(inst, choice(op, type_, found_), type_);
}

/// and, or, xor, not: on bits, or on predicates.
void Decoder::op_logic(const Instruction& instruction) {
    if (type_ != Type::pred) return op_plain(instruction);
    expect_operands(instruction, row_->sources + 1u);
    Inst inst;
    inst.a = source_predicate(instruction.operands[1]);
    if (row_->sources == 2) inst.b = source_predicate(instruction.operands[2]);
    inst.d = predicate_result(instruction.operands[0]);
    emit(inst, choice(row_->op, Type::pred, found_), Type::b32);
}

void Decoder::op_shift(const Instruction& instruction) {
    emit(registers(instruction, type_, {type_, Type::u32}), choice(row_->op, type_, found_), type_);
}

void Decoder::op_bits(const Instruction& instruction) {
    const std::string_view word = instruction.words[0];
    Inst inst;
    Op op = row_->op;
    if (word == "popc" || word == "clz" || word == "bfind") {
        if (is_float(type_) || type_bytes(type_) < 4) unsupported();
        inst = registers(instruction, Type::u32, {type_});
        inst.sub = instruction.has("shiftamt") ? 1 : 0;
    } else if (word == "bmsk") {
        inst = registers(instruction, Type::u32, {Type::u32, Type::u32});
        inst.sub = instruction.has("wrap") ? 1 : 0;
    } else if (word == "bfi") {
        if (type_bytes(type_) < 4) unsupported();
        inst = registers(instruction, type_, {type_, type_, Type::u32, Type::u32});
    } else if (word == "bfe") {
        inst = registers(instruction, type_, {type_, Type::u32, Type::u32});
    } else {  // shf, prmt
        inst = registers(instruction, Type::b32, {Type::b32, Type::b32, Type::b32});
        if (word == "shf") {
            op = instruction.has("l") ? Op::shf_l : Op::shf_r;
            inst.sub = instruction.has("wrap") ? 1 : 0;
        } else {
            instruction.find(kPermutations, inst.sub);
        }
    }
    emit(inst, choice(op, type_, found_), type_);
}

void Decoder::op_lop3(const Instruction& instruction) {
    if (instruction.has("and") || instruction.has("or")) return op_lop3_test(instruction);
    Inst inst = registers(instruction, Type::b32, {Type::b32, Type::b32, Type::b32}, 1);
    const std::uint64_t table = immediate(instruction.operands[4]);
    if (table > 255) fail("lop3's table is a number from 0 to 255; fix it");
    inst.sub = static_cast<std::uint8_t>(table);
    emit(inst, choice(Op::lop3, Type::b32, {}), Type::b32);
}

void Decoder::op_dot(const Instruction& instruction) {
    if (found_.types.size() != 2) unsupported();
    Inst inst = registers(instruction, Type::b32, {Type::b32, Type::b32, Type::b32});
    inst.sub = static_cast<std::uint8_t>((is_signed(found_.types[0]) ? 1 : 0) | (is_signed(found_.types[1]) ? 2 : 0));
    const Op op = instruction.words[0] == "dp4a" ? Op::dp4a : instruction.has("hi") ? Op::dp2a_hi : Op::dp2a_lo;
    emit(inst, choice(op, Type::b32, found_), Type::b32);
}

/// The sources of setp and set: two values, and a predicate that the result may be combined with. The result is the caller's.
Inst Decoder::comparison(const Instruction& instruction, Type type, Choice& made) {
    Inst inst;
    if (!instruction.find(kCompares, made.compare) && !instruction.find(kUnsignedCompares, made.compare)) unsupported();
    inst.a = source(instruction.operands[1], type);
    inst.b = source(instruction.operands[2], type);
    if (instruction.operands.size() == 4) {
        if (!instruction.find(kCombinations, inst.sub))
            fail("{} with a third operand needs .and, .or or .xor; add it", instruction.words[0]);
        inst.negate = instruction.operands[3].negated;
        inst.c = source_predicate(instruction.operands[3]);
    }
    return inst;
}

void Decoder::op_setp(const Instruction& instruction) {
    expect_operands(instruction, 3, 4);
    Choice made = choice(Op::setp, type_, found_);
    Inst inst = comparison(instruction, type_, made);
    const Operand& result = instruction.operands[0];
    const bool pair = result.kind == Operand::Kind::pair;
    inst.d = destination_predicate(pair ? result.parts[0] : result);
    if (pair) inst.d2 = destination_predicate(result.parts[1]);
    emit(inst, made, type_);
}

/// set: a comparison into a predicate of its own, then a choice between all ones (or 1.0) and 0.
void Decoder::op_set(const Instruction& instruction) {
    expect_operands(instruction, 3, 4);
    if (found_.types.size() != 2) unsupported();
    const Type result = found_.types[0];
    const Type type = found_.types[1];
    if (type == Type::f16x2 || type == Type::bf16x2) return op_set_pair(instruction);
    const std::uint32_t bytes = type_bytes(result);
    if ((bytes != 4 && bytes != 2) || (is_half(result) && result != Type::f16 && result != Type::bf16)) unsupported();
    Choice made = choice(Op::setp, type, found_);
    Inst inst = comparison(instruction, type, made);
    inst.d = new_predicate();
    emit(inst, made);
    Inst pick;
    const std::uint32_t one = result == Type::f32    ? 0x3F800000u
                              : result == Type::f16  ? 0x3C00
                              : result == Type::bf16 ? 0x3F80
                                                     : 0xFFFFFFFFu;
    pick.a = constant(bytes == 2 ? one & 0xFFFF : one, bytes);
    pick.b = constant(0, bytes);
    pick.c = inst.d;
    pick.d = destination(instruction.operands[0], result);
    emit(pick, choice(Op::selp, bytes == 2 ? Type::b16 : Type::b32, {}), type);
}

void Decoder::op_selp(const Instruction& instruction) {
    Inst inst = registers(instruction, type_, {type_, type_}, 1);
    inst.negate = instruction.operands[3].negated;
    inst.c = source_predicate(instruction.operands[3]);
    emit(inst, choice(Op::selp, type_, found_), type_);
}

/// slct: a where the last operand is not negative, else b.
void Decoder::op_slct(const Instruction& instruction) {
    expect_operands(instruction, 4);
    if (found_.types.size() != 2) unsupported();
    Inst test;
    Choice made = choice(Op::setp, found_.types[1], found_);
    made.compare = Compare::ge;
    test.a = source(instruction.operands[3], found_.types[1]);
    test.b = constant(0, type_bytes(found_.types[1]));
    test.d = new_predicate();
    emit(test, made);
    const Type type = found_.types[0];
    Inst inst = registers(instruction, type, {type, type}, 1);
    inst.c = test.d;
    emit(inst, choice(Op::selp, type, {}), type);
}

void Decoder::op_testp(const Instruction& instruction) {
    expect_operands(instruction, 2);
    Inst inst;
    if (!instruction.find(kProperties, inst.sub)) unsupported();
    inst.a = source(instruction.operands[1], type_);
    inst.d = predicate_result(instruction.operands[0]);
    emit(inst, choice(Op::testp, type_, found_), type_);
}

void Decoder::op_mov(const Instruction& instruction) {
    expect_operands(instruction, 2);
    const Operand& to = instruction.operands[0];
    const Operand& from = instruction.operands[1];
    Inst inst;
    Choice made = choice(Op::mov, type_, found_);
    if (type_ == Type::none) unsupported();
    if (type_ == Type::pred) {
        inst.a = source_predicate(from);
        inst.d = predicate_result(to);
    } else if (from.kind == Operand::Kind::vector || to.kind == Operand::Kind::vector) {
        const bool packs = from.kind == Operand::Kind::vector;
        const std::vector<Operand>& parts = packs ? from.parts : to.parts;
        if ((parts.size() != 2 && parts.size() != 4) || type_bytes(type_) / parts.size() < 2) unsupported();
        const std::size_t part_bytes = type_bytes(type_) / parts.size();
        const Type part = part_bytes == 8 ? Type::b64 : part_bytes == 4 ? Type::b32 : Type::b16;
        made.op = packs ? Op::pack : Op::unpack;
        (packs ? made.src_bytes : made.dst_bytes) = static_cast<std::uint8_t>(type_bytes(part));
        inst.list = static_cast<std::uint32_t>(program_->lists.size());
        inst.count = static_cast<std::uint8_t>(parts.size());
        for (const Operand& operand : parts) {
            const bool sink = operand.kind == Operand::Kind::sink;
            program_->lists.push_back(packs ? source(operand, part) : sink ? kAbsent : destination(operand, part));
        }
        (packs ? inst.d : inst.a) = packs ? destination(to, type_) : source(from, type_);
    } else {
        inst.a = source(from, type_);
        inst.d = destination(to, type_);
        if (from.kind == Operand::Kind::special && special_registers()[from.reg].advances) {
            made.op = Op::read_clock;
            inst.sub = special_registers()[from.reg].name.ends_with("_hi") ? 32 : 0;
        }
    }
    emit(inst, made);
    time(touches_special_ ? "mov.special" : "mov", type_);
}

void Decoder::op_cvt(const Instruction& instruction) {
    if (instruction.has("pack")) return op_cvt_pack(instruction);
    if (found_.types.size() == 2 && (is_half(found_.types[0]) || is_half(found_.types[1]))) return op_cvt_half(instruction);
    expect_operands(instruction, 2);
    if (found_.types.size() != 2 || found_.types[0] == Type::pred || found_.types[1] == Type::pred || found_.round == Round::away)
        unsupported();
    if (instruction.has("relu") || instruction.has("satfinite")) unsupported();
    const Type to = found_.types[0];
    const Type from = found_.types[1];
    // Only integral results may leave the direction out; nvcc always gives one where it matters.
    if (is_float(to) && is_float(from) && to == from && found_.round < Round::int_nearest && found_.round != Round::none)
        found_.round = Round::none;
    Choice made = choice(Op::cvt, to, found_);
    made.from = from;
    Inst inst;
    inst.a = any_source(instruction.operands[1], from, inst.count);
    inst.d = any_destination(instruction.operands[0], to, inst.bytes);
    if (is_float(from) && inst.count != type_bytes(from)) unsupported();
    if (is_float(to) && inst.bytes != type_bytes(to)) unsupported();
    if (inst.count < type_bytes(from) || inst.bytes < type_bytes(to))
        fail("a register of {} is too narrow; use a wider one", in_quotes(instruction.opcode));
    made.src_bytes = inst.count;
    made.dst_bytes = inst.bytes;
    const bool integers = !is_float(to) && !is_float(from);
    inst.sub = integers ? static_cast<std::uint8_t>(found_.saturate) : static_cast<std::uint8_t>(found_.round);
    if (is_float(from) && !is_float(to) && found_.round < Round::int_nearest) inst.sub = static_cast<std::uint8_t>(Round::int_zero);
    emit(inst, made, is_float(to) ? to : from);
}

/// Generic addresses of shared and local memory lie in windows; everything else is the same in both.
void Decoder::op_cvta(const Instruction& instruction) {
    expect_operands(instruction, 2);
    const StateSpace space = space_word(instruction);
    if (type_bytes(type_) != 8 || space == StateSpace::generic) unsupported();
    std::uint64_t window = space == StateSpace::shared  ? kSharedWindow
                           : space == StateSpace::local ? kLocalWindow
                           : space == StateSpace::param ? kParamWindow
                                                        : 0;
    if (instruction.has("to")) window = std::uint64_t{0} - window;
    Inst inst = registers(instruction, type_, {type_});
    if (window != 0) inst.b = constant(window, 8);
    emit(inst, choice(window != 0 ? Op::add : Op::mov, Type::u64, {}), type_);
}

void Decoder::op_isspacep(const Instruction& instruction) {
    expect_operands(instruction, 2);
    Inst inst;
    inst.a = source(instruction.operands[1], Type::u64);
    inst.d = predicate_result(instruction.operands[0]);
    inst.sub = static_cast<std::uint8_t>(space_word(instruction));
    inst.count = instruction.has("shared") || instruction.has("shared::cta") ? 1 : 0;
    emit(inst, choice(Op::isspacep, Type::u64, {}), Type::u64);
}

}  // namespace mergelane::ptx
