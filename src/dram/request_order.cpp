// SPDX-License-Identifier: MIT
#include "dram/request_order.hpp"

#include "core/bits.hpp"
#include "dram/bank_meter.hpp"
#include "dram/controller_spec.hpp"
#include "dram/dram_spec.hpp"
#include "dram/reuse_meter.hpp"

namespace mergelane {

namespace {

/// First ready, first come, first served: every queued request is a candidate.
class FrFcfs final : public RequestOrder {
public:
    bool sees_all() const override { return true; }
    std::uint64_t visible(const RequestQueue& queue) const override { return queue.occupied; }
};

/// Strictly in order of arrival, one at a time.
class SerialFifo final : public RequestOrder {
public:
    std::uint64_t visible(const RequestQueue& queue) const override { return queue.occupied == 0 ? 0 : bit(queue.oldest); }
};

/// The head of the queue goes to its bank as soon as the bank is idle: banks work in parallel, and the first request to a busy bank blocks
/// all behind it.
class Fifo final : public RequestOrder {
public:
    std::uint64_t visible(const RequestQueue& queue) const override {
        std::uint64_t slots = 0;
        std::uint64_t busy = 0;
        for (std::uint32_t slot = queue.oldest; slot != RequestQueue::kEnd; slot = queue.newer[slot]) {
            const std::uint64_t bank = bit(queue.bank[slot]);
            if ((busy & bank) != 0) break;
            busy |= bank;
            slots |= bit(slot);
        }
        return slots;
    }
};

/// One FIFO per bank.
class BankedFifo final : public RequestOrder {
public:
    explicit BankedFifo(std::uint32_t depth) : depth_(depth) {}
    bool sees_all() const override { return true; }
    std::uint64_t visible(const RequestQueue& queue) const override { return queue.occupied; }
    std::uint32_t bank_queue() const override { return depth_; }

private:
    std::uint32_t depth_;
};

/// Row hits do not keep an older request of the bank waiting forever.
class FrFcfsCap final : public RequestOrder {
public:
    explicit FrFcfsCap(std::uint32_t cap) : cap_(cap) {}
    bool sees_all() const override { return true; }
    std::uint64_t visible(const RequestQueue& queue) const override { return queue.occupied; }
    std::uint32_t hit_cap() const override { return cap_; }

private:
    std::uint32_t cap_;
};

/// Takes all hits of a bank before it moves on to the next one.
class FrFcfsBank final : public RequestOrder {
public:
    bool sees_all() const override { return true; }
    std::uint64_t visible(const RequestQueue& queue) const override { return queue.occupied; }
    bool stays_on_bank() const override { return true; }
};

template <class Order>
std::unique_ptr<RequestOrder> plain(const DramSpec&, const Sections&) {
    return std::make_unique<Order>();
}

}  // namespace

// To add a policy: its class, here or in its own file, and one line here.
void add_request_orders(Registry& registry) {
    const RequestOrderTraits plain_only{.queue_per_bank = false, .plain = true, .detailed = false};
    const RequestOrderTraits detailed_only{.queue_per_bank = false, .plain = false, .detailed = true};
    registry.add<RequestOrder>("fr_fcfs", "row hits first, then oldest first", {.queue_per_bank = false, .plain = true, .detailed = true},
                               plain<FrFcfs>);
    registry.add<RequestOrder>("fifo", "in order of arrival; banks work in parallel", plain_only, plain<Fifo>);
    registry.add<RequestOrder>("fifo_serial", "in order of arrival, one request at a time", plain_only, plain<SerialFifo>);
    registry.add<RequestOrder>("banked_fifo", "a FIFO of dram.bank_queue requests per bank, served round robin",
                               {.queue_per_bank = true, .plain = true, .detailed = false},
                               [](const DramSpec& spec, const Sections&) { return std::make_unique<BankedFifo>(spec.bank_queue); });
    registry.add<RequestOrder>(
        "fr_fcfs_cap", "as fr_fcfs, but after dram.controller.hit_cap requests from one activation an older one of the bank goes first",
        detailed_only,
        [](const DramSpec&, const Sections& sections) { return std::make_unique<FrFcfsCap>(sections.get<DramControllerSpec>().hit_cap); });
    registry.add<RequestOrder>("fr_fcfs_bank", "row hits of the bank served last, then of the banks after it, then oldest first",
                               detailed_only, plain<FrFcfsBank>);
    registry.add_section<DramControllerSpec>();
    registry.add_section<DramMeterSpec>();
    registry.add_section<ReuseMeterSpec>();
}

}  // namespace mergelane
