// SPDX-License-Identifier: MIT
#include "sm/bulk_engine.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace mergelane {

namespace {
constexpr std::uint32_t kBankRow = 128;  ///< bytes of an access to shared memory
}

/// The oldest copy begins to send its requests, if it has passed the pipeline and there is a tag for it.
bool BulkEngine::begin(Cycle now) {
    if (waiting_.empty() || waiting_.front().issued + spec_->latency > now) return false;
    if (free_.empty()) {
        if (flights_.size() == kMostInFlight) return false;
        free_.push_back(static_cast<std::uint16_t>(flights_.size()));
        flights_.emplace_back();
    }
    sending_ = free_.back();
    free_.pop_back();
    flights_[sending_] = {waiting_.front(), 0, 0, 0, false};
    waiting_.erase(waiting_.begin());
    blocks_left_ = BulkBlocks(flights_[sending_].copy.box, block_bytes_);
    busy_ = true;
    ++boxes_;
    bytes_ += flights_[sending_].copy.box.shared;
    return true;
}

void BulkEngine::step(Cycle now) {
    if (spec_ == nullptr || stepped_ == now) return;
    no_room_ = false;
    for (std::uint32_t k = 0; k < spec_->blocks_per_cycle; ++k) {
        if (!busy_ && !begin(now)) return;
        if (!blocks_left_.done()) {
            if (!port_.room(now)) {
                no_room_ = true;
                return;
            }
            send(now);
        }
        stepped_ = now;
        if (!blocks_left_.done()) continue;
        busy_ = false;
        Flight& flight = flights_[sending_];
        flight.all_sent = true;
        listener_.bulk_sent(flight.copy, now);
        if (flight.outstanding == 0) finish(sending_, now);
    }
}

void BulkEngine::send(Cycle now) {
    Flight& flight = flights_[sending_];
    const AsyncOp op = flight.copy.op;
    Packet packet;
    packet.address = blocks_left_.block();
    packet.tag = static_cast<std::uint16_t>(kFirstTag + sending_);
    packet.priority = flight.copy.inst->l2_hint.at(packet.address);
    if (op == AsyncOp::bulk_store || op == AsyncOp::bulk_reduce) {
        constexpr std::uint32_t kLineBytes = kMaxLineBytes;
        std::uint32_t first = 0, count = 0;
        blocks_left_.bytes(first, count);
        packet.kind = op == AsyncOp::bulk_store ? PacketKind::write : PacketKind::atomic;
        packet.bytes.set_range(static_cast<std::uint32_t>(packet.address % kLineBytes) + first, count);
        gathered_ += count;
        if (gathered_ >= kBankRow) {
            shared_.write_copied(gathered_, now);
            gathered_ = 0;
        }
    } else {
        packet.read = {};
        packet.read.flags = ReadFields::kBypassesL1;
    }
    port_.send(packet, flight.copy.cta, now, false);
    ++flight.outstanding;
    ++blocks_;
    blocks_left_.next();
}

void BulkEngine::answered(const Packet& packet, Cycle now) {
    const auto tag = static_cast<std::uint16_t>(packet.tag - kFirstTag);
    if (tag >= flights_.size() || flights_[tag].outstanding == 0) throw SimulationError("received a reply to no request of a bulk copy");
    Flight& flight = flights_[tag];
    --flight.outstanding;
    ++answered_;
    if (flight.copy.op == AsyncOp::bulk_load) {
        flight.bytes += block_bytes_;
        if (flight.bytes >= kBankRow) {
            shared_.write_copied(flight.bytes, now);
            flight.bytes = 0;
        }
        flight.passed += block_bytes_;
        if (flight.copy.box.ranks != 0 && flight.passed >= kPiece && !(flight.all_sent && flight.outstanding == 0)) {
            listener_.bulk_arrived(flight.copy, flight.passed, now);
            flight.passed = 0;
        }
    }
    if (flight.all_sent && flight.outstanding == 0) finish(tag, now);
}

void BulkEngine::finish(std::uint16_t tag, Cycle now) {
    Flight& flight = flights_[tag];
    const bool loads = flight.copy.op == AsyncOp::bulk_load;
    const Cycle at = loads ? shared_.write_copied(std::max(flight.bytes, 1u), now) : now;
    free_.push_back(tag);
    BulkCopy copy = flight.copy;
    copy.last_piece = flight.passed;
    listener_.bulk_finished(copy, at, now);
}

Cycle BulkEngine::next(Cycle now) const {
    if (busy_ && !no_room_) return now + 1;
    if (no_room_) {
        const Cycle credit = port_.link().next_credit();
        return credit == kNever ? now + 1 : std::max(credit, now + 1);
    }
    if (waiting_.empty() || (free_.empty() && flights_.size() == kMostInFlight)) return kNever;
    return std::max(waiting_.front().issued + spec_->latency, now + 1);
}

void BulkEngine::stats(StatFields& f) const {
    f.group("tma");
    f.add("boxes", boxes_, "copies", "bulk copies and boxes of tensors that began");
    f.add("bytes", bytes_, "bytes", "bytes that they transfer in shared memory, including what they fill in; 0 for prefetches");
    f.add("blocks", blocks_, "requests", "requests that they sent");
    f.add("answered", answered_, "requests", "replies and acknowledgements received");
}

}  // namespace mergelane
