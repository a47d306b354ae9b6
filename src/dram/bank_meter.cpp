// SPDX-License-Identifier: MIT
#include "dram/bank_meter.hpp"

#include <algorithm>

#include "core/result.hpp"

namespace mergelane {

void DramMeterSpec::fields(SpecFields& f) {
    f.section("dram.meter");
    f.boolean("enabled", on, "measure bank-level parallelism and the arrival of reads of one row; does not affect timing");
    f.integer("window", window, 0, 1000, "DRAM cycles", "maximum gap between reads of a row that count as arriving together");
}

/// Metrics of the packet-coalescing paper. The DRAM time of an access is its latency minus the network latency; the latter is the mean over
/// all packets, including writes and acknowledgements.
void DramMeterSpec::metrics(Metrics& m) const {
    m.add("DRAM banks", "bank-level parallelism", Metrics::ratio(m("dram.bank_busy"), m("dram.channel_busy")), "banks");
    m.add("DRAM banks", "activates", Metrics::percent(m("dram.activates"), m("dram.read_bursts") + m("dram.write_bursts")), "%",
          "of column commands");
    m.add("DRAM banks", "reads of one row arriving together", Metrics::percent(m("dram.reads_together"), m("dram.reads_arrived")), "%",
          "within dram.meter.window");
    m.add("Warps", "ready", Metrics::ratio(m("sm.ready_warps"), m.cycles() * m.machine().sms), "warps", "per SM");
    if (!m.has("sm.read_latency") || !m.has("noc.request.latency")) return;  // there is an L1, or the network does not time its packets
    const double fetch = Metrics::ratio(m("sm.read_latency"), m("sm.reads_answered"));
    const double network = (Metrics::ratio(m("noc.request.latency"), m("noc.request.packets")) +
                            Metrics::ratio(m("noc.reply.latency"), m("noc.reply.packets"))) *
                           m.machine().core_mhz / m.machine().noc_mhz;
    m.add("Memory accesses", "memory access latency", fetch, "core cycles");
    m.add("Memory accesses", "of which networks", network, "core cycles", "request and reply, mean over all packets");
    m.add("Memory accesses", "L2, DRAM and queueing", fetch - network, "core cycles");
}

namespace {

/// The reads of one SM, which the time in DRAM is computed from.
class ReadMeter final : public SmObserver {
public:
    void sent(const Packet& packet, std::uint64_t, Cycle now) override {
        if (packet.kind != PacketKind::read) return;
        latency_ -= now;
        ++outstanding_;
    }
    void answered(PacketKind kind, Cycle now) override {
        if (kind != PacketKind::read_reply) return;
        ++answered_;
        latency_ += now;
        --outstanding_;
    }
    void request_stats(StatFields& f, Cycle now) const override {
        f.add("reads_answered", answered_, "requests", "reads answered (dram.meter)");
        f.add("read_latency", latency_ + outstanding_ * now, "cycles",
              "cycles from leaving the SM to the data, summed over reads (dram.meter)");
    }

private:
    std::uint64_t answered_ = 0, outstanding_ = 0;
    std::uint64_t latency_ = 0;  ///< minus the moment of every read sent, plus that of every reply
};

}  // namespace

std::unique_ptr<SmObserver> DramMeterSpec::at_sm(const SmPlace&) const {
    return std::make_unique<ReadMeter>();
}

std::unique_ptr<DramObserver> DramMeterSpec::at_dram(const DramPlace& place) const {
    return std::make_unique<BankMeter>(*this, place.banks, place.burst);
}

void BankMeter::arrived(std::uint32_t bank, std::uint64_t row, std::uint32_t, bool write, Cycle now) {
    if (write) return;
    ++reads_;
    Arrival arrival{row, now, bank, false};
    for (std::size_t back = 1; back <= std::min<std::uint64_t>(kRecent, reads_ - 1); ++back) {
        Arrival& other = recent_[(next_ + kRecent - back) % kRecent];
        if (now - other.at > window_) break;
        if (other.bank != bank || other.row != row) continue;
        together_ += other.together ? 1 : 2;
        arrival.together = other.together = true;
        break;
    }
    recent_[next_] = arrival;
    next_ = (next_ + 1) % kRecent;
}

void BankMeter::Span::begin(Cycle now) {
    since = std::max(now, until);
    on = true;
}

void BankMeter::Span::end(Cycle at) {
    until = std::max(at, since);
    total += until - since;
    on = false;
}

void BankMeter::busy(std::uint64_t banks, Cycle now) {
    for (std::uint64_t changed = banks ^ busy_; changed != 0; changed &= changed - 1) {
        Span& bank = banks_[lowest_bit(changed)];
        bank.on ? bank.end(now + burst_) : bank.begin(now);
    }
    if ((banks != 0) != channel_.on) channel_.on ? channel_.end(now + burst_) : channel_.begin(now);
    busy_ = banks;
}

void BankMeter::stats(StatFields& f, Cycle now) const {
    std::uint64_t bank_cycles = 0;
    for (const Span& bank : banks_) bank_cycles += bank.up_to(now);
    f.add("bank_busy", bank_cycles, "bank cycles",
          "banks with an eligible request, or with its last data on the bus, summed over DRAM cycles");
    f.add("channel_busy", channel_.up_to(now), "DRAM cycles", "cycles with at least one such bank");
    f.add("reads_arrived", reads_, "requests", "read requests that entered a controller's queue");
    f.add("reads_together", together_, "requests",
          "of these, reads with another read of the same row within dram.meter.window before or after");
}

}  // namespace mergelane
