// SPDX-License-Identifier: MIT
// Fixed-capacity FIFO on a power-of-two array; never allocates after construction.
#pragma once

#include <bit>
#include <cstddef>
#include <vector>

namespace mergelane {

template <class T>
class Ring {
public:
    explicit Ring(std::size_t capacity = 1) { reset(capacity); }

    void reset(std::size_t capacity) {
        capacity_ = capacity;
        slots_.assign(std::bit_ceil(capacity == 0 ? 1 : capacity), T{});
        head_ = tail_ = 0;
    }
    bool empty() const { return head_ == tail_; }
    bool full() const { return size() >= capacity_; }
    std::size_t size() const { return tail_ - head_; }
    std::size_t capacity() const { return capacity_; }
    T& front() { return slots_[head_ & (slots_.size() - 1)]; }
    const T& front() const { return slots_[head_ & (slots_.size() - 1)]; }
    /// An emptied ring restarts at its beginning, so that a mostly short queue stays within few cache lines.
    void pop() {
        if (++head_ == tail_) head_ = tail_ = 0;
    }
    void push(const T& value) { claim() = value; }
    /// The next free slot, already counted as queued; fill it in place.
    T& claim() { return slots_[tail_++ & (slots_.size() - 1)]; }
    /// Returns the most recently claimed slot.
    void unclaim() { --tail_; }

private:
    std::vector<T> slots_;
    std::size_t capacity_ = 0;
    std::size_t head_ = 0;
    std::size_t tail_ = 0;
};

}  // namespace mergelane
