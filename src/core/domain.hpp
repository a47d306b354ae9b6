// SPDX-License-Identifier: MIT
// A domain is a set of components on one clock that runs a whole window alone. It touches other domains only
// through cut links, whose latency is at least the window.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "core/bits.hpp"
#include "core/clock.hpp"
#include "core/component.hpp"

namespace mergelane {

/// Where something arrives from another domain.
class CutInput {
public:
    /// In the window before this one, of turn `turn`, something was sent to the input that was added as `number` of this object. No
    /// cycle before `begin` will be simulated any more.
    virtual void look(std::uint32_t number, std::uint32_t turn, Cycle begin) = 0;

protected:
    ~CutInput() = default;
};

/// Whoever sends to another domain and lacks room.
class CutOutput {
public:
    /// When there is more room; kNever: not known yet, 0: nobody waits any more.
    virtual Cycle room_at() const = 0;
    /// The domain asks no more, until it is told again that room is lacking; a sender that waits is to be woken.
    virtual void stop_looking(Cycle wake_at) = 0;

protected:
    ~CutOutput() = default;
};

class Domain {
public:
    Domain(std::string name, Clock clock) : name_(std::move(name)), clock_(clock) {}
    Domain(const Domain&) = delete;
    Domain& operator=(const Domain&) = delete;

    void add(Component& component);
    struct Mail;
    /// Returns the flag its sender raises when it has sent something (see raise). `number` is handed back with what arrives.
    std::uint8_t* add_cut_input(CutInput& input, std::uint32_t number = 0);
    /// This domain sent something over the link of this flag: its receiver looks at it when the next window starts. There is a flag for
    /// even and one for odd windows, so that nobody writes the one that is being read; the barrier between windows orders the rest.
    void raise(std::uint8_t* flag) const { std::atomic_ref(flag[turn_ * kMailLinks]).store(std::uint8_t{1}, std::memory_order_relaxed); }
    /// Windows take turns: 0 or 1.
    std::uint32_t turn() const { return turn_; }
    /// Its sender, of this domain, lacks room: wake it when there is some.
    void look_for_room(CutOutput& output) { short_of_room_.push_back(&output); }
    /// Runs all cycles in [begin, end); false: nobody had anything to do. With `sleep` off every component is stepped every cycle, which
    /// must give the same results; it exists to prove that. `window` counts the engine's windows.
    bool run(Cycle begin, Cycle end, bool sleep, std::uint64_t window);

    /// Goes to `cycle` without stepping anyone; whoever was due before is due then.
    void skip_to(Cycle cycle);

    /// Earliest time at which this domain has something to do, be it only to look at its links.
    Time next() const;

    /// Schedules a component; times beyond the wheel's horizon are clamped to it (early is harmless).
    void wake(std::uint32_t id, Cycle at) {
        const Cycle earliest = now_ + (stepping_ ? 1 : 0);
        if (at < earliest) at = earliest;
        if (few_) {
            if (at < next_[id]) next_[id] = at;
            if (at < soonest_) soonest_ = at;
            return;
        }
        if (at > now_ + kHorizon) at = now_ + kHorizon;
        const std::uint32_t slot = at % kSlots;
        slots_[slot * words_ + id / 64] |= bit(id % 64);
        occupied_ |= bit(slot);
    }

    Clock clock() const { return clock_; }
    const std::string& name() const { return name_; }
    const std::vector<Component*>& components() const { return components_; }

    std::uint64_t host_cost = 0;  ///< measured by the engine to balance threads; never part of a result

private:
    static constexpr std::uint32_t kSlots = 64;
    static constexpr std::uint32_t kHorizon = kSlots - 1;

    static constexpr std::uint32_t kFew = 8;         ///< so many components need no wheel
    static constexpr std::uint32_t kMailLinks = 32;  ///< inputs that share a cache line of flags

    void read_mail(Cycle begin);
    bool has_mail() const;
    void look_for_rooms(Cycle begin, Cycle end);
    void run_few(Cycle end);
    void step_due(Cycle now);
    Cycle next_due() const;

    std::string name_;
    Clock clock_;
    std::vector<Component*> components_;
    struct NumberedInput {
        CutInput* input;
        std::uint32_t number;
    };
    std::vector<NumberedInput> inputs_;
    std::vector<std::unique_ptr<Mail>> mail_;  ///< flags of the inputs, in their order
    std::vector<CutOutput*> short_of_room_;
    std::uint32_t words_ = 1;
    std::vector<std::uint64_t> slots_;  ///< of the wheel, if there is one
    std::uint64_t occupied_ = 0;
    std::array<Cycle, kFew> next_{};  ///< when each of a few components is due
    Cycle soonest_ = kNever;          ///< the first of them
    bool few_ = true;
    Cycle now_ = 0;
    bool stepping_ = false;
    std::uint32_t turn_ = 0;
};

/// A byte for each link and turn. Never moved: senders know where they are.
struct alignas(64) Domain::Mail {
    std::array<std::array<std::uint64_t, kMailLinks / 8>, 2> raised{};
};

inline void Component::wake(Cycle at) {
    domain_->wake(id_, at);
}

}  // namespace mergelane
