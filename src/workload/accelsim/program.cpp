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

/// "R<number>" tokens; the zero register has no dependencies.
const char* scan_registers(const char* at, std::uint64_t count, StaticInst& inst, std::string& problem) {
    for (std::uint64_t i = 0; i < count; ++i) {
        at = skip_blanks(at);
        std::uint64_t number = 0;
        const char* const end = *at == 'R' ? scan_decimal(at + 1, number) : nullptr;
        if (end == nullptr || !ends_token(*end) || number > kZeroRegister) {
            problem = fmt::format("expected a register R0 to R255 ({} of {}), found {}", i + 1, count, token_at(at));
            return nullptr;
        }
        at = end;
        if (number == kZeroRegister) continue;
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
        if (!addresses) inst.op = OpClass::int_add;  // nothing to access
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

ProgramLine* Program::add(std::uint64_t pc, const char* const text, std::string& problem) {
    constexpr std::uint64_t kMostSources = StaticInst::kMaxRegs - 1;
    StaticInst inst;
    std::uint64_t count = 0;
    const char* at = scan_count(text, 1, count, "the number of destination registers", problem);
    if (at == nullptr || (at = scan_registers(at, count, inst, problem)) == nullptr) return nullptr;
    inst.dst_count = inst.reg_count;

    at = skip_blanks(at);
    const char* const opcode_end = skip_token(at);
    const std::string_view opcode(at, static_cast<std::size_t>(opcode_end - at));
    if (!is_opcode(opcode)) {
        problem = fmt::format("expected an opcode in capital letters, as LDG.E or FFMA, found {}", token_at(at));
        return nullptr;
    }
    at = scan_count(opcode_end, kMostSources, count, "the number of source registers", problem);
    if (at == nullptr || (at = scan_registers(at, count, inst, problem)) == nullptr) return nullptr;
    std::uint64_t width = 0;
    if ((at = scan_count(at, 4096, width, "the width of the memory access", problem)) == nullptr) return nullptr;
    const std::string_view whole(text, static_cast<std::size_t>(at - text));
    if (whole.size() > kMostText) {
        problem = fmt::format("registers and opcode of a line take more than {} characters; is the file damaged?", kMostText);
        return nullptr;
    }

    const std::string_view name = opcode.substr(0, opcode.find('.'));
    const SassOpcode* const known = find_sass_opcode(name);
    inst.pc = static_cast<std::uint32_t>(pc);
    set_operation(inst, known, opcode, width != 0);
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
    if (known == nullptr && unknown_.size() < 1000) unknown_.emplace(name.substr(0, 40));
    ProgramLine& kept = lines_.emplace_back();
    kept.pc = pc;
    kept.text = whole;
    kept.inst = kept.local_inst = kept.shared_inst = inst;
    kept.addresses = width != 0;
    kept.generic = known != nullptr && known->space == SassSpace::generic && width != 0;
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

}  // namespace mergelane::accelsim
