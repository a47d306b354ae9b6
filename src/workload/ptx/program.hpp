// SPDX-License-Identifier: MIT
// The decoded form of a kernel: what the executor runs and what the timing model sees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/kernel.hpp"
#include "workload/ptx/fragments.hpp"
#include "workload/ptx/module.hpp"
#include "workload/ptx/texture.hpp"
#include "workload/record/cta_reader.hpp"

namespace mergelane::ptx {

struct Warp;
struct Inst;

/// Executes one instruction for the lanes in `mask`, which is never empty.
using Handler = void (*)(Warp& warp, const Inst& inst, std::uint32_t mask);

/// The location of 32 lanes: a byte offset into the warp's registers or, if negative, into the constants of the launch. Predicates are a
/// single 32-bit mask instead.
using Slot = std::int32_t;
inline constexpr Slot kAbsent = std::numeric_limits<Slot>::max();
inline constexpr std::uint32_t kNone = ~0u;

/// How the addresses of the lanes of a load or store are spaced: found when it executes, or known from an earlier one of the block.
enum class Spacing : std::uint8_t { find, same };
inline constexpr std::size_t kSpacings = 4;  ///< known at the same time

struct Inst {
    Handler fn = nullptr;
    Slot d = kAbsent, a = kAbsent, b = kAbsent, c = kAbsent;
    Slot d2 = kAbsent;                  ///< second result; for shuffles and setp the second predicate
    std::uint32_t list = kNone;         ///< first entry in Program::lists, for vectors
    std::int64_t offset = 0;            ///< of an address
    std::uint32_t memory = kNone;       ///< number among the kernel's memory instructions
    std::uint32_t generic_run = kNone;  ///< generic access: the first of three recorded runs (global, shared, local)
    std::uint32_t line = 0;
    StateSpace space = StateSpace::generic;
    std::uint8_t count = 1;   ///< elements of a vector
    std::uint8_t bytes = 4;   ///< of one element in memory
    std::uint8_t sub = 0;     ///< meaning depends on the handler
    bool address_32 = false;  ///< the address register has 32 bits
    bool negate = false;      ///< a predicate operand is negated
    bool store = false;
    bool access = false;  ///< a load or store, which uses `spacing`
    Spacing spacing = Spacing::find;
    std::uint8_t spacing_at = 0;  ///< in Warp::spacings
};

enum class End : std::uint8_t { fall, branch, table, ret, exit, barrier, call, pointer_call, service, trap };

/// Straight-line code under one mask. A predicated instruction is a separate block.
struct Block {
    std::uint32_t first = 0;
    std::uint32_t end = 0;     ///< instructions [first, end), without the one that ends the block
    Slot guard = kAbsent;      ///< of the instructions
    Slot end_guard = kAbsent;  ///< of the branch, call or return at the end
    bool guard_negated = false;
    bool end_negated = false;
    End how = End::fall;
    std::uint32_t target = kNone;  ///< target block of a branch; for table and calls: index of the site
    std::uint32_t join = kNone;    ///< reconvergence point of a divergent branch; kNone: at the end
    std::uint32_t run = kNone;     ///< recorded run; kNone: costs nothing
    bool spins = false;            ///< a backward branch over an atomic, or over a load that must observe other threads' stores
    bool meets = false;            ///< starts with a barrier or an instruction for several lanes, in a function with spin loops
    bool generic = false;          ///< its only instruction records its run itself
    std::uint32_t steps = 0;       ///< instructions, for quantum and budget
    std::uint32_t line = 0;        ///< of a trap or call
};

struct Copy {
    std::uint32_t from, to, bytes;
};
/// A function that may be active several times in a thread: what is put aside when it is called once more.
struct RecursiveFrame {
    struct Register {
        Slot slot;
        std::uint8_t bytes;  ///< 0: a predicate
    };
    struct Address {
        Slot slot;
        std::uint8_t bytes;
        std::uint64_t first;  ///< in the outermost activation
    };
    std::vector<Register> registers;
    std::vector<Address> addresses;            ///< of local variables, which every activation has elsewhere; also among the registers
    std::uint32_t params = 0, params_end = 0;  ///< in the lane's parameter memory
};
struct CallSite {
    std::uint32_t callee = kNone;     ///< first block
    std::uint32_t recursive = kNone;  ///< the callee in Program::recursive
    std::vector<Copy> arguments;      ///< within the lane's parameter memory
    std::vector<Copy> results;
};
/// A call through a pointer: one call site for each function that it may lead to.
struct PointerSite {
    Slot pointer = kAbsent;
    struct Target {
        Addr address;
        std::uint32_t call;
    };
    std::vector<Target> targets;  ///< by address
};
struct TableSite {
    Slot index = kAbsent;
    std::vector<std::uint32_t> targets;  ///< blocks
};
enum class BarrierOp : std::uint8_t { sync, arrive, red_and, red_or, red_popc, cluster_arrive, cluster_wait };
struct BarrierSite {
    BarrierOp op = BarrierOp::sync;
    Slot id = kAbsent;
    Slot threads = kAbsent;  ///< kAbsent: all of the CTA
    Slot predicate = kAbsent;
    bool negate = false;
    Slot result = kAbsent;
};

/// mma and wmma.mma.
struct MatrixProduct {
    MatrixShape shape;
    Element a = Element::none, b = Element::none, c = Element::none, d = Element::none;
    bool a_by_rows = true, b_by_rows = false;  ///< matter only to m8n8k4 with f16
    bool saturate = false;
    bool bits_and = false;    ///< b1: and instead of exclusive or
    std::uint32_t slots = 0;  ///< first of the registers in Program::lists: of d, a, b and c, each element once
};
/// wgmma.mma_async.
struct WarpgroupProduct {
    MatrixProduct product;  ///< of one of its warps; registers are those of d and, if it is not in shared memory, of a
    bool negate = false, transpose_a = false, transpose_b = false;
};
/// wmma.load and wmma.store.
struct MatrixMove {
    MatrixShape shape;
    Fragment fragment = Fragment::a;
    Element element = Element::none;
    bool by_rows = true;          ///< the matrix in memory
    Slot stride = kAbsent;        ///< between its rows or columns, in elements; kAbsent: they are dense
    std::uint32_t registers = 0;  ///< may be a multiple of shape.registers(): copies
    std::uint32_t slots = 0;      ///< first of them in Program::lists

