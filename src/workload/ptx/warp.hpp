// SPDX-License-Identifier: MIT
// The state of a warp and of its launch, as seen by the handlers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "workload/ptx/device_memory.hpp"
#include "workload/ptx/program.hpp"
#include "workload/record/recorder.hpp"

namespace mergelane::ptx {

/// Generic address windows of shared and local memory; below the arena of device memory.
inline constexpr Addr kSharedWindow = 0x1'0000'0000;
inline constexpr Addr kLocalWindow = 0x2'0000'0000;
inline constexpr Addr kParamWindow = 0x3'0000'0000;  ///< parameters of the kernel
inline constexpr Addr kWindowBytes = 0x1'0000'0000;
/// Shared memory of the CTAs of a cluster: addresses with the rank of a CTA plus one in these bits. Without, they are of the CTA itself.
inline constexpr std::uint32_t kRankShift = 24;
inline constexpr std::uint32_t kRankMask = (1u << kRankShift) - 1;
inline constexpr std::uint32_t kMostRanks = 254;
/// Addresses of local memory in the timing model, far from everything else.
inline constexpr Addr kLocalArena = 0x80'0000'0000;

struct Warp;

struct AlignedBytes {
    std::unique_ptr<std::byte[]> data;
    std::byte* aligned = nullptr;  ///< to 64 bytes
    void resize(std::size_t bytes);
};

/// One lane's access to what is not its memory.
struct OutOfBounds {
    StateSpace space;
    Addr address;  ///< within the space
    std::uint32_t lane;
    std::uint32_t bytes;
};

/// How many events mbarriers have counted, and how many when their last phase was over: what a wait of the timing model waits for.
class MbarrierEvents {
public:
    void count(const std::byte* barrier);
    void end_phase(const std::byte* barrier);
    std::uint64_t of_last_phase(const std::byte* barrier) const;
    /// The memory gets a new owner.
    void forget(const std::byte* first, std::size_t bytes);

private:
    struct Events {
        std::uint64_t now = 0, at_end = 0;
    };
    std::map<const std::byte*, Events> events_;
};

struct Launch {
    const Program& program;
    const Module& module;
    DeviceMemory& memory;
    const std::byte* params = nullptr;
    std::uint32_t param_bytes = 0;
    AlignedBytes pool;                        ///< constants, with addresses filled in
    std::vector<DeviceMemory::Range> ranges;  ///< most recently used allocation of each memory instruction
    std::vector<std::uint8_t> warned;         ///< per memory instruction
    MbarrierEvents mbarriers;                 ///< if the launch is recorded
    std::uint64_t changes = 0;                ///< stores and atomics that changed something, as a measure of progress
    bool moved;                               ///< some memory has another address in the timing model
    // The clock: a warp instruction takes a cycle, reading the clock some more, so that waiting for a time ends.
    const std::uint64_t* executed = nullptr;  ///< warp instructions of the launch, up to the current turn
    std::uint64_t clock_base = 0;
    std::uint64_t clock_reads = 0;

    Launch(const Program& p, const Module& m, DeviceMemory& d) : program(p), module(m), memory(d), moved(d.moved()) {}
    static constexpr std::uint64_t kClockReadCycles = 32;
    std::uint64_t clock() const { return clock_base + *executed + clock_reads * kClockReadCycles; }
    std::uint64_t read_clock() {
        ++clock_reads;
        return clock();
    }
    /// Reports an out-of-bounds lane, once per instruction.
    void warn(const Warp& warp, const Inst& inst, const OutOfBounds& access);
    /// Ends the launch: what a lane asks for cannot be done.
    [[noreturn]] void refuse(const Warp& warp, const Inst& inst, std::uint32_t lane, std::string_view why) const;
    /// "file:line: kernel ..., CTA ..., thread ..."
    std::string where(const Warp& warp, const Inst& inst, std::uint32_t lane) const;
};

enum class WarpState : std::uint8_t { ready, at_barrier, at_cluster_barrier, done };

/// One level of the divergence stack: `mask` executes from `block` until it reaches `join`.
struct Level {
    std::uint32_t block = 0;
    std::uint32_t join = kNone;
    std::uint32_t mask = 0;
    std::uint32_t call = kNone;  ///< first level of a called function: the call site
    bool apart = false;          ///< passed its reconvergence point without the others, because they spin
};

/// What lanes had in a function before they called it once more.
struct KeptFrame {
    std::uint32_t number;  ///< in Program::recursive
    std::uint32_t mask;    ///< lanes that have not returned
    std::vector<std::byte> data;
};

/// Addresses of all lanes, without the offset of the instruction: first + lane * stride, if they are even.
struct LaneSpacing {
    Addr first = 0;
    std::int64_t stride = 0;
    bool even = false;
};

struct Warp {
    std::byte* regs = nullptr;
    const std::byte* pool = nullptr;
    std::byte* shared = nullptr;
    std::uint32_t shared_bytes = 0;
    std::byte* const* cluster = nullptr;  ///< shared memory of the CTAs of its cluster, by rank
    std::uint32_t cluster_size = 1;
    std::uint32_t rank = 0;            ///< of its CTA
    std::uint32_t cluster_phase = 0;   ///< of the cluster's barrier, when the warp arrived there
    std::byte* local = nullptr;        ///< lane after lane
    std::byte* call_params = nullptr;  ///< lane after lane
    Addr local_address = 0;            ///< as seen by the timing model
    std::uint32_t carry = 0;           ///< CC.CF of each lane
    LaneSpacing spacings[kSpacings];   ///< of loads and stores of the full warp
    Launch* launch = nullptr;
    record::WarpRecorder* recorder = nullptr;  ///< nullptr: do not record

    std::vector<Level> stack;
    std::vector<KeptFrame> kept;
    std::size_t kept_bytes = 0;
    std::uint32_t at = 0;          ///< next instruction; valid within a block
    std::uint32_t block = kNone;   ///< block being executed; kNone: fetch the next one
    std::uint32_t mask = 0;        ///< its lanes
    std::uint32_t block_mask = 0;  ///< its lanes before the guard of its instructions
    std::uint32_t index = 0;       ///< in the CTA
    std::uint64_t cta = 0;
    std::uint32_t waits = 0;  ///< iterations of a spin loop since a change was observed
    std::uint64_t changes_seen = 0;
    std::uint32_t barrier = kNone;  ///< waiting at
    std::uint32_t barrier_site = kNone;
    WarpState state = WarpState::ready;
};

}  // namespace mergelane::ptx
