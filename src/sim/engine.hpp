// SPDX-License-Identifier: MIT
// Owns time and threads. All domains run one window alone, then meet; the result does not depend on how many threads
// do it, nor on how long the window is.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "core/domain.hpp"

namespace mergelane {

struct EngineOptions {
    std::uint32_t threads = 1;
    Time window = 0;                  ///< engine units; at most the machine's lookahead
    bool sleep = true;                ///< false: step every component every cycle
    std::uint32_t measure_every = 0;  ///< windows between measurements of Domain::host_cost; 0: as balancing threads needs it
};

class Engine {
public:
    Engine(std::vector<Domain*> domains, const EngineOptions& options);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    enum class End { limit, idle, stopped };

    /// Runs until `limit` (exclusive), until nothing has anything to do, or until `go_on` (asked after every window)
    /// says no. Cycles before time() have been simulated, later ones have not.
    End run_until(Time limit, const std::function<bool(Time)>& go_on);

    /// Nothing happens before `time`: go there.
    void advance_to(Time time);

    Time time() const { return now_; }
    std::uint64_t windows() const { return windows_; }

private:
    void run_window(Time begin, Time end);
    void work(std::uint32_t thread);
    void balance();
    void run_domains(std::uint32_t thread);
    bool run_domain(Domain& domain);

    const EngineOptions options_;
    std::vector<Domain*> domains_;
    /// Domains a thread starts with; who has none left helps the others.
    struct alignas(64) Share {
        std::vector<Domain*> domains;
        std::atomic<std::uint32_t> next{0};
    };
    std::vector<Share> shares_;  ///< per thread
    Time begin_ = 0;
    Time end_ = 0;
    Time now_ = 0;
    std::uint64_t windows_ = 0;
    bool measure_ = false;

    std::vector<std::thread> threads_;
    alignas(64) std::atomic<std::uint32_t> turn_{0};
    alignas(64) std::atomic<std::uint32_t> done_{0};
    std::atomic<bool> quit_{false};
    std::exception_ptr failure_;
    std::atomic<bool> failed_{false};
    std::atomic<bool> active_{false};  ///< somebody did something in the last window
    std::uint32_t spins_ = 0;          ///< at most
    std::uint32_t own_spins_ = 0;      ///< of the calling thread, at the moment
};

}  // namespace mergelane
