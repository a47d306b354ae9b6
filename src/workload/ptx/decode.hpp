// SPDX-License-Identifier: MIT
// Translates parsed functions to a Program: places of registers and variables, blocks, handlers, timing attributes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "workload/ptx/choice.hpp"
#include "workload/ptx/flow.hpp"
#include "workload/ptx/lexer.hpp"
#include "workload/ptx/module.hpp"
#include "workload/ptx/program.hpp"

namespace mergelane::ptx {

class Decoder {
public:
    Decoder(const Module& module, Select select);
    /// Throws InputError. To be called once.
    std::unique_ptr<Program> run(std::string_view kernel);

private:
    struct Place {
        StateSpace space = StateSpace::generic;
        bool kernel_param = false;
        std::uint64_t offset = 0;
        std::uint64_t bytes = 0;
    };
    struct Frame {
        const Function* function = nullptr;
        std::vector<Slot> registers;
        std::map<std::string_view, Place> variables;
        std::uint32_t first_block = 0;
        std::uint32_t first_register = 0;     ///< in the numbering of timing registers
        std::vector<std::uint32_t> block_at;  ///< block that starts at an instruction, or kNone
        std::vector<FlowBlock> spans;
        FlowGraph graph;
        std::vector<Touches> touches;
        bool spins = false;                ///< some loop may wait for other threads
        std::vector<std::uint32_t> waits;  ///< instructions before each one that a spin loop may contain
        std::uint32_t first_timed = 0, end_timed = 0;
        std::uint32_t recursive = kNone;  ///< in Program::recursive, if it may call itself
    };
    struct Callees {
        bool by_pointer = false;
        std::vector<const Function*> functions;
    };
    /// What the modifiers of an opcode say, besides the operation.
    struct Words {
        std::vector<Type> types;
        Round round = Round::none;
        bool ftz = false, saturate = false, approximate = false, carry_out = false, relu = false, finite = false;
    };
    using Method = void (Decoder::*)(const Instruction&);
    struct Row {
        std::string_view opcodes;
        Method method;
        Op op = Op::nop;          ///< where the opcode alone decides it
        std::size_t sources = 0;  ///< of op_plain
    };
    static const std::vector<Row>& rows();

    // layout
    std::vector<const Function*> pointed_at(const Function& caller, const Instruction& call, std::string_view prototype);
    Callees called_at(const Function& caller, const Instruction& call);
    void collect(const Function& function, std::size_t depth);
    void collect_all(const Function& kernel);
    // recursion.cpp
    void find_recursion();
    void place_recursion(std::uint32_t first_local);
    Slot local_address(std::uint64_t value, std::uint32_t bytes);

    void place_shared();
    void place_frame(Frame& frame);
    Slot new_register(std::uint32_t bytes);
    Slot new_predicate();
    Slot constant(std::uint64_t bits, std::uint32_t bytes);
    Slot address_constant(std::string_view symbol, std::int64_t addend, std::uint32_t bytes);

    // blocks
    static bool may_spin(const Frame& frame);
    void find_blocks(Frame& frame);
    bool is_generic_access(const Instruction& instruction) const;
    static bool ends_block(const Instruction& instruction);
    void decode_frame(Frame& frame);
    void add_runs(Block& block, std::uint32_t first_timed);
    void decode_guard(const Instruction& instruction, Slot& guard, bool& negated);
    void decode_end(const Instruction& instruction, std::uint32_t index, Block& block);
    Place call_parameter(const Operand& operand) const;
    std::uint32_t call_site(const Function& callee, const std::vector<Operand>& results, const std::vector<Operand>& arguments);
    void decode_call(const Instruction& instruction, Block& block);
    static bool is_service(std::string_view function);
    void decode_service(std::string_view name, const std::vector<Operand>& results, const std::vector<Operand>& arguments, Block& block);
    void decode_barrier(const Instruction& instruction, Block& block);
    void share_spacing();
    void finish_timing();

