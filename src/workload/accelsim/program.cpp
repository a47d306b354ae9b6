// SPDX-License-Identifier: MIT
#include "workload/accelsim/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "workload/accelsim/sass_opcodes.hpp"
#include "workload/accelsim/text_scan.hpp"

namespace mergelane::accelsim {

namespace {

constexpr std::uint64_t kZeroRegister = 255;

bool is_opcode(std::string_view word) {
    if (word.empty() || word.front() < 'A' || word.front() > 'Z') return false;
    return std::all_of(word.begin(), word.end(), [](char c) { return c > ' ' && c <= '~'; });
}

/// Register tokens, "R<number>"; since version 6 also of the uniform file and predicates, which take no part in dependencies, as in
/// Accel-Sim. Neither does the zero register.
const char* scan_registers(const char* at, std::uint64_t count, const Grammar& grammar, StaticInst& inst, std::string& problem) {
    for (std::uint64_t i = 0; i < count; ++i) {
        at = skip_blanks(at);
        const char* digits = at;
        if (grammar.version >= 6 && *digits == 'U') ++digits;
        const bool known = *digits == 'R' || (grammar.version >= 6 && *digits == 'P');
        std::uint64_t number = 0;
        const char* const end = known ? scan_decimal(digits + 1, number) : nullptr;
        if (end == nullptr || !ends_token(*end) || number > kZeroRegister) {
            problem = fmt::format("expected a register R0 to R255{} ({} of {}), found {}", grammar.version >= 6 ? ", UR, P or UP" : "",
                                  i + 1, count, token_at(at));
            return nullptr;
        }
        const bool general = *at == 'R';
        at = end;
        if (!general || number == kZeroRegister) continue;
        inst.regs[inst.reg_count++] = static_cast<std::uint16_t>(number);
    }
    return at;
}

const char* scan_count(const char* at, std::uint64_t most, std::uint64_t& value, std::string_view what, std::string& problem) {
    at = skip_blanks(at);
    const char* const end = scan_decimal(at, value);
    if (end != nullptr && ends_token(*end) && value <= most) return end;
    problem = fmt::format("expected {} (0 to {}), found {}", what, most, token_at(at));
    return nullptr;
}

/// What the opcode says about the instruction; unknown ones take the time of an addition.
void set_operation(StaticInst& inst, const SassOpcode* known, std::string_view opcode, bool addresses) {
    inst.op = known != nullptr ? known->op : OpClass::int_add;
    if (is_memory(inst)) {
        inst.lane_bytes = static_cast<std::uint8_t>(sass_access_bytes(opcode));
        inst.bypass_l1 = sass_bypasses_l1(opcode);
        inst.space = known->space == SassSpace::local ? Space::local : known->space == SassSpace::shared ? Space::shared : Space::global;
        if (!addresses) {
            inst.op = OpClass::int_add;  // nothing to access
        } else if (known->feature == SassFeature::async_copy) {
            inst.async = true;
            inst.dst_count = 0;  // what it copies passes no register
        }
    } else if (known != nullptr && known->feature == SassFeature::copy_group) {
        inst.op = OpClass::fence;
        inst.async = true;
        inst.lane_bytes = StaticInst::kEndsGroup;
    } else if (inst.op == OpClass::barrier) {
        inst.lane_bytes = 0;  // the CTA-wide barrier 0
    }
}

}  // namespace

ProgramLine* Program::find(std::uint64_t pc, const char* text) const {
    for (ProgramLine* line = buckets_[bucket(pc)].load(std::memory_order_acquire); line != nullptr; line = line->next) {
        if (line->pc == pc && std::memcmp(line->text.data(), text, line->text.size()) == 0 && ends_token(text[line->text.size()]))
            return line;
    }
    return nullptr;
}

/// A line without mask and addresses.
struct Program::Decoded {
    std::string_view text;
    std::string_view opcode;
    std::string_view name;  ///< of the opcode, without modifiers
    const SassOpcode* known = nullptr;
    StaticInst inst;
    std::uint32_t registers = 0;
    bool addresses = false;
    bool bulk_copy = false;  ///< with its fields
    std::vector<StaticInst> parts;
    SassFeature feature() const { return known == nullptr ? SassFeature::none : known->feature; }
};

namespace {

/// The groups that DEPBAR.LE leaves incomplete are its immediate, which follows mem_width.
const char* scan_copy_wait(const char* at, StaticInst& inst) {
    std::uint64_t left = 0;
    const char* const end = scan_decimal(skip_blanks(at), left);
    const bool there = end != nullptr && ends_token(*end);
    inst.op = OpClass::fence;
    inst.async = true;
    inst.lane_bytes = static_cast<std::uint8_t>(there ? std::min<std::uint64_t>(left, StaticInst::kMostGroupsLeft) : 0);
    return there ? end : at;
}

/// Several instructions that together do what `whole` does: all wait for its registers, and the last one writes.
std::vector<StaticInst> divided(const StaticInst& whole, std::uint32_t count) {
    if (count == 1) return {};
    std::vector<StaticInst> parts(count, whole);
    for (std::uint32_t i = 0; i + 1 < count; ++i) {
        // Those that it writes come first.
        parts[i].dst_count = 0;
        parts[i].reg_count = static_cast<std::uint8_t>(whole.reg_count - whole.dst_count);
        std::copy(whole.regs.begin() + whole.dst_count, whole.regs.begin() + whole.reg_count, parts[i].regs.begin());
    }
    return parts;
}

}  // namespace

bool Program::decode(std::uint64_t pc, const char* const text, Decoded& line, std::string& problem) const {
    constexpr std::uint64_t kMostSources = StaticInst::kMaxRegs - 1;
    StaticInst& inst = line.inst;
    std::uint64_t count = 0;
    const char* at = scan_count(text, 1, count, "the number of destination registers", problem);
    if (at == nullptr || (at = scan_registers(at, count, grammar_, inst, problem)) == nullptr) return false;
    inst.dst_count = inst.reg_count;
    line.registers = static_cast<std::uint32_t>(count);

    at = skip_blanks(at);
    const char* const opcode_end = skip_token(at);
    line.opcode = {at, static_cast<std::size_t>(opcode_end - at)};
    if (!is_opcode(line.opcode)) {
        problem = fmt::format("expected an opcode in capital letters, as LDG.E or FFMA, found {}", token_at(at));
        return false;
    }
    at = scan_count(opcode_end, kMostSources, count, "the number of source registers", problem);
    if (at == nullptr || (at = scan_registers(at, count, grammar_, inst, problem)) == nullptr) return false;
    line.registers += static_cast<std::uint32_t>(count);
    std::uint64_t width = 0;
    if (grammar_.version >= 6 && line.opcode.find("GMMA") != std::string_view::npos &&
        (at = scan_count(at, 1, width, "whether the instruction ends a group of products", problem)) == nullptr)
        return false;
    if ((at = scan_count(at, 4096, width, "the width of the memory access", problem)) == nullptr) return false;

    line.name = line.opcode.substr(0, line.opcode.find('.'));
    line.known = find_sass_opcode(line.name);
    line.bulk_copy = line.feature() == SassFeature::bulk_copy && grammar_.version >= 6;
    line.addresses = width != 0 && !line.bulk_copy;
    inst.pc = static_cast<std::uint32_t>(pc);
    set_operation(inst, line.known, line.opcode, width != 0);
    if (line.feature() == SassFeature::copy_wait && grammar_.sm_version >= 80 && line.opcode.starts_with("DEPBAR.LE"))
        at = scan_copy_wait(at, inst);
    if (inst.op == OpClass::tensor) line.parts = divided(inst, sass_tensor_slots(line.opcode));
    if (line.feature() == SassFeature::matrix_rows && is_memory(inst)) {
        // One access for each matrix, a word for each lane (ADR 0036).
        inst.lane_bytes = 4;
        line.parts = std::vector<StaticInst>(1, inst);
        if (const std::uint32_t matrices = sass_matrices(line.opcode); matrices != 1) line.parts = divided(inst, matrices);
        inst.lane_bytes = 16;
    }
    line.text = {text, static_cast<std::size_t>(at - text)};
    if (line.text.size() <= kMostText) return true;
    problem = fmt::format("registers and opcode of a line take more than {} characters; is the file damaged?", kMostText);
    return false;
}

ProgramLine* Program::add(std::uint64_t pc, const char* const text, std::string& problem) {
    Decoded line;
    if (!decode(pc, text, line, problem)) return nullptr;
    const std::string_view untimed = sass_untimed(line.feature());
    if (grammar_.timed && !untimed.empty()) {
        problem = fmt::format("{} is {}, which has no timing yet; 'mergelane profile' reads this trace", shown(line.opcode), untimed);
        return nullptr;
    }
    if (grammar_.timed && line.known == nullptr && line.addresses) {
        problem = fmt::format("{} accesses memory, but how is unknown; add it to the table in src/workload/accelsim/sass_opcodes.cpp",
                              shown(line.opcode));
        return nullptr;
    }
    return keep(pc, text, line, problem);
}

ProgramLine* Program::keep(std::uint64_t pc, const char* const text, Decoded& line, std::string& problem) {
    const std::lock_guard lock(mutex_);
    if (ProgramLine* twin = find(pc, text)) return twin;  // another thread added it first
    std::atomic<ProgramLine*>& head = buckets_[bucket(pc)];
    ProgramLine* const next = head.load(std::memory_order_relaxed);
    const std::uint32_t depth = next == nullptr ? 1 : next->depth + 1;
    if (lines_.size() == kMostLines || depth > kMostDepth) {
        problem = fmt::format("more than {} different instructions {}; is the file damaged?", depth > kMostDepth ? kMostDepth : kMostLines,
                              depth > kMostDepth ? "at one place of the program" : "in one kernel");
        return nullptr;
    }
    if (line.known == nullptr && unknown_.size() < 1000) unknown_.emplace(line.name.substr(0, 40));
    if (!sass_untimed(line.feature()).empty()) untimed_.emplace(line.name);
    if (line.feature() == SassFeature::replay) replay_regions_.store(true, std::memory_order_relaxed);
    ProgramLine& kept = lines_.emplace_back();
    kept.pc = pc;
    kept.text = line.text;
    kept.inst = kept.local_inst = kept.shared_inst = line.inst;
    kept.parts = std::move(line.parts);
    kept.kind = line.bulk_copy ? LineKind::bulk_copy : line.feature() == SassFeature::replay ? LineKind::replay_mark : LineKind::plain;
    kept.registers = static_cast<std::uint8_t>(line.registers);
    kept.matrices = line.feature() == SassFeature::matrix_rows;
    kept.addresses = line.addresses;
    kept.generic = line.known != nullptr && line.known->space == SassSpace::generic && line.addresses;
    kept.local_inst.space = Space::local;
    kept.shared_inst.space = Space::shared;
    kept.next = next;
    kept.depth = depth;
    head.store(&kept, std::memory_order_release);
    return &kept;
}

void Program::remember(ProgramLine& line, AddressPattern&& pattern) {
    const std::lock_guard lock(mutex_);
    if (line.pattern.load(std::memory_order_relaxed) != nullptr) return;  // another thread added it first
    line.pattern.store(&patterns_.emplace_back(std::move(pattern)), std::memory_order_release);
}

const Passage* Program::remember(ProgramLine& line, Passage&& passage) {
    const std::lock_guard lock(mutex_);
    for (std::atomic<const Passage*>& follower : line.followers) {
        const Passage* const known = follower.load(std::memory_order_relaxed);
        if (known != nullptr && known->text == passage.text) return known;  // another thread added it first
        if (known != nullptr || full_.load(std::memory_order_relaxed)) continue;
        const Passage* const kept = &passages_.emplace_back(std::move(passage));
        full_.store(passages_.size() == kMostPassages, std::memory_order_relaxed);
        follower.store(kept, std::memory_order_release);
        return kept;
    }
    return nullptr;
}

std::set<std::string> Program::unknown_opcodes() const {
    const std::lock_guard lock(mutex_);
    return unknown_;
}

std::set<std::string> Program::untimed_opcodes() const {
    const std::lock_guard lock(mutex_);
    return untimed_;
}

}  // namespace mergelane::accelsim
