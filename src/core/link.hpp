// SPDX-License-Identifier: MIT
// A point-to-point connection with forward latency, finite buffer space and returning credits. The protocol consists of two time stamps per
// packet: the receiver sees the packet from `arrives_at` on, and the sender may reuse its buffer space from `free_at` on. On a cut link
// both lie at least one window in the future, so sender and receiver can run in different threads and never observe each other's current
// state.
//
// A packet and its stamps share one cache line, its slot. Slots form a list in send order. The sender reuses the slot whose credit returned
// most recently, so that a link with large buffers and little traffic touches little memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <type_traits>

#include "core/bits.hpp"
#include "core/clock.hpp"
#include "core/component.hpp"
#include "core/domain.hpp"
#include "core/journey.hpp"

namespace mergelane {

struct LinkTiming {
    Clock sender;
    Clock receiver;
    Time forward = 1;  ///< engine units from send to arrival
    Time credit = 1;   ///< engine units from release until the credit can be used
    bool cut = false;  ///< the ends are in different domains
};

/// A packet with its two time stamps. The credit in a slot belongs to the released'th packet, which may not be the packet stored in it.
struct alignas(64) Slot {
    static constexpr std::size_t kMaxPayload = 32;

    Cycle arrives_at;
    Cycle free_at;
    Slot* next;  ///< the packet sent after this one
    std::uint32_t cost;
    std::uint32_t credit_cost;
    alignas(8) std::byte payload[kMaxPayload];

    // The stamps are the only communication between the two sides.
    static Cycle load(Cycle& stamp) { return std::atomic_ref(stamp).load(std::memory_order_acquire); }
    static void store(Cycle& stamp, Cycle at) { std::atomic_ref(stamp).store(at, std::memory_order_release); }
    void empty() {
        std::atomic_ref(arrives_at).store(kNever, std::memory_order_relaxed);
        std::atomic_ref(free_at).store(kNever, std::memory_order_relaxed);
    }
    template <class T>
    T& as() {
        return *std::launder(reinterpret_cast<T*>(payload));
    }
};
static_assert(sizeof(Slot) == 64, "one cache line");

/// Storage of slots. Few links ever use all of theirs, so most slots are allocated on demand.
class SlotPool {
public:
    explicit SlotPool(std::size_t count) : first_(make(std::min(count, kFirst))), count_(count) {}
    Slot* untouched() {
        const std::size_t index = used_++;
        if (index < kFirst) return &first_[index];
        if (index == kFirst) rest_ = make(count_ - kFirst);
        return &rest_[index - kFirst];
    }

private:
    struct Free {
        void operator()(Slot* slots) const { ::operator delete (slots, std::align_val_t{alignof(Slot)}); }
    };
    using Slots = std::unique_ptr<Slot[], Free>;
    static constexpr std::size_t kFirst = 8;
    static Slots make(std::size_t count) {
        return Slots(static_cast<Slot*>(::operator new (count * sizeof(Slot), std::align_val_t{alignof(Slot)})));
    }
    Slots first_, rest_;
    std::size_t count_;
    std::size_t used_ = 0;
};

/// A network without internal buffers: packets stay in the slots of their sender's link until the receiver accepts them, and the links at
/// its edge are only the two ends. See noc/output_queues.hpp.
class SlotRouter {
public:
    /// The packet in `slot` has left source number `source`; it reaches its sink at slot.arrives_at.
    virtual void sent(std::uint32_t source, Slot& slot) = 0;
    /// Sink number `sink` accepted the head packet, in `slot`. Returns the next packet.
    virtual Slot* taken(std::uint32_t sink, Slot& slot, Cycle now) = 0;

protected:
    ~SlotRouter() = default;
};

class LinkBase : public CutInput, public CutOutput {
public:
    LinkBase(std::string name, std::uint32_t capacity, const LinkTiming& timing);
    LinkBase(const LinkBase&) = delete;
    LinkBase& operator=(const LinkBase&) = delete;

    void connect(Component& sender, Component& receiver);
    /// Makes this link the sending end of a route. A packet takes `forward` cycles and occupies the link for as many cycles as it costs.
    void begin_route(SlotRouter& router, std::uint32_t source, std::uint32_t forward);
    /// Makes this link the receiving end of routes. `head` is its next packet.
    void end_route(SlotRouter& router, std::uint32_t sink, Slot* head);
    /// A slot of this link, the sending end of a route, is free from slot.free_at on. Callable from any thread.
    void give_back(Slot& slot);
    /// Sets the next packet of the receiving end of a route.
    void set_head(Slot* head) { to_.head = head; }

