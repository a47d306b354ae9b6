// SPDX-License-Identifier: MIT
// Instructions that compilers seldom write: see lanes/rare.hpp. Also those that concern caches and have no effect but a result.
#include "workload/ptx/decode.hpp"

namespace mergelane::ptx {

namespace {

constexpr std::string_view kVideoNames[] = {"add", "sub", "absdiff", "min", "max", "set"};
constexpr std::string_view kVideoCompares[] = {"eq", "ne", "lt", "le", "gt", "ge"};

}  // namespace

void Decoder::op_szext(const Instruction& instruction) {
    Inst inst = registers(instruction, type_, {type_, Type::u32});
    if (!instruction.has("wrap") && !instruction.has("clamp")) unsupported();
    inst.sub = instruction.has("wrap") ? 1 : 0;
    emit(inst, choice(Op::szext, type_, {}), type_);
}

void Decoder::op_fns(const Instruction& instruction) {
    emit(registers(instruction, Type::b32, {Type::b32, Type::b32, Type::s32}), choice(Op::fns, Type::b32, {}), Type::b32);
}

/// lop3.and and lop3.or d|p, a, b, c, table, q: also whether the result is not 0, combined with q.
void Decoder::op_lop3_test(const Instruction& instruction) {
    expect_operands(instruction, 6);
    const Operand& results = instruction.operands[0];
    if (results.kind != Operand::Kind::pair) fail("{} needs a predicate beside its result; write %r1|%p1", in_quotes(instruction.opcode));
    Inst inst;
    inst.a = source(instruction.operands[1], Type::b32);
    inst.b = source(instruction.operands[2], Type::b32);
    inst.c = source(instruction.operands[3], Type::b32);
    const std::uint64_t table = immediate(instruction.operands[4]);
    if (table > 255) fail("lop3's table is a number from 0 to 255; fix it");
    inst.sub = static_cast<std::uint8_t>(table);
    inst.d = destination(results.parts[0], Type::b32);
    Inst test;
    test.a = inst.d;
    test.c = source_predicate(instruction.operands[5]);
    test.negate = instruction.operands[5].negated;
    test.sub = instruction.has("and") ? kCombineAnd : kCombineOr;
    test.d = predicate_result(results.parts[1]);
    emit(inst, choice(Op::lop3, Type::b32, {}));
    emit(test, choice(Op::test_result, Type::b32, {}), Type::b32);
}

/// vadd4, vset2 and so on: the parts of a and b in parallel. Parts cannot be selected, nor results masked.
void Decoder::op_video(const Instruction& instruction) {
    const std::string_view word = instruction.words[0];
    Video operation = Video::add;
    find_word(kVideoNames, word.substr(1, word.size() - 2), operation);
    const bool compares = operation == Video::set;
    const bool adds = instruction.has("add");
    const std::vector<Type>& types = found_.types;
    if (types.size() != (compares ? 2 : 3) || (adds && (found_.saturate || operation == Video::add || operation == Video::sub)))
        unsupported();
    for (const Type type : types) {
        if (type != Type::u32 && type != Type::s32) unsupported();
    }
    Inst inst = registers(instruction, Type::b32, {Type::b32, Type::b32, Type::b32});
    Compare compare = Compare::eq;
    if (instruction.find(kVideoCompares, compare) != compares) unsupported();
    inst.sub = static_cast<std::uint8_t>(operation);
    inst.bytes = static_cast<std::uint8_t>(compare);
    const std::size_t first = compares ? 0 : 1;
    inst.offset = (is_signed(types[first]) ? kVideoSignedA : 0) | (is_signed(types[first + 1]) ? kVideoSignedB : 0) |
                  (is_signed(types[0]) && !compares ? kVideoSignedResult : 0) | (found_.saturate ? kVideoSaturates : 0) |
                  (adds ? kVideoAdds : 0);
    Choice made = choice(Op::video, Type::b32, {});
    made.src_bytes = word.back() == '4' ? 1 : 2;
    emit(inst, made, Type::b32);
}

/// cvt.pack.sat.TYPE.s32 d, a, b or, of bytes, cvt.pack.sat.TYPE.s32.b32 d, a, b, c.
void Decoder::op_cvt_pack(const Instruction& instruction) {
    const std::vector<Type>& types = found_.types;
    const bool bytes = types.size() == 3 && types[2] == Type::b32;
    if (!found_.saturate || (types.size() != 2 && !bytes) || types[1] != Type::s32 || type_bytes(types[0]) != (bytes ? 1u : 2u))
        unsupported();
    const std::vector<Type> sources(bytes ? 3 : 2, Type::b32);
    emit(registers(instruction, Type::b32, sources), choice(Op::cvt_pack, types[0], {}), Type::b32);
}

/// The value of a cache policy is not used: see policy_hint().
void Decoder::op_createpolicy(const Instruction& instruction) {
    expect_operands(instruction, 1, 4);
    Inst inst;
    inst.a = constant(0, 8);
    inst.d = destination(instruction.operands[0], Type::b64);
    emit(inst, choice(Op::mov, Type::b64, {}), Type::b64);
}

}  // namespace mergelane::ptx
