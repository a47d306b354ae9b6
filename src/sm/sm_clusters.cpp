// SPDX-License-Identifier: MIT
// Clusters of CTAs (ADR 0049): their barrier, and accesses to shared memory of other CTAs.
#include <algorithm>
#include <bit>

#include "core/bits.hpp"
#include "core/error.hpp"
#include "sm/sm.hpp"

namespace mergelane {

namespace {

// Addresses of shared memory in other CTAs of a cluster: their rank plus one in these bits. Without, they are of the CTA itself.
constexpr std::uint32_t kRankShift = 24;
constexpr Addr kOffset = (Addr{1} << kRankShift) - 1;

}  // namespace

void Sm::connect_gpc(const GpcPort::Links& links) {
    gpc_.connect(links);
    links.in->number_input(kGpcInput);
}

/// Messages from the GPC make the asynchronous part of a step due.
void Sm::expect(std::uint32_t input, Cycle at) {
    if (input == kGpcInput) async_due_ = std::min(async_due_, at);
    wake(at);
}

void Sm::send_to_gpc(const GpcMessage& message, Cycle at, Cycle now) {
    gpc_.send(message, at);
    gpc_.step(now);
    async_due_ = std::min(async_due_, gpc_.next(now));
}

/// Warps of a CTA that have not ended, and have not arrived at the barrier of its cluster in this phase.
void Sm::check_cluster_barrier(Context& context, Moment now) {
    const std::uint64_t live = context.warps & ~finished_;
    GpcMessage message;
    message.cluster = context.cluster;
    message.rank = context.rank;
    if (live == 0) {
        message.kind = GpcMessage::Kind::leave;
    } else if (context.arrived != 0 && (live & ~context.arrived) == 0) {
        message.kind = GpcMessage::Kind::arrive;
        context.arrived = 0;
    } else {
        return;
    }
    send_to_gpc(message, base_ + now, base_ + now);
}

void Sm::arrive_at_cluster(std::uint32_t warp, Moment now) {
    Context& context = contexts_[warps_[warp].context];
    if (context.ranks == 1) {  // a cluster of one CTA
        ++context.cluster_phase;
        return;
    }
    context.arrived |= bit(warp);
    async_unit().warp(warp).cluster_phase = context.cluster_phase;
    check_cluster_barrier(context, now);
}

bool Sm::waits_for_cluster() const {
    for (std::uint64_t waiting = waits_copies_; waiting != 0; waiting &= waiting - 1) {
        if (warps_[lowest_bit(waiting)].inst->async_op == AsyncOp::cluster_wait) return true;
    }
    return false;
}

/// Whether a lane accesses shared memory of another CTA.
bool Sm::is_remote(std::uint32_t warp) {
    const Warp& w = warps_[warp];
    if (lanes_.run_count != 0) {
        lanes_.affine = false;
        lanes_.expand(w.active);
    }
    bool remote = false;
    for (std::uint32_t left = w.active; left != 0; left &= left - 1)
        remote = remote || is_remote_address(w.context, lanes_.of(lowest_bit(left)));
    return remote;
}

bool Sm::is_remote_address(std::uint32_t context, Addr address) const {
    const Addr number = address >> kRankShift;
    return number != 0 && number != contexts_[context].rank + 1u;
}

/// A message for each CTA that lanes access; own shared memory, if some lanes access that, costs a message to itself.
void Sm::issue_remote(std::uint32_t warp, const StaticInst& inst, Moment now) {
    const Warp& w = warps_[warp];
    Context& context = contexts_[w.context];
    std::array<std::uint32_t, kMostClusterCtas> lanes{};
    for (std::uint32_t left = w.active; left != 0; left &= left - 1) {
        const std::uint32_t lane = lowest_bit(left);
        const Addr number = lanes_.of(lane) >> kRankShift;
        const Addr rank = number == 0 ? context.rank : number - 1;
        if (rank < context.ranks) lanes[rank] |= 1u << lane;
    }
    if (by_instruction_ != nullptr) by_instruction_->coalesced(inst, w.active, 0);
    RemoteAccess access{&inst, base_ + now, 0, static_cast<std::uint8_t>(warp), port_.followed().is_turn(stats_.shared_instructions)};
    const std::uint16_t tag = take_remote();
    for (std::uint32_t rank = 0; rank < context.ranks; ++rank) {
        if (lanes[rank] == 0) continue;
        GpcMessage message;
        message.kind = inst.op == OpClass::store ? GpcMessage::Kind::store : GpcMessage::Kind::load;
        message.cluster = context.cluster;
        message.ranks = static_cast<std::uint16_t>(1u << rank);
        message.bytes = static_cast<std::uint32_t>(std::popcount(lanes[rank])) * inst.lane_bytes;
        message.passes = static_cast<std::uint8_t>(shared_.degree(lanes_, lanes[rank], inst.lane_bytes));
        message.tag = tag;
        ++access.outstanding;
        send_to_gpc(message, base_ + now, base_ + now);
    }
    remote_[tag] = access;
    if (inst.op == OpClass::store || access.outstanding == 0) finish_remote(tag, base_ + now + 1, base_ + now);  // posted
}

std::uint16_t Sm::take_remote() {
    if (free_remote_.empty()) {
        free_remote_.push_back(static_cast<std::uint16_t>(remote_.size()));
        remote_.emplace_back();
    }
    const std::uint16_t tag = free_remote_.back();
    free_remote_.pop_back();
    return tag;
}

void Sm::finish_remote(std::uint16_t tag, Cycle at, Cycle now) {
    const RemoteAccess access = remote_[tag];
    free_remote_.push_back(tag);
    Load load{access.inst, access.issued, at, 0, access.warp};
    load.started = access.issued;
    if (!access.followed || access.inst->op == OpClass::store) return load_finished(load, nullptr, now);
    const Arrival arrival{at, access.issued * remote_stage_.period, nullptr, remote_stage_};
    const LoadHistory history(load, arrival, nullptr, loads_.stages(), now);
    loads_.account().add(history);
    load_finished(load, &history, now);
}

/// An event at the mbarrier of another CTA.
void Sm::send_event(std::uint32_t context, Addr barrier, Cycle at, Cycle now) {
    const Context& from = contexts_[context];
    GpcMessage message;
    message.kind = GpcMessage::Kind::event;
    message.cluster = from.cluster;
    message.ranks = static_cast<std::uint16_t>(1u << ((barrier >> kRankShift) - 1));
    message.address = barrier & kOffset;
    message.bytes = 8;
    send_to_gpc(message, at, now);
}

/// So many bytes of a copy for several CTAs have arrived here, and go to the others; with the last ones goes an event.
void Sm::send_multicast(const BulkCopy& copy, std::uint32_t bytes, bool last, Cycle now) {
    const Context& from = contexts_[copy.context];
    GpcMessage message;
    message.kind = GpcMessage::Kind::multicast;
    message.cluster = from.cluster;
    message.ranks = static_cast<std::uint16_t>(copy.box.ranks & ~(std::uint64_t{1} << from.rank));
    message.address = copy.box.barrier;
    message.bytes = bytes;
    message.tag = last ? 1 : 0;
    if (message.ranks != 0 && from.ranks > 1) send_to_gpc(message, now, now);
}

/// Everything that has arrived from other SMs of the GPC. Returns the warps that may go on.
std::uint64_t Sm::receive_from_gpc(Cycle now) {
    std::uint64_t affected = 0;
    while (gpc_.has(now)) {
        GpcMessage message = gpc_.take(now);
        if (message.slot >= contexts_.size()) continue;  // for a CTA of an earlier kernel
        switch (message.kind) {
            case GpcMessage::Kind::load:
                message.kind = GpcMessage::Kind::reply;
                gpc_.send(message, shared_.serve_remote(message.passes, now));
                break;
            case GpcMessage::Kind::store: shared_.serve_remote(message.passes, now); break;
            case GpcMessage::Kind::reply:
                if (--remote_[message.tag].outstanding == 0) finish_remote(message.tag, now, now);
                break;
            case GpcMessage::Kind::event: expect_event(message.slot, message.address, shared_.serve_remote(1, now)); break;
            case GpcMessage::Kind::multicast: {
                const Cycle written = shared_.write_copied(std::max(message.bytes, 1u), now);
                if (message.tag == 1) expect_event(message.slot, message.address, written);
                break;
            }
            case GpcMessage::Kind::release: {
                Context& context = contexts_[message.slot];
                ++context.cluster_phase;
                affected |= context.warps;
                break;
            }
            default: throw SimulationError(name() + ": received a message that is not for SMs");
        }
    }
    return affected;
}

}  // namespace mergelane
