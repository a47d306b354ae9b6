// SPDX-License-Identifier: MIT
// Records what arrives at the first DRAM channel while a benchmark runs, as a stream for mergelane_dram_play. Usage:
//     mergelane_dram_record GPU WORKLOAD SIZE REQUESTS [KEY=VALUE...] > STREAM
// A request arrives when it enters the controller's queue, at most one per cycle. A request of several column commands becomes as many
// requests. Observers see banks and rows but no columns, on which no timing depends: columns are numbered in order of access to their row,
// so that no address occurs twice. Addresses are those of the map RBBBBCCCCCCCCCCCCS..., with as many S as the bytes of a column command.
#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "config/config.hpp"
#include "core/bits.hpp"
#include "core/error.hpp"
#include "core/meter.hpp"
#include "sim/simulation.hpp"
#include "workload/suite/ptx_executor.hpp"
#include "workload/suite/suite.hpp"

namespace {

using namespace mergelane;

constexpr std::uint32_t kBankBits = 4, kColumnBits = 12;

struct Recording {
    std::size_t wanted = 0;
    std::uint32_t offset_bits = 0;
    std::string text;
    std::size_t requests = 0;
    Cycle first = 0, last = 0;
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> accesses;  ///< to each row

    bool complete() const { return requests == wanted; }
    void add(std::uint32_t bank, std::uint64_t row, bool write, Cycle now) {
        if (complete()) return;
        const std::uint32_t column = accesses[{bank, row}]++;
        if (column >> kColumnBits != 0) throw InputError(fmt::format("more than {} accesses to one row; record fewer requests", 1 << kColumnBits));
        const Addr address = ((row << kBankBits | bank) << kColumnBits | column) << offset_bits;
        if (requests == 0) first = now;
        last = requests == 0 ? now : std::max(now, last + 1);
        text += fmt::format("{} {:x} {}\n", last - first, address, write ? 'W' : 'R');
        ++requests;
    }
};

class Recorder final : public DramObserver {
public:
    explicit Recorder(Recording& recording) : recording_(recording) {}
    void arrived(std::uint32_t bank, std::uint64_t row, std::uint32_t bursts, bool write, Cycle now) override {
        for (; bursts != 0; --bursts) recording_.add(bank, row, write, now);
    }

private:
    Recording& recording_;
};

struct RecorderSpec final : MeterSpec<RecorderSpec> {
    Recording* recording = nullptr;
    mutable bool placed = false;  ///< only the first channel is recorded

    void fields(SpecFields&) override {}
    std::unique_ptr<DramObserver> at_dram(const DramPlace&) const override {
        return std::exchange(placed, true) ? nullptr : std::make_unique<Recorder>(*recording);
    }
};

int run(int count, char** words) {
    if (count < 5) {
        fmt::print(stderr, "usage: {} GPU WORKLOAD SIZE REQUESTS [KEY=VALUE...]\n", words[0]);
        return 2;
    }
    MachineSpec machine = load_config(words[1], std::vector<std::string>(words + 5, words + count), default_preset_dirs()).spec;
    if (machine.dram.banks != 1u << kBankBits) throw InputError(fmt::format("{} has {} banks per channel, not 16", words[1], machine.dram.banks));
    Recording recording;
    recording.wanted = std::stoul(words[4]);
    recording.offset_bits = static_cast<std::uint32_t>(std::countr_zero(machine.dram.access_bytes));
    auto meter = std::make_unique<RecorderSpec>();
    meter->recording = &recording;
    machine.sections.add(std::move(meter));
    std::atomic<bool> enough = false;
    RunOptions options;
    options.interrupt = &enough;
    options.after_window = [&](Machine&, Time) { enough = recording.complete(); };
    const auto workload = suite::make_suite_workload(words[2], suite::parse_size(words[3]), 1);
    Simulation(machine, options).run(*workload);
    fmt::print("{}", recording.text);
    if (!recording.complete()) fmt::print(stderr, "{}: the run ended after {} requests\n", words[2], recording.requests);
    return 0;
}

}  // namespace

int main(int count, char** words) {
    try {
        return run(count, words);
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}: {}\n", words[0], error.what());
        return 1;
    }
}
