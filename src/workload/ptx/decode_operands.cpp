// SPDX-License-Identifier: MIT
// Translates the operands of an instruction to slots, and determines its timing attributes.
#include <algorithm>
#include <bit>
#include <unordered_map>

#include "workload/ptx/decode.hpp"
#include "workload/ptx/modifiers.hpp"
#include "workload/ptx/timing_table.hpp"
#include "workload/ptx/warp.hpp"

namespace mergelane::ptx {

namespace {

constexpr std::string_view kRounds[] = {"", "rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", "rna"};

/// Registers narrower than 16 bits are kept in 16.
std::uint32_t storage_bytes(Type type) {
    return std::max(type_bytes(type), 2u);
}

}  // namespace

void Decoder::unsupported() const {
    fail("instruction {} is not supported; report it, or compile so that it is not used", in_quotes(at_->opcode));
}

void Decoder::check_modifiers(const Instruction& instruction) {
    if (!understood_.insert(instruction.opcode).second) return;
    for (std::size_t i = 1; i < instruction.words.size(); ++i) {
        if (!understands(instruction.words[0], instruction.words[i]))
            fail("modifier {} of instruction {} is not supported; report it, or compile so that it is not used",
                 in_quotes(instruction.words[i]), in_quotes(instruction.opcode));
    }
}

void Decoder::decode(const Instruction& instruction) {
    static const std::unordered_map<std::string_view, const Row*> by_opcode = [] {
        std::unordered_map<std::string_view, const Row*> made;
        for (const Row& row : rows()) each_word(row.opcodes, [&](std::string_view word) { made.emplace(word, &row); });
        return made;
    }();
    const auto found = by_opcode.find(instruction.words[0]);
    if (found == by_opcode.end()) unsupported();
    row_ = found->second;
    found_ = words(instruction);
    type_ = found_.types.empty() ? Type::none : found_.types.back();
    (this->*row_->method)(instruction);
}

Decoder::Words Decoder::words(const Instruction& instruction) const {
    Words found;
    for (std::size_t i = 1; i < instruction.words.size(); ++i) {
        const std::string_view word = instruction.words[i];
        if (const Type type = type_of(word); type != Type::none) found.types.push_back(type);
        find_word(kRounds, word, found.round);
        if (word == "ftz") found.ftz = true;
        if (word == "sat") found.saturate = true;
        if (word == "approx" || word == "full") found.approximate = true;
        if (word == "cc") found.carry_out = true;
        if (word == "relu") found.relu = true;
        if (word == "satfinite") found.finite = true;
    }
    return found;
}

void Decoder::expect_operands(const Instruction& instruction, std::size_t least, std::size_t most) const {
    const std::size_t count = instruction.operands.size();
    if (count < least || count > std::max(least, most))
        fail("{} has {} operands but needs {}; add or remove some", in_quotes(instruction.opcode), count, least);
}

Decoder::Place Decoder::find_place(std::string_view name) const {
    if (const auto local = frame_->variables.find(name); local != frame_->variables.end()) return local->second;
    if (const auto shared = shared_.find(name); shared != shared_.end()) return shared->second;
    if (const Variable* variable = module_.find_variable(name); variable != nullptr) {
        if (variable->external)
            fail("{} is declared .extern and not defined in this file; link it in when compiling to PTX", in_quotes(name));
        return {StateSpace::global, false, 0, variable->bytes};
    }
    if (name.starts_with('%')) fail("register {} is not declared; add it to a .reg directive", in_quotes(name));
    fail("{} is not declared; check its name", in_quotes(name));
}

std::uint32_t Decoder::register_bytes(const Operand& operand) const {
    const Type type = frame_->function->registers[operand.reg];
    if (type == Type::pred) fail("{} cannot work on a predicate; use selp or setp", in_quotes(at_->opcode));
    return storage_bytes(type);
}

/// An operand of exactly the instruction's size.
Slot Decoder::source(const Operand& operand, Type type) {
    std::uint8_t bytes = 0;
    const Slot slot = any_source(operand, type, bytes);
    if (bytes != storage_bytes(type))
        fail("an operand of {} has {} bits instead of {}; use a register of the right type", in_quotes(at_->opcode), bytes * 8,
             storage_bytes(type) * 8);
    return slot;
}

/// An operand whose register may be wider than the instruction's type, as loads, stores and conversions allow.
Slot Decoder::any_source(const Operand& operand, Type type, std::uint8_t& bytes) {
    bytes = static_cast<std::uint8_t>(storage_bytes(type));
    switch (operand.kind) {
        case Operand::Kind::reg:
            bytes = static_cast<std::uint8_t>(register_bytes(operand));
            touch_->reads.push_back(frame_->first_register + operand.reg);
            return frame_->registers[operand.reg];
        case Operand::Kind::special: {
            bytes = static_cast<std::uint8_t>(special_registers()[operand.reg].bytes);
            Slot& slot = program_->specials[operand.reg];
            if (slot == kAbsent) slot = new_register(bytes);
            touches_special_ = true;
            return slot;
        }
        case Operand::Kind::integer:
            if (bytes > 8) break;
            if (type == Type::f32)
                return constant(std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int64_t>(operand.bits))), 4);
            if (type == Type::f64)
                return constant(std::bit_cast<std::uint64_t>(static_cast<double>(static_cast<std::int64_t>(operand.bits))), 8);
            return constant(operand.bits & (bytes == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * bytes) - 1), bytes);
        case Operand::Kind::f32:
            if (bytes == 8)
                return constant(
                    std::bit_cast<std::uint64_t>(static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(operand.bits)))), 8);
            if (bytes != 4) break;
            return constant(operand.bits, 4);
        case Operand::Kind::f64:
            if (bytes == 4) return constant(std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(operand.bits))), 4);
            if (bytes != 8) break;
            return constant(operand.bits, 8);
        case Operand::Kind::symbol: {
            if (bytes < 4 || bytes > 8) break;
            if (module_.find_function(operand.name) != nullptr) return constant(module_.code_address(operand.name), bytes);
            const Place place = find_place(operand.name);
            if (place.space == StateSpace::global) return address_constant(operand.name, operand.offset, bytes);
            if (place.space == StateSpace::param && !place.kernel_param) break;
            if (place.space == StateSpace::local) return local_address(place.offset + static_cast<std::uint64_t>(operand.offset), bytes);
            return constant(place.offset + static_cast<std::uint64_t>(operand.offset), bytes);
        }
        default: break;
    }
    fail("an operand of {} is of the wrong kind; use a register or a number", in_quotes(at_->opcode));
}