    // --- sender's side
    bool can_send(Cycle now, std::uint32_t cost) {
        if (from_.available < cost) {
            reclaim(now);
            if (from_.available < cost) {
                from_.waits = true;
                if (from_.cut && !from_.listed) list_wait();
                return false;
            }
        }
        from_.waits = false;
        return true;
    }
    /// When the next credit returns, as far as the sender can know. kNever: the sender will be woken.
    Cycle next_credit() const {
        if (from_.routed) return next_given_back();
        return from_.oldest == from_.next ? kNever : Slot::load(from_.oldest->free_at);
    }
    bool sender_waits() const { return from_.waits; }
    /// It may send in the future, and may use all credits that will have returned by then.
    void sends_ahead() { from_.ahead = true; }
    Component* sender() const { return sender_; }

    // --- receiver's side
    Cycle head_arrival() const { return Slot::load(to_.head->arrives_at); }
    bool has(Cycle now) const { return head_arrival() <= now; }
    Component* receiver() const { return receiver_; }
    /// The number of this input at its receiver, for receivers that need it (Component::expect).
    void number_input(std::uint32_t number) {
        input_ = number;
        from_.tells = true;
    }
    /// Buffer space of the head packet, as given by its sender.
    std::uint32_t front_cost() const { return to_.head->cost; }
    /// Returns `cost` credits to the sender.
    void release(Cycle now, std::uint32_t cost) {
        const Cycle free_at = to_.backward != 0 ? now + to_.backward : backward_.arrival(now);
        Slot& credit = *to_.release;
        to_.release = credit.next;
        ++to_.released;
        credit.credit_cost = cost;
        Slot::store(credit.free_at, free_at);
        // Across domains there is no wake-up: the sender's domain rechecks stalled senders at the start of every window.
        if (!to_.cut && from_.waits) sender_->wake(free_at);
    }

    // --- for senders and receivers of several links, before they use them (see prefetch)
    void fetch_head() const { prefetch(to_.head); }
    void fetch_credit() const { prefetch(to_.release); }
    void fetch_free() const {
        prefetch(from_.next);
        prefetch(from_.free != nullptr ? from_.free : from_.oldest);
    }

    // --- for invariants, deadlock reports and injected faults
    const std::string& name() const { return name_; }
    bool cut() const { return to_.cut; }
    std::uint32_t capacity() const { return capacity_; }
    // Packets between the two ends of a route are on neither link; the router holds them.
    std::uint64_t sent() const { return to_.queued ? to_.received : from_.sent; }
    std::uint64_t received() const { return from_.routed ? from_.sent : to_.received; }
    std::uint64_t in_flight() const { return sent() - received(); }
    Time forward_latency() const { return forward_.latency(); }
    Time credit_latency() const { return backward_.latency(); }
    /// Loses credits permanently, like faulty flow control. Only tests call this.
    void plant_credit_leak(std::uint32_t units) { from_.available = units > from_.available ? 0 : from_.available - units; }
    std::string describe_wait() const;

protected:
    bool routed() const { return from_.routed; }
    Slot& take_slot(Cycle now);
    void send_routed(Slot& slot, Cycle now, std::uint32_t cost);
    bool queued() const { return to_.queued; }
    void take_queued(Cycle now);

