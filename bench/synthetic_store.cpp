// SPDX-License-Identifier: MIT
// Fills a store with synthetic records for every run of its plan, derived from one real record, to measure the cost of campaigns with a
// million runs without simulating them. Usage: synthetic_store STORE TEMPLATE_STORE FILES
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <exception>

#include "campaign/plan_file.hpp"
#include "core/error.hpp"
#include "core/rng.hpp"

namespace {

using namespace mergelane;

void fill(const std::string& directory, const std::string& from, std::uint32_t files) {
    const study::CampaignPlan plan = study::read_plan(directory);
    const study::StoreContents contents = study::read_store(from);
    if (contents.runs.empty()) throw InputError("the second store has no record to copy");
    study::RunRecord record = contents.runs.begin()->second;
    const auto stats = record.stats, highest = record.highest;
    Rng random(1);
    for (std::uint32_t file = 0; file < files; ++file) {
        study::Store store(directory, fmt::format("{}.s{}of{}.", plan.label(), file, files));
        for (const std::uint32_t run : plan.shard(file, files)) {
            const study::PlannedRun planned = plan.plan.run(run);
            record.key = planned.key;
            record.spec = planned.spec;
            record.config_hash = plan.plan.machine_of(run).config_hash;
            record.digest = planned.key;  // another one for each run
            record.cycles = 1000 + random.next() % 1000000;
            for (const auto& [name, value] : stats) record.stats[name] = value == 0 ? 0 : value + random.next() % value;
            for (const auto& [name, value] : highest) record.highest[name] = value == 0 ? 0 : value + random.next() % value;
            store.append(record);
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        fmt::print(stderr, "usage: synthetic_store STORE TEMPLATE_STORE FILES\n");
        return 2;
    }
    try {
        fill(argv[1], argv[2], static_cast<std::uint32_t>(std::max(1, std::atoi(argv[3]))));
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "error: {}\n", error.what());
        return 2;
    }
}
