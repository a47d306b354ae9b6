// SPDX-License-Identifier: MIT
// The bank meter of a channel, driven by hand.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "dram/bank_meter.hpp"

namespace mergelane {
namespace {

std::map<std::string, std::uint64_t> counts(const BankMeter& meter, Cycle now) {
    StatFields fields;
    fields.group("dram");
    meter.stats(fields, now);
    std::map<std::string, std::uint64_t> found;
    for (const StatField& field : fields.list()) found[std::string(field.name)] = field.value;
    return found;
}

TEST(BankMeter, CountsBanksFromTheirFirstRequestToTheirLastData) {
    BankMeter meter(DramMeterSpec{}, 64, 2);
    meter.busy(0b01, 10);
    meter.busy(0b11, 14);
    meter.busy(0b11, 15);  // nothing changed
    meter.busy(0b10, 20);  // the first bank's data end at 22
    EXPECT_EQ(counts(meter, 24).at("bank_busy"), 12u + 10u);
    meter.busy(0, 30);
    EXPECT_EQ(counts(meter, 100).at("bank_busy"), 12u + 18u);
    EXPECT_EQ(counts(meter, 100).at("channel_busy"), 22u);
}

TEST(BankMeter, ABankThatGoesOnWhileItsDataAreOnTheBusIsNotCountedTwice) {
    BankMeter meter(DramMeterSpec{}, 8, 4);
    meter.busy(1, 0);
    meter.busy(0, 10);
    meter.busy(1, 11);
    meter.busy(0, 12);
    EXPECT_EQ(counts(meter, 50).at("bank_busy"), 16u);
    EXPECT_EQ(counts(meter, 50).at("channel_busy"), 16u);
}

TEST(BankMeter, ReadsOfARowAreTogetherWithinTheWindow) {
    DramMeterSpec spec;
    spec.window = 10;
    BankMeter meter(spec, 8, 2);
    meter.arrived(0, 5, 1, false, 100);
    meter.arrived(0, 5, 1, true, 100);   // a write
    meter.arrived(1, 5, 1, false, 101);  // another bank
    meter.arrived(0, 6, 1, false, 102);  // another row
    EXPECT_EQ(counts(meter, 102).at("reads_together"), 0u);
    meter.arrived(0, 5, 1, false, 110);  // both of them
    EXPECT_EQ(counts(meter, 110).at("reads_together"), 2u);
    meter.arrived(0, 5, 1, false, 120);
    EXPECT_EQ(counts(meter, 120).at("reads_together"), 3u);
    meter.arrived(0, 5, 1, false, 131);  // too late
    EXPECT_EQ(counts(meter, 131).at("reads_together"), 3u);
    EXPECT_EQ(counts(meter, 131).at("reads_arrived"), 6u);
}

}  // namespace
}  // namespace mergelane
