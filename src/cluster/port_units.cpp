// SPDX-License-Identifier: MIT
// What the port does only when reads of its SMs are merged or measured.
#include <algorithm>

#include "cluster/port.hpp"
#include "core/bits.hpp"

namespace mergelane {

void ClusterPort::begin_kernel() {
    if (icc_ != nullptr) icc_->begin_kernel();
    if (locality_ != nullptr) locality_->begin_kernel();
}

/// False: the request goes no further.
bool ClusterPort::admit(Packet& packet, Cycle now) {
    if (locality_ != nullptr && may_merge(packet, spec_.icc.l1_bypassing_loads)) locality_->see(packet.address, packet.note(), now);
    return icc_ == nullptr || icc_->request(packet, now) == IccUnit::Outcome::pass;
}

/// As deliver, but a reply may be for several SMs, and hits of the coalesced cache take their turns with replies. An SM that
/// cannot take its copy yet holds up the next reply, not the copies of the others.
Cycle ClusterPort::deliver_coalesced(Cycle now) {
    Link<Packet>& network = *links_.from_network;
    if (delivery_.sms == 0) {
        const bool reply = network.has(now);
        if (!reply && !icc_->has_hit()) return network.head_arrival();
        from_cache_ = icc_->has_hit() && (!reply || !from_cache_);
        delivering_ = from_cache_ ? icc_->hit() : network.front();
        delivery_ = from_cache_ ? IccUnit::Delivery{bit(delivering_.sm), kNoSlot} : icc_->begin_delivery(delivering_);
    }
    Cycle credit = kNever;  // or when woken by the SM
    for (std::uint64_t sms = delivery_.sms; sms != 0; sms &= sms - 1) {
        const std::uint32_t sm = lowest_bit(sms);
        Link<Packet>& to_sm = *links_.to_sms[sm];
        if (!to_sm.can_send(now, 1)) {
            credit = std::min(credit, to_sm.next_credit());
            continue;
        }
        to_sm.send(now, icc_->answer(delivering_, delivery_.entry, sm));
        delivery_.sms &= ~bit(sm);
        ++replies_;
    }
    if (delivery_.sms != 0) return credit;
    if (from_cache_) {
        icc_->pop_hit();
    } else {
        network.pop_and_release(now);
        icc_->end_delivery(delivery_.entry, now);
    }
    return icc_->has_hit() ? now + 1 : std::max(network.head_arrival(), now + 1);
}

}  // namespace mergelane
