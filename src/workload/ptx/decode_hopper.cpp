// SPDX-License-Identifier: MIT
// Clusters of CTAs, bulk and tensor copies, and products of matrices by warpgroups (sm_90).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "workload/ptx/decode.hpp"
#include "workload/ptx/timing_table.hpp"

namespace mergelane::ptx {

namespace {

constexpr std::string_view kReductions[] = {"add", "min", "max", "and", "or", "xor", "", "", "inc", "dec"};  ///< in the order of AtomicOp
constexpr std::pair<std::string_view, Element> kTensorElements[] = {
    {"f16", Element::f16}, {"bf16", Element::bf16}, {"tf32", Element::tf32}, {"e4m3", Element::e4m3}, {"e5m2", Element::e5m2},
    {"s8", Element::s8},   {"u8", Element::u8},     {"f32", Element::f32},   {"s32", Element::s32}};
constexpr std::string_view kDimensions[] = {"", "1d", "2d", "3d", "4d", "5d"};
constexpr std::string_view kBulkWords =
    "async bulk reduce shared shared::cta shared::cluster global mbarrier::complete_tx::bytes bulk_group multicast::cluster L2::cache_hint "
    "commit_group wait_group read prefetch L2 tensor tile 1d 2d 3d 4d 5d add min max and or xor inc dec noftz u32 s32 u64 s64 b32 b64 f16 "
    "bf16 f32 f64";

std::uint32_t number_after(std::string_view word, char letter) {
    const std::size_t at = word.find(letter);
    std::uint32_t number = 0;
    if (at != std::string_view::npos) std::from_chars(word.data() + at + 1, word.data() + word.size(), number);
    return number;
}

Element element_of(std::string_view word) {
    for (const auto& [name, element] : kTensorElements) {
        if (name == word) return element;
    }
    return Element::none;
}
/// Whether wgmma multiplies these types, with this type of sums.
bool can_multiply(Element a, Element b, Element sum) {
    switch (a) {
        case Element::f16: return b == a && (sum == Element::f32 || sum == Element::f16);
        case Element::bf16:
        case Element::tf32: return b == a && sum == Element::f32;
        case Element::e4m3:
        case Element::e5m2: return (b == Element::e4m3 || b == Element::e5m2) && (sum == Element::f32 || sum == Element::f16);
        case Element::s8:
        case Element::u8: return (b == Element::s8 || b == Element::u8) && sum == Element::s32;
        default: return false;
    }
}

}  // namespace

/// One asynchronous instruction of the timing model (ADR 0048). `lane_bytes`: what it says about groups or columns.
void Decoder::time_async(AsyncOp op, OpClass op_class, std::uint8_t lane_bytes, std::uint32_t memory, const Touches& touches) {
    StaticInst attributes;
    attributes.op = op_class;
    attributes.async = true;
    attributes.async_op = op;
    attributes.lane_bytes = lane_bytes;
    if (memory != kNone && is_bulk_copy(*at_)) attributes.l2_hint = l2_hint(*at_);
    time_part(attributes, memory, touches);
}

/// commit_group, wait_group.
void Decoder::time_groups(const Instruction& instruction, AsyncOp op) {
    const bool waits = instruction.has("wait_group");
    expect_operands(instruction, waits ? 1 : 0);
    emit({}, choice(Op::nop, Type::b32, {}));
    const std::uint64_t left = waits ? std::min<std::uint64_t>(immediate(instruction.operands[0]), StaticInst::kMostGroupsLeft) : 0;
    time_async(op, OpClass::fence, waits ? static_cast<std::uint8_t>(left) : StaticInst::kEndsGroup, kNone, {});
}

bool Decoder::is_bulk_copy(const Instruction& instruction) {
    return instruction.has("bulk") && !instruction.has("commit_group") && !instruction.has("wait_group");
}

/// barrier.cluster.arrive and .wait.
void Decoder::cluster_barrier(const Instruction& instruction, Block& block) {
    if (instruction.words[0] != "barrier") unsupported();
    expect_words(instruction, "cluster arrive wait release acquire relaxed aligned");
    expect_operands(instruction, 0);
    if (instruction.has("arrive") == instruction.has("wait")) unsupported();
    BarrierSite site;
    site.op = instruction.has("arrive") ? BarrierOp::cluster_arrive : BarrierOp::cluster_wait;
    time_async(instruction.has("arrive") ? AsyncOp::cluster_arrive : AsyncOp::cluster_wait, OpClass::fence, 0, kNone, *touch_);
    block.how = End::barrier;
    block.target = static_cast<std::uint32_t>(program_->barriers.size());
    program_->barriers.push_back(site);
}

void Decoder::op_mapa(const Instruction& instruction) {
    expect_words(instruction, "shared::cluster u32 u64");
    emit(registers(instruction, type_, {type_, Type::u32}), choice(Op::map_to_rank, type_, found_), type_);
}

void Decoder::op_getctarank(const Instruction& instruction) {
    expect_words(instruction, "shared::cluster u32 u64");
    emit(registers(instruction, Type::u32, {type_}), choice(Op::rank_of_address, type_, found_), type_);
}

void Decoder::op_elect(const Instruction& instruction) {
    expect_words(instruction, "sync");
    expect_operands(instruction, 2);
    Inst inst;
    source(instruction.operands[1], Type::b32);
    result_and_predicate(instruction.operands[0], inst);
    emit(inst, choice(Op::elect, Type::b32, {}), Type::b32);
}

/// The generic address of each lane's operand.
Slot Decoder::flat_address(const Operand& operand, StateSpace space) {
    Inst inst;
    inst.space = space;
    address(operand, inst);
    inst.d = new_register(8);
    emit(inst, choice(Op::flat_address, Type::b64, {}));
    return inst.d;
}

/// What follows the places of a bulk or tensor copy: mbarrier, ranks of CTAs, cache policy.
void Decoder::bulk_completion(const Instruction& instruction, std::size_t at, Inst& inst) {
    const auto& operands = instruction.operands;
    const bool several = instruction.has("multicast::cluster");
    const bool policy = instruction.has("L2::cache_hint");
    const bool observed = instruction.has("mbarrier::complete_tx::bytes");
    expect_operands(instruction, at + (observed ? 1u : 0u) + (several ? 1u : 0u) + (policy ? 1u : 0u));
    if (observed) inst.c = flat_address(operands[at++], StateSpace::shared);
    if (several) inst.d2 = source(operands[at++], Type::b16);
    if (policy) source(operands[at], Type::b64);
    inst.store = true;
    inst.memory = program_->timed.memory_count++;
}

/// The end of st.async and red.async: their bytes are complete.
void Decoder::async_completion(const Operand& barrier, std::uint32_t bytes) {
    Inst inst = mbarrier_at(barrier, MbarrierOp::complete_tx);
    inst.space = StateSpace::shared;
    inst.b = constant(bytes, 4);
    emit(inst, choice(Op::mbarrier, Type::b64, {}));
    time_mbarrier(MbarrierOp::complete_tx, "mbarrier", inst.memory);
}

/// cp.async.bulk and cp.reduce.async.bulk, with their groups and prefetches.
void Decoder::op_bulk(const Instruction& instruction) {
    expect_words(instruction, kBulkWords);
    const auto& operands = instruction.operands;
    if (instruction.has("prefetch")) return bulk_prefetch(instruction);
    if (!is_bulk_copy(instruction))
        return time_groups(instruction, instruction.has("read") ? AsyncOp::bulk_read_group : AsyncOp::bulk_group);
    if (instruction.has("tensor")) return tensor_copy(instruction);
    expect_operands(instruction, 3, 6);
    std::vector<StateSpace> spaces;
    for (const std::string_view word : instruction.words) {
        if (const StateSpace space = space_of(word.substr(0, word.find("::"))); space != StateSpace::generic) spaces.push_back(space);
    }
    if (spaces.size() != 2) unsupported();
    // To shared memory an mbarrier observes the copy; to global memory it comes from shared memory, in a group.
    const bool to_shared = spaces[0] == StateSpace::shared;
    if (instruction.has("mbarrier::complete_tx::bytes") != to_shared || instruction.has("bulk_group") == to_shared ||
        (!to_shared && spaces[1] != StateSpace::shared))
        unsupported();
    Inst inst;
    Choice made = choice(Op::bulk_copy, Type::b64, {});
    inst.sub = kCopies;
    if (instruction.words[1] == "reduce") {
        made.op = Op::bulk_reduce;
        made.type = type_;
        if (!instruction.find(kReductions, made.atomic)) unsupported();
        inst.sub = static_cast<std::uint8_t>(made.atomic);
        inst.count = static_cast<std::uint8_t>(type_);
    }
    inst.d = flat_address(operands[0], spaces[0]);
    inst.a = flat_address(operands[1], spaces[1]);
    inst.b = source(operands[2], Type::u32);
    bulk_completion(instruction, 3, inst);
    emit(inst, made);
    time_bulk(inst, to_shared);
}

/// The timing model sees its box.
void Decoder::time_bulk(const Inst& inst, bool to_shared) {
    const bool reduces = inst.sub != kCopies;
    const AsyncOp op = to_shared ? AsyncOp::bulk_load : reduces ? AsyncOp::bulk_reduce : AsyncOp::bulk_store;
    time_async(op, to_shared ? OpClass::load : reduces ? OpClass::atomic : OpClass::store, 1, inst.memory, {touch_->reads, {}});
}

/// [map, {coordinates}]
void Decoder::tensor_place(const Instruction& instruction, const Operand& tensor, Inst& inst) {
    if (!instruction.find(kDimensions, inst.bytes)) unsupported();
    if (tensor.kind != Operand::Kind::list || tensor.parts.size() != 2 || tensor.parts[1].kind != Operand::Kind::vector ||
        tensor.parts[1].parts.size() != inst.bytes)
        fail("{} needs a tensor map and {} coordinates; write [%rd1, {{%r1}}]", in_quotes(instruction.opcode), inst.bytes);
    inst.a = flat_address(tensor.parts[0], StateSpace::generic);
    inst.list = static_cast<std::uint32_t>(program_->lists.size());
    for (const Operand& coordinate : tensor.parts[1].parts) program_->lists.push_back(source(coordinate, Type::s32));
}

/// To the L2: [from], bytes, or a box of a tensor. Only the timing model has something to do.
void Decoder::bulk_prefetch(const Instruction& instruction) {
    if (!instruction.has("L2") || !instruction.has("global") || instruction.words[1] == "reduce") unsupported();
    const auto& operands = instruction.operands;
    const bool tensor = instruction.has("tensor");
    const bool policy = instruction.has("L2::cache_hint");
    expect_operands(instruction, (tensor ? 1u : 2u) + (policy ? 1u : 0u));
    Inst inst;
    inst.sub = kCopies;
    if (tensor) {
        tensor_place(instruction, operands[0], inst);
    } else {
        inst.a = flat_address(operands[0], StateSpace::global);
        inst.b = source(operands[1], Type::u32);
    }
    if (policy) source(operands.back(), Type::b64);
    inst.memory = program_->timed.memory_count++;
    emit(inst, choice(tensor ? Op::tensor_copy : Op::bulk_copy, Type::b64, {}));
    time_async(AsyncOp::bulk_prefetch, OpClass::load, 1, inst.memory, {touch_->reads, {}});
}

/// A box of a tensor: [to], [map, {coordinates}], [mbarrier] or, to global memory, [map, {coordinates}], [from].
void Decoder::tensor_copy(const Instruction& instruction) {
    expect_operands(instruction, 2, 6);
    const auto& operands = instruction.operands;
    Inst inst;
    inst.sub = kCopies;
    const bool reduces = instruction.words[1] == "reduce";
    const bool to_global = !instruction.has("mbarrier::complete_tx::bytes");
    if (to_global != instruction.has("bulk_group") || (reduces && !to_global)) unsupported();
    if (reduces && !instruction.find(kReductions, inst.sub)) unsupported();
    tensor_place(instruction, operands[to_global ? 0 : 1], inst);
    inst.d = flat_address(operands[to_global ? 1 : 0], StateSpace::shared);
    bulk_completion(instruction, 2, inst);
    inst.store = to_global;
    emit(inst, choice(Op::tensor_copy, Type::b64, {}));
    time_bulk(inst, !to_global);
}

/// wgmma.mma_async and what orders it.
void Decoder::op_wgmma(const Instruction& instruction) {
    expect_words(instruction, "fence commit_group wait_group sync aligned");
    if (!instruction.has("fence")) return time_groups(instruction, AsyncOp::product_group);
    expect_operands(instruction, 0);
    emit({}, choice(Op::nop, Type::b32, {}), Type::b32);
}

/// wgmma.mma_async.sync.aligned.SHAPE.D.A.B[.satfinite], and the numbers at the end: signs of A and B, and whether they are transposed.
WarpgroupProduct Decoder::warpgroup_product(const Instruction& instruction, bool from_registers) const {
    WarpgroupProduct site;
    MatrixProduct& p = site.product;
    const auto& words = instruction.words;
    p.saturate = instruction.has("satfinite");
    if (words.size() != (p.saturate ? 9u : 8u) || words[1] != "mma_async" || words[2] != "sync" || words[3] != "aligned") unsupported();
    p.d = p.c = element_of(words[5]);
    p.a = element_of(words[6]);
    p.b = element_of(words[7]);
    if (!can_multiply(p.a, p.b, p.d) || (p.saturate && p.d != Element::s32)) unsupported();
    const std::uint32_t depth = 256 / element_bits(p.a);  // 32 bytes
    const std::uint32_t columns = number_after(words[4], 'n');
    const std::uint32_t step = p.d == Element::s32 && columns > 32 ? 16 : 8;
    if (words[4] != fmt::format("m64n{}k{}", columns, depth) || columns == 0 || columns % step != 0 || columns > 256) unsupported();
    p.shape = {16, static_cast<std::uint16_t>(columns), static_cast<std::uint16_t>(depth)};
    const std::size_t numbers = p.d == Element::s32 ? 0 : element_bits(p.a) != 16 ? 2 : from_registers ? 3 : 4;
    expect_operands(instruction, 4 + numbers);
    const auto number = [&](std::size_t k) { return numbers > k ? immediate(instruction.operands[4 + k]) : 0; };
    for (std::size_t k = 0; k < numbers; ++k) {
        if (k < 2 ? number(k) != 1 && number(k) != ~std::uint64_t{0} : number(k) > 1)
            fail("operand {} of {} does not exist; use 1 or -1 for a sign, 0 or 1 for a transposition", 5 + k, in_quotes(at_->opcode));
    }
    site.negate = number(0) != number(1);
    site.transpose_a = !from_registers && number(2) != 0;
    site.transpose_b = number(from_registers ? 2 : 3) != 0;
    return site;
}

void Decoder::op_wgmma_product(const Instruction& instruction) {
    if (!instruction.has("mma_async")) return op_wgmma(instruction);
    if (instruction.has("sp")) unsupported();  // sparse matrices
    const auto& operands = instruction.operands;
    expect_operands(instruction, 4, 8);
    const bool from_registers = operands[1].kind == Operand::Kind::vector;
    WarpgroupProduct site = warpgroup_product(instruction, from_registers);
    MatrixProduct& p = site.product;
    p.slots = static_cast<std::uint32_t>(program_->lists.size());
    const std::uint32_t results = p.shape.registers(Fragment::accumulator, p.d);
    fragment(operands[0], p.d, results, results, true);
    fragment(operands[0], p.d, results, 0, false);
    const auto operand = std::ssize(touch_->reads);  // the sums are written later, and not waited for
    if (from_registers) fragment(operands[1], p.a, 4, 4, false);
    Inst inst;
    if (!from_registers) inst.a = source(operands[1], Type::b64);
    inst.b = source(operands[2], Type::b64);
    inst.negate = operands[3].negated;
    inst.c = source_predicate(operands[3]);
    inst.memory = program_->timed.memory_count++;
    inst.list = static_cast<std::uint32_t>(program_->warpgroup_products.size());
    program_->warpgroup_products.push_back(site);
    emit(inst, choice(Op::warpgroup_product, Type::b32, {}));
    time_async(from_registers ? AsyncOp::product_from_registers : AsyncOp::product, OpClass::fence,
               static_cast<std::uint8_t>(p.shape.n / 8), kNone, {{touch_->reads.begin() + operand, touch_->reads.end()}, {}});
}

}  // namespace mergelane::ptx
