// SPDX-License-Identifier: MIT
// Loads, stores, atomics and cross-lane instructions.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "workload/ptx/decode.hpp"
#include "workload/ptx/lexer.hpp"
#include "workload/ptx/timing_table.hpp"

namespace mergelane::ptx {

namespace {

constexpr std::array<std::pair<std::string_view, AtomicOp>, 10> kAtomics = {{{"add", AtomicOp::add},
                                                                             {"min", AtomicOp::min},
                                                                             {"max", AtomicOp::max},
                                                                             {"and", AtomicOp::and_},
                                                                             {"or", AtomicOp::or_},
                                                                             {"xor", AtomicOp::xor_},
                                                                             {"exch", AtomicOp::exch},
                                                                             {"cas", AtomicOp::cas},
                                                                             {"inc", AtomicOp::inc},
                                                                             {"dec", AtomicOp::dec}}};
bool find_atomic(const Instruction& instruction, AtomicOp& found) {
    for (const auto& [name, op] : kAtomics) {
        if (!instruction.has(name)) continue;
        found = op;
        return true;
    }
    return false;
}
/// Loads that must observe other threads' stores bypass the L1.
bool bypasses_l1(const Instruction& instruction) {
    return instruction.has("cg") || instruction.has("cv") || instruction.has("volatile") || instruction.has("relaxed") ||
           instruction.has("acquire") || instruction.has("mmio");
}

}  // namespace

StateSpace Decoder::space_word(const Instruction& instruction) {
    for (std::size_t i = 1; i < instruction.words.size(); ++i) {
        std::string_view word = instruction.words[i];
        word = word.substr(0, std::min(word.find("::"), word.size()));
        if (word == "global") return StateSpace::global;
        if (word == "shared") return StateSpace::shared;
        if (word == "local") return StateSpace::local;
        if (word == "const") return StateSpace::constant;
        if (word == "param") return StateSpace::param;
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
    for (const Space space : {Space::global, Space::shared, Space::local}) {
        const StateSpace same = space == Space::global   ? StateSpace::global
                                : space == Space::shared ? StateSpace::shared
                                                         : StateSpace::local;
        if (!generic && inst.space != same) continue;
        attributes.space = space;
        time(instruction.words[0], type, inst.memory, &attributes);
    }
}

/// ld.param and st.param; false: an ordinary access.
bool Decoder::param_access(const Instruction& instruction, bool is_store) {
    if (space_word(instruction) != StateSpace::param) return false;
    const Words found = words(instruction);
    const Type type = found.last();
    const Operand& where = instruction.operands[is_store ? 0 : 1];
    const Operand& what = instruction.operands[is_store ? 1 : 0];
    if (where.kind != Operand::Kind::address) fail(fmt::format("{} needs an address; write [name+8]", in_quotes(instruction.opcode)));
    Inst inst;
    inst.bytes = static_cast<std::uint8_t>(type_bytes(type));
    bool kernel_param = true;
    const std::vector<Operand> single = {what};
    const std::vector<Operand>& parts = what.kind == Operand::Kind::vector ? what.parts : single;
    if (parts.empty() || parts.size() > 4) unsupported();
    if (where.reg != Operand::kNoReg) {
        Operand base = where;
        base.kind = Operand::Kind::reg;
        inst.a = source(base, Type::u64);
        inst.offset = where.offset;
    } else {
        const Place place = find_place(where.name);
        if (place.space != StateSpace::param) fail(fmt::format("{} is not a parameter; check its name", in_quotes(where.name)));
        kernel_param = place.kernel_param;
        const std::uint64_t bytes = type_bytes(type) * parts.size();
        if (where.offset < 0 || static_cast<std::uint64_t>(where.offset) > place.bytes ||
            place.bytes - static_cast<std::uint64_t>(where.offset) < bytes)
            fail(fmt::format("the access leaves parameter {}, which has {} bytes; check the offset", in_quotes(where.name), place.bytes));
        inst.offset = static_cast<std::int64_t>(place.offset) + where.offset;
    }
    if (is_store && kernel_param) fail("parameters of a kernel cannot be written; use a variable");
    Choice made = choice(is_store ? Op::st_call_param : kernel_param ? Op::ld_kernel_param : Op::ld_call_param, type, found);
    std::uint8_t bytes = 0;
    std::vector<Slot> slots;
    for (const Operand& part : parts) {
        std::uint8_t mine = 0;
        if (is_store)
            slots.push_back(any_source(part, type, mine));
        else
            slots.push_back(part.kind == Operand::Kind::sink && parts.size() > 1 ? kAbsent : any_destination(part, type, mine));
        if (mine == 0) continue;
        if (bytes != 0 && mine != bytes) unsupported();
        bytes = mine;
    }
    made.src_bytes = made.dst_bytes = bytes;
    inst.count = static_cast<std::uint8_t>(parts.size());
    if (parts.size() == 1) {
        (is_store ? inst.b : inst.d) = slots[0];
    } else {
        inst.list = static_cast<std::uint32_t>(program_->lists.size());
        program_->lists.insert(program_->lists.end(), slots.begin(), slots.end());
    }
    emit(inst, made);
    time(is_store ? "st.param" : "ld.param", type);
    return true;
}

void Decoder::op_load(const Instruction& instruction) {
    expect_operands(instruction, 2, 3);  // a cache policy may follow
    if (param_access(instruction, false)) return;
    const Words found = words(instruction);
    const Type type = found.last();
    const Operand& to = instruction.operands[0];
    Inst inst;
    inst.space = instruction.words[0] == "ldu" ? StateSpace::global : space_word(instruction);
    inst.bytes = static_cast<std::uint8_t>(type_bytes(type));
    address(instruction.operands[1], inst);
    inst.memory = program_->memory_count++;
    Choice made = choice(Op::ld, type, found);
    if (to.kind == Operand::Kind::vector) {
        if (to.parts.size() < 2 || to.parts.size() > 4 || type_bytes(type) * to.parts.size() > 32) unsupported();
        inst.list = static_cast<std::uint32_t>(program_->lists.size());
        inst.count = static_cast<std::uint8_t>(to.parts.size());
        std::uint8_t bytes = 0;
        for (const Operand& part : to.parts) {
            std::uint8_t mine = 0;
            program_->lists.push_back(part.kind == Operand::Kind::sink ? kAbsent : any_destination(part, type, mine));
            if (mine != 0 && bytes != 0 && mine != bytes) unsupported();
            bytes = std::max(bytes, mine);
        }
        made.dst_bytes = bytes;
    } else {
        inst.d = any_destination(to, type, made.dst_bytes);
    }
    emit(inst, made);
    memory_attributes(instruction, inst, type);
}

void Decoder::op_store(const Instruction& instruction) {
    expect_operands(instruction, 2, 3);
    if (param_access(instruction, true)) return;
    const Words found = words(instruction);
    const Type type = found.last();
    const Operand& from = instruction.operands[1];
    Inst inst;
    inst.space = space_word(instruction);
    if (inst.space == StateSpace::constant) fail("constant memory cannot be written by a kernel; use .global");
    inst.store = true;
    inst.bytes = static_cast<std::uint8_t>(type_bytes(type));
    address(instruction.operands[0], inst);
    inst.memory = program_->memory_count++;
    Choice made = choice(Op::st, type, found);
    if (from.kind == Operand::Kind::vector) {
        if (from.parts.size() < 2 || from.parts.size() > 4 || type_bytes(type) * from.parts.size() > 32) unsupported();
        inst.list = static_cast<std::uint32_t>(program_->lists.size());
        inst.count = static_cast<std::uint8_t>(from.parts.size());
        std::uint8_t bytes = 0;
        for (const Operand& part : from.parts) {
            std::uint8_t mine = 0;
            program_->lists.push_back(any_source(part, type, mine));
            if (bytes != 0 && mine != bytes) unsupported();
            bytes = mine;
        }
        made.src_bytes = bytes;
    } else {
        inst.b = any_source(from, type, made.src_bytes);
    }
    emit(inst, made);
    memory_attributes(instruction, inst, type);
}

void Decoder::op_atomic(const Instruction& instruction) {
    const bool reduction = instruction.words[0] == "red";
    const Words found = words(instruction);
    const Type type = found.last();
    Choice made = choice(reduction ? Op::red : Op::atom, type, found);
    made.ftz = false;
    if (!find_atomic(instruction, made.atomic) || instruction.has("async")) unsupported();
    const bool three = made.atomic == AtomicOp::cas;
    const std::size_t first = reduction ? 0 : 1;
    expect_operands(instruction, first + (three ? 3u : 2u), first + (three ? 3u : 2u));
    Inst inst;
    inst.space = space_word(instruction);
    inst.store = true;
    inst.bytes = static_cast<std::uint8_t>(type_bytes(type));
    address(instruction.operands[first], inst);
    inst.memory = program_->memory_count++;
    inst.b = source(instruction.operands[first + 1], type);
    if (three) inst.c = source(instruction.operands[first + 2], type);
    if (!reduction && instruction.operands[0].kind != Operand::Kind::sink) inst.d = destination(instruction.operands[0], type);
    emit(inst, made);
    memory_attributes(instruction, inst, type);
}

void Decoder::op_nothing(const Instruction& instruction) {
    Inst inst;
    emit(inst, choice(Op::nop, Type::b32, {}));
    time(instruction.opcode, Type::b32);
}

void Decoder::op_shfl(const Instruction& instruction) {
    const bool sync = instruction.has("sync");
    expect_operands(instruction, sync ? 5 : 4, sync ? 5 : 4);
    Inst inst;
    inst.a = source(instruction.operands[1], Type::b32);
    inst.b = source(instruction.operands[2], Type::b32);
    inst.c = source(instruction.operands[3], Type::b32);
    Choice made = choice(Op::shfl, Type::b32, {});
    const std::uint8_t mode = instruction.has("up")     ? kShuffleUp
                              : instruction.has("down") ? kShuffleDown
                              : instruction.has("bfly") ? kShuffleBfly
                                                        : kShuffleIdx;
    if (mode == kShuffleIdx && !instruction.has("idx")) unsupported();
    made.compare = static_cast<Compare>(mode);
    const Operand& result = instruction.operands[0];
    if (result.kind == Operand::Kind::pair) {
        inst.d = result.parts[0].kind == Operand::Kind::sink ? kAbsent : destination(result.parts[0], Type::b32);
        inst.d2 = destination_predicate(result.parts[1]);
    } else {
        inst.d = destination(result, Type::b32);
    }
    emit(inst, made);
    time(instruction.opcode, Type::b32);
}

void Decoder::op_vote(const Instruction& instruction) {
    const bool sync = instruction.has("sync");
    expect_operands(instruction, sync ? 3 : 2, sync ? 3 : 2);
    Inst inst;
    inst.negate = instruction.operands[1].negated;
    inst.a = source_predicate(instruction.operands[1]);
    Op op = Op::vote_ballot;
    if (instruction.has("ballot")) {
        inst.d = destination(instruction.operands[0], Type::b32);
    } else {
        op = instruction.has("all") ? Op::vote_all : instruction.has("any") ? Op::vote_any : Op::vote_uni;
        inst.d = destination_predicate(instruction.operands[0]);
        if (inst.d == kAbsent) inst.d = new_predicate();
    }
    emit(inst, choice(op, Type::b32, {}));
    time(instruction.opcode, Type::b32);
}

void Decoder::op_activemask(const Instruction& instruction) {
    expect_operands(instruction, 1, 1);
    Inst inst;
    inst.d = destination(instruction.operands[0], Type::b32);
    emit(inst, choice(Op::activemask, Type::b32, {}));
    time(instruction.opcode, Type::b32);
}

void Decoder::op_match(const Instruction& instruction) {
    expect_operands(instruction, 3, 3);
    const Type type = words(instruction).last();
    if (type_bytes(type) < 4) unsupported();
    Inst inst;
    inst.a = source(instruction.operands[1], type);
    const Operand& result = instruction.operands[0];
    if (result.kind == Operand::Kind::pair) {
        inst.d = destination(result.parts[0], Type::b32);
        inst.d2 = destination_predicate(result.parts[1]);
    } else {
        inst.d = destination(result, Type::b32);
    }
    emit(inst, choice(instruction.has("all") ? Op::match_all : Op::match_any, type, {}));
    time(instruction.opcode, Type::b32);
}

void Decoder::op_redux(const Instruction& instruction) {
    expect_operands(instruction, 3, 3);
    const Words found = words(instruction);
    Choice made = choice(Op::redux, found.last(), found);
    if (!find_atomic(instruction, made.atomic)) unsupported();
    Inst inst;
    inst.a = source(instruction.operands[1], found.last());
    inst.d = destination(instruction.operands[0], found.last());
    emit(inst, made);
    time(instruction.opcode, Type::b32);
}

}  // namespace mergelane::ptx
