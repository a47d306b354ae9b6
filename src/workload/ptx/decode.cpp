// SPDX-License-Identifier: MIT
// Layout and blocks; the instructions themselves are in decode_operands.cpp, decode_arithmetic.cpp and decode_memory.cpp.
#include "workload/ptx/decode.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "workload/ptx/timing_table.hpp"

namespace mergelane::ptx {

namespace {

constexpr std::uint64_t kMostRegisterBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kMostSharedBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostLocalBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostLivenessWork = std::uint64_t{1} << 28;
constexpr std::uint32_t kRegistersOnTop = 6;  ///< registers that the assembler needs besides the program's own values
constexpr std::uint32_t kFewestRegisters = 16;
constexpr std::uint32_t kMostRegisters = 255;

std::uint64_t align_up(std::uint64_t value, std::uint64_t align) {
    return (value + align - 1) / align * align;
}
/// For the warps of a CTA; "bar.warp" is for lanes of a warp and has no effect here.
bool is_barrier(const Instruction& instruction) {
    return (instruction.words[0] == "bar" || instruction.words[0] == "barrier") && !instruction.has("warp");
}
/// Lanes that take part should arrive together.
bool is_for_several_lanes(const Instruction& instruction) {
    return is_barrier(instruction) || (instruction.has("sync") && instruction.words[0] != "cp");
}
/// Spin loops contain one of these.
bool may_wait(const Instruction& instruction) {
    const std::string_view word = instruction.words[0];
    if (word == "ld")
        return instruction.has("volatile") || instruction.has("relaxed") || instruction.has("acquire") || instruction.has("cv") ||
               instruction.has("cg");
    if (word == "mbarrier") return instruction.has("test_wait") || instruction.has("try_wait");
    return word == "atom" || word == "nanosleep" || word == "call";
}

}  // namespace

Decoder::Decoder(const Module& module, Select select) : module_(module), select_(select), program_(std::make_unique<Program>()) {}

std::unique_ptr<Program> Decoder::run(std::string_view kernel) {
    const Function& entry = module_.kernel(kernel);
    program_->name = std::string(kernel);
    collect_all(entry);
    place_shared();
    find_recursion();
    for (const auto& frame : frames_) {
        if (frame->recursive == kNone) place_frame(*frame);
    }
    const std::uint32_t first_local = program_->local_bytes;
    for (const auto& frame : frames_) {
        if (frame->recursive != kNone) place_frame(*frame);
    }
    place_recursion(first_local);
    for (const auto& frame : frames_) find_blocks(*frame);
    for (const auto& frame : frames_) decode_frame(*frame);
    share_spacing();
    finish_timing();
    if (entry.registers_per_thread != 0) {
        program_->registers_per_thread = entry.registers_per_thread;
        program_->registers_from = RegisterCount::cubin;
    }
    text_.file = module_.file_name();
    program_->timed.text = std::make_shared<const ProgramText>(std::move(text_));
    program_->register_bytes = static_cast<std::uint32_t>(align_up(std::max(program_->register_bytes, 64u), 64));
    if (program_->pool.empty()) program_->pool.resize(64);
    return std::move(program_);
}

/// Unrolled loops have many accesses with the same few address registers: the first one in a block looks at the lanes for all.
void Decoder::share_spacing() {
    for (const Block& block : program_->blocks) {
        std::array<const Inst*, kSpacings> known{};  // accesses since which their address registers have not been written
        std::uint8_t next = 0;
        const auto written = [&](Slot slot) {
            for (const Inst*& access : known) access = access != nullptr && access->a == slot ? nullptr : access;
        };
        for (std::uint32_t at = block.first; at < block.end; ++at) {
            Inst& inst = program_->code[at];
            if (inst.access) {
                const auto same = std::find_if(known.begin(), known.end(), [&](const Inst* access) {
                    return access != nullptr && access->a == inst.a && access->address_32 == inst.address_32;
                });
                if (same != known.end()) inst.spacing = Spacing::same;
                inst.spacing_at = same != known.end() ? (*same)->spacing_at : next++ % kSpacings;
                known[inst.spacing_at] = &inst;
            }
            written(inst.d);
            written(inst.d2);
            if (inst.list == kNone || (inst.access && inst.store)) continue;
            if (!inst.access) known.fill(nullptr);
            for (std::uint32_t e = 0; inst.access && e < inst.count; ++e) written(program_->lists[inst.list + e]);
        }
    }
}

/// Static shared memory of all functions, then the dynamic part.
void Decoder::place_shared() {
    std::set<std::string_view> used;
    std::uint64_t at = 0;
    const auto visit = [&](const auto& self, const Operand& operand) -> void {
        if (!operand.name.empty()) used.insert(operand.name);
        if (operand.kind == Operand::Kind::special && special_registers()[operand.reg].name.starts_with("%reserved_smem"))
            at = program_->reserved_shared = kReservedShared;
        for (const Operand& part : operand.parts) self(self, part);
    };
    for (const auto& frame : frames_) {
        for (const Instruction& instruction : frame->function->code) {
            for (const Operand& operand : instruction.operands) visit(visit, operand);
        }
    }
    std::uint64_t dynamic_align = 16;
    const auto put = [&](const Variable& variable) {
        at = align_up(at, variable.align);
        const Place place{StateSpace::shared, false, at, variable.bytes};
        at += variable.bytes;
        if (at > kMostSharedBytes) {
            fail_at(module_.file_name(), variable.line, "{} needs more than {} bytes of shared memory; make it smaller",
                    in_quotes(program_->name), kMostSharedBytes);
        }
        return place;
    };
    for (const Variable& variable : module_.variables()) {
        if (variable.space != StateSpace::shared || !used.contains(variable.name)) continue;
        if (variable.external || variable.bytes == 0)
            dynamic_align = std::max<std::uint64_t>(dynamic_align, variable.align);
        else
            shared_[variable.name] = put(variable);
    }
    for (const auto& frame : frames_) {
        for (const Variable& variable : frame->function->variables) {
            if (variable.space == StateSpace::shared && variable.bytes > 0) frame->variables[variable.name] = put(variable);
        }
    }
    program_->shared_bytes = static_cast<std::uint32_t>(at);
    program_->dynamic_shared = static_cast<std::uint32_t>(align_up(at, dynamic_align));
    for (const Variable& variable : module_.variables()) {
        if (variable.space == StateSpace::shared && used.contains(variable.name) && (variable.external || variable.bytes == 0))
            shared_[variable.name] = {StateSpace::shared, false, program_->dynamic_shared, 0};
    }
}

void Decoder::place_frame(Frame& frame) {
    const Function& function = *frame.function;
    frame.first_register = register_count_;
    const std::uint32_t first_param = program_->parameter_bytes;
    frame.waits.assign(1, 0);
    for (const Instruction& instruction : function.code) frame.waits.push_back(frame.waits.back() + (may_wait(instruction) ? 1 : 0));
    for (const Type type : function.registers) {
        frame.registers.push_back(type == Type::pred ? new_predicate() : new_register(std::max(type_bytes(type), 2u)));
        group_.push_back(register_count_++);
        register_words_.push_back(static_cast<std::uint8_t>(type == Type::pred ? 0 : (type_bytes(type) + 3) / 4));
    }
    const auto put_local = [&](const Variable& variable, std::uint32_t& total, StateSpace space) {
        const std::uint64_t at = align_up(total, variable.align);
        if (at + variable.bytes > kMostLocalBytes)
            fail_at(module_.file_name(), variable.line, "{} is too large for a thread's own memory; make it smaller",
                    in_quotes(variable.name));
        total = static_cast<std::uint32_t>(at + variable.bytes);
        frame.variables[variable.name] = {space, false, at, variable.bytes};
    };
    for (const Variable& variable : function.variables) {
        if (variable.space == StateSpace::local) put_local(variable, program_->local_bytes, StateSpace::local);
        if (variable.space == StateSpace::param) put_local(variable, program_->parameter_bytes, StateSpace::param);
    }
    if (function.entry) {
        const std::vector<std::uint32_t> offsets = function.param_offsets();
        for (std::size_t p = 0; p < function.params.size(); ++p)
            frame.variables[function.params[p].name] = {StateSpace::param, true, offsets[p], function.params[p].bytes};
    } else {
        for (const Variable& variable : function.params) put_local(variable, program_->parameter_bytes, StateSpace::param);
        for (const Variable& variable : function.returns) put_local(variable, program_->parameter_bytes, StateSpace::param);
    }
    program_->local_bytes = static_cast<std::uint32_t>(align_up(program_->local_bytes, 16));
    program_->parameter_bytes = static_cast<std::uint32_t>(align_up(program_->parameter_bytes, 16));
    if (frame.recursive == kNone) return;
    RecursiveFrame& kept = program_->recursive[frame.recursive];
    kept.params = first_param;
    kept.params_end = program_->parameter_bytes;
    for (std::size_t r = 0; r < frame.registers.size(); ++r) {
        const Type type = function.registers[r];
        kept.registers.push_back({frame.registers[r], static_cast<std::uint8_t>(type == Type::pred ? 0 : std::max(type_bytes(type), 2u))});
    }
}

Slot Decoder::new_register(std::uint32_t bytes) {
    const std::uint64_t at = program_->register_bytes;
    if (at + std::uint64_t{bytes} * 32 > kMostRegisterBytes)
        fail_at(module_.file_name(), 1, "{} uses too many registers; split the kernel", in_quotes(program_->name));
    program_->register_bytes += bytes * 32;
    return static_cast<Slot>(at);
}

Slot Decoder::new_predicate() {
    if (predicate_room_ == 0) {
        next_predicate_ = new_register(2);
        predicate_room_ = 16;
    }
    --predicate_room_;
    const Slot slot = next_predicate_;
    next_predicate_ += 4;
    return slot;
}

/// A number, repeated for 32 lanes.
Slot Decoder::constant(std::uint64_t bits, std::uint32_t bytes) {
    const auto [place, fresh] = constants_.emplace(std::pair{bits, bytes}, 0);
    if (fresh) {
        const std::size_t at = program_->pool.size();
        program_->pool.resize(at + std::size_t{bytes} * 32);
        for (std::size_t i = 0; i < std::size_t{bytes} * 32; ++i) program_->pool[at + i] = static_cast<std::byte>(bits >> 8 * (i % bytes));
        place->second = static_cast<Slot>(at | 0x80000000u);
    }
    return place->second;
}

Slot Decoder::address_constant(std::string_view symbol, std::int64_t addend, std::uint32_t bytes) {
    const auto [place, fresh] = address_constants_.emplace(std::pair{symbol, std::pair{addend, bytes}}, 0);
    if (fresh) {
        const std::size_t at = program_->pool.size();
        program_->pool.resize(at + std::size_t{bytes} * 32);
        program_->pool_addresses.push_back({static_cast<std::uint32_t>(at), bytes, symbol, addend});
        place->second = static_cast<Slot>(at | 0x80000000u);
    }
    return place->second;
}

bool Decoder::ends_block(const Instruction& instruction) {
    const std::string_view word = instruction.words[0];
    if (is_barrier(instruction)) return true;
    return word == "bra" || word == "brx" || word == "ret" || word == "exit" || word == "trap" || word == "call";
}

/// ld, st, atom, red, wmma.load, wmma.store without a state space: the target is known only at execution. Of a bulk copy each lane's is a
/// run of its own.
bool Decoder::is_generic_access(const Instruction& instruction) const {
    const std::string_view word = instruction.words[0];
    if (word == "cp") return is_bulk_copy(instruction);
    if (word == "wmma") return !instruction.has("mma") && space_word(instruction) == StateSpace::generic;
    if (word != "ld" && word != "st" && word != "atom" && word != "red") return false;
    return space_word(instruction) == StateSpace::generic;
}

/// Whether a backward branch leads over an instruction that may wait for other threads.
bool Decoder::may_spin(const Frame& frame) {
    const std::vector<Instruction>& code = frame.function->code;
    for (std::size_t i = 0; i < code.size(); ++i) {
        if (code[i].words[0] != "bra") continue;
        const std::uint64_t target = code[i].operands[0].bits;
        if (target < i && frame.waits[target] != frame.waits[i]) return true;
    }
    return false;
}

void Decoder::find_blocks(Frame& frame) {
    const std::vector<Instruction>& code = frame.function->code;
    const std::size_t count = code.size();
    std::vector<bool> leads(count + 1, false);
    leads[0] = true;
    for (std::size_t i = 0; i < count; ++i) {
        if (code[i].words[0] == "bra") leads[code[i].operands[0].bits] = true;
        const bool own = !ends_block(code[i]) && (code[i].guard != Operand::kNoReg || is_generic_access(code[i]));
        if (own || (code[i].guard != Operand::kNoReg && is_barrier(code[i]))) leads[i] = true;
        if (own || ends_block(code[i])) leads[i + 1] = true;
    }
    for (const auto& [name, targets] : frame.function->branch_tables) {
        for (const std::uint64_t target : targets) leads[target] = true;
    }
    frame.spins = may_spin(frame);
    for (std::size_t i = 0; frame.spins && i < count; ++i) leads[i] = leads[i] || is_for_several_lanes(code[i]);
    frame.first_block = static_cast<std::uint32_t>(program_->blocks.size());
    frame.block_at.assign(count + 1, kNone);
    // The position after the last instruction is a block too: falling off the end is a return.
    for (std::size_t i = 0; i <= count; ++i) {
        if (!leads[i] && i != count) continue;
        frame.block_at[i] = static_cast<std::uint32_t>(frame.spans.size());
        if (!frame.spans.empty()) frame.spans.back().end = static_cast<std::uint32_t>(i);
        frame.spans.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(count)});
    }
    frame.graph.resize(frame.spans.size());
    for (std::uint32_t b = 0; b < frame.spans.size(); ++b) {
        std::vector<std::uint32_t>& next = frame.graph[b];
        if (frame.spans[b].first == count) {
            next = {kNoBlock};
            continue;
        }
        const Instruction& last = code[frame.spans[b].end - 1];
        const std::string_view word = last.words[0];
        bool goes_on = last.guard != Operand::kNoReg;
        if (word == "bra") {
            next.push_back(frame.block_at[last.operands[0].bits]);
        } else if (word == "brx") {
            const auto& tables = frame.function->branch_tables;
            const auto table = last.operands.size() == 2 ? tables.find(last.operands[1].name) : tables.end();
            if (table != tables.end()) {
                for (const std::uint64_t target : table->second) next.push_back(frame.block_at[target]);
            }
        } else if (word == "ret" || word == "exit" || word == "trap") {
            next.push_back(kNoBlock);
        } else {
            goes_on = true;
        }
        if (goes_on) next.push_back(b + 1);
    }
    program_->blocks.resize(program_->blocks.size() + frame.spans.size());
}

