// SPDX-License-Identifier: MIT
// The end of a block: branches and reconvergence, calls, returns, barriers, spin loops.
#include <algorithm>
#include <bit>
#include <cstring>

#include "core/bits.hpp"
#include "workload/ptx/executor.hpp"

namespace mergelane::ptx {

namespace {
constexpr std::uint32_t kWaitsBeforeSibling = 64;
constexpr std::size_t kMostLevels = 4096;

/// The lanes of a predicate, or the value of one lane.
std::uint32_t word_at(const Warp& warp, Slot slot, std::uint32_t lane = 0) {
    const std::byte* lanes = slot < 0 ? warp.pool + (slot & 0x7FFFFFFF) : warp.regs + slot;
    std::uint32_t word;
    std::memcpy(&word, lanes + lane * sizeof word, sizeof word);
    return word;
}
std::uint32_t guarded(const Warp& warp, Slot guard, bool negated) {
    return negated ? ~word_at(warp, guard) : word_at(warp, guard);
}
/// Of the lowest lane.
std::uint32_t first_value(const Warp& warp, Slot slot, std::uint32_t mask) {
    return word_at(warp, slot, lowest_bit(mask));
}
}  // namespace

std::uint32_t Executor::lanes_at_end(const Warp& warp, const Block& block) {
    return block.end_guard == kAbsent ? warp.block_mask : warp.block_mask & guarded(warp, block.end_guard, block.end_negated);
}

/// Arguments or results of a call.
void Executor::copy_params(Warp& warp, const std::vector<Copy>& copies, std::uint32_t mask) const {
    for (const Copy& copy : copies) {
        for (std::uint32_t left = mask; left != 0; left &= left - 1) {
            std::byte* lane = warp.call_params + std::size_t{lowest_bit(left)} * program_.parameter_bytes;
            std::memmove(lane + copy.to, lane + copy.from, copy.bytes);
        }
    }
}

/// Lanes that passed a reconvergence point before the others have reached an instruction for all of them. True if the others go first, or
/// have reached it, too, and join.
bool Executor::waits_for_others(Warp& warp) const {
    if (warp.stack.size() < 2) return false;
    Level& top = warp.stack[warp.stack.size() - 1];
    Level& below = warp.stack[warp.stack.size() - 2];
    if (!below.apart || below.join != top.join || below.mask == 0 || below.block == below.join) return false;
    if (below.block == top.block) {
        below.mask |= top.mask;
        below.apart = false;
        warp.stack.pop_back();
        return true;
    }
    if (program_.blocks[below.block].meets) return false;
    std::swap(top, below);
    return true;
}

/// The next block of the warp, and its lanes; false if the warp has ended.
bool Executor::fetch(Cta& cta, Warp& warp) {
    while (!warp.stack.empty()) {
        const Level& top = warp.stack.back();
        if (top.mask != 0 && top.block != top.join && !(top.apart && program_.blocks[top.block].meets && waits_for_others(warp))) break;
        if (top.mask == 0 || top.block == top.join) warp.stack.pop_back();
    }
    if (warp.stack.empty()) {
        warp.state = WarpState::done;
        --cta.live;
        for (std::uint32_t number = 0; number < kBarriers; ++number) {
            if (cta.barriers[number].arrived != 0) release(cta, number);
        }
        release_cluster(*cta.cluster);
        return false;
    }
    begin(warp, warp.stack.back().block);
    return true;
}

/// Begins a block, for the lanes of the top level.
void Executor::begin(Warp& warp, std::uint32_t number) {
    const std::uint32_t lanes = warp.stack.back().mask;
    const Block& block = program_.blocks[number];
    warp.block = number;
    warp.at = block.first;
    warp.block_mask = lanes;
    warp.mask = block.guard == kAbsent ? lanes : lanes & guarded(warp, block.guard, block.guard_negated);
    constexpr std::uint32_t kAll = ~0u;  // mostly, and quicker than counting
    const auto active = warp.mask == kAll ? kWarpLanes : static_cast<std::uint32_t>(std::popcount(warp.mask));
    stats_.thread_instructions += std::uint64_t{block.steps} * active;
    if (warp.recorder == nullptr || block.run == kNone) return;
    // The timing model does not see a barrier at which no lane arrives: it would wait for the others.
    const bool skipped = block.how == End::barrier && lanes_at_end(warp, block) == 0;
    if (!skipped && (!block.generic || warp.mask == 0)) warp.recorder->run(block.run, warp.mask);
}

/// Begins the block that all lanes execute next, unless their level ends there; then it has to be fetched.
bool Executor::go_on(Warp& warp, std::uint32_t next) {
    Level& top = warp.stack.back();
    if (next == top.join || top.apart) return false;
    top.block = next;
    begin(warp, next);
    return true;
}

/// The most frequent end of a block: a branch in which all lanes agree, not of a loop that may wait. False if it is another one.
bool Executor::branch_together(Warp& warp, const Block& block) {
    if (block.how != End::branch || block.spins) return false;
    const std::uint32_t taken = lanes_at_end(warp, block);
    if (taken != 0 && taken != warp.block_mask) return false;
    return go_on(warp, taken != 0 ? block.target : warp.block + 1);
}

void Executor::end_block(Cta& cta, Warp& warp, const Block& block) {
    switch (block.how) {
        case End::fall: break;
        case End::branch: branch(warp, block); break;
        case End::table: table_branch(warp, block); break;
        case End::call: call(warp, block); break;
        case End::pointer_call: pointer_call(warp, block); break;
        case End::ret:
        case End::exit:
            leave(warp, block);
            release_cluster(*cta.cluster);
            break;
        case End::barrier: barrier(cta, warp, block); break;
        case End::service: service(warp, block); break;
        case End::trap: trap(warp, block); break;
    }
    warp.block = kNone;
}

void Executor::branch(Warp& warp, const Block& block) {
    const std::uint32_t mask = warp.block_mask;
    const std::uint32_t next = warp.block + 1;
    const std::uint32_t taken = lanes_at_end(warp, block);
    if (taken == mask)
        warp.stack.back().block = block.target;
    else if (taken == 0)
        warp.stack.back().block = next;
    else
        diverge(warp, block.join, block.target, taken, next, mask & ~taken);
    if (block.spins && taken != 0) note_wait(warp);
}

/// Splits the top level: `mask` goes to `to` first, then `rest` to `rest_to`; both reconverge at `join`. A path that starts at the join
/// does not run at all. If the level itself ends at the join it is not kept, so that loops do not grow the stack.
void Executor::diverge(Warp& warp, std::uint32_t join, std::uint32_t to, std::uint32_t mask, std::uint32_t rest_to, std::uint32_t rest) {
    Level& top = warp.stack.back();
    std::uint32_t marker = kNone;  // a replaced level's call belongs to the lower new one
    if (top.join == join) {
        marker = top.call;
        warp.stack.pop_back();
    } else {
        top.block = join;
    }
    if (rest_to != join) {
        warp.stack.push_back({rest_to, join, rest, marker});
        marker = kNone;
    }
    if (to != join) warp.stack.push_back({to, join, mask, marker});
    if (warp.stack.size() > kMostLevels) fail("its branches are nested too deeply; simplify its control flow");
}

/// One path per target, lowest lane's first.
void Executor::table_branch(Warp& warp, const Block& block) {
    const TableSite& site = program_.tables[block.target];
    const std::uint32_t all = warp.block_mask;
    const std::uint32_t jumping = lanes_at_end(warp, block);
    std::uint32_t left = jumping;
    std::uint32_t others = all;
    const auto target_of = [&](std::uint32_t lane) {
        const std::uint32_t index = word_at(warp, site.index, lane);
        return site.targets[std::min<std::size_t>(index, site.targets.size() - 1)];
    };
    if (jumping == 0) {
        warp.stack.back().block = warp.block + 1;
        return;
    }
    while (left != 0) {
        const std::uint32_t target = target_of(lowest_bit(left));
        std::uint32_t same = 0;
        for (std::uint32_t lanes = left; lanes != 0; lanes &= lanes - 1) {
            if (target_of(lowest_bit(lanes)) == target) same |= 1u << lowest_bit(lanes);
        }
        left &= ~same;
        others &= ~same;
        if (others == 0) {
            warp.stack.back().block = target;
            return;
        }
        // The rest stays below and is split further; it is not at any block yet.
        Level& top = warp.stack.back();
        const Level rest{warp.block + 1, block.join, others, top.join == block.join ? top.call : kNone};
        if (top.join == block.join)
            warp.stack.pop_back();
        else
            top.block = block.join;
        const bool rest_jumps = left != 0;
        if (target != block.join) warp.stack.push_back({target, block.join, same, rest.call});
        warp.stack.push_back(rest);
        if (target != block.join) warp.stack[warp.stack.size() - 1].call = kNone;
        if (warp.stack.size() > kMostLevels) fail("its branches are nested too deeply; simplify its control flow");
        if (!rest_jumps) return;
    }
}

void Executor::call(Warp& warp, const Block& block) {
    const std::uint32_t mask = lanes_at_end(warp, block);
    warp.stack.back().block = warp.block + 1;
    if (mask == 0) return;
    enter(warp, block, block.target, mask);
}

void Executor::enter(Warp& warp, const Block& block, std::uint32_t call, std::uint32_t mask) {
    const CallSite& site = program_.calls[call];
    if (site.recursive != kNone && is_active(warp, site.callee)) keep_frame(warp, site.recursive, mask, block.line);
    copy_params(warp, site.arguments, mask);
    warp.stack.push_back({site.callee, kNone, mask, call});
    if (warp.stack.size() > kMostLevels)
        fail_in(block.line, "its calls are nested too deeply; does a function call itself forever? Simplify its control flow");
}

/// One function after the other, each for the lanes whose pointer leads there.
void Executor::pointer_call(Warp& warp, const Block& block) {
    const PointerSite& site = program_.pointer_calls[block.target];
    const auto pointer = [&](std::uint32_t lane) {
        const std::byte* lanes = site.pointer < 0 ? warp.pool + (site.pointer & 0x7FFFFFFF) : warp.regs + site.pointer;
        Addr value;
        std::memcpy(&value, lanes + lane * sizeof value, sizeof value);
        return value;
    };
    std::uint32_t left = lanes_at_end(warp, block);
    warp.stack.back().block = warp.block + 1;
    while (left != 0) {
        const Addr address = pointer(lowest_bit(left));
        const auto target = std::find_if(site.targets.begin(), site.targets.end(), [&](const auto& one) { return one.address == address; });
        if (target == site.targets.end())
            fail_in(block.line, "the called pointer {:#x} is no function of this prototype; check where it was set", address);
        std::uint32_t same = 0;
        for (std::uint32_t lanes = left; lanes != 0; lanes &= lanes - 1) {
            if (pointer(lowest_bit(lanes)) == address) same |= 1u << lowest_bit(lanes);
        }
        left &= ~same;
        enter(warp, block, target->call, same);
    }
}

/// Lanes that return leave the levels of their function; lanes that exit, or return from the kernel, leave all levels.
void Executor::leave(Warp& warp, const Block& block) {
    const std::uint32_t mask = lanes_at_end(warp, block);
    warp.stack.back().block = warp.block + 1;
    for (std::size_t k = warp.stack.size(); k-- > 0;) {
        Level& level = warp.stack[k];
        level.mask &= ~mask;
        if (block.how == End::exit || level.call == kNone) continue;
        return_results(warp, program_.calls[level.call], mask);
        break;
    }
}

void Executor::barrier(Cta& cta, Warp& warp, const Block& block) {
    const std::uint32_t mask = lanes_at_end(warp, block);
    warp.stack.back().block = warp.block + 1;
    if (mask == 0) return;
    const BarrierSite& site = program_.barriers[block.target];
    if (site.op >= BarrierOp::cluster_arrive) return cluster_barrier(cta, warp, site.op, mask);
    const std::uint32_t number = first_value(warp, site.id, mask) % kBarriers;
    Barrier& bar = cta.barriers[number];
    ++bar.arrived;
    if (site.threads != kAbsent) bar.expected = (first_value(warp, site.threads, mask) + kWarpLanes - 1) / kWarpLanes;
    if (site.predicate != kAbsent) {
        const std::uint32_t held = guarded(warp, site.predicate, site.negate) & mask;
        bar.count += static_cast<std::uint32_t>(std::popcount(held));
        bar.all = bar.all && held == mask;
    }
    if (site.op != BarrierOp::arrive) {
        warp.state = WarpState::at_barrier;
        warp.barrier = number;
        warp.barrier_site = block.target;
        warp.block_mask = mask;
    }
    release(cta, number);
}

/// Releases the warps at a barrier if all expected warps have arrived.
void Executor::release(Cta& cta, std::uint32_t number) {
    Barrier& bar = cta.barriers[number];
    if (bar.arrived == 0 || bar.arrived < (bar.expected != 0 ? bar.expected : cta.live)) return;
    for (Warp& warp : cta.warps) {
        if (warp.state != WarpState::at_barrier || warp.barrier != number) continue;
        warp.state = WarpState::ready;
        warp.waits = 0;
        const BarrierSite& site = program_.barriers[warp.barrier_site];
        if (site.result == kAbsent) continue;
        if (site.op == BarrierOp::red_popc) {
            auto* lanes = reinterpret_cast<std::uint32_t*>(warp.regs + site.result);
            for (std::uint32_t left = warp.block_mask; left != 0; left &= left - 1) lanes[lowest_bit(left)] = bar.count;
        } else {
            const bool yes = site.op == BarrierOp::red_and ? bar.all : bar.count != 0;
            const std::uint32_t before = word_at(warp, site.result);
            const std::uint32_t value = yes ? before | warp.block_mask : before & ~warp.block_mask;
            std::memcpy(warp.regs + site.result, &value, sizeof value);
        }
    }
    bar = {};
}

/// The barrier of a cluster counts threads. A warp waits until the phase in which it arrived is over.
void Executor::cluster_barrier(Cta& cta, Warp& warp, BarrierOp op, std::uint32_t mask) {
    Cluster& cluster = *cta.cluster;
    if (op == BarrierOp::cluster_wait) {
        if (warp.cluster_phase == cluster.phase) warp.state = WarpState::at_cluster_barrier;
        return;
    }
    warp.cluster_phase = cluster.phase;
    cluster.arrived += static_cast<std::uint32_t>(std::popcount(mask));
    release_cluster(cluster);
}

/// Ends the phase of a cluster's barrier if all threads that have not exited have arrived.
void Executor::release_cluster(Cluster& cluster) {
    if (cluster.arrived == 0) return;
    std::uint32_t live = 0;
    const auto each_warp = [&](const auto& use) {
        for (const auto& cta : cluster.ctas) {
            for (Warp& warp : cta->warps) {
                if (warp.state != WarpState::done) use(warp);
            }
        }
    };
    each_warp([&](const Warp& warp) {
        std::uint32_t lanes = 0;
        for (const Level& level : warp.stack) lanes |= level.mask;
        live += static_cast<std::uint32_t>(std::popcount(lanes));
    });
    if (cluster.arrived < live) return;
    cluster.arrived = 0;
    ++cluster.phase;
    each_warp([](Warp& warp) {
        if (warp.state != WarpState::at_cluster_barrier) return;
        warp.state = WarpState::ready;
        warp.waits = 0;
    });
}

/// One iteration of a loop that may wait for other threads. After some iterations without progress, lanes of the same warp that can proceed
/// are scheduled first; otherwise a lock held by a lane of this warp would never be released.
void Executor::note_wait(Warp& warp) {
    if (launch_.changes != warp.changes_seen) {
        warp.changes_seen = launch_.changes;
        warp.waits = 0;
        return;
    }
    ++warp.waits;
    if (warp.waits % kWaitsBeforeSibling == 0) run_sibling(warp);
}

bool Executor::run_sibling(Warp& warp) {
    while (warp.stack.size() >= 2) {
        Level& top = warp.stack[warp.stack.size() - 1];
        Level& below = warp.stack[warp.stack.size() - 2];
        if (top.call != kNone) return false;
        if (below.join == top.join && below.block != below.join) {  // the other path of the same branch
            if (below.apart && program_.blocks[below.block].meets) return false;
            std::swap(top.block, below.block);
            std::swap(top.mask, below.mask);
            std::swap(top.apart, below.apart);
            return true;
        }
        if (below.block != top.join) return false;
        if (below.block == below.join) {  // nothing happens there: the paths reconverge further out
            if (below.call != kNone) return false;
            top.join = below.join;
            warp.stack.erase(warp.stack.end() - 2);
            continue;
        }
        // Lanes that wait at the reconvergence point continue on their own, up to the next barrier or the end of their own level.
        if (program_.blocks[below.block].meets) return false;
        const std::uint32_t waiting = below.mask & ~top.mask;
        if (waiting == 0) return false;
        const Level past{below.block, below.join, waiting, kNone, true};
        top.join = below.join;
        top.apart = true;
        below.block = below.join;
        warp.stack.push_back(past);
        return true;
    }
    return false;
}

}  // namespace mergelane::ptx
