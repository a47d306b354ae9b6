// SPDX-License-Identifier: MIT
// A user-defined front end: every second memory instruction is delayed by some cycles before it reaches the default front end.
#include "outside.hpp"

using namespace mergelane;

namespace outside {

namespace {

struct DelaySpec final : SectionOf<DelaySpec> {
    std::uint32_t cycles = 20;
    std::uint32_t queue = 8;

    void fields(SpecFields& f) override {
        f.section("delay_front");
        f.belongs_to("lsu.front", {"delay"});
        f.integer("cycles", cycles, 0, 10000, "core cycles", "every second memory instruction waits so long");
        f.integer("queue", queue, 1, 64, "instructions", "that wait at most");
    }
    void check(const MachineFacts&, const Sections&, Problems& problems) const override {
        problems.require(cycles != 13, {"delay_front.cycles"}, "delay_front.cycles is 13; this laboratory is superstitious: use another");
    }
    void laws(LawBook& book) const override {
        book.balance("delay_front.accepted = delay_front.passed + waiting", book("delay_front.accepted"),
                     book("delay_front.passed") + book("delay_front.waiting"));
    }
};

class DelayFront final : public MemoryFront {
public:
    DelayFront(const FrontContext& context, const Sections& sections)
        : spec_(sections.get<DelaySpec>()), inner_(context.policies.make<MemoryFront>("in_order", context)), waiting_(spec_.queue) {}

    void launch(std::uint32_t shared_kib) override { inner_->launch(shared_kib); }
    void accept(const MemoryAccess& access, Cycle now) override {
        // In order: what comes behind a delayed instruction waits with it.
        const bool second = ++accepted_ % 2 == 0;
        Held& held = waiting_.claim();
        held.access = access;
        held.lanes = *access.lanes;
        held.due = std::max(now + 1 + (second ? spec_.cycles : 0), last_due_);
        last_due_ = held.due;
        if (second) ++delayed_;
        plan();
    }
    void step(Cycle now) override {
        while (!waiting_.empty() && waiting_.front().due <= now && !head_refused()) {
            Held& held = waiting_.front();
            held.access.lanes = &held.lanes;
            inner_->accept(held.access, now - 1);  // as if issued in the cycle before, like any other
            waiting_.pop();
            ++passed_;
        }
        if (inner_->due() <= now) inner_->step(now);
        plan();
    }
    void reply(const Packet& packet, Cycle now) override {
        inner_->reply(packet, now);
        plan();
    }
    void stats(StatFields& f, Cycle now) const override {
        f.group("delay_front");
        f.add("accepted", accepted_, "instructions", "memory instructions that came in");
        f.add("delayed", delayed_, "instructions", "those of them that waited");
        f.add("passed", passed_, "instructions", "handed to the usual front");
        inner_->stats(f, now);
    }
    void gauges(StatFields& f) const override {
        f.group("delay_front");
        f.add("waiting", waiting_.size(), "instructions", "memory instructions that wait");
        inner_->gauges(f);
    }
    void stages(Stages& out) override { inner_->stages(out); }
    bool waits_for_room() const override { return inner_->waits_for_room(); }
    L1Cache* l1() override { return inner_->l1(); }

private:
    struct Held {
        MemoryAccess access;
        LaneAddresses lanes;
        Cycle due = 0;
    };

    bool head_refused() const { return (inner_->refused() >> waiting_.front().access.warp & 1) != 0; }
    /// What the SM looks at: whom we refuse, and when we want to run.
    void plan() {
        refused_ = waiting_.full() ? ~std::uint64_t{0} : 0;
        held_back_ = inner_->held_back();
        sleep_like(*inner_, waiting_.empty() || head_refused() ? kNever : waiting_.front().due);
    }

    const DelaySpec& spec_;
    std::unique_ptr<MemoryFront> inner_;
    Ring<Held> waiting_;
    Cycle last_due_ = 0;
    std::uint64_t accepted_ = 0;
    std::uint64_t delayed_ = 0;
    std::uint64_t passed_ = 0;
};

}  // namespace

void add_delay_front(Registry& registry) {
    registry.add_section<DelaySpec>();
    registry.add<MemoryFront>("delay", "every second memory instruction waits delay_front.cycles",
                              {.has_l1 = true, .arranges_l1 = false, .knows_cta_slots = true, .serves_shared_memory = true},
                              [](const auto& context, const auto& sections) { return std::make_unique<DelayFront>(context, sections); });
}

}  // namespace outside
