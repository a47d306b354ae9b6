// SPDX-License-Identifier: MIT
#include "core/domain.hpp"

#include <bit>

#include "core/link.hpp"

namespace mergelane {

void Domain::add(Component& component) {
    component.attach(*this, static_cast<std::uint32_t>(components_.size()));
    components_.push_back(&component);
    words_ = static_cast<std::uint32_t>(divide_up(components_.size(), 64));
    slots_.assign(std::size_t{kSlots} * words_, 0);
}

void Domain::look_at_links(Cycle begin) {
    for (LinkBase* link : inputs_) {
        const Cycle arrival = link->head_arrival();
        if (arrival != kNever) link->receiver()->wake(arrival < begin ? begin : arrival);
    }
    for (LinkBase* link : outputs_) {
        if (!link->sender_waits()) continue;
        const Cycle credit = link->next_credit();
        if (credit != kNever) link->sender()->wake(credit < begin ? begin : credit);
    }
}

void Domain::skip_to(Cycle cycle) {
    if (now_ >= cycle) return;
    if (solo_next_ < cycle) solo_next_ = cycle;
    const std::uint32_t target = cycle % kSlots;
    // Slots due before `cycle`: all of them after a whole turn of the wheel, else the next (cycle - now_) ones.
    const std::uint64_t passed = cycle - now_ >= kSlots
                                     ? ~std::uint64_t{0}
                                     : std::rotl(low_bits(static_cast<std::uint32_t>(cycle - now_)), static_cast<int>(now_ % kSlots));
    for (std::uint64_t late = occupied_ & passed & ~bit(target); late != 0; late &= late - 1) {
        const std::uint32_t slot = lowest_bit(late);
        for (std::uint32_t word = 0; word < words_; ++word) {
            slots_[target * words_ + word] |= slots_[slot * words_ + word];
            slots_[slot * words_ + word] = 0;
        }
        occupied_ = (occupied_ & ~bit(slot)) | bit(target);
    }
    now_ = cycle;
}

void Domain::step_due(Cycle now) {
    const std::uint32_t slot = now % kSlots;
    std::uint64_t* const words = &slots_[slot * words_];
    Component* const* component = components_.data();
    for (std::uint32_t word = 0; word < words_; ++word, component += 64) {
        std::uint64_t due = words[word];
        words[word] = 0;
        for (; due != 0; due &= due - 1) {
            const std::uint32_t id = lowest_bit(due);
            const Cycle next = component[id]->step(now);
            if (next != kNever) wake(word * 64 + id, next);
        }
    }
    occupied_ &= ~bit(slot);
}

void Domain::run(Cycle begin, Cycle end, bool sleep, std::uint64_t window) {
    turn_ = window % 2;
    std::atomic<bool>& mail = mail_[1 - turn_];
    if (mail.load(std::memory_order_relaxed)) {
        mail.store(false, std::memory_order_relaxed);
        mail_waiting_ = true;
    }
    if (begin >= end) return;
    skip_to(begin);
    window_end_ = end;
    if (mail_waiting_) look_at_links(begin);
    mail_waiting_ = false;
    stepping_ = true;
    if (!sleep) {
        solo_next_ = kNever;
        for (; now_ < end; ++now_) {
            for (std::uint32_t id = 0; id < components_.size(); ++id) slots_[(now_ % kSlots) * words_ + id / 64] |= bit(id % 64);
            step_due(now_);
        }
    } else {
        if (components_.size() == 1) {
            while (solo_next_ < end) {
                now_ = solo_next_;
                solo_next_ = kNever;
                const Cycle next = components_.front()->step(now_);
                if (next < solo_next_) solo_next_ = next;
            }
        } else {
            for (Cycle due = next_due(); due < end; due = next_due()) {
                now_ = due;
                step_due(now_);
            }
        }
        now_ = end;
    }
    stepping_ = false;
}

Cycle Domain::next_due() const {
    if (components_.size() == 1) return solo_next_;
    return occupied_ == 0 ? kNever : now_ + lowest_bit(std::rotr(occupied_, static_cast<int>(now_ % kSlots)));
}

Time Domain::next() const {
    if (mail_waiting_ || mail_[0].load(std::memory_order_relaxed) || mail_[1].load(std::memory_order_relaxed)) return clock_.time_of(now_);
    const Cycle due = next_due();
    return due == kNever ? kEndOfTime : clock_.time_of(due);
}

}  // namespace mergelane
