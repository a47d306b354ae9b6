// SPDX-License-Identifier: MIT
// Matrix instructions: ldmatrix, stmatrix, movmatrix, mma and wmma.
#include <algorithm>
#include <charconv>
#include <utility>

#include "core/bits.hpp"
#include "workload/ptx/decode.hpp"
#include "workload/ptx/timing_table.hpp"
#include "workload/ptx/warp.hpp"
#include "workload/tensor_rates.hpp"

namespace mergelane::ptx {

namespace {

constexpr std::string_view kElements[] = {"", "b1", "s4", "u4", "s8", "u8", "e4m3", "e5m2", "f16", "bf16", "tf32", "f32", "s32", "f64"};
constexpr std::uint32_t kHalfRegisters = 8;  ///< of A and B of f16 in every shape of wmma: copies where the matrix has fewer elements
constexpr std::string_view kDirections[] = {"", "rn", "rz", "rm", "rp"};

/// The shapes in which elements of these types can be multiplied, and the types of the sums. Both operands are of the same row.
struct MatrixForms {
    std::string_view shapes;
    std::string_view operands;
    std::string_view sums;
};
constexpr MatrixForms kMmaForms[] = {
    {"m8n8k4 m16n8k8 m16n8k16", "f16", "f16 f32"},
    {"m16n8k8 m16n8k16", "bf16", "f32"},
    {"m16n8k4 m16n8k8", "tf32", "f32"},
    {"m8n8k4 m16n8k4 m16n8k8 m16n8k16", "f64", "f64"},
    {"m16n8k16 m16n8k32", "e4m3 e5m2", "f16 f32"},
    {"m8n8k16 m16n8k16 m16n8k32", "s8 u8", "s32"},
    {"m8n8k32 m16n8k32 m16n8k64", "s4 u4", "s32"},
    {"m8n8k128 m16n8k128 m16n8k256", "b1", "s32"},
};
constexpr MatrixForms kWmmaForms[] = {
    {"m16n16k16 m32n8k16 m8n32k16", "f16", "f16 f32"},
    {"m16n16k16 m32n8k16 m8n32k16", "bf16", "f32"},
    {"m16n16k8", "tf32", "f32"},
    {"m8n8k4", "f64", "f64"},
    {"m16n16k16 m32n8k16 m8n32k16", "s8", "s32"},
    {"m16n16k16 m32n8k16 m8n32k16", "u8", "s32"},
    {"m8n8k32", "s4", "s32"},
    {"m8n8k32", "u4", "s32"},
    {"m8n8k128", "b1", "s32"},
};

bool lists_word(std::string_view list, std::string_view word) {
    bool found = false;
    each_word(list, [&](std::string_view other) { found = found || other == word; });
    return found;
}
std::string_view name_of(Element element) {
    return kElements[static_cast<std::size_t>(element)];
}

/// What the modifiers of a matrix instruction say.
struct MatrixWords {
    std::string_view shape_word;
    MatrixShape shape;
    std::vector<bool> by_rows;
    std::vector<Element> elements;
    Round round = Round::none;
    bool saturate = false, bits_and = false, bits_xor = false, popc = false;
};

/// "m16n8k16"
bool read_shape(std::string_view word, MatrixShape& shape) {
    std::uint16_t* const sizes[] = {&shape.m, &shape.n, &shape.k};
    const char* at = word.data();
    const char* const end = at + word.size();
    for (std::size_t i = 0; i < 3; ++i) {
        if (at == end || *at != "mnk"[i]) return false;
        const auto [next, error] = std::from_chars(at + 1, end, *sizes[i]);
        if (error != std::errc{}) return false;
        at = next;
    }
    return at == end;
}

/// False if one of the words from `first` on is not known.
bool read_words(const Instruction& instruction, std::size_t first, MatrixWords& found) {
    for (std::size_t i = first; i < instruction.words.size(); ++i) {
        const std::string_view word = instruction.words[i];
        Element element = Element::none;
        if (word == "sync" || word == "aligned" || word == "global" || word == "shared" || word == "shared::cta") continue;
        if (found.shape_word.empty() && read_shape(word, found.shape))
            found.shape_word = word;
        else if (word == "row" || word == "col")
            found.by_rows.push_back(word == "row");
        else if (find_word(kElements, word, element))
            found.elements.push_back(element);
        else if (word == "satfinite")
            found.saturate = true;
        else if (word == "and" || word == "xor")
            (word == "and" ? found.bits_and : found.bits_xor) = true;
        else if (word == "popc")
            found.popc = true;
        else if (!find_word(kDirections, word, found.round))
            return false;
    }
    return true;
}

/// Elements are those of D, A, B and C; another number of them makes a product that does not exist.
MatrixProduct product_of(const MatrixWords& found) {
    MatrixProduct p;
    if (found.elements.size() != 4) return p;
    p.shape = found.shape;
    p.d = found.elements[0];
    p.a = found.elements[1];
    p.b = found.elements[2];
    p.c = found.elements[3];
    p.a_by_rows = found.by_rows[0];
    p.b_by_rows = found.by_rows[1];
    p.saturate = found.saturate;
    p.bits_and = found.bits_and;
    return p;
}
/// Whether such a product exists, with its two operands and with its sums.
bool exists(std::span<const MatrixForms> forms, std::string_view shape, const MatrixProduct& p) {
    const bool integers = element_bits(p.a) <= 8 && p.a != Element::b1 && p.a != Element::e4m3 && p.a != Element::e5m2;
    if (p.saturate && !integers) return false;
    return std::any_of(forms.begin(), forms.end(), [&](const MatrixForms& row) {
        return lists_word(row.shapes, shape) && lists_word(row.operands, name_of(p.a)) && lists_word(row.operands, name_of(p.b)) &&
               lists_word(row.sums, name_of(p.c)) && lists_word(row.sums, name_of(p.d));
    });
}
/// m8n8k4 of Volta: four products at once.
bool is_quads(const MatrixProduct& p) {
    return p.a == Element::f16 && p.shape.m == 8 && p.shape.k == 4;
}
/// The bitwise operation belongs to b1, a rounding to f64.
bool fits_elements(const MatrixWords& found, Element operands) {
    const bool bits = operands == Element::b1;
    return found.popc == bits && (found.bits_and || found.bits_xor) == bits && !(found.bits_and && found.bits_xor) &&
           (found.round == Round::none || operands == Element::f64);
}

}  // namespace

/// One timed instruction with the registers that it waits for and writes.
void Decoder::time_part(const StaticInst& attributes, std::uint32_t memory, const Touches& touches) {
    program_->timed.instructions.push_back(attributes);
    program_->timed.instructions.back().pc = static_cast<std::uint32_t>(program_->timed.instructions.size() - 1);
    program_->timed.memory_of.push_back(memory);
    timed_touches_.push_back(touches);
    note_origin();
}

/// Several accesses of one instruction. Each waits for `common` and transfers its share of the registers `data`.
void Decoder::time_accesses(Inst& inst, const StaticInst& attributes, std::uint32_t accesses, const Touches& common,
                            const std::vector<std::uint32_t>& data) {
    inst.memory = program_->timed.memory_count;
    program_->timed.memory_count += accesses;
    const bool generic = inst.space == StateSpace::generic;
    using Same = std::pair<StateSpace, Space>;
    for (const auto& [named, space] :
         {Same{StateSpace::global, Space::global}, Same{StateSpace::shared, Space::shared}, Same{StateSpace::local, Space::local}}) {
        if (!generic && inst.space != named) continue;
        StaticInst timed = attributes;
        timed.op = inst.store ? OpClass::store : OpClass::load;
        timed.space = space;
        for (std::uint32_t k = 0; k < accesses; ++k) {
            Touches touches = common;
            auto& mine = inst.store ? touches.reads : touches.writes;
            mine.insert(mine.end(), data.begin() + static_cast<std::ptrdiff_t>(data.size() * k / accesses),
                        data.begin() + static_cast<std::ptrdiff_t>(data.size() * (k + 1) / accesses));
            time_part(timed, inst.memory + k, touches);
        }
    }
}

/// `slots` tensor instructions. Results, and the addends (touch_->reads from `addends` on), are spread over them, as HMMA's steps are;
/// operands are waited for as early as possible. A warp issues in order, so no dependence is lost.
void Decoder::time_product(std::uint32_t slots, std::size_t addends) {
    StaticInst attributes;
    attributes.op = OpClass::tensor;
    const std::vector<std::uint32_t>& reads = touch_->reads;
    const auto share = [&](std::size_t count, std::uint32_t slot) { return count * slot / slots; };
    std::size_t operand = 0;
    for (std::uint32_t slot = 0; slot < slots || operand < addends; ++slot) {
        Touches touches;
        if (slot < slots) {
            const std::size_t writes = touch_->writes.size();
            for (std::size_t i = share(writes, slot); i < share(writes, slot + 1); ++i) touches.writes.push_back(touch_->writes[i]);
            const std::size_t sums = reads.size() - addends;
            for (std::size_t i = share(sums, slot); i < share(sums, slot + 1); ++i) touches.reads.push_back(reads[addends + i]);
        }
        while (operand < addends && touches.reads.size() + touches.writes.size() < StaticInst::kMaxRegs)
            touches.reads.push_back(reads[operand++]);
        time_part(attributes, kNone, touches);
    }
}

/// The registers of a fragment, of which the first `used` are wanted in Program::lists.
void Decoder::fragment(const Operand& operand, Element element, std::uint32_t expected, std::uint32_t used, bool result) {
    const bool vector = operand.kind == Operand::Kind::vector;
    const std::size_t count = vector ? operand.parts.size() : 1;
    if (count != expected)
        fail("a matrix of {} has {} registers but needs {}; add or remove some", in_quotes(at_->opcode), count, expected);
    const Type type = element == Element::f64 ? Type::f64 : Type::b32;
    for (std::size_t i = 0; i < count; ++i) {
        const Operand& part = vector ? operand.parts[i] : operand;
        const Slot slot = result ? destination(part, type) : source(part, type);
        if (i < used) program_->lists.push_back(slot);
    }
}

/// ldmatrix and stmatrix. Each 8 x 8 matrix is one access of all lanes, 4 bytes each: the pass in which the hardware reads its eight rows
/// of 16 bytes and gives every lane its word. So .x4 without bank conflicts occupies the banks for four cycles, and conflicts arise only
/// between rows of the same matrix. As one access with 16 bytes per lane, rows of different matrices would conflict with each other
/// instead.
void Decoder::op_matrix_rows(const Instruction& instruction) {
    const bool is_store = row_->op == Op::stmatrix;
    expect_operands(instruction, 2);
    std::uint32_t matrices = 0;
    bool shape = false, bits = false;
    Inst inst;
    for (std::size_t i = 1; i < instruction.words.size(); ++i) {
        const std::string_view word = instruction.words[i];
        if (word == "x1" || word == "x2" || word == "x4")
            matrices = static_cast<std::uint32_t>(word[1] - '0');
        else if (word == "trans")
            inst.sub = 1;
        else if (word == "m8n8" || word == "b16")
            (word == "b16" ? bits : shape) = true;
        else if (word != "sync" && word != "aligned" && word != "shared" && word != "shared::cta")
            unsupported();
    }
    if (!shape || !bits || matrices == 0) unsupported();
    inst.store = is_store;
    inst.count = static_cast<std::uint8_t>(matrices);
    inst.space = space_word(instruction);
    address(instruction.operands[is_store ? 0 : 1], inst);
    if (inst.space == StateSpace::generic) inst.offset -= static_cast<std::int64_t>(kSharedWindow);  // it must point to shared memory
    inst.space = StateSpace::shared;
    inst.list = static_cast<std::uint32_t>(program_->lists.size());
    Touches common{{}, touch_->reads};
    const std::size_t before = touch_->reads.size();
    fragment(instruction.operands[is_store ? 1 : 0], Element::f16, matrices, matrices, !is_store);
    std::vector<std::uint32_t> data = touch_->writes;
    if (is_store) data.assign(touch_->reads.begin() + static_cast<std::ptrdiff_t>(before), touch_->reads.end());
    time_accesses(inst, {}, matrices, common, data);
    emit(inst, choice(row_->op, Type::b32, {}));
}

void Decoder::op_movmatrix(const Instruction& instruction) {
    for (const std::string_view word : instruction.words) {
        if (!lists_word("movmatrix sync aligned m8n8 trans b16", word)) unsupported();
    }
    if (!instruction.has("m8n8") || !instruction.has("trans") || !instruction.has("b16")) unsupported();
    emit(registers(instruction, Type::b32, {Type::b32}), choice(Op::movmatrix, Type::b32, {}), Type::b32);
}

/// mma.sync.aligned.SHAPE.row.col.D.A.B.C
void Decoder::op_mma(const Instruction& instruction) {
    MatrixWords found;
    if (!read_words(instruction, 1, found) || found.by_rows.size() != 2) unsupported();
    if (space_word(instruction) != StateSpace::generic) unsupported();
    const MatrixProduct p = product_of(found);
    if (!exists(kMmaForms, found.shape_word, p) || !fits_elements(found, p.a)) unsupported();
    const bool widens = p.c == Element::f16 && p.d == Element::f32;
    if (is_quads(p) ? p.c != p.d && !widens : p.c != p.d || !p.a_by_rows || p.b_by_rows) unsupported();
    found_.round = found.round;
    matrix_product(instruction, p, 1);
}

/// The registers and the handler of a product. Fragments of A and B have at least `least` registers.
void Decoder::matrix_product(const Instruction& instruction, MatrixProduct p, std::uint32_t least) {
    expect_operands(instruction, 4);
    const bool quads = is_quads(p);
    const std::uint32_t times = quads ? 4 : 1;
    const auto registers_of = [&](Fragment part, Element element) {
        return quads && part != Fragment::accumulator ? 2 : times * p.shape.registers(part, element);
    };
    p.slots = static_cast<std::uint32_t>(program_->lists.size());
    const std::uint32_t d = registers_of(Fragment::accumulator, p.d);
    const std::uint32_t a = registers_of(Fragment::a, p.a);
    const std::uint32_t b = registers_of(Fragment::b, p.b);
    const std::uint32_t c = registers_of(Fragment::accumulator, p.c);
    fragment(instruction.operands[0], p.d, d, d, true);
    fragment(instruction.operands[1], p.a, std::max(a, least), a, false);
    fragment(instruction.operands[2], p.b, std::max(b, least), b, false);
    const std::size_t addends = touch_->reads.size();
    fragment(instruction.operands[3], p.c, c, c, false);
    Inst inst;
    inst.list = static_cast<std::uint32_t>(program_->products.size());
    inst.sub = static_cast<std::uint8_t>(found_.round);
    program_->products.push_back(p);
    const Op op = quads                 ? Op::matrix_product_quads
                  : p.a == Element::f64 ? Op::matrix_product_f64
                  : p.a == Element::b1  ? Op::matrix_product_b1
                                        : Op::matrix_product;
    emit(inst, choice(op, Type::b32, {}));
    time_product(tensor_slots(times * p.shape.m * p.shape.n * p.shape.k, name_of(p.a)), addends);
}

/// wmma.load, wmma.store and wmma.mma.
void Decoder::op_wmma(const Instruction& instruction) {
    const std::string_view what = instruction.words.size() > 2 ? instruction.words[1] : "";
    if (what == "load" || what == "store") return wmma_move(instruction, what == "store");
    MatrixWords found;
    if (what != "mma" || !read_words(instruction, 2, found) || found.by_rows.size() != 2) unsupported();
    if (space_word(instruction) != StateSpace::generic) unsupported();
    if (found.elements.size() == 2) found.elements = {found.elements[0], Element::f16, Element::f16, found.elements[1]};
    const MatrixProduct p = product_of(found);
    if (!exists(kWmmaForms, found.shape_word, p) || !fits_elements(found, p.a)) unsupported();
    if (element_bits(p.a) < 8 && (!p.a_by_rows || p.b_by_rows)) unsupported();
    found_.round = found.round;
    matrix_product(instruction, p, p.a == Element::f16 ? kHalfRegisters : 1);
}

/// wmma.load.a, .b, .c and wmma.store.d
void Decoder::wmma_move(const Instruction& instruction, bool is_store) {
    MatrixWords found;
    const std::string_view letter = instruction.words[2];
    if (!lists_word(is_store ? "d" : "a b c", letter) || !read_words(instruction, 3, found)) unsupported();
    if (found.by_rows.size() != 1 || found.elements.size() != 1 || found.saturate || !fits_elements(found, Element::none)) unsupported();
    MatrixMove move;
    move.shape = found.shape;
    move.fragment = letter == "a" ? Fragment::a : letter == "b" ? Fragment::b : Fragment::accumulator;
    move.element = found.elements[0];
    move.by_rows = found.by_rows[0];
    const bool known = std::any_of(std::begin(kWmmaForms), std::end(kWmmaForms), [&](const MatrixForms& row) {
        return lists_word(row.shapes, found.shape_word) &&
               lists_word(move.fragment == Fragment::accumulator ? row.sums : row.operands, name_of(move.element));
    });
    if (!known || (element_bits(move.element) < 8 && !move.natural())) unsupported();
    move.registers = move.shape.registers(move.fragment, move.element);
    if (move.element == Element::f16 && move.fragment != Fragment::accumulator) move.registers = kHalfRegisters;
    matrix_move(instruction, move, space_word(instruction), is_store);
}

/// wmma.load and wmma.store: an access for each block, with one piece per lane. Where the matrix lies in memory as in the registers, lanes
/// access what they hold; otherwise the same number of bytes, in lines of the matrix in memory, since hardware exchanges words between
/// lanes.
void Decoder::matrix_move(const Instruction& instruction, const MatrixMove& wanted, StateSpace space, bool is_store) {
    expect_operands(instruction, 2, 3);
    MatrixMove move = wanted;
    Inst inst;
    inst.store = is_store;
    inst.space = space;
    address(instruction.operands[is_store ? 0 : 1], inst);
    if (instruction.operands.size() == 3) move.stride = source(instruction.operands[2], Type::u32);
    const Touches common{{}, touch_->reads};
    const std::size_t before = touch_->reads.size();
    move.slots = static_cast<std::uint32_t>(program_->lists.size());
    fragment(instruction.operands[is_store ? 1 : 0], move.element, move.registers, move.registers, !is_store);
    std::vector<std::uint32_t> data = touch_->writes;
    if (is_store) data.assign(touch_->reads.begin() + static_cast<std::ptrdiff_t>(before), touch_->reads.end());
    inst.list = static_cast<std::uint32_t>(program_->moves.size());
    program_->moves.push_back(move);
    StaticInst attributes;
    attributes.lane_bytes = static_cast<std::uint8_t>(piece_bytes(move.fragment, move.element));
    time_accesses(inst, attributes, move.accesses(), common, data);
    emit(inst, choice(is_store ? Op::matrix_store : Op::matrix_load, move.element == Element::f64 ? Type::f64 : Type::b32, {}));
}

}  // namespace mergelane::ptx
