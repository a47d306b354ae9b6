// SPDX-License-Identifier: MIT
// Loads and atomics between issue and the availability of their values. A front end resolves them request by request; the SM is notified
// when the last one completes.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "core/journey.hpp"
#include "core/kernel.hpp"
#include "core/observers.hpp"
#include "core/types.hpp"
#include "sm/instruction_table.hpp"
#include "sm/latency_account.hpp"

namespace mergelane {

struct Load {
    const StaticInst* inst = nullptr;
    Cycle issued = 0;
    Cycle latest = 0;  ///< when the last of its values so far is available
    std::uint16_t remaining = 0;
    std::uint8_t warp = 0;
    bool delayed = false;  ///< there is more to know about the time from start to lookup
    bool kept = false;     ///< the value that is available last so far was followed
    Stage after = {};      ///< of the value that is available last
    Cycle started = 0;     ///< when the front end began with it
    Time asked = 0;        ///< when the block of that value was looked up
};

/// The values of one of a load's requests.
struct Arrival {
    Cycle at = 0;                      ///< they are available from then on
    Time asked = 0;                    ///< when the block was looked up
    const Journey* journey = nullptr;  ///< of the request it waited for since then, if any
    Stage after = {};                  ///< the rest of the time
};

/// The stages of loads that every front end has.
struct LoadStages {
    Stage queue;                                                                ///< from issue until the front end begins with the load
    Stage lookup;                                                               ///< from then until the block is looked up
    std::array<Stage, static_cast<std::size_t>(Journey::Level::count)> flight;  ///< the time of a request without its waits

    Stage flight_of(const Journey& journey, Time asked) const {
        const Journey::Level level = journey.started() == asked ? journey.level() : Journey::Level::merged;
        return flight[static_cast<std::size_t>(level)];
    }
};

/// What a load has gone through: issue, start, lookup of the block that came last, its reply, its availability.
class LoadHistory {
public:
    /// `delays`: before blocks were looked up, if there were any. `now`: when the reply came.
    LoadHistory(const Load& load, const Arrival& arrival, const Journey* delays, const LoadStages& stages, Cycle now)
        : load_(load), arrival_(arrival), delays_(delays), stages_(stages), came_(now * stages.queue.period) {}

    Time issued() const { return load_.issued * stages_.queue.period; }
    Time available() const { return load_.latest * stages_.queue.period; }
    /// Adds all of its time, stage by stage.
    void add_to(Time* spent) const {
        const Time started = load_.started * stages_.queue.period;
        const auto add = [spent](std::uint8_t stage, Time time) { spent[stage] += time; };
        if (delays_ == nullptr) {
            spent[stages_.queue.number] += started - issued();
            spent[stages_.lookup.number] += arrival_.asked - started;
        } else {
            spent[stages_.queue.number] += started - issued() - delays_->visit(issued(), started, add);
            spent[stages_.lookup.number] += arrival_.asked - started - delays_->visit(started, arrival_.asked, add);
        }
        Time came = arrival_.asked;
        if (const Journey* const journey = arrival_.journey; journey != nullptr) {
            const Time waited = journey->visit(came, came_, add);
            spent[stages_.flight_of(*journey, came).number] += came_ - came - waited;
            came = came_;
        }
        spent[arrival_.after.number] += available() - came;
    }
    /// Calls spent(stage number, time) for what happened between `from` and `until`.
    template <class Spent>
    void visit(Time from, Time until, Spent&& spent) const {
        const auto segment = [&](Time begin, Time end, const Journey* waits, Stage rest) {
            begin = std::max(begin, from);
            end = std::min(end, until);
            if (end <= begin) return;
            const Time waited = waits != nullptr ? waits->visit(begin, end, spent) : 0;
            if (end - begin != waited) spent(rest.number, end - begin - waited);
        };
        const Time started = load_.started * stages_.queue.period;
        segment(issued(), started, delays_, stages_.queue);
        segment(started, arrival_.asked, delays_, stages_.lookup);
        const Journey* const journey = arrival_.journey;
        if (journey != nullptr) segment(arrival_.asked, came_, journey, stages_.flight_of(*journey, arrival_.asked));
        segment(journey != nullptr ? came_ : arrival_.asked, available(), nullptr, arrival_.after);
    }

