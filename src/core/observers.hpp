// SPDX-License-Identifier: MIT
// One interface for each place of the machine that can be observed: SMs, L1s, networks, DRAM channels. Observers see what happens and
// change nothing. A component calls all of its observers and knows none of them; who makes them is in core/meter.hpp.
#pragma once

#include <cstdint>

#include "core/packet.hpp"
#include "core/types.hpp"

namespace mergelane {

struct LaneAddresses;
struct Load;
class LoadHistory;
struct StaticInst;
class StatFields;

/// Observes one SM, in the SM's domain.
class SmObserver {
public:
    virtual ~SmObserver() = default;
    /// Requires reads to name the 4-byte words they ask for, and the CTA whose task they belong to. This has a small cost.
    virtual bool wants_words() const { return false; }
    /// A warp issues a memory instruction into the memory front.
    virtual void memory_issued(const StaticInst& /*inst*/, const LaneAddresses& /*lanes*/, std::uint32_t /*active*/) {}
    /// All schedulers have issued. `computed`: instructions so far that need no memory. `l1_is_full`: the L1 cannot take the next request.
    virtual void issued(std::uint64_t /*computed*/, bool /*l1_is_full*/) {}
    /// A load request of a warp enters a queue before the L1, if the front end has one; accesses the L1, together with those it was merged
    /// with: called for each, in one cycle.
    virtual void queued(std::uint32_t /*warp*/, Addr /*block*/, Cycle /*now*/) {}
    virtual void accessed(std::uint32_t /*warp*/, Addr /*block*/, Cycle /*now*/) {}
    /// A request leaves. Its tag belongs to it until the reply. `cta` asks for packet.read.wanted.
    virtual void sent(const Packet& /*packet*/, std::uint64_t /*cta*/, Cycle /*now*/) {}
    virtual void answered(PacketKind /*kind*/, Cycle /*now*/) {}
    /// Appended to those of the SM's requests, in its group; to all of its statistics, in a group of the observer's own.
    virtual void request_stats(StatFields& /*out*/, Cycle /*now*/) const {}
    virtual void stats(StatFields& /*out*/, Cycle /*now*/) const {}
};

/// Observes the work of one SM, in the SM's domain: what takes many cycles. Unlike an SmObserver it is called in few of them.
class WorkObserver {
public:
    virtual ~WorkObserver() = default;
    virtual void cta_started(std::uint64_t cta, std::uint32_t slot, Cycle now) = 0;
    virtual void cta_finished(std::uint32_t slot, Cycle now) = 0;
    /// A load that is followed has all its values, the last of them from a request.
    virtual void request_finished(const Load& load, const LoadHistory& history) = 0;
};

/// Observes one L1, in the domain of its owner.
class L1Observer {
public:
    virtual ~L1Observer() = default;
    /// A load asks for the block from below; the block arrives.
    virtual void missed(Addr /*block*/, Cycle /*now*/) {}
    virtual void filled(Addr /*block*/, Cycle /*now*/) {}
    /// Loads hit the block from now on, because it arrived or was written as a whole; they hit it no longer.
    virtual void gained(Addr /*block*/, Cycle /*now*/) {}
    virtual void lost(Addr /*block*/, Cycle /*now*/) {}
    /// Lost between two kernels.
    virtual void flushed(Addr /*block*/) {}
};

/// Observes the ports of one component of a network. Calls for different ports may come from different threads.
class NetworkObserver {
public:
    virtual ~NetworkObserver() = default;
    /// A packet of so many flits crosses from a source into the network, or from the network to a sink.
    virtual void entered(std::uint32_t /*source*/, const Packet& /*packet*/, std::uint32_t /*flits*/, Cycle /*now*/) {}
    virtual void left(std::uint32_t /*sink*/, const Packet& /*packet*/, std::uint32_t /*flits*/, Cycle /*now*/) {}
    /// Appended to those of the component, in the group of the network.
    virtual void stats(StatFields& /*out*/) const {}
};

/// Observes one DRAM channel, in its domain.
class DramObserver {
public:
    virtual ~DramObserver() = default;
    /// A request that takes so many column commands.
    virtual void arrived(std::uint32_t /*bank*/, std::uint64_t /*row*/, std::uint32_t /*bursts*/, bool /*write*/, Cycle /*now*/) {}
    /// From now on these banks have a request that may be served. A bank that is no longer among them got its last column command now.
    virtual void busy(std::uint64_t /*banks*/, Cycle /*now*/) {}
    /// Appended to those of the channel.
    virtual void stats(StatFields& /*out*/, Cycle /*now*/) const {}
};

}  // namespace mergelane