void Decoder::decode_frame(Frame& frame) {
    frame_ = &frame;
    const std::vector<Instruction>& code = frame.function->code;
    frame.touches.resize(code.size());
    frame.first_timed = static_cast<std::uint32_t>(program_->timed.instructions.size());
    const std::vector<std::uint32_t> joins = post_dominators(frame.graph);
    Touches at_the_end;
    for (std::uint32_t b = 0; b < frame.spans.size(); ++b) {
        Block block;
        const FlowBlock& span = frame.spans[b];
        block.first = static_cast<std::uint32_t>(program_->code.size());
        block.join = joins[b] == kNoBlock ? kNone : frame.first_block + joins[b];
        block.steps = span.end - span.first;
        block.meets = frame.spins && span.first < span.end && is_for_several_lanes(code[span.first]);
        const auto first_timed = static_cast<std::uint32_t>(program_->timed.instructions.size());
        for (std::uint32_t i = span.first; i < span.end; ++i) {
            at_ = &code[i];
            touch_ = &frame.touches[i];
            touches_special_ = false;
            check_modifiers(code[i]);
            if (ends_block(code[i])) {
                block.end = static_cast<std::uint32_t>(program_->code.size());
                decode_end(code[i], i, block);
            } else {
                decode_guard(code[i], block.guard, block.guard_negated);
                block.generic = is_generic_access(code[i]);
                decode(code[i]);
                block.end = static_cast<std::uint32_t>(program_->code.size());
                // A register that is not written in all lanes keeps old values, so it is also read.
                if (code[i].guard != Operand::kNoReg)
                    touch_->reads.insert(touch_->reads.end(), touch_->writes.begin(), touch_->writes.end());
            }
        }
        if (span.first == code.size()) {
            block.end = block.first;
            block.how = End::ret;
            at_ = nullptr;
            touch_ = &at_the_end;
            time(frame.function->entry ? "ret.entry" : "ret", Type::b32);
            block.steps = 1;
        }
        add_runs(block, first_timed);
        program_->blocks[frame.first_block + b] = block;
    }
    frame.end_timed = static_cast<std::uint32_t>(program_->timed.instructions.size());
}

