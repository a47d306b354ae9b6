// SPDX-License-Identifier: MIT
// A domain is a set of components on one clock. It simulates a whole window without synchronising with other domains, and communicates with
// them only through cut links, whose latency is at least one window.
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

/// The receiving end of a cut link.
class CutInput {
public:
    /// In the previous window, whose parity is `turn`, something was sent to the input registered as `number`. No cycle before `begin` will
    /// be simulated again.
    virtual void look(std::uint32_t number, std::uint32_t turn, Cycle begin) = 0;

protected:
    ~CutInput() = default;
};

/// The sending end of a cut link, when it is out of credits.
class CutOutput {
public:
    /// When more credits arrive. kNever: not known yet; 0: the sender no longer waits.
    virtual Cycle room_at() const = 0;
    /// The domain stops checking until the sender reports again that it is out of credits. Wakes a waiting sender.
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
    /// Returns the flag that the sender sets when it has sent something (see raise). `number` is passed back on arrival.
    std::uint8_t* add_cut_input(CutInput& input, std::uint32_t number = 0);
    /// This domain has sent something over the link with this flag. The receiver checks the flag at the start of the next window. Even and
    /// odd windows have separate flags, so that no flag is written while it is read; the barrier between windows provides the ordering.
    void raise(std::uint8_t* flag) const { std::atomic_ref(flag[turn_ * kMailLinks]).store(std::uint8_t{1}, std::memory_order_relaxed); }
    /// Parity of the current window: 0 or 1.
    std::uint32_t turn() const { return turn_; }
    /// A sender in this domain is out of credits: wake it when credits arrive.
    void look_for_room(CutOutput& output) { short_of_room_.push_back(&output); }
    /// Simulates all cycles in [begin, end). Returns false if no component had anything to do. With `sleep` off, every component is stepped
    /// every cycle; the result must be the same, which the tests rely on. `window` counts the engine's windows.
    bool run(Cycle begin, Cycle end, bool sleep, std::uint64_t window);

    /// Advances to `cycle` without stepping components; those that were due earlier become due then.
    void skip_to(Cycle cycle);

    /// Earliest time at which this domain has something to do, which may be only checking its links.
    Time next() const;

    /// Schedules a component. Times beyond the horizon of the wheel are clamped to it: early is harmless.
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

    static constexpr std::uint32_t kFew = 8;         ///< up to this many components need no wheel
    static constexpr std::uint32_t kMailLinks = 32;  ///< inputs whose flags share a cache line

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
    std::vector<std::unique_ptr<Mail>> mail_;  ///< flags of the inputs, in order
    std::vector<CutOutput*> short_of_room_;
    std::uint32_t words_ = 1;
    std::vector<std::uint64_t> slots_;  ///< of the wheel, if there is one
    std::uint64_t occupied_ = 0;
    std::array<Cycle, kFew> next_{};  ///< when each component is due, if there are only a few
    Cycle soonest_ = kNever;          ///< minimum of next_
    bool few_ = true;
    Cycle now_ = 0;
    bool stepping_ = false;
    std::uint32_t turn_ = 0;
};

/// One byte per link and parity. Never moves, because senders hold pointers to it.
struct alignas(64) Domain::Mail {
    std::array<std::array<std::uint64_t, kMailLinks / 8>, 2> raised{};
};

inline void Component::wake(Cycle at) {
    domain_->wake(id_, at);
}

}  // namespace mergelane