Slot Decoder::source_predicate(const Operand& operand) {
    if (operand.kind == Operand::Kind::integer) return constant(operand.bits != 0 ? 0xFFFFFFFFu : 0, 4);
    if (operand.kind == Operand::Kind::special && special_registers()[operand.reg].name == "%is_explicit_cluster") {
        std::uint8_t bytes = 0;
        return any_source(operand, Type::b32, bytes);
    }
    if (operand.kind != Operand::Kind::reg || frame_->function->registers[operand.reg] != Type::pred)
        fail("{} needs a predicate register here; declare one with .reg .pred", in_quotes(at_->opcode));
    touch_->reads.push_back(frame_->first_register + operand.reg);
    return frame_->registers[operand.reg];
}

Slot Decoder::destination(const Operand& operand, Type type) {
    std::uint8_t bytes = 0;
    const Slot slot = any_destination(operand, type, bytes);
    if (bytes != storage_bytes(type))
        fail("the result of {} has {} bits instead of {}; use a register of the right type", in_quotes(at_->opcode), bytes * 8,
             storage_bytes(type) * 8);
    return slot;
}

Slot Decoder::any_destination(const Operand& operand, Type type, std::uint8_t& bytes) {
    bytes = static_cast<std::uint8_t>(storage_bytes(type));
    if (operand.kind == Operand::Kind::sink) return new_register(bytes);
    if (operand.kind == Operand::Kind::symbol) find_place(operand.name);  // reports an undeclared symbol
    if (operand.kind != Operand::Kind::reg) fail("the result of {} must be a register; declare one with .reg", in_quotes(at_->opcode));
    bytes = static_cast<std::uint8_t>(register_bytes(operand));
    touch_->writes.push_back(frame_->first_register + operand.reg);
    return frame_->registers[operand.reg];
}

Slot Decoder::destination_predicate(const Operand& operand) {
    if (operand.kind == Operand::Kind::sink) return kAbsent;
    if (operand.kind != Operand::Kind::reg || frame_->function->registers[operand.reg] != Type::pred)
        fail("the result of {} must be a predicate register; declare one with .reg .pred", in_quotes(at_->opcode));
    touch_->writes.push_back(frame_->first_register + operand.reg);
    return frame_->registers[operand.reg];
}

/// A predicate that is written even where nobody wants it.
Slot Decoder::predicate_result(const Operand& operand) {
    const Slot slot = destination_predicate(operand);
    return slot == kAbsent ? new_predicate() : slot;
}