    /// Of the request that came last; nullptr: the value came from the L1.
    const Journey* journey() const { return arrival_.journey; }
    bool merged() const { return journey()->started() != arrival_.asked || journey()->level() == Journey::Level::merged; }
    /// Calls step(stage number, until) for its stages in their order. They fill the time from issue until the value is available.
    template <class Step>
    void steps(Step&& step) const {
        const Time started = load_.started * stages_.queue.period;
        fill(issued(), started, delays_, stages_.queue, step);
        fill(started, arrival_.asked, delays_, stages_.lookup, step);
        if (journey() != nullptr) fill(arrival_.asked, came_, journey(), stages_.flight_of(*journey(), arrival_.asked), step);
        fill(journey() != nullptr ? came_ : arrival_.asked, available(), nullptr, arrival_.after, step);
    }

private:
    /// Waits have their lengths, and begin when they did unless an earlier one takes that time: those behind the head of a queue are
    /// noted by reason.
    template <class Step>
    static void fill(Time begin, Time end, const Journey* waits, Stage rest, Step&& step) {
        Time left = waits != nullptr ? waits->visit(begin, end, [](std::uint8_t, Time) {}) : 0;
        if (left != 0) {
            waits->each(begin, end, [&](std::uint8_t stage, Time since, Time until) {
                const Time from = std::max(begin, std::min(since, end - std::min(left, end)));
                const Time to = std::min(from + until - since, end);
                if (from > begin) step(rest.number, from);
                if (to > from) step(stage, to);
                left -= until - since;
                begin = to;
            });
        }
        if (end > begin) step(rest.number, end);
    }

    const Load& load_;
    const Arrival& arrival_;
    const Journey* const delays_;
    const LoadStages& stages_;
    const Time came_;
};

/// What the SM is told about its memory instructions. It counts one transaction per instruction at issue; a store with several requests
/// reports the additional ones.
class MemoryListener {
public:
    /// `history`: of a load that is followed.
    virtual void load_finished(const Load& load, const LoadHistory* history, Cycle now) = 0;
    virtual void store_split(std::uint32_t warp, std::uint32_t further_requests) = 0;
    virtual void store_answered(std::uint32_t warp, Cycle now) = 0;

protected:
    ~MemoryListener() = default;
};

class LoadTable {
public:
    /// Few tables are ever full: they grow on demand.
    LoadTable(std::uint32_t entries, MemoryListener& listener) : listener_(listener), entries_(entries) {
        loads_.reserve(std::min(entries, kFirst));
        free_.reserve(std::min(entries, kFirst));
    }

    /// A front end that also keeps loads elsewhere may need more.
    void allow(std::uint32_t entries) { entries_ = std::max(entries_, entries); }
    bool full() const { return free_.empty() && loads_.size() == entries_; }
    /// A load that completes after this many requests.
    std::uint16_t open(const StaticInst& inst, std::uint32_t warp, Cycle issued, std::uint32_t requests) {
        auto index = static_cast<std::uint16_t>(loads_.size());
        if (free_.empty()) {
            loads_.emplace_back();
        } else {
            index = free_.back();
            free_.pop_back();
        }
        Load& load = loads_[index];  // `asked` and `after` are set with `kept`
        load.inst = &inst;
        load.issued = load.started = issued;
        load.latest = 0;
        load.remaining = static_cast<std::uint16_t>(requests);
        load.warp = static_cast<std::uint8_t>(warp);
        load.delayed = load.kept = false;
        return index;
    }
    /// The front end begins with the load.
    void start(std::uint16_t index, Cycle now) { loads_[index].started = now; }
    Time started(std::uint16_t index) const { return loads_[index].started * stages_.queue.period; }
    /// From `since` until `now` the front end could not look up a block of the load. Before and after its start are kept apart.
    void delay(std::uint16_t index, Stage why, Cycle since, Cycle now) {
        (loads_[index].delayed ? delays_[index] : delays_of(index)).wait_on(why, since, now, started(index));
    }
    /// The values of one request are available from `at` on.
    void resolve(std::uint16_t index, Cycle at, Cycle now) {
        Load& load = loads_[index];
        if (load.kept && at < load.latest) [[unlikely]]
            return resolve_earlier(index, now);
        load.kept = false;
        load.latest = std::max(load.latest, at);
        if (--load.remaining != 0) return;
        free_.push_back(index);
        listener_.load_finished(load, nullptr, now);
    }
    /// The same for a request that is followed; the time of a load counts for which it is the last.
    [[gnu::noinline]] void resolve(std::uint16_t index, const Arrival& arrival, Cycle now) {
        Load& load = loads_[index];
        if (by_instruction_ != nullptr && arrival.journey != nullptr && arrival.journey->started() == arrival.asked)
            by_instruction_->reached(*load.inst, static_cast<std::size_t>(arrival.journey->level()));
        if (load.kept && arrival.at < load.latest) return resolve_earlier(index, now);
        const bool latest = arrival.at >= load.latest;
        load.latest = std::max(load.latest, arrival.at);
        load.kept = latest && arrival.at > now;
        if (--load.remaining != 0) {
            if (load.kept) keep(index, arrival, now);
            return;
        }
        free_.push_back(index);
        if (latest)
            finish(load, index, arrival, now);
        else
            listener_.load_finished(load, nullptr, now);
    }
    MemoryListener& listener() { return listener_; }
    void observe(WorkObserver& observer) { observer_ = &observer; }
    WorkObserver* observer() const { return observer_; }

