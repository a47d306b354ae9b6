// SPDX-License-Identifier: MIT
// Neighbours for a component under test. Their behaviour depends only on the cycle, never on how often they are stepped, so that a test can
// compare stepping every cycle with stepping on request.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/link.hpp"
#include "core/packet.hpp"
#include "core/rng.hpp"
#include "sim/engine.hpp"

namespace mergelane::testing {

/// In which cycles a neighbour is willing; a fixed pseudo-random pattern.
struct Gate {
    std::uint64_t seed = 0;
    std::uint32_t open_percent = 100;

    bool open(Cycle now) const { return open_percent >= 100 || mix64(seed * 0x10001 + now) % 100 < open_percent; }
    Cycle next_open(Cycle from) const {
        while (!open(from)) ++from;
        return from;
    }
};

/// Sends a prepared list on a link, each item no earlier than its time, when the gate is open and there is room.
template <class T>
class Feeder final : public Component {
public:
    struct Item {
        T value;
        std::uint32_t cost = 1;
        Cycle earliest = 0;
    };

    Feeder(std::string name, Link<T>& link, Gate gate = {}) : Component(std::move(name)), link_(&link), gate_(gate) {}
    explicit Feeder(std::string name, Gate gate = {}) : Component(std::move(name)), gate_(gate) {}
    void connect(Link<T>& link) { link_ = &link; }

    std::vector<Item> items;

    Cycle step(Cycle now) override {
        while (next_ < items.size() && items[next_].earliest <= now && now >= busy_until_ && gate_.open(now)) {
            const Item& item = items[next_];
            if (!link_->can_send(now, item.cost)) {
                if (patient) return link_->next_credit() == kNever ? kNever : gate_.next_open(std::max(link_->next_credit(), now + 1));
                break;
            }
            link_->send(now, item.value, item.cost);
            ++next_;
            if (one_per_cycle) busy_until_ = now + 1;
        }
        if (next_ == items.size()) return kNever;
        return gate_.next_open(std::max(items[next_].earliest, now + 1));
    }
    void stats(StatFields&, Cycle) const override {}
    std::uint64_t held() const override { return items.size() - next_; }
    std::size_t sent() const { return next_; }

    bool one_per_cycle = true;
    bool patient = false;  ///< sleeps until there is room, as stations do, instead of asking every cycle

private:
    Link<T>* link_ = nullptr;
    Gate gate_;
    std::size_t next_ = 0;
    Cycle busy_until_ = 0;
};

/// Takes what arrives when the gate is open and remembers it.
template <class T>
class Taker final : public Component {
public:
    struct Arrival {
        Cycle at;
        T value;
    };

    Taker(std::string name, Link<T>& link, Gate gate = {}) : Component(std::move(name)), link_(&link), gate_(gate) {}
    explicit Taker(std::string name, Gate gate = {}) : Component(std::move(name)), gate_(gate) {}
    void connect(Link<T>& link) { link_ = &link; }

    std::vector<Arrival> taken;
    std::uint32_t per_cycle = std::numeric_limits<std::uint32_t>::max();

    Cycle step(Cycle now) override {
        if (now >= next_free_ && gate_.open(now)) {
            for (std::uint32_t k = 0; k < per_cycle && link_->has(now); ++k) taken.push_back({now, link_->pop_and_release(now)});
            next_free_ = now + 1;
        }
        const Cycle head = link_->head_arrival();
        return head == kNever ? kNever : gate_.next_open(std::max(head, now + 1));
    }
    void stats(StatFields&, Cycle) const override {}

private:
    Link<T>* link_ = nullptr;
    Gate gate_;
    Cycle next_free_ = 0;
};

/// What came to each sink was meant for it, and packets of one source came in the order in which it sent them (their tags count up).
inline void expect_order_of_pairs(const std::vector<Taker<Packet>*>& takers) {
    for (std::uint32_t sink = 0; sink < takers.size(); ++sink) {
        std::map<std::uint32_t, int> last;
        for (const auto& arrival : takers[sink]->taken) {
            EXPECT_EQ(arrival.value.destination, sink);
            const auto [at, is_new] = last.try_emplace(arrival.value.source, -1);
            EXPECT_GT(int{arrival.value.tag}, at->second);
            at->second = arrival.value.tag;
        }
    }
}

/// One domain with links inside it: enough to run a component alone.
class TestBench {
public:
    TestBench() : domain("bench", Clock{}) {}

    template <class T>
    Link<T>& link(std::string name, std::uint32_t capacity, Component& from, Component& to, Cycle forward = 1, Cycle credit = 1) {
        auto& made = keep(std::make_shared<Link<T>>(std::move(name), capacity, LinkTiming{{}, {}, forward, credit, false}));
        made.connect(from, to);
        return made;
    }
    /// A link whose ends are connected later.
    template <class T>
    Link<T>& loose_link(std::string name, std::uint32_t capacity, Cycle forward = 1, Cycle credit = 1) {
        return keep(std::make_shared<Link<T>>(std::move(name), capacity, LinkTiming{{}, {}, forward, credit, false}));
    }
    template <class C, class... Args>
    C& add(Args&&... args) {
        auto component = std::make_shared<C>(std::forward<Args>(args)...);
        owned_.push_back(component);
        domain.add(*component);
        return *component;
    }
    /// Simulates all cycles before `until`; `sleep` as in the engine, decided by the first call.
    void run(Cycle until, bool sleep = true) {
        if (engine_ == nullptr) {
            engine_ = std::make_unique<Engine>(std::vector<Domain*>{&domain}, EngineOptions{1, kWindow, sleep});
            for (Component* component : domain.components()) component->wake(0);
        }
        engine_->run_until(until, [](Time) { return true; });
        engine_->advance_to(until);  // it stops early when nobody has anything to do
    }
    Cycle now() const { return engine_ == nullptr ? 0 : engine_->time(); }

    Domain domain;

private:
    template <class T>
    T& keep(std::shared_ptr<T> object) {
        owned_.push_back(object);
        return *object;
    }

    static constexpr Time kWindow = 50;

    std::vector<std::shared_ptr<void>> owned_;
    std::unique_ptr<Engine> engine_;
};

}  // namespace mergelane::testing