    // one instruction
    void decode(const Instruction& instruction);
    template <class... Values>
    [[noreturn]] void fail(fmt::format_string<const Values&...> text, const Values&... values) const {
        fail_at(module_.file_name(), at_ != nullptr ? at_->line : frame_->function->line, text, values...);
    }
    [[noreturn]] void unsupported() const;
    void check_modifiers(const Instruction& instruction);
    Words words(const Instruction& instruction) const;
    void expect_operands(const Instruction& instruction, std::size_t least, std::size_t most = 0) const;  ///< most: at least `least`
    Place find_place(std::string_view name) const;
    std::uint32_t register_bytes(const Operand& operand) const;
    Slot source(const Operand& operand, Type type);
    Slot any_source(const Operand& operand, Type type, std::uint8_t& bytes);
    Slot source_predicate(const Operand& operand);
    Slot destination(const Operand& operand, Type type);
    Slot any_destination(const Operand& operand, Type type, std::uint8_t& bytes);
    Slot destination_predicate(const Operand& operand);
    Slot predicate_result(const Operand& operand);
    Inst registers(const Instruction& instruction, Type result, const std::vector<Type>& sources, std::size_t more = 0);
    void result_and_predicate(const Operand& result, Inst& inst);
    void member_mask(const Operand& mask, Inst& inst, Choice& made);
    std::uint8_t data_registers(const Operand& what, Type type, bool is_store, Inst& inst);
    Inst comparison(const Instruction& instruction, Type type, Choice& made);
    void address(const Operand& operand, Inst& inst);
    std::uint64_t immediate(const Operand& operand) const;
    void emit(Inst inst, const Choice& choice);
    void emit(const Inst& inst, const Choice& choice, Type timed);
    void time(std::string_view opcode, Type type, std::uint32_t memory = kNone, const StaticInst* attributes = nullptr);
    void unite_touched();
    void note_origin();
    std::uint32_t text_word(std::string_view word);
    SourceLine source_line(const Location& location);
    Choice choice(Op op, Type type, const Words& words) const;

