// SPDX-License-Identifier: MIT
// Where threads wait until something is true: they spin for a while, then sleep. Not std::atomic::wait, which yields the core several times
// before it sleeps: on a busy host, each time costs a time slice of every other process.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace mergelane {

class Gate {
public:
    static constexpr std::uint32_t kFewestSpins = 16;

    /// Waits until `open()`, which reads atomics sequentially consistently. Spinning in vain means that cores are missing, so it is tried
    /// for a shorter time next; success lengthens it again.
    template <class Open>
    void wait(Open&& open, std::uint32_t most_spins, std::uint32_t& spins) {
        for (std::uint32_t i = 0; i < spins; ++i) {
            if (open()) {
                spins = std::min(most_spins, spins + spins / 8 + 1);
                return;
            }
#if defined(__x86_64__)
            _mm_pause();
#endif
        }
        spins = std::max(kFewestSpins, spins / 2);
        std::unique_lock lock(mutex_);
        sleepers_.fetch_add(1);
        wake_.wait(lock, open);
        sleepers_.fetch_sub(1);
    }
    /// After a sequentially consistent write that may have opened it.
    void opened() {
        if (sleepers_.load() == 0) return;
        mutex_.lock();  // whoever has looked before the write is asleep by now
        mutex_.unlock();
        wake_.notify_all();
    }

private:
    std::atomic<std::uint32_t> sleepers_{0};
    std::mutex mutex_;
    std::condition_variable wake_;
};

}  // namespace mergelane
