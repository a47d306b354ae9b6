// SPDX-License-Identifier: MIT
#include "sm/banked_front.hpp"

#include <fmt/format.h>

#include "core/bits.hpp"
#include "core/result.hpp"

namespace mergelane {

void BankedSpec::fields(SpecFields& f) {
    f.section("lsu.banked");
    f.belongs_to("lsu.front", {"banked"});
    f.integer("banks", banks, 1, 64, "banks", "L1 banks, interleaved by set; each looks up one line of a load per cycle");
}

void BankedSpec::check(const MachineFacts&, const Sections&, Problems& problems) const {
    problems.require(is_power_of_two(banks), {"lsu.banked.banks"},
                     fmt::format("lsu.banked.banks ({}) is not a power of two; use 2, 4, 8 or 16", banks));
}

void BankedSpec::metrics(Metrics& m) const {
    m.add("Banked L1", "load lookups per cycle", Metrics::ratio(m("banked.lookups"), m("banked.cycles")), "",
          "in cycles with at least one");
}

BankedFront::BankedFront(const FrontContext& context, const BankedSpec& spec)
    : InOrderFront(context),
      bank_mask_(spec.banks - 1),
      line_shift_(index_bits(context.l1.line_bytes)),
      set_hash_(context.l1.set_hash, context.l1.sets()) {}

void BankedFront::step(Cycle now) {
    const StaticInst& inst = *queue_.front().inst;
    const bool banked = inst.op == OpClass::load && inst.space != Space::shared && l1_spec_.enabled && !inst.bypass_l1;
    if (!banked) return InOrderFront::step(now);
    if (parked_) {
        if (parked_why_ != L1Cache::Outcome::no_queue || !port_.room(now)) return plan_next(now);
        unpark(now);
    }
    serve_load(now);
    plan_next(now);
}

void BankedFront::serve_load(Cycle now) {
    Entry& entry = queue_.front();
    begin(entry, now);
    if (entry.followed) note_parked(entry, now);
    const BlockList& blocks = lists_[entry.blocks];
    if (left_ == 0) left_ = low_bits(blocks.count);
    std::uint64_t banks_taken = 0;
    std::uint32_t served = 0;
    bool missed = false;
    for (std::uint64_t candidates = left_; candidates != 0; candidates &= candidates - 1) {
        const std::uint32_t b = lowest_bit(candidates);
        const std::uint64_t bank = bit(set_hash_.index(blocks.block[b] >> line_shift_) & bank_mask_);
        if ((banks_taken & bank) != 0) continue;
        banks_taken |= bank;
        if (!l1_.holds(l1_.for_slot(blocks.block[b], entry.slot))) {
            if (missed) continue;
            missed = true;
        }
        entry.next = b;
        if (!handle_block(entry, blocks, now)) continue;  // hits in other banks proceed
        left_ &= ~bit(b);
        ++served;
    }
    if (served == 0) return;
    if (parked_) unpark(now);
    lookups_ += served;
    ++cycles_;
    if (left_ == 0) pop();
}

void BankedFront::stats(StatFields& f, Cycle now) const {
    f.group("banked");
    f.add("lookups", lookups_, "lookups", "load lookups that were hits or misses");
    f.add("cycles", cycles_, "cycles", "cycles with at least one of these lookups");
    InOrderFront::stats(f, now);
}

}  // namespace mergelane
