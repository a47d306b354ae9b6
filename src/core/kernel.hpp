// SPDX-License-Identifier: MIT
// The interface between workloads and the machine. Per warp, a source yields runs of consecutive static instructions with one active mask,
// and lane addresses on demand. The timing model never computes values.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/instruction_counts.hpp"
#include "core/l2_hint.hpp"
#include "core/types.hpp"

namespace mergelane {

/// What an instruction costs. Arithmetic classes come first and index the execution table.
enum class OpClass : std::uint8_t {
    int_add,
    int_minmax,
    int_mul,
    int_mad,
    int_div,
    fp_add,
    fp_minmax,
    fp_mul,
    fp_mad,
    fp_div,
    dp_add,
    dp_minmax,
    dp_div,
    sfu,
    tensor,
    branch,
    constant,
    load,
    store,
    atomic,
    barrier,
    fence,
    exit
};
inline constexpr std::uint32_t kComputeClasses = static_cast<std::uint32_t>(OpClass::load);
inline constexpr std::array<std::string_view, kComputeClasses> kComputeClassNames = {
    "int_add", "int_minmax", "int_mul",   "int_mad", "int_div", "fp_add", "fp_minmax", "fp_mul",  "fp_mad",
    "fp_div",  "dp_add",     "dp_minmax", "dp_div",  "sfu",     "tensor", "branch",    "constant"};

inline constexpr std::uint32_t kOpClasses = static_cast<std::uint32_t>(OpClass::exit) + 1;
inline constexpr std::array<std::string_view, kOpClasses - kComputeClasses> kOtherClassNames = {"load",    "store", "atomic",
                                                                                                "barrier", "fence", "exit"};

enum class Space : std::uint8_t { global, local, shared };

/// What an asynchronous instruction does. The first one is of ADR 0037, the others of ADR 0048.
enum class AsyncOp : std::uint8_t {
    copy,                    ///< copies of single lanes, their groups, and mbarriers that observe them
    arrive,                  ///< atomic: an event at mbarriers
    wait,                    ///< load: until mbarriers have counted so many events
    bulk_load,               ///< load: one thread copies from global to shared memory; an mbarrier counts its end
    bulk_store,              ///< store: one thread copies from shared to global memory
    bulk_reduce,             ///< atomic: the same with an operation in memory
    bulk_prefetch,           ///< load: to the L2
    bulk_group,              ///< fence: ends or awaits groups of bulk stores, as lane_bytes says
    bulk_read_group,         ///< fence: awaits only that they have read shared memory
    product,                 ///< fence: a warp's part of a product of matrices in shared memory; 8 * lane_bytes columns
    product_from_registers,  ///< the same with A in registers
    product_group,           ///< fence: ends or awaits groups of products
    cluster_arrive,          ///< fence: at the barrier of its cluster of CTAs
    cluster_wait             ///< fence
};
inline constexpr std::uint8_t kAsyncOps = 14;

/// One instruction of the program text, decoded once per kernel.
struct StaticInst {
    static constexpr std::uint32_t kMaxRegs = 8;

    std::uint32_t pc = 0;
    OpClass op = OpClass::int_add;
    Space space = Space::global;
    std::uint8_t lane_bytes = 4;  ///< bytes one lane reads or writes
    bool bypass_l1 = false;       ///< global load that must not be served by the L1
    L2Hint l2_hint;               ///< access to global memory: how long the L2 should keep its lines
    std::uint8_t dst_count = 0;   ///< regs[0..dst_count) are written
    std::uint8_t reg_count = 0;   ///< regs[0..reg_count) must have no pending result before issue
    std::array<std::uint16_t, kMaxRegs> regs{};
    /// Belongs to the asynchronous copies of its warp (ADR 0037). Load from global memory: a copy to shared memory. Fence: ends the group
    /// of the copies so far, or waits for groups; lane_bytes says which. Atomic on shared memory: the same end of a group, whose completion
    /// the mbarrier at this address observes. Load from shared memory: waits for the groups that this mbarrier observes.
    bool async = false;
    AsyncOp async_op = AsyncOp::copy;

