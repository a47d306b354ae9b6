// SPDX-License-Identifier: MIT
#include "core/domain.hpp"

#include <algorithm>
#include <bit>

namespace mergelane {

void Domain::add(Component& component) {
    component.attach(*this, static_cast<std::uint32_t>(components_.size()));
    components_.push_back(&component);
    few_ = components_.size() <= kFew;
    next_.fill(kNever);
    if (few_) return;
    words_ = static_cast<std::uint32_t>(divide_up(components_.size(), 64));
    slots_.assign(std::size_t{kSlots} * words_, 0);
}

std::uint8_t* Domain::add_cut_input(CutInput& input, std::uint32_t number) {
    const std::size_t index = inputs_.size();
    if (index % kMailLinks == 0) mail_.push_back(std::make_unique<Mail>());
    inputs_.push_back({&input, number});
    return reinterpret_cast<std::uint8_t*>(mail_.back()->raised[0].data()) + index % kMailLinks;
}

void Domain::read_mail(Cycle begin) {
    for (std::size_t first = 0; first < inputs_.size(); first += 8) {
        std::uint64_t& word = mail_[first / kMailLinks]->raised[1 - turn_][first / 8 % (kMailLinks / 8)];
        std::uint64_t raised = std::atomic_ref(word).load(std::memory_order_relaxed);
        if (raised == 0) continue;
        std::atomic_ref(word).store(0, std::memory_order_relaxed);
        for (; raised != 0; raised &= raised - 1) {
            const NumberedInput& arrival = inputs_[first + lowest_bit(raised) / 8];
            arrival.input->look(arrival.number, 1 - turn_, begin);
        }
    }
}

bool Domain::has_mail() const {
    std::uint64_t any = 0;
    for (const auto& mail : mail_) {
        for (auto& turn : mail->raised) {
            for (std::uint64_t& word : turn) any |= std::atomic_ref(word).load(std::memory_order_relaxed);
        }
    }
    return any != 0;
}

void Domain::look_for_rooms(Cycle begin, Cycle end) {
    // A sender that is woken for credits is no longer polled until it runs out again; it may not need them any more. A credit that arrives
    // after this window may have been returned during it, by a receiver that is running right now, and another receiver may still return an
    // earlier one.
    std::erase_if(short_of_room_, [&](CutOutput* output) {
        const Cycle at = output->room_at();
        if (at >= end) return false;
        output->stop_looking(std::max(at, begin));
        return true;
    });
}

void Domain::skip_to(Cycle cycle) {
    if (now_ >= cycle) return;
    if (few_) {
        for (Cycle& next : next_) next = std::max(next, cycle);
        soonest_ = std::max(soonest_, cycle);
        now_ = cycle;
        return;
    }
    const std::uint32_t target = cycle % kSlots;
    // Slots due before `cycle`: all of them after a full turn of the wheel, otherwise the next (cycle - now_).
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

void Domain::run_few(Cycle end) {
    const std::size_t count = components_.size();
    while (soonest_ < end) {
        const Cycle due = soonest_;
        now_ = due;
        soonest_ = kNever;  // wake() updates it during the steps
        for (std::size_t id = 0; id < count; ++id) {
            if (next_[id] <= due) {
                next_[id] = kNever;
                const Cycle next = std::max(components_[id]->step(due), due + 1);
                if (next < next_[id]) next_[id] = next;
            }
            soonest_ = std::min(soonest_, next_[id]);
        }
    }
}

bool Domain::run(Cycle begin, Cycle end, bool sleep, std::uint64_t window) {
    turn_ = window % 2;
    if (begin < end) skip_to(begin);
    read_mail(begin);
    if (begin >= end) return false;
    if (!short_of_room_.empty()) look_for_rooms(begin, end);
    if (sleep && next_due() >= end) {
        now_ = end;
        return false;
    }
    stepping_ = true;
    if (!sleep) {
        for (; now_ < end; ++now_) {
            for (std::uint32_t id = 0; id < components_.size(); ++id) {
                if (few_)
                    next_[id] = soonest_ = now_;
                else
                    slots_[(now_ % kSlots) * words_ + id / 64] |= bit(id % 64);
            }
            few_ ? run_few(now_ + 1) : step_due(now_);
        }
    } else if (few_) {
        run_few(end);
    } else {
        for (Cycle due = next_due(); due < end; due = next_due()) {
            now_ = due;
            step_due(now_);
        }
    }
    now_ = end;
    stepping_ = false;
    return sleep;  // without sleep, idleness is unknown
}

Cycle Domain::next_due() const {
    if (few_) return soonest_;
    return occupied_ == 0 ? kNever : now_ + lowest_bit(std::rotr(occupied_, static_cast<int>(now_ % kSlots)));
}

Time Domain::next() const {
    if (has_mail()) return clock_.time_of(now_);
    Cycle due = next_due();
    for (const CutOutput* output : short_of_room_) {
        if (const Cycle at = output->room_at(); at != 0) due = std::min(due, at);
    }
    return due == kNever ? kEndOfTime : clock_.time_of(std::max(due, now_));
}

}  // namespace mergelane
