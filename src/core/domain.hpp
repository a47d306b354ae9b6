// SPDX-License-Identifier: MIT
// A domain is a set of components on one clock that runs a whole window alone. It touches other domains only
// through cut links, whose latency is at least the window.
#pragma once

#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "core/bits.hpp"
#include "core/clock.hpp"
#include "core/component.hpp"

namespace mergelane {

class LinkBase;

class Domain {
public:
    Domain(std::string name, Clock clock) : name_(std::move(name)), clock_(clock) {}
    Domain(const Domain&) = delete;
    Domain& operator=(const Domain&) = delete;

    void add(Component& component);
    void add_cut_input(LinkBase& link) { inputs_.push_back(&link); }
    void add_cut_output(LinkBase& link) { outputs_.push_back(&link); }

    /// Runs all cycles in [begin, end). With `sleep` off every component is stepped every cycle, which must
    /// give the same results; it exists to prove that. `window` counts the engine's windows.
    void run(Cycle begin, Cycle end, bool sleep, std::uint64_t window);

    /// Goes to `cycle` without stepping anyone; whoever was due before is due then.
    void skip_to(Cycle cycle);

    /// Earliest time at which this domain has something to do, be it only to look at its links.
    Time next() const;

    /// Schedules a component; times beyond the wheel's horizon are clamped to it (early is harmless).
    void wake(std::uint32_t id, Cycle at) {
        const Cycle earliest = now_ + (stepping_ ? 1 : 0);
        if (at < earliest) at = earliest;
        if (components_.size() == 1) {  // no wheel needed
            if (at < solo_next_) solo_next_ = at;
            return;
        }
        if (at > now_ + kHorizon) at = now_ + kHorizon;
        const std::uint32_t slot = at % kSlots;
        slots_[slot * words_ + id / 64] |= bit(id % 64);
        occupied_ |= bit(slot);
    }

    /// `from` sent a packet or returned room: look at the links when the next window starts. Two flags take turns, so
    /// that nobody writes the one that is being read; the barrier between windows orders everything else.
    void notify(const Domain& from) {
        std::atomic<bool>& flag = mail_[from.turn_];
        if (!flag.load(std::memory_order_relaxed)) flag.store(true, std::memory_order_relaxed);
    }

    /// End of the window being run: nothing that is not on its cut links yet will arrive before.
    Cycle window_end() const { return window_end_; }
    Clock clock() const { return clock_; }
    const std::string& name() const { return name_; }
    const std::vector<Component*>& components() const { return components_; }

    std::uint64_t host_cost = 0;  ///< measured by the engine to balance threads; never part of a result

private:
    static constexpr std::uint32_t kSlots = 64;
    static constexpr std::uint32_t kHorizon = kSlots - 1;

    void look_at_links(Cycle begin);
    void step_due(Cycle now);
    Cycle next_due() const;

    std::string name_;
    Clock clock_;
    std::vector<Component*> components_;
    std::vector<LinkBase*> inputs_;
    std::vector<LinkBase*> outputs_;
    std::uint32_t words_ = 1;
    std::vector<std::uint64_t> slots_ = std::vector<std::uint64_t>(kSlots);
    std::uint64_t occupied_ = 0;
    Cycle solo_next_ = kNever;  ///< the only component's next time
    Cycle now_ = 0;
    Cycle window_end_ = 0;
    bool stepping_ = false;
    bool mail_waiting_ = false;  ///< came while this domain had no cycle in the window
    std::uint32_t turn_ = 0;     ///< which flag this domain sets in others during the current window
    alignas(64) std::array<std::atomic<bool>, 2> mail_{};
};

inline void Component::wake(Cycle at) {
    domain_->wake(id_, at);
}

}  // namespace mergelane