    void set_stages(const LoadStages& stages) { stages_ = stages; }
    const LoadStages& stages() const { return stages_; }
    void count_by(InstructionTable& table) { by_instruction_ = &table; }
    /// A front end has divided an access into so many requests or, in shared memory, passes over the banks.
    template <class Access>
    void coalesced(const Access& access, std::uint32_t transactions) {
        if (by_instruction_ != nullptr) [[unlikely]]
            by_instruction_->coalesced(*access.inst, access.active, transactions);
    }
    /// A front end has accessed the L1, or sent requests, for this instruction.
    void looked_up(const StaticInst& inst, const L1Stats& l1, std::uint64_t sent) {
        if (by_instruction_ != nullptr) [[unlikely]]
            by_instruction_->looked_up(inst, l1, sent);
    }
    LatencyAccount& account() { return account_; }
    const LatencyAccount& account() const { return account_; }

private:
    [[gnu::noinline]] Journey& delays_of(std::uint16_t index) {
        if (delays_.size() <= index) delays_.resize(loads_.capacity());
        if (!loads_[index].delayed) delays_[index].begin(0);
        loads_[index].delayed = true;
        return delays_[index];
    }
    /// Values that come before those that are kept.
    [[gnu::noinline]] void resolve_earlier(std::uint16_t index, Cycle now) {
        Load& load = loads_[index];
        if (--load.remaining != 0) return;
        free_.push_back(index);
        finish(load, index, {load.latest, load.asked, nullptr, load.after}, now);
    }
    [[gnu::noinline]] void finish(const Load& load, std::uint16_t index, const Arrival& arrival, Cycle now) {
        const LoadHistory history(load, arrival, load.delayed ? &delays_[index] : nullptr, stages_, now);
        if (load.inst->op != OpClass::store) account_.add(history);  // to shared memory
        if (observer_ != nullptr && arrival.journey != nullptr) observer_->request_finished(load, history);
        listener_.load_finished(load, &history, now);
    }
    /// Values that come later than the next ones may: their request is forgotten by then.
    void keep(std::uint16_t index, const Arrival& arrival, Cycle now) {
        Load& load = loads_[index];
        load.asked = arrival.journey == nullptr ? arrival.asked : now * stages_.queue.period;
        load.after = arrival.after;
        if (arrival.journey != nullptr) delays_of(index).follow(*arrival.journey, arrival.asked);
    }
    MemoryListener& listener_;
    InstructionTable* by_instruction_ = nullptr;
    WorkObserver* observer_ = nullptr;
    static constexpr std::uint32_t kFirst = 64;
    LoadStages stages_;
    LatencyAccount account_;
    std::vector<Journey> delays_;  ///< of delayed loads
    std::uint32_t entries_;
    std::vector<Load> loads_;
    std::vector<std::uint16_t> free_;  ///< of those that were ever used
};

}  // namespace mergelane
