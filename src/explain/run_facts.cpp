// SPDX-License-Identifier: MIT
#include "explain/run_facts.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

namespace mergelane::explain {

namespace {

const std::initializer_list<std::string_view> kBeyond = {"cluster.", "noc.", "nodes.", "l2.", "dram.", "flight."};

double ratio(double a, double b) {
    return b == 0 ? 0 : a / b;
}

double capped(double share) {
    return std::clamp(share, 0.0, 1.0);
}

}  // namespace

RunFacts::RunFacts(const RunResult& run, const AccessFacts& accesses) : run_(run), accesses_(accesses) {
    kernel_cycles_ = static_cast<double>(run.kernel_cycles());
    const std::vector<std::uint64_t>& stalled = run.load_times.stalled;
    explained_ = static_cast<double>(std::accumulate(stalled.begin(), stalled.end(), std::uint64_t{0}));
    for (std::size_t k = 0; k < run.kernels.size(); ++k) {
        add_kernel(run.kernels[k], k < accesses.warps_per_cta.size() ? accesses.warps_per_cta[k] : 1);
        if (longest_ == nullptr || longest_->cycles < run.kernels[k].cycles) longest_ = &run.kernels[k];
    }
}

void RunFacts::add_kernel(const KernelResult& kernel, std::uint32_t warps_per_cta) {
    const double share = ratio(static_cast<double>(kernel.cycles), kernel_cycles_);
    const double ctas = static_cast<double>(kernel.ctas), sms = machine().sms;
    const double at_a_time = std::max(1.0, sms * kernel.ctas_per_sm);
    const double resident = std::min(ctas, at_a_time) * warps_per_cta / std::min(ctas, sms);
    const double waves = ctas / at_a_time;
    slots_ += static_cast<double>(kernel.cycles) * std::min(ctas, sms) * machine().schedulers_per_sm;
    occupancy_ += share * capped(ratio(resident, number("sm.warps")));
    idle_sms_ += share * capped(1 - ctas / sms);
    if (waves <= 1) return;
    several_waves_ += share;
    // If every SM has a CTA of the last wave, it has fewer warps to hide latency with, but goes on.
    const double rest = ctas - std::floor(waves) * at_a_time;
    partial_wave_ += share * (1 - waves / std::ceil(waves)) * (rest < sms ? 1 : 0.5);
}

double RunFacts::stat(std::string_view name) const {
    return run_.has_stat(name) ? static_cast<double>(run_.stat(name)) : 0;
}

std::string RunFacts::value(std::string_view key) const {
    const auto entry = std::find_if(run_.config.begin(), run_.config.end(), [&](const auto& pair) { return pair.first == key; });
    return entry == run_.config.end() ? std::string() : entry->second;
}

double RunFacts::number(std::string_view key) const {
    const std::string text = value(key);
    double number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

double RunFacts::slot_share(std::string_view counter) const {
    return capped(ratio(stat(counter), slots_));
}

double RunFacts::held_back() const {
    if (number("lsu.issue_limit") == 0) return 0;
    const double sms = machine().sms * (1 - idle_sms_);
    return slot_share("sm.stall_unit") * capped(ratio(stat("sm.lsu_waiting_cycles"), kernel_cycles_ * sms));
}

double RunFacts::units_busy() const {
    const double banks =
        run_.has_stat("sm.shared_bank_cycles") ? ratio(static_cast<double>(run_.highest("sm.shared_bank_cycles")), kernel_cycles_) : 0;
    return std::max(0.0, slot_share("sm.stall_unit") - held_back() - banks);
}

double RunFacts::no_warp() const {
    double named = issued();
    for (const char* counter :
         {"sm.stall_memory", "sm.stall_lsu", "sm.stall_dependency", "sm.stall_unit", "sm.stall_barrier", "sm.stall_drain"})
        named += slot_share(counter);
    return capped(1 - named);
}

double RunFacts::stages(std::initializer_list<std::string_view> names) const {
    double sum = 0;
    for (std::size_t s = 0; s < run_.load_times.stalled.size(); ++s) {
        const std::string& stage = run_.stages[s].first;
        const bool named = std::any_of(names.begin(), names.end(), [&](std::string_view name) { return stage.starts_with(name); });
        if (named) sum += static_cast<double>(run_.load_times.stalled[s]);
    }
    return capped(ratio(sum, explained_));
}

double RunFacts::parked_share(std::string_view parked) const {
    return capped(ratio(stat(parked), stat("sm.lsu_waiting_cycles")));
}

double RunFacts::waiting(std::initializer_list<std::string_view> names, std::string_view parked) const {
    return waits_for_memory() * stages(names) + (parked.empty() ? 0 : lsu_busy() * parked_share(parked));
}

double RunFacts::charged(std::initializer_list<std::string_view> names) const {
    const double behind =
        waiting({"l1.mshrs_full", "l1.no_credits"}) + lsu_busy() * (parked_share("lsu.parked_mshr") + parked_share("lsu.parked_queue"));
    return waiting(names) + behind * capped(ratio(stages(names), stages(kBeyond)));
}

double RunFacts::beyond_sm() const {
    return charged(kBeyond);
}

double RunFacts::plain_flight() const {
    const double all = stages(kBeyond);
    return all == 0 ? 1 : capped(ratio(stages({"flight.", "dram.row"}), all));
}

double RunFacts::dram_utilisation() const {
    const double bursts = stat("dram.read_bursts") + stat("dram.write_bursts");
    const double cycles = kernel_cycles_ * machine().dram_mhz / machine().core_mhz;
    const double burst = std::max(1.0, ratio(number("dram.access_bytes"), machine().dram_bus_bytes));
    return capped(ratio(bursts * burst, cycles * machine().channels));
}

double RunFacts::network_utilisation() const {
    const double cycles = kernel_cycles_ * machine().noc_mhz / machine().core_mhz;
    return capped(ratio(std::max(stat("noc.request.flits"), stat("noc.reply.flits")), cycles * machine().request_ports));
}

double RunFacts::skew(std::string_view counter, double components) const {
    if (!run_.has_stat(counter) || run_.highest(counter) == 0) return 0;
    return capped(1 - stat(counter) / components / static_cast<double>(run_.highest(counter)));
}

double RunFacts::wasted_accesses() const {
    const Coalescing &loads = accesses_.loads, &stores = accesses_.stores;
    const auto wasted = [](std::uint64_t least, std::uint64_t all) {
        return all == 0 ? 0 : 1 - static_cast<double>(least) / static_cast<double>(all);
    };
    return std::max(wasted(loads.least + stores.least, loads.sectors + stores.sectors),
                    wasted(loads.least_lines + stores.least_lines, loads.lines + stores.lines));
}

}  // namespace mergelane::explain
