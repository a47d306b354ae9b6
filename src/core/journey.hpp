// SPDX-License-Identifier: MIT
// Where the time of a load goes. The request that a load waits for carries a journey: whoever holds the request notes how long it had to
// wait, and for what; the rest of its time are wires and pipelines. Nothing is added up on the way, because only the last of a load's
// requests counts, and a request that was merged with an older one takes over the journey of that one from the moment they met.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/packet.hpp"
#include "core/types.hpp"

namespace mergelane {

/// A stage of the memory path, or a reason to wait there, as known to one component. Declared in Component::stages.
struct Stage {
    std::uint32_t period = 1;  ///< engine units per cycle of the component
    std::uint8_t number = 0;   ///< of the machine's stages; 0: not declared
};

class Journey {
public:
    static constexpr std::uint32_t kMost =
        14;  ///< 13 waits, more than any path has, and a scratch slot for further ones, which count as flight

    /// How far a request came that was not merged with another.
    enum class Level : std::uint8_t { l2, dram, cluster, node, merged, count };

    /// `request`: a number that no other request of the run has.
    void begin(Time at, std::uint64_t request = 0) {
        begin_ = at;
        served_by_ = request;
        count_ = 0;
        level_ = Level::l2;
    }
    Time started() const { return begin_; }
    Level level() const { return level_; }
    /// The request whose reply it got: its own, or the one it was merged with.
    std::uint64_t served_by() const { return served_by_; }
    void reach(Level level) { level_ = level; }
    // Not inlined: few requests are followed, and the code of those that are not must stay small.
    [[gnu::noinline]] void wait(Stage stage, Cycle since, Cycle until) {
        if (since == until) return;
        waits_[count_] = {until * stage.period, (until - since) * stage.period << 8 | stage.number};
        count_ += count_ < kMost - 1;
    }
    /// It enters a queue that it could leave at once, and leaves it.
    void enter(Cycle now) { entered_ = now; }
    Cycle entered() const { return entered_; }
    void leave(Stage stage, Cycle now) { wait(stage, entered_, now); }
    /// The same; waits for the same reason, one after the other, count as one if they are later than `from`.
    void wait_on(Stage stage, Cycle since, Cycle until, Time from) {
        Wait& last = waits_[count_ - (count_ != 0)];
        if (count_ == 0 || static_cast<std::uint8_t>(last.packed) != stage.number || last.until <= from) return wait(stage, since, until);
        last.until = until * stage.period;
        last.packed += (until - since) * stage.period << 8;
    }
    /// It waits for another request for the same line, in the clock of `stage`, and has what it waited for.
    void merge(Stage stage, Cycle now) { entered_ = now * stage.period; }
    void follow(const Journey& other) { follow(other, entered_); }
    [[gnu::noinline]] void follow(const Journey& other, Time from) {
        for (std::uint32_t i = 0; i < other.count_; ++i) {
            const Wait& wait = other.waits_[i];
            if (wait.until <= from) continue;
            const Time time = std::min(wait.packed >> 8, wait.until - from);
            waits_[count_] = {wait.until, time << 8 | (wait.packed & 0xFF)};
            count_ += count_ < kMost - 1;
        }
        level_ = Level::merged;
        served_by_ = other.served_by_;
    }
    /// Calls wait(stage number, since, until) for the parts that lie between `from` and `until`.
    template <class Wait>
    void each(Time from, Time until, Wait&& wait) const {
        for (std::uint32_t i = 0; i < count_; ++i) {
            const Time since = std::max(waits_[i].until - (waits_[i].packed >> 8), from);
            const Time end = std::min(waits_[i].until, until);
            if (end > since) wait(static_cast<std::uint8_t>(waits_[i].packed), since, end);
        }
    }
    /// Calls spent(stage number, time) for those parts, and returns the time of all. Waits have their lengths, but not always their places
    /// (StallLog), so parts may overlap: together they take no more than the time from `from` to `until`.
    template <class Spent>
    Time visit(Time from, Time until, Spent&& spent) const {
        const Time all = until > from ? until - from : 0;
        Time left = all;
        each(from, until, [&](std::uint8_t stage, Time since, Time end) {
            const Time time = std::min(end - since, left);
            left -= time;
            if (time != 0) spent(stage, time);
        });
        return all - left;
    }

private:
    struct Wait {
        Time until;
        std::uint64_t packed;  ///< time << 8 | stage
    };

