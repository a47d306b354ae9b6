// SPDX-License-Identifier: MIT
// An SM's access to the network of its GPC (ADR 0049): a queue of messages, of which one leaves at a time, for as long as its data takes.
#pragma once

#include <algorithm>
#include <vector>

#include "core/bits.hpp"
#include "core/gpc_message.hpp"
#include "core/link.hpp"

namespace mergelane {

class GpcPort {
public:
    struct Links {
        Link<GpcMessage>* out = nullptr;  ///< nullptr: there are no GPCs
        Link<GpcMessage>* in = nullptr;
        std::uint32_t number = 0;  ///< of the SM in its GPC
        std::uint32_t bytes_per_cycle = 1;
    };
    void connect(const Links& links) { links_ = links; }
    bool connected() const { return links_.out != nullptr; }

    /// `at`: when it is ready.
    void send(GpcMessage message, Cycle at) {
        if (message.kind != GpcMessage::Kind::reply) message.sm = static_cast<std::uint8_t>(links_.number);
        queue_.push_back({message, at});
    }
    void step(Cycle now) {
        while (!queue_.empty() && queue_.front().at <= now && free_at_ <= now && links_.out->can_send(now, 1)) {
            const GpcMessage& message = queue_.front().message;
            links_.out->send(now, message);
            // Copies for several CTAs come from the network to the L2, which this port has no part in.
            const bool carries = message.kind != GpcMessage::Kind::multicast && message.kind != GpcMessage::Kind::load;
            free_at_ = now + std::max<std::uint64_t>(carries ? divide_up(message.bytes, links_.bytes_per_cycle) : 1, 1);
            ++sent_;
            queue_.erase(queue_.begin());
        }
    }
    /// When it must be stepped, or something arrives.
    Cycle next(Cycle now) const {
        if (!connected()) return kNever;
        const Cycle arrival = links_.in->head_arrival();
        if (queue_.empty()) return arrival;
        Cycle at = std::max({queue_.front().at, free_at_, now + 1});
        if (links_.out->sender_waits()) {
            const Cycle credit = links_.out->next_credit();
            if (credit != kNever) at = std::max(at, credit);
        }
        return std::min(arrival, at);
    }
    bool has(Cycle now) const { return links_.in->has(now); }
    GpcMessage take(Cycle now) {
        ++received_;
        return links_.in->pop_and_release(now);
    }
    const Component* network() const { return links_.in->sender(); }
    std::uint64_t queued() const { return queue_.size(); }
    void stats(StatFields& f) const {
        f.add("sent", sent_, "messages", "messages to other SMs of the GPC");
        f.add("received", received_, "messages", "messages from other SMs of the GPC");
    }

private:
    struct Waiting {
        GpcMessage message;
        Cycle at;
    };
    Links links_;
    std::vector<Waiting> queue_;
    Cycle free_at_ = 0;
    std::uint64_t sent_ = 0, received_ = 0;
};

}  // namespace mergelane