/// The runs of a block: one, or those of an instruction that says itself which one it is.
void Decoder::add_runs(Block& block, std::uint32_t first_timed) {
    const auto timed = static_cast<std::uint32_t>(program_->timed.instructions.size()) - first_timed;
    const bool of_lanes = block.generic && timed == 1 && has_values(program_->timed.instructions[first_timed]);
    std::uint32_t runs = timed != 0 ? 1 : 0;
    if (block.generic && timed != 0 && timed % 3 == 0) runs = 3;  // the same accesses to global, shared or local memory
    block.generic = runs == 3 || of_lanes;
    if (runs == 0) return;
    block.run = static_cast<std::uint32_t>(program_->timed.runs.size());
    for (std::uint32_t k = 0; k < runs; ++k) program_->timed.runs.push_back({first_timed + k * (timed / runs), timed / runs});
    if (block.generic) program_->code.back().generic_run = block.run;
}

/// The predicate of an instruction, if it has one.
void Decoder::decode_guard(const Instruction& instruction, Slot& guard, bool& negated) {
    if (instruction.guard == Operand::kNoReg) return;
    guard = frame_->registers[instruction.guard];
    negated = instruction.guard_negated;
    touch_->reads.push_back(frame_->first_register + instruction.guard);
}

void Decoder::decode_end(const Instruction& instruction, std::uint32_t index, Block& block) {
    const std::string_view word = instruction.words[0];
    decode_guard(instruction, block.end_guard, block.end_negated);
    if (word == "bra") {
        block.how = End::branch;
        const std::uint32_t target = frame_->block_at[instruction.operands[0].bits];
        block.target = frame_->first_block + target;
        const std::uint64_t first = instruction.operands[0].bits;
        block.spins = first < index && frame_->waits[first] != frame_->waits[index];
        time("bra", Type::b32);
    } else if (word == "brx") {
        if (instruction.operands.size() != 2) fail("brx.idx needs an index and a table; write: brx.idx %r1, TABLE;");
        TableSite site;
        site.index = source(instruction.operands[0], Type::u32);
        const auto table = frame_->function->branch_tables.find(instruction.operands[1].name);
        if (table == frame_->function->branch_tables.end() || table->second.empty())
            fail("table {} does not exist; write: {}: .branchtargets ...", in_quotes(instruction.operands[1].name), "TABLE");
        for (const std::uint64_t target : table->second) site.targets.push_back(frame_->first_block + frame_->block_at[target]);
        block.how = End::table;
        block.target = static_cast<std::uint32_t>(program_->tables.size());
        program_->tables.push_back(std::move(site));
        time("brx", Type::b32);
    } else if (word == "call") {
        decode_call(instruction, block);
    } else if (is_barrier(instruction)) {
        decode_barrier(instruction, block);
    } else {
        const bool leaves = word == "exit" || word == "trap";
        block.line = instruction.line;
        block.how = word == "trap" ? End::trap : leaves ? End::exit : End::ret;
        time(leaves || frame_->function->entry ? "ret.entry" : "ret", Type::b32);
    }
}

