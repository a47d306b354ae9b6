// SPDX-License-Identifier: MIT
// Bank activity of a channel, and how close together requests to one row arrive: the packet-coalescing paper's bank idle time, and an upper
// bound on the read requests that a network could merge. Does not affect timing; off by default.
#pragma once

#include <vector>

#include "core/bits.hpp"
#include "core/fields.hpp"
#include "core/meter.hpp"
#include "core/types.hpp"

namespace mergelane {

/// dram.meter
struct DramMeterSpec final : MeterSpec<DramMeterSpec> {
    bool on = false;
    std::uint32_t window = 55;

    void fields(SpecFields& f) override;
    bool enabled() const override { return on; }
    void metrics(Metrics& metrics) const override;
    std::unique_ptr<SmObserver> at_sm(const SmPlace& place) const override;
    std::unique_ptr<DramObserver> at_dram(const DramPlace& place) const override;
};

class BankMeter final : public DramObserver {
public:
    /// `burst`: duration of the data transfer of one column command.
    BankMeter(const DramMeterSpec& spec, std::uint32_t banks, std::uint32_t burst)
        : window_(spec.window), burst_(burst), banks_(banks), recent_(kRecent) {}

    /// Only reads count.
    void arrived(std::uint32_t bank, std::uint64_t row, std::uint32_t bursts, bool write, Cycle now) override;
    void busy(std::uint64_t banks, Cycle now) override;
    void stats(StatFields& f, Cycle now) const override;

private:
    static constexpr std::size_t kRecent = 64;

    /// Something that is busy at times.
    struct Span {
        Cycle since = 0;  ///< start of the current busy interval
        Cycle until = 0;  ///< end of data of the previous interval
        std::uint64_t total = 0;
        bool on = false;

        void begin(Cycle now);
        void end(Cycle at);
        std::uint64_t up_to(Cycle now) const { return total + (on && now > since ? now - since : 0); }
    };
    struct Arrival {
        std::uint64_t row = 0;
        Cycle at = 0;
        std::uint32_t bank = 0;
        bool together = false;  ///< counted
    };

    const std::uint32_t window_, burst_;
    std::uint64_t busy_ = 0;  ///< bit per bank
    std::vector<Span> banks_;
    Span channel_;                 ///< any bank
    std::vector<Arrival> recent_;  ///< ring buffer
    std::size_t next_ = 0;
    std::uint64_t reads_ = 0, together_ = 0;
};

}  // namespace mergelane
