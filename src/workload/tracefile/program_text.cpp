// SPDX-License-Identifier: MIT
#include "workload/tracefile/program_text.hpp"

#include <fmt/format.h>

#include "workload/tracefile/format.hpp"

namespace mergelane::tracefile {

namespace {

constexpr std::uint64_t kMostLine = 1 << 30;
constexpr std::uint8_t kHasHint = 0x80;  ///< shares a byte with the class: a byte follows, L2Hint::byte()

StaticInst read_instruction(Scanner& in, std::uint32_t previous_pc, std::uint32_t register_slots) {
    StaticInst inst;
    inst.pc = static_cast<std::uint32_t>(previous_pc + static_cast<std::uint64_t>(in.signed_number()));
    const std::uint8_t first = in.byte();
    const std::uint8_t op = first & ~kHasHint;
    if (op > static_cast<std::uint8_t>(OpClass::exit)) throw Damage{fmt::format("class {} of an instruction is unknown", op)};
    inst.op = static_cast<OpClass>(op);
    if ((first & kHasHint) != 0) {
        const std::uint8_t hint = in.byte();
        if (hint == 0 || hint > L2Hint::kMost) throw Damage{fmt::format("L2 hint {} is unknown", hint)};
        inst.l2_hint = L2Hint::from_byte(hint);
    }
    const std::uint8_t where = in.byte();
    if ((where & 3) > static_cast<std::uint8_t>(Space::shared)) throw Damage{fmt::format("memory space {} is unknown", where & 3)};
    inst.space = static_cast<Space>(where & 3);
    inst.bypass_l1 = (where & 0x80) != 0;
    inst.async = (where & 0x40) != 0;
    inst.async_op = static_cast<AsyncOp>(where >> 2 & 15);
    if ((where >> 2 & 15) >= kAsyncOps || (!inst.async && inst.async_op != AsyncOp::copy))
        throw Damage{fmt::format("asynchronous operation {} is unknown", where >> 2 & 15)};
    inst.lane_bytes = in.byte();
    if (has_values(inst) && !is_memory(inst)) throw Damage{"an asynchronous operation has a wrong class"};
    if (is_memory(inst) && (inst.lane_bytes == 0 || inst.lane_bytes > 16))
        throw Damage{fmt::format("a lane accesses {} bytes; 1 to 16 are possible", inst.lane_bytes)};
    const std::uint8_t counts = in.byte();
    inst.dst_count = counts >> 4;
    inst.reg_count = counts & 15;
    if (inst.reg_count > StaticInst::kMaxRegs || inst.dst_count > inst.reg_count)
        throw Damage{"an instruction has an impossible number of registers"};
    for (std::uint32_t r = 0; r < inst.reg_count; ++r) {
        const std::uint64_t number = in.varint();
        if (number >= register_slots) throw Damage{fmt::format("register {} is used, but only {} are declared", number, register_slots)};
        inst.regs[r] = static_cast<std::uint16_t>(number);
    }
    return inst;
}

std::uint32_t read_number(Scanner& in, std::uint64_t most, std::string_view what) {
    return static_cast<std::uint32_t>(in.at_most(most, what));
}

SourceLine read_line(Scanner& in, std::size_t words) {
    const std::uint32_t file = read_number(in, words - 1, "the number of a file name");
    return {file, read_number(in, kMostLine, "a line number")};
}

ProgramText read_text_of_program(Scanner& in) {
    ProgramText text;
    text.file = in.text("the length of the PTX's name");
    const std::uint64_t words = in.at_most(kMostInstructions, "the number of words");
    if (words > in.left()) throw Damage{"it ends before its last word"};
    for (std::uint64_t w = 0; w < words; ++w) text.words.push_back(in.text("the length of a word"));
    const std::uint64_t count = in.at_most(kMostInstructions, "the number of lines");
    if (count > in.left() / 6) throw Damage{"it ends before its last line"};
    for (std::uint64_t i = 0; i < count; ++i) {
        ProgramText::Origin& origin = text.origins.emplace_back();
        origin.opcode = read_number(in, words, "the number of an opcode");
        origin.ptx_line = read_number(in, kMostLine, "a line number");
        origin.source = read_line(in, text.words.size());
        origin.inlined_at = read_line(in, text.words.size());
    }
    return text;
}

}  // namespace

void put_text_of_program(std::string& to, const ProgramText& text, RegisterCount registers_from, const Dim3& cluster) {
    to.push_back(static_cast<char>(registers_from));
    put_text(to, text.file);
    put_varint(to, text.words.size() - 1);  // the first is empty
    for (std::size_t w = 1; w < text.words.size(); ++w) put_text(to, text.words[w]);
    put_varint(to, text.origins.size());
    for (const ProgramText::Origin& origin : text.origins) {
        for (const std::uint32_t number :
             {origin.opcode, origin.ptx_line, origin.source.file, origin.source.line, origin.inlined_at.file, origin.inlined_at.line})
            put_varint(to, number);
    }
    if (cluster == Dim3{}) return;
    for (const std::uint32_t side : {cluster.x, cluster.y, cluster.z}) put_varint(to, side);
}

void put_instruction(std::string& to, const StaticInst& inst, std::uint32_t previous_pc) {
    put_signed(to, static_cast<std::int64_t>(inst.pc) - static_cast<std::int64_t>(previous_pc));
    to.push_back(static_cast<char>(static_cast<std::uint8_t>(inst.op) | (inst.l2_hint.any() ? kHasHint : 0)));
    if (inst.l2_hint.any()) to.push_back(static_cast<char>(inst.l2_hint.byte()));
    to.push_back(static_cast<char>(static_cast<std::uint8_t>(inst.space) | static_cast<std::uint8_t>(inst.async_op) << 2 |
                                   (inst.bypass_l1 ? 0x80 : 0) | (inst.async ? 0x40 : 0)));
    to.push_back(static_cast<char>(inst.lane_bytes));
    to.push_back(static_cast<char>(inst.dst_count << 4 | inst.reg_count));
    for (std::uint32_t r = 0; r < inst.reg_count; ++r) put_varint(to, inst.regs[r]);
}

std::string encode_program(const std::vector<StaticInst>& instructions, const std::vector<std::vector<std::uint32_t>>& runs,
                           const std::vector<Addr>& references) {
    std::string out;
    put_varint(out, instructions.size());
    std::uint32_t pc = 0;
    for (const StaticInst& inst : instructions) {
        put_instruction(out, inst, pc);
        pc = inst.pc;
    }
    put_varint(out, runs.size());
    for (const std::vector<std::uint32_t>& run : runs) {
        put_varint(out, run.size());
        std::int64_t expected = 0;
        for (const std::uint32_t number : run) {
            put_signed(out, number - expected);
            expected = std::int64_t{number} + 1;
        }
    }
    for (const Addr reference : references) put_varint(out, reference);
    return out;
}

LoadedProgram decode_program(std::string_view bytes, std::uint32_t register_slots) {
    Scanner in(bytes);
    LoadedProgram loaded;
    record::RecordedProgram& program = loaded.program;
    const std::uint64_t count = in.at_most(kMostInstructions, "the number of instructions");
    if (count > in.left() / 5) throw Damage{"it ends before its last instruction"};
    std::vector<StaticInst> instructions;
    std::vector<std::uint32_t> memory_of;
    instructions.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) {
        instructions.push_back(read_instruction(in, i == 0 ? 0 : instructions.back().pc, register_slots));
        memory_of.push_back(is_memory(instructions.back()) ? program.memory_count++ : record::RecordedProgram::kNotMemory);
    }
    const std::uint64_t runs = in.at_most(kMostInRuns, "the number of runs");
    for (std::uint64_t r = 0; r < runs; ++r) {
        const std::uint64_t length = in.at_most(kMostInRuns - program.instructions.size(), "the number of instructions in runs");
        if (length == 0 || length > in.left()) throw Damage{"a run is empty or does not end"};
        program.runs.push_back({static_cast<std::uint32_t>(program.instructions.size()), static_cast<std::uint32_t>(length)});
        std::uint64_t expected = 0;
        for (std::uint64_t i = 0; i < length; ++i) {
            const std::uint64_t number = expected + static_cast<std::uint64_t>(in.signed_number());
            if (number >= count) throw Damage{fmt::format("a run names instruction {} of {}", number, count)};
            program.instructions.push_back(instructions[number]);
            program.memory_of.push_back(memory_of[number]);
            expected = number + 1;
        }
    }
    for (std::uint32_t m = 0; m < program.memory_count; ++m) loaded.references.push_back(in.varint());
    if (!in.at_end()) {
        const std::uint8_t from = in.byte();
        if (from > static_cast<std::uint8_t>(RegisterCount::estimated))
            throw Damage{fmt::format("source {} of registers is unknown", from)};
        loaded.registers_from = static_cast<RegisterCount>(from);
        program.text = std::make_shared<const ProgramText>(read_text_of_program(in));
    }
    if (!in.at_end()) {
        for (std::uint32_t* side : {&loaded.cluster.x, &loaded.cluster.y, &loaded.cluster.z})
            *side = read_number(in, kMostClusterCtas, "a side of the clusters of CTAs");
    }
    if (!in.at_end()) throw Damage{"something follows its end"};
    loaded.instructions = count;
    return loaded;
}

}  // namespace mergelane::tracefile
