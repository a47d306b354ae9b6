// SPDX-License-Identifier: MIT
#include "core/link.hpp"

#include <fmt/format.h>

namespace mergelane {

LinkBase::LinkBase(std::string name, std::uint32_t capacity, const LinkTiming& timing)
    : name_(std::move(name)),
      capacity_(capacity),
      forward_(timing.sender, timing.receiver, timing.forward),
      backward_(timing.receiver, timing.sender, timing.credit),
      pool_(std::size_t{capacity} + 1) {  // one more than packets fit: the last one names the slot of its successor
    Slot* const first = pool_.untouched();
    first->empty();
    from_.next = from_.oldest = to_.head = to_.release = first;
    from_.available = capacity;
    from_.cut = to_.cut = timing.cut;
    from_.forward = static_cast<std::uint32_t>(forward_.cycles());
    to_.backward = static_cast<std::uint32_t>(backward_.cycles());
}

void LinkBase::connect(Component& sender, Component& receiver) {
    sender_ = &sender;
    receiver_ = &receiver;
    if (!cut()) return;
    from_.domain = &sender.domain();
    from_.mail = receiver.domain().add_cut_input(*this);
}

void LinkBase::begin_route(SlotRouter& router, std::uint32_t source, std::uint32_t forward) {
    route_ = std::make_unique<Route>();
    route_->router = &router;
    route_->source = source;
    from_.routed = true;
    from_.forward = forward;
}

void LinkBase::end_route(SlotRouter& router, std::uint32_t sink, Slot* head) {
    to_.queued = true;
    to_.router = &router;
    to_.sink = sink;
    to_.head = head;
}

void LinkBase::give_back(Slot& slot) {
    std::atomic<Slot*>& list = route_->given_back;
    slot.next = list.load(std::memory_order_relaxed);
    while (!list.compare_exchange_weak(slot.next, &slot, std::memory_order_release, std::memory_order_relaxed)) {
    }
}

Slot& LinkBase::take_slot(Cycle now) {
    if (from_.free == nullptr) reclaim_routed(now);
    if (from_.free == nullptr) return *pool_.untouched();
    Slot& slot = *from_.free;
    from_.free = slot.next;
    return slot;
}

void LinkBase::send_routed(Slot& slot, Cycle now, std::uint32_t cost) {
    Route& route = *route_;
    // Packets leave one at a time; the others wait in the link's buffer.
    route.free_at = std::max(route.free_at, now) + cost;
    slot.arrives_at = slot.free_at = route.free_at - 1 + from_.forward;
    slot.cost = cost;
    from_.available -= cost;
    ++from_.sent;
    route.router->sent(route.source, slot);
}

void LinkBase::take_queued(Cycle now) {
    ++to_.received;
    to_.head = to_.router->taken(to_.sink, *to_.head, now);
}

namespace {

/// Prepends `list` to `others`.
Slot* joined(Slot* list, Slot* others) {
    if (list == nullptr) return others;
    Slot* last = list;
    while (last->next != nullptr) last = last->next;
    last->next = others;
    return list;
}

}  // namespace

void LinkBase::reclaim_routed(Cycle now) {
    Route& route = *route_;
    Slot* given = joined(route.given_back.exchange(nullptr, std::memory_order_acquire), route.waiting);
    route.waiting = nullptr;
    // Their order does not matter: only the stamps count.
    while (given != nullptr) {
        Slot& slot = *given;
        given = slot.next;
        Slot*& list = slot.free_at <= now ? from_.free : route.waiting;
        if (slot.free_at <= now) from_.available += slot.cost;
        slot.next = list;
        list = &slot;
    }
}

Cycle LinkBase::next_given_back() const {
    Route& route = *route_;
    route.waiting = joined(route.given_back.exchange(nullptr, std::memory_order_acquire), route.waiting);
    Cycle next = kNever;
    for (const Slot* slot = route.waiting; slot != nullptr; slot = slot->next) next = std::min(next, slot->free_at);
    return next;
}

void LinkBase::look(std::uint32_t, std::uint32_t, Cycle begin) {
    const Cycle arrival = head_arrival();
    if (arrival != kNever) receiver_->expect(input_, std::max(arrival, begin));
}

/// The domain polls for credits at the start of a window, because the receiver cannot know who waits.
void LinkBase::list_wait() {
    from_.listed = true;
    sender_->domain().look_for_room(*this);
}

void LinkBase::stop_looking(Cycle wake_at) {
    from_.listed = false;
    if (from_.waits) sender_->wake(wake_at);
}

std::string LinkBase::describe_wait() const {
    if (from_.routed)
        return fmt::format("no credits on '{}' ({} units, all held by packets the receiver has not accepted)", name_, capacity_);
    const std::uint64_t on_the_way = sent() - received();
    const std::uint64_t held = received() - to_.released;
    std::string text = fmt::format("no credits on '{}' ({} units: {} packets in flight, {} held by {})", name_, capacity_, on_the_way, held,
                                   receiver_->name());
    if (on_the_way == 0 && held == 0) text += "; all packets were accepted, but their credits never returned: flow control lost them";
    return text;
}

}  // namespace mergelane
