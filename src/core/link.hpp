// SPDX-License-Identifier: MIT
// A point-to-point connection with forward latency, finite room and credits that travel back. Two rings of time
// stamps are the whole protocol: a packet exists for the receiver from `arrives_at` on, its room exists for the
// sender again from `free_at` on. Because both lie at least one window ahead on a cut link, sender and receiver
// may run in different threads without ever seeing each other's present.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "core/clock.hpp"
#include "core/component.hpp"
#include "core/domain.hpp"

namespace mergelane {

struct LinkTiming {
    Clock sender;
    Clock receiver;
    Time forward = 1;  ///< engine units from send to arrival
    Time credit = 1;   ///< engine units from release to usable again
    bool cut = false;  ///< the ends lie in different domains
};

class LinkBase {
public:
    LinkBase(std::string name, std::uint32_t capacity, const LinkTiming& timing)
        : name_(std::move(name)),
          cut_(timing.cut),
          capacity_(capacity),
          index_mask_(std::bit_ceil(std::uint64_t{capacity}) - 1),
          forward_(timing.sender, timing.receiver, timing.forward),
          backward_(timing.receiver, timing.sender, timing.credit),
          slots_(new Slot[index_mask_ + 1]),
          available_(capacity) {}
    LinkBase(const LinkBase&) = delete;
    LinkBase& operator=(const LinkBase&) = delete;

    void connect(Component& sender, Component& receiver) {
        sender_ = &sender;
        receiver_ = &receiver;
        if (cut_) {
            sender.domain().add_cut_output(*this);
            receiver.domain().add_cut_input(*this);
        }
    }

    // --- sender's side
    bool can_send(Cycle now, std::uint32_t cost) {
        if (available_ < cost) reclaim(now);
        sender_waits_ = available_ < cost;
        return !sender_waits_;
    }
    /// When the next room comes back, as far as the sender can know; kNever: it will be woken.
    Cycle next_credit() const { return reclaimed_ == sent_ ? kNever : slot(reclaimed_).free_at.load(std::memory_order_acquire); }
    bool sender_waits() const { return sender_waits_; }
    Component* sender() const { return sender_; }

    // --- receiver's side
    Cycle head_arrival() const { return slot(received_).arrives_at.load(std::memory_order_acquire); }
    bool has(Cycle now) const { return head_arrival() <= now; }
    Component* receiver() const { return receiver_; }
    /// Room the head packet takes, as its sender said.
    std::uint32_t front_cost() const { return slot(received_).cost; }
    /// Gives `cost` units of room back to the sender.
    void release(Cycle now, std::uint32_t cost) {
        const Cycle free_at = backward_.arrival(now);
        Slot& credit = slot(released_++);
        credit.credit_cost = cost;
        credit.free_at.store(free_at, std::memory_order_release);
        if (cut_) {
            sender_->domain().notify(receiver_->domain());
        } else if (sender_waits_) {
            sender_->wake(free_at);
        }
    }

    // --- for laws, explanations and planted faults
    const std::string& name() const { return name_; }
    bool cut() const { return cut_; }
    std::uint32_t capacity() const { return capacity_; }
    std::uint64_t sent() const { return sent_; }
    std::uint64_t received() const { return received_; }
    std::uint64_t in_flight() const { return sent_ - received_; }
    Time forward_latency() const { return forward_.latency(); }
    Time credit_latency() const { return backward_.latency(); }
    /// Loses room for ever, as a broken flow control would. Only tests call this.
    void plant_credit_leak(std::uint32_t units) { available_ = units > available_ ? 0 : available_ - units; }
    std::string describe_wait() const;

protected:
    static constexpr std::size_t kMaxPayload = 32;

    /// One cache line: a packet with its two time stamps. The credit of an entry belongs to the released_'th packet,
    /// which need not be the one beside it.
    struct alignas(64) Slot {
        std::atomic<Cycle> arrives_at{kNever};
        std::atomic<Cycle> free_at{kNever};
        std::uint32_t cost = 0;
        std::uint32_t credit_cost = 0;
        alignas(8) std::byte payload[kMaxPayload];
    };

    Slot& slot(std::uint64_t index) { return slots_[index & index_mask_]; }
    const Slot& slot(std::uint64_t index) const { return slots_[index & index_mask_]; }

    void sent(Cycle now, std::uint32_t cost) {
        const Cycle arrives_at = forward_.arrival(now);
        available_ -= cost;
        Slot& taken = slot(sent_++);
        taken.cost = cost;
        taken.arrives_at.store(arrives_at, std::memory_order_release);
        if (cut_) {
            receiver_->domain().notify(sender_->domain());
        } else {
            receiver_->wake(arrives_at);
        }
    }
    void received_one() { slot(received_++).arrives_at.store(kNever, std::memory_order_relaxed); }

private:
    void reclaim(Cycle now) {
        while (reclaimed_ != sent_) {
            Slot& credit = slot(reclaimed_);
            if (credit.free_at.load(std::memory_order_acquire) > now) break;
            available_ += credit.credit_cost;
            credit.free_at.store(kNever, std::memory_order_relaxed);
            ++reclaimed_;
        }
    }

    const std::string name_;
    const bool cut_;
    const std::uint32_t capacity_;
    const std::uint64_t index_mask_;
    const ClockCrossing forward_;
    const ClockCrossing backward_;
    std::unique_ptr<Slot[]> slots_;
    Component* sender_ = nullptr;
    Component* receiver_ = nullptr;
    // The two sides write apart, so that threads do not share cache lines.
    alignas(64) std::uint64_t sent_ = 0;
    std::uint64_t reclaimed_ = 0;
    std::uint32_t available_ = 0;
    bool sender_waits_ = false;
    alignas(64) std::uint64_t received_ = 0;
    std::uint64_t released_ = 0;
};

template <class T>
class Link final : public LinkBase {
    static_assert(sizeof(T) <= kMaxPayload && std::is_trivially_copyable_v<T>, "links carry small messages by value");

public:
    using LinkBase::LinkBase;

    /// Needs `can_send(now, cost)`. A `now` in the future models a tail that leaves later than its head.
    void send(Cycle now, const T& value, std::uint32_t cost = 1) {
        std::memcpy(slot(LinkBase::sent()).payload, &value, sizeof(T));
        LinkBase::sent(now, cost);
    }
    T front() const {
        T value;
        std::memcpy(&value, slot(received()).payload, sizeof(T));
        return value;
    }
    /// Takes the head packet; its room stays taken until release().
    T pop() {
        const T value = front();
        received_one();
        return value;
    }
    T pop_and_release(Cycle now) {
        const std::uint32_t cost = front_cost();
        const T value = pop();
        release(now, cost);
        return value;
    }
};

}  // namespace mergelane
