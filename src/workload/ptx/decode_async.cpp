// SPDX-License-Identifier: MIT
// Asynchronous copies of sm_80 (cp.async) and the mbarriers of shared memory.
#include <algorithm>

#include "workload/ptx/decode.hpp"
#include "workload/ptx/timing_table.hpp"

namespace mergelane::ptx {

namespace {

constexpr std::string_view kMbarrierOps[] = {"init",        "inval",     "arrive",   "arrive_drop",  "expect_tx",
                                             "complete_tx", "test_wait", "try_wait", "pending_count"};  ///< in the order of MbarrierOp
constexpr std::string_view kMbarrierWords =
    "init inval arrive arrive_drop expect_tx complete_tx test_wait try_wait pending_count noComplete parity release acquire relaxed cta "
    "cluster shared shared::cta shared::cluster b64";

StaticInst async_attributes(std::uint8_t lane_bytes, Space space) {
    StaticInst attributes;
    attributes.lane_bytes = lane_bytes;
    attributes.space = space;
    attributes.async = true;
    return attributes;
}

}  // namespace

/// Refuses the instruction if a modifier is not among these.
void Decoder::expect_words(const Instruction& instruction, std::string_view known) const {
    for (std::size_t i = 1; i < instruction.words.size(); ++i) {
        bool found = false;
        each_word(known, [&](std::string_view word) { found = found || word == instruction.words[i]; });
        if (!found) unsupported();
    }
}

void Decoder::op_cp(const Instruction& instruction) {
    if (instruction.has("bulk")) return op_bulk(instruction);
    if (instruction.words.size() < 3 || instruction.words[1] != "async") unsupported();
    const std::string_view what = instruction.words[2];
    if (what == "ca" || what == "cg") return copy_async(instruction);
    if (what == "mbarrier") return copies_arrive(instruction);
    if (instruction.words.size() != 3) unsupported();
    const auto fence = [&](std::uint64_t groups) {
        const auto left = static_cast<std::uint8_t>(std::min<std::uint64_t>(groups, StaticInst::kEndsGroup));
        const StaticInst attributes = async_attributes(left, Space::global);
        time("cp.async.group", Type::b32, kNone, &attributes);
    };
    const bool waits = what == "wait_group";
    if (!waits && what != "commit_group" && what != "wait_all") unsupported();
    expect_operands(instruction, waits ? 1 : 0);
    emit({}, choice(Op::nop, Type::b32, {}));
    if (!waits) fence(StaticInst::kEndsGroup);
    if (what == "wait_all") fence(0);
    if (waits) fence(std::min<std::uint64_t>(immediate(instruction.operands[0]), StaticInst::kMostGroupsLeft));
}

/// cp.async [to], [from], size {, bytes to read or predicate that ignores the source} {, cache policy}: done at once, for its result is
/// defined only after a wait. First the places in shared memory, then the copy.
void Decoder::copy_async(const Instruction& instruction) {
    expect_words(instruction, "async ca cg shared shared::cta global L2::cache_hint L2::64B L2::128B L2::256B");
    const bool policy = instruction.has("L2::cache_hint");
    const auto& operands = instruction.operands;
    expect_operands(instruction, policy ? 4 : 3, policy ? 5 : 4);
    const std::uint64_t size = immediate(operands[2]);
    if ((size != 4 && size != 8 && size != 16) || (size != 16 && instruction.has("cg")))
        fail("{} cannot copy {} bytes; use 16, or with .ca also 4 or 8", in_quotes(instruction.opcode), size);
    Inst place;
    place.space = StateSpace::shared;
    place.store = true;
    place.bytes = static_cast<std::uint8_t>(size);
    address(operands[0], place);
    place.memory = program_->timed.memory_count++;
    place.d = new_register(8);
    emit(place, choice(Op::shared_places, Type::b64, {}));
    Inst copy;
    copy.space = StateSpace::global;
    copy.bytes = place.bytes;
    copy.b = place.d;
    address(operands[1], copy);
    copy.memory = program_->timed.memory_count++;
    if (operands.size() > (policy ? 4u : 3u)) {
        const Operand& limit = operands[3];
        const bool ignores = limit.kind == Operand::Kind::reg && frame_->function->registers[limit.reg] == Type::pred;
        copy.negate = ignores && limit.negated;
        (ignores ? copy.d2 : copy.c) = ignores ? source_predicate(limit) : source(limit, Type::u32);
    }
    if (policy) source(operands.back(), Type::b64);
    emit(copy, choice(Op::copy_async, Type::b64, {}));
    StaticInst attributes = async_attributes(copy.bytes, Space::global);
    attributes.bypass_l1 = instruction.has("cg");
    attributes.l2_hint = l2_hint(instruction);
    time("cp.async", Type::b32, copy.memory, &attributes);
}

/// The address of an mbarrier; without a state space, it is generic and points into shared memory.
Inst Decoder::mbarrier_at(const Operand& operand, MbarrierOp op) {
    Inst inst;
    inst.space = space_word(*at_);
    inst.store = true;
    inst.bytes = 8;
    inst.sub = static_cast<std::uint8_t>(op);
    address(operand, inst);
    inst.memory = program_->timed.memory_count++;
    return inst;
}

/// The copies have been done: without .noinc, the pending count was incremented before and stays as it is.
void Decoder::copies_arrive(const Instruction& instruction) {
    expect_words(instruction, "async mbarrier arrive noinc shared shared::cta b64");
    expect_operands(instruction, 1);
    Inst inst = mbarrier_at(instruction.operands[0], MbarrierOp::arrive);
    inst.b = constant(instruction.has("noinc") ? 1 : 0, 4);
    inst.negate = true;
    emit(inst, choice(Op::mbarrier, Type::b64, {}));
    const StaticInst attributes = async_attributes(8, Space::shared);
    time("cp.async.mbarrier.arrive", Type::b64, inst.memory, &attributes);
}

void Decoder::op_mbarrier(const Instruction& instruction) {
    expect_words(instruction, kMbarrierWords);
    const auto& operands = instruction.operands;
    MbarrierOp op = MbarrierOp::init;
    if (instruction.words.size() < 2 || !find_word(kMbarrierOps, instruction.words[1], op)) unsupported();
    if (op == MbarrierOp::pending_count) {
        Inst inst = registers(instruction, Type::u32, {Type::b64});
        return emit(inst, choice(Op::mbarrier_pending, Type::b64, {}), Type::b32);
    }
    Inst inst;
    if (op == MbarrierOp::init || op == MbarrierOp::expect_tx || op == MbarrierOp::complete_tx) {
        expect_operands(instruction, 2);
        inst = mbarrier_at(operands[0], op);
        inst.b = source(operands[1], Type::u32);
    } else if (op == MbarrierOp::inval) {
        expect_operands(instruction, 1);
        inst = mbarrier_at(operands[0], op);
    } else if (op == MbarrierOp::test_wait || op == MbarrierOp::try_wait) {
        expect_operands(instruction, 3, op == MbarrierOp::try_wait ? 4 : 3);
        inst = mbarrier_at(operands[1], op);
        inst.negate = instruction.has("parity");
        inst.b = source(operands[2], inst.negate ? Type::u32 : Type::b64);
        if (operands.size() == 4) source(operands[3], Type::u32);  // how long to suspend the thread: no time passes here
        inst.d = predicate_result(operands[0]);
    } else {
        const bool expects = instruction.has("expect_tx");
        expect_operands(instruction, expects || instruction.has("noComplete") ? 3 : 2, 3);
        inst = mbarrier_at(operands[1], op);
        const bool more = operands.size() == 3;
        if (expects) inst.c = source(operands[2], Type::u32);
        inst.b = more && !expects ? source(operands[2], Type::u32) : constant(1, 4);
        if (operands[0].kind != Operand::Kind::sink) inst.d = destination(operands[0], Type::b64);
    }
    emit(inst, choice(Op::mbarrier, Type::b64, {}));
    time_mbarrier(op, instruction.opcode, inst.memory);
}

/// Arrivals and waits are asynchronous; the rest only accesses shared memory.
void Decoder::time_mbarrier(MbarrierOp op, std::string_view opcode, std::uint32_t memory) {
    StaticInst attributes = async_attributes(8, Space::shared);
    const bool waits = op == MbarrierOp::test_wait || op == MbarrierOp::try_wait;
    const bool arrives = op == MbarrierOp::arrive || op == MbarrierOp::arrive_drop || op == MbarrierOp::complete_tx;
    attributes.async = waits || arrives;
    attributes.async_op = waits ? AsyncOp::wait : arrives ? AsyncOp::arrive : AsyncOp::copy;
    time(opcode, Type::b64, memory, &attributes);
}

}  // namespace mergelane::ptx