    /// Rows or columns in memory, and the elements of one.
    std::uint32_t lines() const { return natural() ? shape.lines(fragment) : shape.line_elements(fragment); }
    std::uint32_t line_elements() const { return natural() ? shape.line_elements(fragment) : shape.lines(fragment); }
    std::uint32_t line_bytes() const { return line_elements() * element_bits(element) / 8; }
    /// Warp accesses that transfer the matrix, one piece per lane each.
    std::uint32_t accesses() const { return shape.blocks(fragment, element); }
    /// Lines of the fragment are lines in memory.
    bool natural() const { return by_rows == (fragment != Fragment::b); }
};

/// A function of the device runtime that has no PTX body: the executor does its work, lane after lane.
enum class Service : std::uint8_t {
    print,
    fail_assertion,
    allocate,
    release,
    cuda_allocate,  ///< cudaMalloc and cudaFree of device code
    cuda_release,
    launch_buffer,  ///< device-side launches: memory for the parameters, then the launch itself
    launch,
    make_handle,  ///< of a stream or an event, which have no effect here
    succeed       ///< whatever needs no work
};
struct ServiceSite {
    static constexpr std::uint32_t kMostArguments = 5;
    Service what = Service::print;
    std::uint32_t arguments[kMostArguments] = {};  ///< offsets in the lane's parameter memory
    std::uint32_t result = kNone;
    std::uint32_t result_bytes = 0;
};

/// An address among the constants that is known only at launch.
struct PoolAddress {
    std::uint32_t at = 0;
    std::uint32_t bytes = 8;
    std::string_view symbol;
    std::int64_t addend = 0;
};

struct Program {
    std::string name;
    std::vector<Inst> code;
    std::vector<Block> blocks;
    std::vector<Slot> lists;
    std::vector<CallSite> calls;
    std::vector<RecursiveFrame> recursive;
    std::vector<PointerSite> pointer_calls;
    std::vector<TableSite> tables;
    std::vector<BarrierSite> barriers;
    std::vector<MatrixProduct> products;
    std::vector<MatrixMove> moves;
    std::vector<WarpgroupProduct> warpgroup_products;
    std::vector<ServiceSite> services;
    std::vector<TextureSite> textures;
    std::vector<std::byte> pool;
    std::vector<PoolAddress> pool_addresses;
    std::vector<Slot> specials = std::vector<Slot>(special_registers().size(), kAbsent);  ///< kAbsent: not used

    std::uint32_t register_bytes = 0;    ///< of one warp
    std::uint32_t shared_bytes = 0;      ///< static
    std::uint32_t reserved_shared = 0;   ///< the first of those bytes that are not the program's
    std::uint32_t dynamic_shared = 0;    ///< start of ".extern .shared"
    std::uint32_t local_bytes = 0;       ///< per thread
    std::uint32_t recursion_stride = 0;  ///< between the local variables of two activations of a function
    std::uint32_t parameter_bytes = 0;   ///< of calls, per thread
    std::uint32_t entry = 0;             ///< first block
    bool placement_dependent = false;
    bool prints = false;  ///< calls printf
    std::string untimed;  ///< an opcode that the timing model does not have, if there is one

    record::RecordedProgram timed;  ///< the instructions that cost an issue slot; those of a run are consecutive, under one mask
    std::uint32_t register_slots = 0;
    std::uint32_t registers_per_thread = 0;
    RegisterCount registers_from = RegisterCount::estimated;
};

}  // namespace mergelane::ptx
