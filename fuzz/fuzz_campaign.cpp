// SPDX-License-Identifier: MIT
// Any text given as a campaign file, a plan or lines of a store must be accepted or rejected with an InputError. The first character
// selects: 'p' a plan, 'r' lines of a store, both completed with correct checksums; otherwise a campaign file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "campaign/campaign_file.hpp"
#include "campaign/plan_file.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "runs/store.hpp"

namespace {

using namespace mergelane;
using namespace mergelane::study;

void campaign(std::string_view text) {
    constexpr std::size_t kMost = 40;  // a longer one is only more of the same
    CampaignSpec spec = parse_campaign(text, "fuzz.toml", "/");
    std::size_t runs = spec.machines.size() * spec.variants.size() * spec.workloads.size() * spec.sizes.size();
    for (const CampaignSpec::Axis& axis : spec.grid) runs = runs > kMost ? runs : runs * axis.values.size();
    if (runs * spec.seeds.size() > kMost) return;
    for (const auto& [machine, where] : spec.machines) {
        if (machine.find('/') != std::string::npos) return;  // files of this computer are none of ours
    }
    CampaignPlan plan;
    expand(spec, plan.plan);
    plan.known.resize(plan.plan.size());
    if (to_text(parse_plan(to_text(plan), "plan")) != to_text(plan)) std::abort();
}

void plan(std::string_view text) {
    const CampaignPlan read = parse_plan(std::string(text) + "end " + hash_text(text) + "\n", "campaign.plan");
    if (read.plan.size() < 1000) (void)to_text(read);
    if (read.shard(0, 3).size() > read.plan.size()) std::abort();
}

void records(std::string_view text) {
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string line(text.substr(0, end));
        text.remove_prefix(std::min(text.size(), end + 1));
        const std::optional<RecordLine> early = RecordLine::parse(line, 2);  // these need no checksum
        if (const std::optional<RunRecord> record = early ? early->record() : std::nullopt) {
            if (!from_line(to_line(*record))) std::abort();
        }
        line += checksum_member(line);
        if (const std::optional<RunRecord> record = from_line(line)) {
            if (!from_line(to_line(*record))) std::abort();
        }
        FileLine written;
        written.text = line;
        StoreIndex().add(written, 0);  // each for itself: a second result of a run would be compared with the first in its file
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        if (text.starts_with('p'))
            plan(text.substr(1));
        else if (text.starts_with('r'))
            records(text.substr(1));
        else
            campaign(text);
    } catch (const InputError& error) {
        const std::string_view message = error.what();
        if (message.empty() || message.size() >= 4000) std::abort();
    }
    return 0;
}