    void op_plain(const Instruction& instruction);
    void op_mul(const Instruction& instruction);
    void op_carry(const Instruction& instruction);
    void op_logic(const Instruction& instruction);
    void op_shift(const Instruction& instruction);
    void op_bits(const Instruction& instruction);
    void op_lop3(const Instruction& instruction);
    void op_dot(const Instruction& instruction);
    void op_setp(const Instruction& instruction);
    void op_set(const Instruction& instruction);
    void op_selp(const Instruction& instruction);
    void op_slct(const Instruction& instruction);
    void op_testp(const Instruction& instruction);
    void op_mov(const Instruction& instruction);
    void op_cvt(const Instruction& instruction);
    void op_cvt_half(const Instruction& instruction);
    void op_set_pair(const Instruction& instruction);
    void op_szext(const Instruction& instruction);
    void op_fns(const Instruction& instruction);
    void op_lop3_test(const Instruction& instruction);
    void op_video(const Instruction& instruction);
    void op_cvt_pack(const Instruction& instruction);
    void op_createpolicy(const Instruction& instruction);
    void op_atomic_elements(const Instruction& instruction, Choice made);
    void op_cvta(const Instruction& instruction);
    void op_isspacep(const Instruction& instruction);
    void op_access(const Instruction& instruction);
    void op_atomic(const Instruction& instruction);
    void op_nothing(const Instruction& instruction);
    void op_shfl(const Instruction& instruction);
    void op_vote(const Instruction& instruction);
    void op_activemask(const Instruction& instruction);
    void op_match(const Instruction& instruction);
    void op_redux(const Instruction& instruction);
    void op_matrix_rows(const Instruction& instruction);
    void op_movmatrix(const Instruction& instruction);
    void op_mma(const Instruction& instruction);
    void op_wmma(const Instruction& instruction);
    void matrix_product(const Instruction& instruction, MatrixProduct product, std::uint32_t least);
    void wmma_move(const Instruction& instruction, bool is_store);
    void matrix_move(const Instruction& instruction, const MatrixMove& move, StateSpace space, bool is_store);
    void fragment(const Operand& operand, Element element, std::uint32_t expected, std::uint32_t used, bool result);
    void time_part(const StaticInst& attributes, std::uint32_t memory, const Touches& touches);
    void time_accesses(Inst& inst, const StaticInst& attributes, std::uint32_t accesses, const Touches& common,
                       const std::vector<std::uint32_t>& data);
    void time_product(std::uint32_t slots, std::size_t addends);
    // decode_async.cpp
    void expect_words(const Instruction& instruction, std::string_view known) const;
    void op_cp(const Instruction& instruction);
    void copy_async(const Instruction& instruction);
    void copies_arrive(const Instruction& instruction);
    void time_mbarrier(MbarrierOp op, std::string_view opcode, std::uint32_t memory);
    Inst mbarrier_at(const Operand& operand, MbarrierOp op);
    void op_mbarrier(const Instruction& instruction);
    void op_texture(const Instruction& instruction);
    void op_surface(const Instruction& instruction);
    void texture_operand(const Instruction& instruction, const Operand& where, Inst& inst, TextureSite& site);
    void emit_texture(Inst inst, const TextureSite& site);
    // decode_hopper.cpp
    void time_async(AsyncOp op, OpClass op_class, std::uint8_t lane_bytes, std::uint32_t memory, const Touches& touches);
    void time_groups(const Instruction& instruction, AsyncOp op);
    void time_bulk(const Inst& inst, bool to_shared);
    static bool is_bulk_copy(const Instruction& instruction);
    void cluster_barrier(const Instruction& instruction, Block& block);
    void tensor_place(const Instruction& instruction, const Operand& tensor, Inst& inst);
    void bulk_prefetch(const Instruction& instruction);
    void op_mapa(const Instruction& instruction);
    void op_getctarank(const Instruction& instruction);
    void op_elect(const Instruction& instruction);
    Slot flat_address(const Operand& operand, StateSpace space);
    void bulk_completion(const Instruction& instruction, std::size_t at, Inst& inst);
    void op_bulk(const Instruction& instruction);
    void tensor_copy(const Instruction& instruction);
    void async_completion(const Operand& barrier, std::uint32_t bytes);
    WarpgroupProduct warpgroup_product(const Instruction& instruction, bool from_registers) const;
    void op_wgmma(const Instruction& instruction);
    void op_wgmma_product(const Instruction& instruction);
    bool param_access(const Instruction& instruction, bool is_store);
    static StateSpace space_word(const Instruction& instruction);
    // decode_hints.cpp
    L2Hint l2_hint(const Instruction& instruction) const;
    L2Hint policy_hint(const Operand& policy) const;
    std::optional<std::uint32_t> policy_fraction(const Instruction& maker) const;
    template <class Value, class Read>
    std::optional<Value> known_value(const Operand& operand, const Read& read, std::uint32_t moves) const;
    void memory_attributes(const Instruction& instruction, const Inst& inst, Type type);

    const Module& module_;
    Select select_;
    std::unique_ptr<Program> program_;
    std::vector<std::unique_ptr<Frame>> frames_;
    std::map<std::string_view, std::size_t> frame_of_;
    std::optional<std::vector<const Function*>> addressed_;
    std::vector<const Function*> to_collect_;   ///< reached through pointers
    std::map<std::string_view, Place> shared_;  ///< module-level shared variables that are used
    std::map<std::pair<std::uint64_t, std::uint32_t>, Slot> constants_;
    std::map<std::pair<std::string_view, std::pair<std::int64_t, std::uint32_t>>, Slot> address_constants_;
    std::uint32_t predicate_room_ = 0;
    Slot next_predicate_ = 0;

    // Decoder state: current position, what the instruction touches, timing registers.
    std::unordered_set<std::string_view> understood_;  ///< whole opcodes whose modifiers have been checked
    Frame* frame_ = nullptr;
    const Instruction* at_ = nullptr;
    // Of that instruction:
    const Row* row_ = nullptr;
    Words found_;
    Type type_ = Type::none;  ///< the last one it names
    Touches* touch_ = nullptr;
    bool touches_special_ = false;
    std::uint32_t register_count_ = 0;
    std::vector<std::uint32_t> group_;  ///< union-find over timing registers
    std::vector<std::uint8_t> register_words_;
    std::vector<Touches> timed_touches_;
    ProgramText text_;
    std::map<std::string_view, std::uint32_t> text_words_;
    std::uint32_t group_of(std::uint32_t reg);
};

}  // namespace mergelane::ptx
