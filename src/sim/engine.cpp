// SPDX-License-Identifier: MIT
#include "sim/engine.hpp"

#include <algorithm>
#include <chrono>

#include "sim/packing.hpp"

namespace mergelane {

namespace {

constexpr std::uint64_t kMeasureEvery = 64;    ///< windows between cost samples
constexpr std::uint64_t kBalanceEvery = 1024;  ///< windows between redistributions
constexpr std::uint64_t kMeetEvery = 512;      ///< windows that an island runs before the next one: fetching its state takes some of them

/// How many of `left` were left, including one that the caller now has; 0: none. Reads what was written before they were offered.
std::size_t take(std::atomic<std::int32_t>& left) {
    if (left.load(std::memory_order_relaxed) <= 0) return 0;
    return static_cast<std::size_t>(std::max(left.fetch_sub(1, std::memory_order_acquire), 0));
}

}  // namespace

Engine::Engine(std::vector<Domain*> domains, const EngineOptions& options) : options_(options), domains_(std::move(domains)) {
    start_threads();
}

Engine::Engine(std::vector<Island> islands, const EngineOptions& options) : options_(options) {
    for (const Island& island : islands) domains_.insert(domains_.end(), island.domains.begin(), island.domains.end());
    // With fewer islands than threads, some threads would be idle.
    if (islands.size() > 1 && islands.size() >= options.threads) islands_ = std::move(islands);
    start_threads();
}

void Engine::start_threads() {
    const std::uint32_t threads = std::max(options_.threads, 1u);
    shares_ = std::vector<Share>(threads);
    for (std::size_t d = 0; d < domains_.size(); ++d) shares_[d % threads].domains.push_back(domains_[d]);
    // Some tens of microseconds: longer than a window usually takes, short enough to give way when cores are missing.
    spins_ = threads <= std::thread::hardware_concurrency() ? 1000 : Gate::kFewestSpins;
    own_spins_ = spins_;
    offered_ = static_cast<std::uint32_t>(islands_.empty() ? domains_.size() : islands_.size());
    for (std::uint32_t t = 1; t < threads; ++t) threads_.emplace_back([this, t] { work(t); });
}

Engine::~Engine() {
    quit_.store(true, std::memory_order_relaxed);
    turn_.fetch_add(1);
    turned_.opened();
    for (std::thread& thread : threads_) thread.join();
}

bool Engine::run_domain(Domain& domain, Time begin, Time end, std::uint64_t window) {
    const Clock clock = domain.clock();
    const auto started = measure_ ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point{};
    const bool active = domain.run(clock.first_at(begin), clock.first_at(end), options_.sleep, window);
    if (measure_) domain.host_cost += static_cast<std::uint64_t>((std::chrono::steady_clock::now() - started).count());
    return active;
}

/// An exception ends the run after the window.
template <class Run>
void Engine::run_guarded(Run&& run) {
    try {
        run();
    } catch (...) {
        if (!failed_.exchange(true)) failure_ = std::current_exception();
    }
}

/// Runs what no other thread has begun with. A thread may come late, even after several windows: what it takes tells which window it is in,
/// since that window cannot end before.
void Engine::run_offered(std::uint32_t thread) {
    std::uint32_t finished = 0;
    bool active = false;
    // Its own share first, for cache locality.
    for (std::size_t k = 0; k < shares_.size(); ++k) {
        Share& share = shares_[(thread + k) % shares_.size()];
        while (const std::size_t left = take(share.left)) {
            run_guarded([&] { active |= run_domain(*share.domains[share.domains.size() - left], begin_, end_, windows_); });
            ++finished;
        }
    }
    while (const std::size_t left = take(islands_left_)) {
        run_guarded([&] { run_island(islands_[islands_.size() - left]); });
        ++finished;
    }
    if (finished == 0) return;
    if (active) active_.store(true, std::memory_order_relaxed);
    if (finished_.fetch_add(finished) + finished == offered_) all_finished_.opened();
}

void Engine::work(std::uint32_t thread) {
    std::uint32_t seen = 0;
    std::uint32_t spins = spins_;
    while (true) {
        turned_.wait([&] { return turn_.load() != seen; }, spins_, spins);
        seen = turn_.load(std::memory_order_acquire);
        if (quit_.load(std::memory_order_relaxed)) return;
        run_offered(thread);
    }
}

void Engine::run_window(Time begin, Time end) {
    begin_ = begin;
    end_ = end;
    active_.store(false, std::memory_order_relaxed);
    const std::uint64_t every = options_.measure_every != 0 ? options_.measure_every : kMeasureEvery;
    measure_ = (!threads_.empty() || options_.measure_every != 0) && windows_ % every == 0;
    if (threads_.empty()) {
        bool active = false;
        for (Domain* domain : domains_) active |= run_domain(*domain, begin, end, windows_);
        active_.store(active, std::memory_order_relaxed);
    } else {
        finished_.store(0, std::memory_order_relaxed);
        for (Share& share : shares_) share.left.store(static_cast<std::int32_t>(share.domains.size()), std::memory_order_release);
        run_all();
    }
    ++windows_;
    now_ = end;
    if (!threads_.empty() && windows_ % kBalanceEvery == 0) balance();
}

/// All that is offered is run; threads that have not begun with anything are not waited for.
void Engine::run_all() {
    turn_.fetch_add(1);
    turned_.opened();
    run_offered(0);
    all_finished_.wait([&] { return finished_.load() == offered_; }, spins_, own_spins_);
    if (failed_.load()) std::rethrow_exception(failure_);
}

void Engine::run_island(Island& island) {
    island.idle = false;
    while (island.now < end_ && (!while_busy_ || island.busy())) {
        Time begin = island.now;
        if (!island.active) {
            Time next = kEndOfTime;
            for (const Domain* domain : island.domains) next = std::min(next, domain->next());
            if (next == kEndOfTime) {
                island.idle = true;
                return;
            }
            begin = std::max(begin, next);
            if (begin >= end_) break;
        }
        const Time end = std::min(begin + options_.window, end_);
        island.active = false;
        for (Domain* domain : island.domains) island.active |= run_domain(*domain, begin, end, island.windows);
        ++island.windows;
        island.now = end;
    }
    if (!while_busy_) island.now = end_;
}

void Engine::run_islands_to(Time end, bool while_busy) {
    end_ = end;
    while_busy_ = while_busy;
    finished_.store(0, std::memory_order_relaxed);
    islands_left_.store(static_cast<std::int32_t>(islands_.size()), std::memory_order_release);
    run_all();
}

Engine::End Engine::run_islands(Time limit, const std::function<bool(Time)>& go_on, bool while_busy) {
    const Time stretch = options_.window * kMeetEvery;
    const auto last = [&] {
        Time time = now_;
        for (const Island& island : islands_) time = std::max(time, island.now);
        return time;
    };
    const auto all_done = [&] {
        return while_busy && std::none_of(islands_.begin(), islands_.end(), [](const Island& island) { return island.busy(); });
    };
    while (now_ < limit) {
        Time meeting = limit - now_ > stretch ? now_ + stretch : limit;
        if (while_busy) {
            run_islands_to(meeting, true);
            // Who is done has waited: if all are, nothing may happen yet after the last of them was.
            if (all_done()) meeting = last();
        }
        run_islands_to(meeting, false);
        const bool idle = std::all_of(islands_.begin(), islands_.end(), [](const Island& island) { return island.idle; });
        now_ = idle ? last() : meeting;
        if (!go_on(now_) || all_done()) return End::stopped;
        if (idle) return End::idle;
    }
    advance_to(limit);
    return End::limit;
}

void Engine::balance() {
    // The assignment of domains to threads does not affect the result.
    std::vector<std::uint64_t> costs;
    costs.reserve(domains_.size());
    for (Domain* domain : domains_) {
        costs.push_back(domain->host_cost + 1);
        domain->host_cost /= 2;
    }
    const Packing packing = pack_longest_first(costs, static_cast<std::uint32_t>(shares_.size()));
    for (Share& share : shares_) share.domains.clear();
    for (const std::uint32_t d : packing.order) shares_[packing.thread[d]].domains.push_back(domains_[d]);
}

void Engine::advance_to(Time time) {
    for (Island& island : islands_) island.now = std::max(island.now, time);
    if (time > now_) now_ = time;
    for (Domain* domain : domains_) domain->skip_to(domain->clock().first_at(now_));
}

Engine::End Engine::run_while_busy(Time limit, const std::function<bool(Time)>& go_on) {
    return islands_.empty() ? run_until(limit, go_on) : run_islands(limit, go_on, true);
}

Engine::End Engine::run_until(Time limit, const std::function<bool(Time)>& go_on) {
    if (!islands_.empty()) return run_islands(limit, go_on, false);
    while (true) {
        Time begin = now_;
        // While components are active, the next window follows at once; otherwise find the next event, which takes longer.
        if (!active_.load(std::memory_order_relaxed)) {
            Time next = kEndOfTime;
            for (const Domain* domain : domains_) next = std::min(next, domain->next());
            if (next == kEndOfTime) return End::idle;
            begin = std::max(now_, next);
        }
        if (begin >= limit) {
            advance_to(limit);
            return End::limit;
        }
        run_window(begin, std::min(begin + options_.window, limit));
        if (!go_on(now_)) return End::stopped;
    }
}

}  // namespace mergelane