    static constexpr std::uint8_t kEndsGroup = 255;       ///< lane_bytes of an asynchronous fence that does not wait
    static constexpr std::uint8_t kMostGroupsLeft = 254;  ///< otherwise it waits until so many groups, or fewer, are incomplete
};
/// The pc of instructions that a transform added to a kernel.
inline constexpr std::uint32_t kAddedPc = ~0u;
inline bool is_memory(const StaticInst& inst) {
    return inst.op >= OpClass::load && inst.op <= OpClass::atomic;
}
/// Its addresses are a list of values, whatever its lanes (ADR 0048). Of an arrival: mbarriers that count one event each. Of a wait: pairs
/// of an mbarrier and a number of events. Of a bulk copy: what core/bulk_box.hpp describes.
inline bool has_values(const StaticInst& inst) {
    return inst.async && inst.async_op >= AsyncOp::arrive && inst.async_op <= AsyncOp::bulk_prefetch;
}

/// Byte addresses of the active lanes: base + lane * stride, a list, or a few runs of active lanes in order.
struct LaneAddresses {
    struct Run {
        Addr base = 0;
        std::int64_t stride = 0;
        std::uint32_t count = 0;
    };
    static constexpr std::uint32_t kMostRuns = 6;

    bool affine = true;
    Addr base = 0;
    std::int64_t stride = 0;
    std::array<Addr, kWarpLanes> lane;  ///< valid for active lanes when neither affine nor runs
    std::uint32_t run_count = 0;        ///< if not 0, the runs hold the addresses; call expand() before `of`
    std::array<Run, kMostRuns> runs;
    std::uint32_t values = 0;  ///< only of instructions with values: lane[0..values)

    Addr of(std::uint32_t index) const { return affine ? base + static_cast<Addr>(stride) * index : lane[index]; }
    /// Converts runs to the list.
    void expand(std::uint32_t active) {
        for (std::uint32_t r = 0; r < run_count; ++r) {
            Addr address = runs[r].base;
            for (std::uint32_t k = 0; k < runs[r].count && active != 0; ++k, active &= active - 1) {
                lane[static_cast<std::uint32_t>(std::countr_zero(active))] = address;
                address += static_cast<Addr>(runs[r].stride);
            }
        }
        run_count = 0;
    }
};

/// Consecutive instructions of one warp with one active mask.
struct Run {
    const StaticInst* first = nullptr;
    std::uint32_t count = 0;
    std::uint32_t active = 0;
};

struct Dim3 {
    std::uint32_t x = 1, y = 1, z = 1;
    std::uint64_t count() const { return std::uint64_t{x} * y * z; }
    bool operator==(const Dim3&) const = default;
};

inline constexpr std::uint32_t kMostClusterCtas = 16;
/// Whether a grid can be divided into clusters of this size.
inline bool fits_grid(const Dim3& cluster, const Dim3& grid) {
    const std::uint32_t most = kMostClusterCtas;
    return cluster.x - 1 < most && cluster.y - 1 < most && cluster.z - 1 < most && cluster.count() <= most && grid.x % cluster.x == 0 &&
           grid.y % cluster.y == 0 && grid.z % cluster.z == 0;
}

/// How the number of registers per thread is known.
enum class RegisterCount : std::uint8_t { given, cubin, estimated };
inline constexpr std::array<std::string_view, 3> kRegisterCountNames = {"given", "cubin", "estimated"};

struct KernelInfo {
    std::string name;
    Dim3 grid;
    Dim3 block;
    std::uint32_t registers_per_thread = 32;  ///< for residency
    std::uint32_t register_slots = 32;        ///< highest register number used by the stream, plus one
    std::uint32_t shared_bytes = 0;           ///< per CTA, static and dynamic
    RegisterCount registers_from = RegisterCount::given;
    Dim3 cluster = {};  ///< CTAs that run at the same time, close to each other