/// An instruction whose operands are a result and these sources, which become a, b, c and d2; `more` operands are the caller's.
Inst Decoder::registers(const Instruction& instruction, Type result, const std::vector<Type>& sources, std::size_t more) {
    expect_operands(instruction, sources.size() + 1 + more);
    Inst inst;
    Slot* const slots[] = {&inst.a, &inst.b, &inst.c, &inst.d2};
    for (std::size_t k = 0; k < sources.size(); ++k) *slots[k] = source(instruction.operands[k + 1], sources[k]);
    inst.d = destination(instruction.operands[0], result);
    return inst;
}

void Decoder::address(const Operand& operand, Inst& inst) {
    if (operand.kind != Operand::Kind::address) fail("{} needs an address; write [%rd1+8]", in_quotes(at_->opcode));
    if (operand.reg != Operand::kNoReg) {
        Operand base = operand;
        base.kind = Operand::Kind::reg;
        const std::uint32_t bytes = register_bytes(base);
        if (bytes < 4) fail("an address register must have 32 or 64 bits; convert it first");
        inst.address_32 = bytes == 4;
        inst.a = source(base, bytes == 4 ? Type::u32 : Type::u64);
        inst.offset = operand.offset;
    } else if (!operand.name.empty()) {
        Operand symbol = operand;
        symbol.kind = Operand::Kind::symbol;
        const Place place = find_place(operand.name);
        const std::uint64_t at = place.offset + static_cast<std::uint64_t>(operand.offset);
        if (inst.space == StateSpace::generic && place.space == StateSpace::shared) {
            inst.a = constant(kSharedWindow + at, 8);
        } else if (inst.space == StateSpace::generic && place.space == StateSpace::local) {
            inst.a = local_address(kLocalWindow + at, 8);
        } else {
            inst.a = source(symbol, Type::u64);
        }
    } else {
        inst.a = constant(static_cast<std::uint64_t>(operand.offset), 8);
    }
}

std::uint64_t Decoder::immediate(const Operand& operand) const {
    if (operand.kind != Operand::Kind::integer) fail("{} needs a number here; write it in place of the register", in_quotes(at_->opcode));
    return operand.bits;
}

Choice Decoder::choice(Op op, Type type, const Words& words) const {
    return {.op = op,
            .type = type,
            .round = words.round,
            .ftz = words.ftz,
            .saturate = words.saturate,
            .approximate = words.approximate,
            .relu = words.relu,
            .finite = words.finite};
}

void Decoder::emit(Inst inst, const Choice& choice) {
    inst.fn = select_(choice);
    if (inst.fn == nullptr) unsupported();
    inst.line = at_->line;
    program_->code.push_back(inst);
}

/// The same, and its cost, which its opcode and a type determine.
void Decoder::emit(const Inst& inst, const Choice& choice, Type timed) {
    emit(inst, choice);
    time(at_->opcode, timed);
}

/// The cost of the instruction. Without an issue slot it is a renaming: it defines an alias of its source.
void Decoder::time(std::string_view opcode, Type type, std::uint32_t memory, const StaticInst* attributes) {
    const TimingRow& row = timing_of(opcode);
    if (row.slots == 0) return unite_touched();
    for (std::uint32_t slot = 0; slot < row.slots; ++slot) {
        StaticInst inst = attributes != nullptr ? *attributes : StaticInst{};
        inst.op = type == Type::f64 ? row.wide : is_float(type) ? row.single : row.integer;
        inst.pc = static_cast<std::uint32_t>(program_->timed.instructions.size());
        program_->timed.instructions.push_back(inst);
        program_->timed.memory_of.push_back(memory);
        timed_touches_.push_back(*touch_);
        note_origin();
    }
}

std::uint32_t Decoder::text_word(std::string_view word) {
    const auto [place, fresh] = text_words_.emplace(word, static_cast<std::uint32_t>(text_.words.size()));
    if (fresh) text_.words.emplace_back(word);
    return place->second;
}

SourceLine Decoder::source_line(const Location& location) {
    const std::string_view file = module_.source_file(location.file);
    if (location.line == 0 || file.empty()) return {};
    return {text_word(file), location.line};
}

/// Where the timed instruction that was added last comes from.
void Decoder::note_origin() {
    ProgramText::Origin origin;
    if (at_ != nullptr) origin = {text_word(at_->opcode), at_->line, source_line(at_->source), source_line(at_->inlined_at)};
    text_.origins.push_back(origin);
}

void Decoder::unite_touched() {
    for (const std::uint32_t written : touch_->writes) {
        for (const std::uint32_t read : touch_->reads) {
            if ((register_words_[written] == 0) != (register_words_[read] == 0)) continue;
            group_[group_of(written)] = group_of(read);
        }
    }
}

}  // namespace mergelane::ptx