    Time begin_ = 0;
    std::uint64_t served_by_ = 0;
    Cycle entered_ = 0;
    std::uint32_t count_ = 0;
    Level level_ = Level::l2;
    std::array<Wait, kMost> waits_;
};

/// Why the head of a queue could not go on, and when: those behind it waited for the same reasons.
class StallLog {
public:
    void add(const Stage& why, Cycle since, Cycle until) {
        if (last_.why.number == why.number && since <= last_.until + kGap) [[likely]]
            last_.until = until;
        else
            push(why, since, until);
    }
    bool any_after(Cycle since) const { return last_.until > since; }
    /// Notes why a request waited in the queue from `since` until `now`; `queue`: while its head was not stalled.
    [[gnu::noinline]] void note(Journey& journey, Stage queue, Cycle since, Cycle now) const {
        if (since == now) return;
        if (!any_after(since)) return journey.wait(queue, since, now);
        Cycle stalled = 0;
        const auto charge = [&](const Stall& stall) {
            const Cycle from = std::max(stall.since, since);
            if (stall.until <= from) return;
            journey.wait(stall.why, from, stall.until);
            stalled += stall.until - from;
        };
        for (std::uint32_t i = 0; i < kKept; ++i) charge(stalls_[(oldest_ + i) % kKept]);
        charge(last_);
        if (now - since != stalled) journey.wait(queue, since + stalled, now);
    }

private:
    [[gnu::noinline]] void push(const Stage& why, Cycle since, Cycle until) {
        stalls_[oldest_] = last_;
        oldest_ = (oldest_ + 1) % kKept;
        last_ = {since, until, why};
    }
    static constexpr std::uint32_t kKept = 3;  ///< before the last one; older ones count as time in the queue
    static constexpr Cycle kGap = 4;           ///< between two heads that stall for the same reason, one after the other
    struct Stall {
        Cycle since = 0, until = 0;
        Stage why;
    };
    Stall last_;
    std::uint32_t oldest_ = 0;
    std::array<Stall, kKept> stalls_{};
};

/// Which lines are followed: one of so many, a power of two, as a hash of its address says. All requests for a line are followed or none,
/// because they may be merged. Every 1,024 cycles it is the turn of others: a kernel may have few lines, and wait for one of them.
class FollowedLines {
public:
    explicit FollowedLines(std::uint32_t one_of = 16) : mask_(one_of - 1) {}
    static Addr line_of(Addr block) { return block >> 7; }
    bool contains(Addr block, Cycle now) const {
        const std::uint32_t key = static_cast<std::uint32_t>(line_of(block)) + static_cast<std::uint32_t>(now >> 10) * 0x2545F491u;
        return (key * 0x9E3779B1u >> 16 & mask_) == 0;
    }
    bool all() const { return mask_ == 0; }
    /// For what has no line: every so-many-th.
    bool is_turn(std::uint64_t count) const { return (count & mask_) == 0; }

private:
    std::uint32_t mask_;
};

/// The journeys of a requester's reads. They never move, because packets point to them.
class JourneyPool {
public:
    Journey& take() {
        if (free_.empty()) return all_.emplace_back();
        Journey& journey = *free_.back();
        free_.pop_back();
        return journey;
    }
    void give_back(Journey& journey) { free_.push_back(&journey); }

private:
    std::deque<Journey> all_;
    std::vector<Journey*> free_;
};

/// Of a read or its reply; nullptr for other packets, and if nobody asks where its time goes.
inline Journey* journey_of(const Packet& packet) {
    return packet.kind <= PacketKind::read_reply ? packet.read.journey : nullptr;
}

/// The packet waited, if `since` is not `until`.
inline void note_wait(const Packet& packet, Stage stage, Cycle since, Cycle until) {
    if (Journey* const journey = journey_of(packet); journey != nullptr) [[unlikely]]
        journey->wait(stage, since, until);
}

/// The packet enters a queue, and leaves it.
inline void note_entry(const Packet& packet, Cycle now) {
    if (Journey* const journey = journey_of(packet); journey != nullptr) [[unlikely]]
        journey->enter(now);
}
inline void note_exit(const Packet& packet, Stage stage, Cycle now) {
    if (Journey* const journey = journey_of(packet); journey != nullptr) [[unlikely]]
        journey->leave(stage, now);
}

/// The stages of a machine, declared by its components and links.
class Stages {
public:
    static constexpr std::size_t kMost = 128;
    struct Info {
        std::string name;  ///< "l2.merge_limit"
        std::string meaning;
    };

    /// Of the component that declares next.
    void set_clock(Clock clock) { clock_ = clock; }
    Clock clock() const { return clock_; }
    void group(std::string_view name) { group_ = name; }
    /// Components of one kind share their stages.
    void add(Stage& stage, std::string_view name, std::string_view meaning) {
        std::string whole = group_ + "." + std::string(name);
        const auto same = std::find_if(list_.begin(), list_.end(), [&](const Info& info) { return info.name == whole; });
        stage = {clock_.period, static_cast<std::uint8_t>(same - list_.begin())};
        if (same != list_.end()) return;
        if (list_.size() == kMost) throw std::logic_error("a machine has at most 128 stages; '" + whole + "' is one too many");
        list_.push_back({std::move(whole), std::string(meaning)});
    }
    const std::vector<Info>& list() const { return list_; }

private:
    Clock clock_;
    std::string group_;
    std::vector<Info> list_ = {{"other", "time that belongs to no stage"}};
};

}  // namespace mergelane