void Decoder::decode_barrier(const Instruction& instruction, Block& block) {
    if (instruction.has("cluster")) return cluster_barrier(instruction, block);
    for (const std::string_view word : {"wait", "release", "acquire", "relaxed"}) {
        if (instruction.has(word)) unsupported();
    }
    BarrierSite site;
    std::size_t k = 0;
    const auto& operands = instruction.operands;
    const bool reduction = instruction.has("red");
    const bool population = instruction.has("popc");
    if (reduction) {
        expect_operands(instruction, 3, 4);
        site.op = population ? BarrierOp::red_popc : instruction.has("and") ? BarrierOp::red_and : BarrierOp::red_or;
        site.result = population ? destination(operands[k++], Type::u32) : destination_predicate(operands[k++]);
    } else {
        expect_operands(instruction, 1, 2);
        if (instruction.has("arrive")) site.op = BarrierOp::arrive;
    }
    const bool fixed = operands[k].kind == Operand::Kind::integer;
    const std::uint64_t number = fixed ? operands[k].bits : 0;
    if (number > 15) fail("barrier {} does not exist; use 0 to 15", number);
    site.id = source(operands[k++], Type::u32);
    if (k + (reduction ? 1u : 0u) < operands.size()) site.threads = source(operands[k++], Type::u32);
    if (reduction) {
        site.negate = operands[k].negated;
        site.predicate = source_predicate(operands[k]);
    }
    if (site.op == BarrierOp::arrive && site.threads == kAbsent) fail("bar.arrive needs the number of threads; write: bar.arrive 0, 64;");
    block.how = End::barrier;
    block.target = static_cast<std::uint32_t>(program_->barriers.size());
    program_->barriers.push_back(site);
    StaticInst attributes;
    attributes.lane_bytes = static_cast<std::uint8_t>(number);
    time(site.threads == kAbsent ? "bar" : site.op == BarrierOp::arrive ? "bar.arrive" : "bar.partial", Type::b32, kNone, &attributes);
}

