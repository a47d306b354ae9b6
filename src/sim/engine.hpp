// SPDX-License-Identifier: MIT
// Owns time and threads. All domains run one window independently, then synchronize; the result depends neither on the number of
// threads nor on the window length. Islands, which no link connects, synchronize rarely: each runs many windows while its state is in
// the host's caches.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "core/domain.hpp"
#include "sim/gate.hpp"

namespace mergelane {

struct EngineOptions {
    std::uint32_t threads = 1;
    Time window = 0;                  ///< engine units; at most the machine's lookahead
    bool sleep = true;                ///< false: step every component every cycle
    std::uint32_t measure_every = 0;  ///< windows between measurements of Domain::host_cost; 0: as balancing threads needs it
};

/// Domains without links to the domains of other islands.
struct Island {
    std::vector<Domain*> domains;
    std::function<bool()> busy;  ///< whether it still has work; called after each of its windows

    // The engine's:
    Time now = 0;
    std::uint64_t windows = 0;
    bool active = false;  ///< some component was active in its last window
    bool idle = false;    ///< no component has work
};

class Engine {
public:
    Engine(std::vector<Domain*> domains, const EngineOptions& options);
    Engine(std::vector<Island> islands, const EngineOptions& options);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    enum class End { limit, idle, stopped };

    /// Runs until `limit` (exclusive), until nothing has anything to do, or until `go_on` (asked after every window)
    /// says no. Cycles before time() have been simulated, later ones have not.
    End run_until(Time limit, const std::function<bool(Time)>& go_on);
    /// The same, but also until no island is busy. `go_on` is asked when they meet. Stops at the end of the window in which the last
    /// island stopped being busy.
    End run_while_busy(Time limit, const std::function<bool(Time)>& go_on);

    /// Advances to `time` without simulating: nothing happens before.
    void advance_to(Time time);

    Time time() const { return now_; }

private:
    void run_window(Time begin, Time end);
    void work(std::uint32_t thread);
    void balance();
    void run_offered(std::uint32_t thread);
    template <class Run>
    void run_guarded(Run&& run);
    bool run_domain(Domain& domain, Time begin, Time end, std::uint64_t window);
    void start_threads();
    void run_all();
    End run_islands(Time limit, const std::function<bool(Time)>& go_on, bool while_busy);
    void run_island(Island& island);
    void run_islands_to(Time end, bool while_busy);

    const EngineOptions options_;
    std::vector<Domain*> domains_;
    std::vector<Island> islands_;                ///< empty: all domains synchronize after every window
    std::atomic<std::int32_t> islands_left_{0};  ///< islands that no thread has begun with
    bool while_busy_ = false;
    /// Domains a thread starts with; a thread that has finished them takes those of others.
    struct alignas(64) Share {
        std::vector<Domain*> domains;
        std::atomic<std::int32_t> left{0};  ///< domains that no thread has begun with
    };
    std::vector<Share> shares_;  ///< per thread
    Time begin_ = 0;
    Time end_ = 0;
    Time now_ = 0;
    std::uint64_t windows_ = 0;
    bool measure_ = false;

    std::vector<std::thread> threads_;
    alignas(64) std::atomic<std::uint32_t> turn_{0};
    Gate turned_;
    alignas(64) std::atomic<std::uint32_t> finished_{0};  ///< domains or islands
    std::uint32_t offered_ = 0;                           ///< likewise, in each turn
    Gate all_finished_;
    std::atomic<bool> quit_{false};
    std::exception_ptr failure_;
    std::atomic<bool> failed_{false};
    std::atomic<bool> active_{false};  ///< some component was active in the last window
    std::uint32_t spins_ = 0;          ///< at most
    std::uint32_t own_spins_ = 0;      ///< of the calling thread, at the moment
};

}  // namespace mergelane