    Slot& slot_to_send() { return *from_.next; }
    void sent(Cycle now, std::uint32_t cost) {
        const Cycle arrives_at = from_.forward != 0 ? now + from_.forward : forward_.arrival(now);
        Slot& taken = *from_.next;
        Slot* following = from_.ahead ? nullptr : reclaim_one(now);
        if (following == nullptr) following = take_free(now);
        following->empty();
        from_.next = following;
        from_.available -= cost;
        ++from_.sent;
        taken.cost = cost;
        taken.next = following;
        Slot::store(taken.arrives_at, arrives_at);
        if (from_.cut)
            from_.domain->raise(from_.mail);
        else if (from_.tells)
            receiver_->expect(input_, arrives_at);
        else
            receiver_->wake(arrives_at);
    }
    Slot& head() const { return *to_.head; }
    void received_one() {
        to_.head = to_.head->next;
        ++to_.received;
    }

private:
    // The two sides write to separate cache lines, so that threads do not share them.
    struct alignas(64) Sender {
        Slot* next = nullptr;         ///< slot of the next packet
        Slot* oldest = nullptr;       ///< slot whose credit returns next; equal to `next` if no credit is outstanding
        Slot* free = nullptr;         ///< reusable slots, linked by their `next`
        std::uint32_t available = 0;  ///< credits
        std::uint32_t forward = 0;    ///< cycles; 0: the clocks differ
        bool waits = false;           ///< a packet is stalled for credits
        bool listed = false;          ///< its domain rechecks its credits
        bool cut = false;
        bool tells = false;   ///< the receiver needs the input number
        bool routed = false;  ///< the sending end of a route
        bool ahead = false;
        std::uint64_t sent = 0;
        std::uint8_t* mail = nullptr;  ///< of a cut link: the flag in the receiver's domain
        const Domain* domain = nullptr;
    };
    struct alignas(64) Receiver {
        Slot* head = nullptr;     ///< slot of the next packet to arrive
        Slot* release = nullptr;  ///< slot of the next credit
        std::uint64_t received = 0;
        std::uint64_t released = 0;
        std::uint32_t backward = 0;  ///< cycles; 0: the clocks differ
        bool cut = false;
        bool queued = false;  ///< the receiving end of routes
        std::uint32_t sink = 0;
        SlotRouter* router = nullptr;
    };
    struct Route {
        SlotRouter* router = nullptr;
        std::uint32_t source = 0;
        Cycle free_at = 0;                                   ///< when its packets have left
        Slot* waiting = nullptr;                             ///< returned but not free yet, linked by their `next`
        alignas(64) std::atomic<Slot*> given_back{nullptr};  ///< by receivers, linked by their `next`
    };

    void reclaim_routed(Cycle now);
    Cycle next_given_back() const;
    void reclaim(Cycle now) {
        if (from_.routed) return reclaim_routed(now);
        while (from_.oldest != from_.next) {
            Slot* const credit = from_.oldest;
            if (Slot::load(credit->free_at) > now) break;
            from_.available += credit->credit_cost;
            from_.oldest = credit->next;
            credit->next = from_.free;
            from_.free = credit;
        }
    }
    /// The slot whose credit returns next, if it has returned. Reused at once, it is still in the host's caches.
    Slot* reclaim_one(Cycle now) {
        Slot* const credit = from_.oldest;
        if (Slot::load(credit->free_at) > now) return nullptr;  // or nothing is outstanding, and it is empty
        from_.available += credit->credit_cost;
        from_.oldest = credit->next;
        prefetch(from_.oldest);
        return credit;
    }
    Slot* take_free(Cycle now) {
        if (from_.free == nullptr) reclaim(now);
        Slot* const free = from_.free;
        if (free == nullptr) return pool_.untouched();
        from_.free = free->next;
        return free;
    }
    void list_wait();

    // For the domains of the two ends.
    void look(std::uint32_t number, std::uint32_t turn, Cycle begin) override;
    Cycle room_at() const override { return from_.waits ? next_credit() : 0; }
    void stop_looking(Cycle wake_at) override;

    const std::string name_;
    const std::uint32_t capacity_;
    std::uint32_t input_ = 0;
    const ClockCrossing forward_;
    const ClockCrossing backward_;
    SlotPool pool_;
    Component* sender_ = nullptr;
    Component* receiver_ = nullptr;
    std::unique_ptr<Route> route_;
    Sender from_;
    Receiver to_;
};

template <class T>
class Link final : public LinkBase {
    static_assert(sizeof(T) <= Slot::kMaxPayload && std::is_trivially_copyable_v<T>, "links carry small messages by value");

public:
    using LinkBase::LinkBase;

    /// Requires `can_send(now, cost)`. A `now` in the future models a tail that leaves later than its head.
    void send(Cycle now, const T& value, std::uint32_t cost = 1) {
        if (routed()) {
            Slot& slot = take_slot(now);
            new (slot.payload) T(value);
            return send_routed(slot, now, cost);
        }
        new (slot_to_send().payload) T(value);
        LinkBase::sent(now, cost);
    }
    /// The head packet. It stays in place until pop().
    const T& front() const { return head().template as<const T>(); }
    /// Removes the head packet; its buffer space stays occupied until release().
    T pop() {
        const T value = front();
        received_one();
        return value;
    }
    T pop_and_release(Cycle now) {
        const T value = front();
        if (queued()) {
            take_queued(now);
            return value;
        }
        const std::uint32_t cost = front_cost();
        received_one();
        release(now, cost);
        return value;
    }
};

}  // namespace mergelane