std::uint32_t Decoder::group_of(std::uint32_t reg) {
    while (group_[reg] != reg) reg = group_[reg] = group_[group_[reg]];
    return reg;
}

/// Small numbers for the registers that the timing model tracks, and an estimate of the registers per thread.
void Decoder::finish_timing() {
    std::uint32_t names = 0;
    std::uint32_t most_words = 0;
    for (const auto& frame : frames_) {
        const std::size_t count = frame->function->registers.size();
        std::vector<std::uint32_t> group(count);
        std::vector<std::uint8_t> sizes(count);
        for (std::uint32_t r = 0; r < count; ++r) {
            group[r] = group_of(frame->first_register + r) - frame->first_register;
            sizes[r] = register_words_[frame->first_register + r];
        }
        std::vector<Touches> local = frame->touches;
        for (Touches& touches : local) {
            for (std::uint32_t& r : touches.reads) r -= frame->first_register;
            for (std::uint32_t& r : touches.writes) r -= frame->first_register;
        }
        Lifetimes life;
        if (std::uint64_t{frame->spans.size()} * (count + 64) <= kMostLivenessWork) {
            life = lifetimes(frame->graph, frame->spans, local, sizes, group);
        } else {
            life.name = group;
            life.names = static_cast<std::uint32_t>(count);
            life.most_words = kMostRegisters;
        }
        most_words += life.most_words;
        for (std::uint32_t t = frame->first_timed; t < frame->end_timed; ++t) {
            StaticInst& inst = program_->timed.instructions[t];
            const auto add = [&](std::uint32_t reg) {
                const auto name = static_cast<std::uint16_t>((names + life.name[reg - frame->first_register]) & 0xFFFF);
                for (std::uint32_t k = 0; k < inst.reg_count; ++k) {
                    if (inst.regs[k] == name) return false;
                }
                if (inst.reg_count == StaticInst::kMaxRegs) return false;
                inst.regs[inst.reg_count++] = name;
                return true;
            };
            for (const std::uint32_t r : timed_touches_[t].writes)
                inst.dst_count = static_cast<std::uint8_t>(inst.dst_count + (add(r) ? 1 : 0));
            for (const std::uint32_t r : timed_touches_[t].reads) add(r);
        }
        names += life.names;
    }
    program_->register_slots = std::min<std::uint32_t>(std::max(names, 1u), 65536);
    program_->registers_per_thread = std::clamp(most_words + kRegistersOnTop, kFewestRegisters, kMostRegisters);
}

}  // namespace mergelane::ptx