    std::uint64_t ctas() const { return grid.count(); }
    std::uint32_t cluster_ctas() const { return static_cast<std::uint32_t>(cluster.count()); }
    /// The CTA with this rank in a cluster; clusters are numbered like CTAs, x first.
    std::uint64_t cta_of(std::uint64_t number, std::uint32_t rank) const {
        const std::uint64_t across = grid.x / cluster.x;
        const std::uint64_t down = grid.y / cluster.y;
        const std::uint64_t x = number % across * cluster.x + rank % cluster.x;
        const std::uint64_t y = number / across % down * cluster.y + rank / cluster.x % cluster.y;
        const std::uint64_t z = number / across / down * cluster.z + rank / cluster.x / cluster.y;
        return x + grid.x * (y + grid.y * z);
    }
    std::uint32_t warps_per_cta() const { return static_cast<std::uint32_t>((block.count() + kWarpLanes - 1) / kWarpLanes); }
};

/// The instructions of one CTA at a time. Created once per CTA slot of an SM and reopened for every CTA placed there, so that nothing is
/// allocated during simulation.
class CtaStream {
public:
    virtual ~CtaStream() = default;
    virtual void open(std::uint64_t cta) = 0;
    /// The next run of `warp`, or false when the warp has finished.
    virtual bool next_run(std::uint32_t warp, Run& run) = 0;
    /// Addresses of the memory instruction `inst` that `warp` issues now; called in program order.
    virtual void addresses(std::uint32_t warp, const StaticInst& inst, std::uint32_t active, LaneAddresses& out) = 0;
    /// The CTA of the original kernel that `warp` executes, if a transform assigned it a different one, or several in turn. `opened`: the
    /// CTA that was opened.
    virtual std::uint64_t task(std::uint32_t /*warp*/, std::uint64_t opened) const { return opened; }
};

/// Where and when the dispatcher placed a CTA.
struct CtaPlace {
    std::uint32_t sm = 0;
    std::uint32_t sms = 1;    ///< of the machine
    std::uint32_t slot = 0;   ///< among the SM's CTAs
    std::uint32_t slots = 1;  ///< CTAs of this kernel that fit on an SM
    Cycle cycle = 0;
};

/// The program of a kernel, as far as it is known before the kernel runs.
struct Listing {
    std::span<const StaticInst> instructions;  ///< runs point into it
    std::shared_ptr<const ProgramText> text;   ///< nullptr: there is none
};

class KernelSource {
public:
    virtual ~KernelSource() = default;
    virtual const KernelInfo& info() const = 0;
    virtual std::unique_ptr<CtaStream> make_stream() const = 0;
    /// For reports by instruction. Instructions that are not listed are known by their pc.
    virtual Listing listing() const { return {}; }

    /// CTAs execute when they are placed, so dispatch order is execution order: there is one dispatcher for the whole machine.
    virtual bool executes_at_placement() const { return false; }
    /// The kernel depends on where its CTAs run: place() is called for each CTA before it is opened, in dispatch order on each dispatcher.
    virtual bool wants_places() const { return executes_at_placement(); }
    virtual void place(std::uint64_t /*cta*/, const CtaPlace& /*place*/) const {}
    /// Called when all CTAs have finished. Throws SimulationError if work was left undone.
    virtual void finish() const {}
};

/// A sequence of kernels, run one after the other.
class Workload {
public:
    virtual ~Workload() = default;
    virtual const std::string& name() const = 0;
    /// The next kernel, or nullptr at the end. The previous one may be released.
    virtual const KernelSource* next_kernel() = 0;
};

/// A registered workload, for `mergelane run --workload NAME`.
struct NamedWorkload {
    struct Request {
        std::string size;  ///< as in `--size`: "tiny", "paper", "large"
        std::uint64_t seed = 1;
    };
    static constexpr std::string_view kKind = "workload";
    using Maker = std::function<std::unique_ptr<Workload>(const Request&)>;
};

}  // namespace mergelane
