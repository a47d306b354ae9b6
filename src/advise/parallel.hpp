// SPDX-License-Identifier: MIT
// Runs independent work items on a few threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace mergelane {

/// Calls `work(i)` once for every i below `count`. If one throws, the others stop after their current item, and the exception is rethrown.
template <class Work>
void in_parallel(std::size_t count, std::size_t threads, const Work& work) {
    std::atomic<std::size_t> next = 0;
    std::mutex lock;
    std::exception_ptr problem;
    const auto run = [&] {
        for (std::size_t i = next++; i < count; i = next++) {
            try {
                work(i);
            } catch (...) {
                const std::lock_guard guard(lock);
                if (!problem) problem = std::current_exception();
                next = count;
            }
        }
    };
    {
        std::vector<std::jthread> others;
        for (std::size_t t = 1; t < threads && t < count; ++t) others.emplace_back(run);
        run();
    }
    if (problem) std::rethrow_exception(problem);
}

}  // namespace mergelane
