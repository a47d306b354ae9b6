// SPDX-License-Identifier: MIT
// Loads, stores, atomics and cross-lane instructions.
#include <algorithm>
#include <utility>

#include "workload/ptx/decode.hpp"
#include "workload/ptx/timing_table.hpp"

namespace mergelane::ptx {

namespace {

constexpr std::string_view kAtomics[] = {"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"};
constexpr std::string_view kShuffles[] = {"up", "down", "bfly", "idx"};
constexpr std::size_t kMostAccessBytes = 32;  ///< of a lane
/// What .v2, .v4 and .v8 say.
std::size_t vector_elements(const Instruction& instruction) {
    return instruction.has("v2") ? 2 : instruction.has("v4") ? 4 : instruction.has("v8") ? 8 : 1;
}
/// Loads that must observe other threads' stores bypass the L1.
bool bypasses_l1(const Instruction& instruction) {
    return instruction.has("cg") || instruction.has("cv") || instruction.has("volatile") || instruction.has("relaxed") ||
           instruction.has("acquire") || instruction.has("mmio");
}

}  // namespace

StateSpace Decoder::space_word(const Instruction& instruction) {
    for (std::size_t i = 1; i < instruction.words.size(); ++i) {
        const std::string_view word = instruction.words[i];
        if (const StateSpace space = space_of(word.substr(0, word.find("::"))); space != StateSpace::generic) return space;
    }
    return StateSpace::generic;
}

/// One timed instruction, or three for a generic access; the recording tells which one was executed.
void Decoder::memory_attributes(const Instruction& instruction, const Inst& inst, Type type) {
    StaticInst attributes;
    attributes.lane_bytes = static_cast<std::uint8_t>(inst.bytes * inst.count);
    attributes.bypass_l1 = bypasses_l1(instruction);
    if (inst.space == StateSpace::constant) return time("ld.const", type, kNone, &attributes);
    const bool generic = inst.space == StateSpace::generic;
    using Same = std::pair<StateSpace, Space>;
    for (const auto& [named, space] :
         {Same{StateSpace::global, Space::global}, Same{StateSpace::shared, Space::shared}, Same{StateSpace::local, Space::local}}) {
        if (!generic && inst.space != named) continue;
        attributes.space = space;
        attributes.l2_hint = space == Space::global ? l2_hint(instruction) : L2Hint{};
        time(instruction.words[0], type, inst.memory, &attributes);
    }
}

/// ld.param and st.param; false: an ordinary access.
bool Decoder::param_access(const Instruction& instruction, bool is_store) {
    if (space_word(instruction) != StateSpace::param) return false;
    const Operand& where = instruction.operands[is_store ? 0 : 1];
    const Operand& what = instruction.operands[is_store ? 1 : 0];
    if (where.kind != Operand::Kind::address) fail("{} needs an address; write [name+8]", in_quotes(instruction.opcode));
    Inst inst;
    inst.bytes = static_cast<std::uint8_t>(type_bytes(type_));
    bool kernel_param = true;
    const std::size_t elements = what.kind == Operand::Kind::vector ? what.parts.size() : 1;
    if (elements != vector_elements(instruction) || elements > 4) unsupported();
    if (where.reg != Operand::kNoReg) {
        Operand base = where;
        base.kind = Operand::Kind::reg;
        inst.a = source(base, Type::u64);
        inst.offset = where.offset;
    } else {
        const Place place = find_place(where.name);
        if (place.space != StateSpace::param) fail("{} is not a parameter; check its name", in_quotes(where.name));
        kernel_param = place.kernel_param;
        const std::uint64_t bytes = type_bytes(type_) * elements;
        if (where.offset < 0 || static_cast<std::uint64_t>(where.offset) > place.bytes ||
            place.bytes - static_cast<std::uint64_t>(where.offset) < bytes)
            fail("the access leaves parameter {}, which has {} bytes; check the offset", in_quotes(where.name), place.bytes);
        inst.offset = static_cast<std::int64_t>(place.offset) + where.offset;
    }
    if (is_store && kernel_param) fail("parameters of a kernel cannot be written; use a variable");
    Choice made = choice(is_store ? Op::st_call_param : kernel_param ? Op::ld_kernel_param : Op::ld_call_param, type_, found_);
    made.src_bytes = made.dst_bytes = data_registers(what, type_, is_store, inst);
    emit(inst, made);
    time(is_store ? "st.param" : "ld.param", type_);
    return true;
}

/// The register of a load or store, or a vector of up to eight, all of one width; returns the width in bytes.
std::uint8_t Decoder::data_registers(const Operand& what, Type type, bool is_store, Inst& inst) {
    const bool vector = what.kind == Operand::Kind::vector && what.parts.size() > 1;
    const Operand& only = what.kind == Operand::Kind::vector ? what.parts[0] : what;
    std::uint8_t bytes = 0;
    if (!vector) {
        (is_store ? inst.b : inst.d) = is_store ? any_source(only, type, bytes) : any_destination(only, type, bytes);
        return bytes;
    }
    inst.list = static_cast<std::uint32_t>(program_->lists.size());
    inst.count = static_cast<std::uint8_t>(what.parts.size());
    for (const Operand& part : what.parts) {
        std::uint8_t mine = 0;
        const bool sink = !is_store && part.kind == Operand::Kind::sink;
        program_->lists.push_back(sink ? kAbsent : is_store ? any_source(part, type, mine) : any_destination(part, type, mine));
        if (mine != 0 && bytes != 0 && mine != bytes) unsupported();
        bytes = std::max(bytes, mine);
    }
    return bytes;
}

/// ld, ldu and st.
void Decoder::op_access(const Instruction& instruction) {
    const bool is_store = instruction.words[0] == "st";
    const bool async = instruction.has("async");  // an mbarrier follows; otherwise a cache policy may
    if (async != instruction.has("mbarrier::complete_tx::bytes")) unsupported();
    expect_operands(instruction, async || instruction.has("L2::cache_hint") ? 3 : 2);
    if (param_access(instruction, is_store)) return;
    const Operand& what = instruction.operands[is_store ? 1 : 0];
    Inst inst;
    inst.space = instruction.words[0] == "ldu" ? StateSpace::global : space_word(instruction);
    if (is_store && inst.space == StateSpace::constant) fail("constant memory cannot be written by a kernel; use .global");
    inst.store = is_store;
    inst.bytes = static_cast<std::uint8_t>(type_bytes(type_));
    address(instruction.operands[is_store ? 0 : 1], inst);
    inst.memory = program_->timed.memory_count++;
    const std::size_t elements = what.kind == Operand::Kind::vector ? what.parts.size() : 1;
    if (elements != vector_elements(instruction) || elements * type_bytes(type_) > kMostAccessBytes) unsupported();
    inst.access = true;
    Choice made = choice(is_store ? Op::st : Op::ld, type_, found_);
    made.src_bytes = made.dst_bytes = data_registers(what, type_, is_store, inst);
    emit(inst, made);
    if (async) return async_completion(instruction.operands[2], std::uint32_t{inst.bytes} * inst.count);
    memory_attributes(instruction, inst, type_);
}

void Decoder::op_atomic(const Instruction& instruction) {
    const bool reduction = instruction.words[0] == "red";
    Choice made = choice(Op::atom, type_, found_);
    made.ftz = false;
    if (!instruction.find(kAtomics, made.atomic)) unsupported();
    const bool async = instruction.has("async");
    if (async != instruction.has("mbarrier::complete_tx::bytes") || (async && !reduction)) unsupported();
    const bool three = made.atomic == AtomicOp::cas;
    const std::size_t first = reduction ? 0 : 1;
    expect_operands(instruction, first + (three || async ? 3u : 2u) + (instruction.has("L2::cache_hint") ? 1u : 0u));
    if (is_half(type_) || instruction.operands[first + 1].kind == Operand::Kind::vector) {
        if (async) unsupported();
        return op_atomic_elements(instruction, made);
    }
    if (instruction.has("v2") || instruction.has("v4") || instruction.has("v8")) unsupported();
    Inst inst;
    inst.space = space_word(instruction);
    inst.store = true;
    inst.bytes = static_cast<std::uint8_t>(type_bytes(type_));
    address(instruction.operands[first], inst);
    inst.memory = program_->timed.memory_count++;
    inst.b = source(instruction.operands[first + 1], type_);
    if (three) inst.c = source(instruction.operands[first + 2], type_);
    if (!reduction && instruction.operands[0].kind != Operand::Kind::sink) inst.d = destination(instruction.operands[0], type_);
    emit(inst, made);
    if (async) return async_completion(instruction.operands[2], inst.bytes);
    memory_attributes(instruction, inst, type_);
}

void Decoder::op_nothing(const Instruction&) {
    emit({}, choice(Op::nop, Type::b32, {}), Type::b32);
}

void Decoder::op_shfl(const Instruction& instruction) {
    const bool sync = instruction.has("sync");
    expect_operands(instruction, sync ? 5 : 4);
    Inst inst;
    inst.a = source(instruction.operands[1], Type::b32);
    inst.b = source(instruction.operands[2], Type::b32);
    inst.c = source(instruction.operands[3], Type::b32);
    Choice made = choice(Op::shfl, Type::b32, {});
    if (!instruction.find(kShuffles, made.shuffle)) unsupported();
    result_and_predicate(instruction.operands[0], inst);
    emit(inst, made, Type::b32);
}

/// The result of shfl and match: a word, and a predicate if one is named.
void Decoder::result_and_predicate(const Operand& result, Inst& inst) {
    const bool pair = result.kind == Operand::Kind::pair;
    inst.d = destination(pair ? result.parts[0] : result, Type::b32);
    if (pair) inst.d2 = destination_predicate(result.parts[1]);
}

void Decoder::op_vote(const Instruction& instruction) {
    const bool sync = instruction.has("sync");
    expect_operands(instruction, sync ? 3 : 2);
    Inst inst;
    inst.negate = instruction.operands[1].negated;
    inst.a = source_predicate(instruction.operands[1]);
    Op op = Op::vote_ballot;
    if (instruction.has("ballot")) {
        inst.d = destination(instruction.operands[0], Type::b32);
    } else {
        op = instruction.has("all") ? Op::vote_all : instruction.has("any") ? Op::vote_any : Op::vote_uni;
        inst.d = predicate_result(instruction.operands[0]);
    }
    Choice made = choice(op, Type::b32, {});
    if (sync) member_mask(instruction.operands[2], inst, made);
    emit(inst, made, Type::b32);
}

/// The lanes that take part. A number is not looked at: PTX defines only instructions whose executing lanes are all in it. To the timing
/// model, a register is no operand: hardware gives it to an instruction before, at which the lanes meet.
void Decoder::member_mask(const Operand& mask, Inst& inst, Choice& made) {
    made.members = mask.kind != Operand::Kind::integer;
    if (!made.members) return;
    const std::size_t others = touch_->reads.size();
    inst.c = source(mask, Type::b32);
    touch_->reads.resize(others);
}

void Decoder::op_activemask(const Instruction& instruction) {
    emit(registers(instruction, Type::b32, {}), choice(Op::activemask, Type::b32, {}), Type::b32);
}

void Decoder::op_match(const Instruction& instruction) {
    expect_operands(instruction, 3);
    if (type_bytes(type_) < 4) unsupported();
    Inst inst;
    inst.a = source(instruction.operands[1], type_);
    result_and_predicate(instruction.operands[0], inst);
    Choice made = choice(instruction.has("all") ? Op::match_all : Op::match_any, type_, {});
    member_mask(instruction.operands[2], inst, made);
    emit(inst, made, Type::b32);
}

void Decoder::op_redux(const Instruction& instruction) {
    Choice made = choice(Op::redux, type_, found_);
    if (!instruction.find(kAtomics, made.atomic)) unsupported();
    Inst inst = registers(instruction, type_, {type_}, 1);
    member_mask(instruction.operands[2], inst, made);
    emit(inst, made, Type::b32);
}

}  // namespace mergelane::ptx
