// SPDX-License-Identifier: MIT
// The rules. Each says which share of the time its limit costs; where two see the same waits, the one that is nearer to the cause gets
// them: what a hot slice or wasted accesses explain, the bandwidth behind them does not.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "explain/finding.hpp"
#include "explain/run_facts.hpp"
#include "report/instructions.hpp"

namespace mergelane::explain {

namespace {

std::string percent(double share) {
    return fmt::format("{:.0f} %", 100 * share);
}

std::string times(double ratio) {
    return fmt::format("{:.1f}", ratio);
}

/// What several rules share.
class Rules {
public:
    Rules(const RunResult& run, const AccessFacts& accesses) : facts_(run, accesses), waste_(facts_.wasted_accesses()) {
        const MachineFacts& machine = run.machine;
        slice_skew_ = facts_.skew("l2.requests", machine.slices);
        channel_skew_ = facts_.skew("dram.requests", machine.channels);
        saturation_ = saturated(std::max(facts_.dram_utilisation(), facts_.network_utilisation()));
        launch_ = run.cycles == 0 ? 0 : static_cast<double>(run.launch_cycles()) / static_cast<double>(run.cycles);
    }

    std::vector<Finding> findings() {
        launch_bound();
        partial_wave();
        sm_imbalance();
        occupancy();
        too_few_warps();
        barriers();
        uncoalesced();
        bank_conflicts();
        atomics();
        l1_limits();
        l2_limits();
        hot_slice();
        network_bandwidth();
        dram_bandwidth();
        row_conflicts();
        arithmetic();
        // Arithmetic is what a kernel is for: it comes after whatever could be had.
        const auto weight = [](const Finding& f) { return f.id == "arithmetic" ? std::min(f.share, 0.1) : f.share; };
        std::stable_sort(list_.begin(), list_.end(), [&](const Finding& a, const Finding& b) { return weight(a) > weight(b); });
        return std::move(list_);
    }

private:
    static constexpr double kLeast = 0.02;  ///< smaller shares are not worth a line

    /// Utilisation of a resource as a share of time for which it is the limit: little below two thirds, all above nine tenths.
    static double saturated(double utilisation) { return std::clamp((utilisation - 0.6) / 0.3, 0.0, 1.0); }

    void add(std::string_view id, double share, std::string sentence, std::string remedy,
             std::vector<std::pair<std::string, std::string>> numbers, std::optional<WhatIf> what_if) {
        if (id != "launch_bound") share *= 1 - launch_;
        share = std::min(share, 1.0);  // accounts may overlap
        if (share < kLeast) return;
        list_.push_back({id, std::move(sentence), std::move(remedy), std::move(numbers), share, std::move(what_if), {}});
    }
    static WhatIf change(std::string text, Change habit) { return {std::move(text), {}, {habit, 0, 0}}; }
    WhatIf at_least(std::string_view key, double value) const {
        const double own = facts_.number(key);
        const std::string setting = fmt::format("{}={:.0f}", key, own < value ? value : 2 * own);
        return {setting, {setting}, {}};
    }
    /// Latency that more warps would hide: nobody waits in a queue.
    double plain_latency() const {
        return facts_.waiting({"flight.", "l1.hit", "dram.row", "sm.reply", "sm.shared_memory", "other"}) +
               facts_.slot_share("sm.stall_dependency");
    }

    void launch_bound() {
        add("launch_bound", launch_, fmt::format("kernel launch overhead takes {} of the time", percent(launch_)),
            "fuse kernels, launch fewer and longer ones, or use CUDA graphs; to analyse the kernels alone, add --set "
            "dispatch.launch_latency=0",
            {{"launches", fmt::format("{}", facts_.run().kernels.size())},
             {"cycles between kernels", fmt::format("{}", facts_.run().launch_cycles())}},
            WhatIf{"dispatch.launch_latency=0", {"dispatch.launch_latency=0"}, {}});
    }
    void partial_wave() {
        const double lost = std::min(facts_.partial_wave(), facts_.no_warp() + facts_.slot_share("sm.stall_drain") + 0.05);
        const KernelResult& kernel = facts_.longest_kernel();
        const std::uint64_t at_a_time = std::uint64_t{kernel.ctas_per_sm} * facts_.machine().sms;
        WhatIf what_if = change("without the CTAs of the last wave", Change::whole_waves);
        what_if.change.ctas_at_a_time = at_a_time;
        add("partial_wave", lost, fmt::format("the last wave of CTAs leaves SMs idle: {} of the kernel time is lost", percent(lost)),
            "choose a grid that fills whole waves, or smaller CTAs",
            {{"CTAs", fmt::format("{}", kernel.ctas)}, {"CTAs at a time", fmt::format("{}", at_a_time)}}, std::move(what_if));
    }
    void sm_imbalance() {
        const double used = facts_.machine().sms * (1 - facts_.idle_sms());
        const double skew = facts_.skew("sm.active_cycles", used);
        const double lost = std::max(0.0, skew - facts_.partial_wave());
        WhatIf what_if = change("no warp longer than the mean", Change::equal_ctas);
        double warps = 0;
        for (std::size_t k = 0; k < facts_.run().kernels.size() && k < facts_.accesses().warps_per_cta.size(); ++k)
            warps += static_cast<double>(facts_.run().kernels[k].ctas) * facts_.accesses().warps_per_cta[k];
        what_if.change.instructions_per_warp =
            static_cast<std::uint64_t>(static_cast<double>(facts_.run().warp_instructions) / std::max(1.0, warps)) + 1;
        add("sm_imbalance", lost,
            fmt::format("load imbalance between SMs: the mean busy time is {} of that of the busiest SM", percent(1 - skew)),
            "split the work of long CTAs, or order CTAs so that long ones start first",
            {{"mean busy cycles of an SM", fmt::format("{:.0f}", facts_.stat("sm.active_cycles") / std::max(1.0, used))},
             {"of the busiest", fmt::format("{}", facts_.run().highest("sm.active_cycles"))}},
            std::move(what_if));
    }
    void occupancy() {
        const KernelResult& kernel = facts_.longest_kernel();
        const double lost = plain_latency() * (1 - facts_.occupancy()) * facts_.several_waves();
        const auto doubled = [&](std::string_view key, double most) {
            return fmt::format("{}={:.0f}", key, std::min(most, 4 * facts_.number(key)));
        };
        add("occupancy", lost,
            fmt::format("occupancy is {} (limited by {}), too low to hide latency", percent(facts_.occupancy()), kernel.limited_by),
            "use fewer registers per thread or less shared memory per CTA, or larger CTAs if CTA slots are the limit",
            {{"CTAs per SM", fmt::format("{}", kernel.ctas_per_sm)}, {"limit", kernel.limited_by}},
            WhatIf{"up to four times the CTA slots, warp slots, registers and shared memory",
                   {doubled("sm.cta_slots", 64), doubled("sm.warps", 64), doubled("sm.registers", 1048576), doubled("sm.shared_kib", 1024)},
                   {}});
    }
    void too_few_warps() {
        const double lost = plain_latency() * (1 - facts_.occupancy()) * (1 - facts_.several_waves());
        add("too_few_warps", lost,
            fmt::format("too few warps to hide latency: the grid fills {} of the warp slots of the SMs that have work",
                        percent(facts_.occupancy())),
            "launch more threads with less work each, or keep several independent loads per thread in flight",
            {{"CTAs", fmt::format("{}", facts_.longest_kernel().ctas)}, {"SMs", fmt::format("{}", facts_.machine().sms)}},
            change("twice the warps per CTA", Change::twice_the_warps));
    }
    void barriers() {
        const double lost = facts_.slot_share("sm.stall_barrier");
        add("barriers", lost, fmt::format("warps wait at barriers or fences {} of the kernel time", percent(lost)),
            "synchronise fewer threads, less often, or have more CTAs per SM to run meanwhile",
            {{"barriers of warps", fmt::format("{}", facts_.accesses().barriers)}}, change("without barriers", Change::no_barriers));
    }
    /// Of the time in which the load/store unit, or the path behind it, was busy with too many requests.
    void uncoalesced() {
        const Coalescing &loads = facts_.accesses().loads, &stores = facts_.accesses().stores;
        const double busy = throughput() + facts_.lsu_busy() * (1 - parked_share());
        const double lost = waste_ * busy;
        const auto per_access = [](const Coalescing& c) {
            return times(c.accesses == 0 ? 0 : static_cast<double>(c.sectors) / static_cast<double>(c.accesses));
        };
        const auto least = [](const Coalescing& c) {
            return times(c.accesses == 0 ? 0 : static_cast<double>(c.least) / static_cast<double>(c.accesses));
        };
        const bool worse = stores.sectors - stores.least > loads.sectors - loads.least;
        add("uncoalesced", lost,
            fmt::format("{} are not coalesced: a warp touches {} sectors where {} would do{}", worse ? "stores" : "loads",
                        per_access(worse ? stores : loads), least(worse ? stores : loads),
                        at_line([worse](const InstructionResult& i) { return !i.shared && (i.counts[InstCount::loads] == 0) == worse; })),
            "let neighbouring lanes access neighbouring words, through shared memory if need be",
            {{"sectors per load", per_access(loads)},
             {"if coalesced", least(loads)},
             {"sectors per store", per_access(stores)},
             {"if coalesced", least(stores)}},
            change("coalesced accesses", Change::coalesced));
    }
    void bank_conflicts() {
        const AccessFacts& a = facts_.accesses();
        if (a.shared_passes == 0 || !facts_.run().has_stat("sm.shared_bank_cycles")) return;
        const double extra = 1 - static_cast<double>(a.least_shared_passes) / static_cast<double>(a.shared_passes);
        const double lost =
            extra * std::min(1.0, static_cast<double>(facts_.run().highest("sm.shared_bank_cycles")) / facts_.kernel_cycles());
        add("bank_conflicts", lost,
            fmt::format("bank conflicts in shared memory: {} passes per access instead of {}{}",
                        times(static_cast<double>(a.shared_passes) / static_cast<double>(a.shared_accesses)),
                        times(static_cast<double>(a.least_shared_passes) / static_cast<double>(a.shared_accesses)),
                        at_line([](const InstructionResult& i) { return i.shared; })),
            "pad the rows of tiles by one word, or change the mapping of lanes to elements",
            {{"accesses", fmt::format("{}", a.shared_accesses)}, {"passes", fmt::format("{}", a.shared_passes)}},
            change("without bank conflicts", Change::conflict_free));
    }
    void atomics() {
        const AccessFacts& a = facts_.accesses();
        if (a.atomics == 0) return;
        const double hot = static_cast<double>(a.hottest_atomics) / static_cast<double>(a.atomics);
        const double of_requests = facts_.stat("l2.atomics") / std::max(1.0, facts_.stat("l2.requests"));
        const double lost =
            hot * of_requests *
            (facts_.waiting({"sm.atomic", "l1.no_credits"}, "lsu.parked_queue") + facts_.slot_share("sm.stall_drain") + facts_.lsu_busy());
        add("atomics_one_address", lost, fmt::format("{} of the atomics access one word, and its L2 slice serialises them", percent(hot)),
            "reduce within the warp or the CTA first, or use several words",
            {{"atomics of lanes", fmt::format("{}", a.atomics)}, {"to one word", fmt::format("{}", a.hottest_atomics)}},
            change("a word for every lane", Change::spread_atomics));
    }
    void l1_limits() {
        // Entries that are in use for long because requests wait elsewhere are no limit of the L1.
        const double mine = (1 - waste_) * (1 - saturation_) * (1 - slice_skew_) * facts_.plain_flight();
        limit("l1_mshrs", facts_.waiting({"l1.mshrs_full"}, "lsu.parked_mshr") * mine, "l1.mshrs", 256, "the L1 has no free MSHR entry");
        limit("l1_merges", facts_.waiting({"l1.merge_limit"}, "lsu.parked_merge") * mine, "l1.mshr_merges", 32,
              "an MSHR entry of the L1 has no free merge slot");
        limit("l1_ways", facts_.waiting({"l1.no_way"}, "lsu.parked_way") * mine, "l1.ways", 16,
              "every line of the L1 set has a pending fill");
    }
    void l2_limits() {
        const double mine = 1 - std::max(0.0, slice_skew_ - 0.5);
        limit("l2_mshrs", facts_.charged({"l2.mshrs_full"}) * mine * (1 - saturation_), "l2.mshrs", 512, "the L2 has no free MSHR entry");
        limit("l2_merges", facts_.charged({"l2.merge_limit"}) * mine, "l2.mshr_merges", 64,
              "an MSHR entry of the L2 has no free merge slot");
    }
    void limit(std::string_view id, double lost, std::string_view key, double lifted, std::string_view why) {
        add(id, lost, fmt::format("{} ({} = {}), which costs {} of the kernel time", why, key, facts_.value(key), percent(lost)),
            fmt::format("use a machine with a larger {}, or keep fewer requests for the same data in flight", key),
            {{std::string(key), facts_.value(key)}}, at_least(key, lifted));
    }
    void hot_slice() {
        const double skew = std::max(slice_skew_, channel_skew_);
        if (skew < 0.2) return;  // as any hash has
        const bool slice = slice_skew_ >= channel_skew_;
        const std::string hash = facts_.value("l2.slice_hash") == "ipoly" ? "l2.slice_hash=xor_fold" : "l2.slice_hash=ipoly";
        const double lost = skew * facts_.beyond_sm() * (1 - atomics_share());
        add("hot_slice", lost,
            fmt::format("requests are unevenly distributed over the {}: the busiest receives {} times the mean",
                        slice ? "L2 slices" : "DRAM channels", times(1 / (1 - skew))),
            "pad arrays to change their stride, or use a machine with another address hash (l2.slice_hash)",
            {{"l2.slice_hash", facts_.value("l2.slice_hash")}}, WhatIf{hash, {hash}, {}});
    }
    void network_bandwidth() {
        const double use = facts_.network_utilisation();
        const double waits = facts_.charged({"noc.", "cluster.", "l2.reply", "l2.output_full", "l1.no_credits"});
        const double lost = saturated(use) * waits * (1 - waste_) * (1 - slice_skew_) * (1 - atomics_share());
        add("network_bandwidth", lost, fmt::format("the network is {} busy", percent(use)),
            "move less data: reuse it in the L1 or in shared memory, or use narrower types",
            {{"noc.flit_bytes", facts_.value("noc.flit_bytes")},
             {"request flits", fmt::format("{:.0f}", facts_.stat("noc.request.flits"))},
             {"reply flits", fmt::format("{:.0f}", facts_.stat("noc.reply.flits"))}},
            at_least("noc.flit_bytes", 4 * facts_.number("noc.flit_bytes")));
    }
    void dram_bandwidth() {
        const double use = facts_.dram_utilisation();
        const double waits = facts_.waits_for_memory() + facts_.lsu_busy() + facts_.slot_share("sm.stall_drain");
        const double lost = saturated(use) * waits * (1 - waste_) * (1 - channel_skew_);
        add("dram_bandwidth", lost, fmt::format("the data bus of DRAM is {} busy", percent(use)),
            "read and write less: reuse data in caches or shared memory, or use narrower types",
            {{"sectors read", fmt::format("{:.0f}", facts_.stat("dram.sector_reads"))},
             {"written", fmt::format("{:.0f}", facts_.stat("dram.sector_writes"))}},
            more_bandwidth());
    }
    /// A wider bus, or a faster one where a bus of this width transfers all of an access at once.
    WhatIf more_bandwidth() const {
        const double width = facts_.number("dram.bus_bytes"), most = facts_.number("dram.access_bytes");
        if (width < most) return at_least("dram.bus_bytes", std::min(4 * width, most));
        return at_least("gpu.dram_mhz", 2 * facts_.number("gpu.dram_mhz"));
    }
    void row_conflicts() {
        const double misses = std::min(1.0, facts_.stat("dram.row_misses") / std::max(1.0, facts_.stat("dram.requests")));
        const double waits = facts_.charged({"dram.row", "dram.queue", "dram.column", "l2.dram_queue_full"});
        const double lost = misses * waits * (1 - saturated(facts_.dram_utilisation())) * (1 - channel_skew_);
        add("row_conflicts", lost, fmt::format("{} of the DRAM requests miss in the row buffer", percent(misses)),
            "access neighbouring addresses close together in time, or enable bank hashing (dram.bank_hash)",
            {{"activates", fmt::format("{:.0f}", facts_.stat("dram.activates"))},
             {"requests", fmt::format("{:.0f}", facts_.stat("dram.requests"))}},
            WhatIf{"dram.bank_hash=true", {"dram.bank_hash=true"}, {}});
    }
    void arithmetic() {
        const double lost = facts_.issued() + facts_.units_busy();
        add("arithmetic", lost,
            fmt::format("schedulers issue instructions or wait for execution units {} of the kernel time", percent(lost)),
            "execute fewer instructions", {{"warp instructions", fmt::format("{}", facts_.run().warp_instructions)}}, std::nullopt);
    }

    /// ", mostly at app.cu:13": where most transactions beyond the ideal come from, of the instructions that are `meant`.
    template <class Meant>
    std::string at_line(Meant&& meant) const {
        std::string place;
        std::uint64_t most = 0;
        for (const KernelInstructions& kernel : facts_.run().by_instruction) {
            for (const InstructionResult& inst : kernel.instructions) {
                const std::uint64_t all = inst.counts[InstCount::transactions], ideal = inst.counts[InstCount::ideal];
                if (all <= ideal || all - ideal <= most || !meant(inst)) continue;
                most = all - ideal;
                place = ", mostly at " + place_of(kernel, inst);
            }
        }
        return place;
    }
    double parked_share() const {
        double sum = 0;
        for (const char* counter : {"lsu.parked_mshr", "lsu.parked_merge", "lsu.parked_way", "lsu.parked_queue"})
            sum += facts_.parked_share(counter);
        return std::min(1.0, sum);
    }
    /// Waits that fewer requests would shorten.
    double throughput() const {
        return facts_.waiting({"lsu.", "l1.mshrs_full", "l1.no_way", "l1.no_credits", "cluster.", "noc.", "l2.queue", "l2.reply",
                               "l2.output_full", "l2.dram_queue_full", "dram.queue", "dram.column"}) +
               facts_.lsu_busy() * parked_share() + facts_.slot_share("sm.stall_drain");
    }
    double atomics_share() const { return facts_.stat("l2.atomics") / std::max(1.0, facts_.stat("l2.requests")); }

    RunFacts facts_;
    double waste_ = 0, slice_skew_ = 0, channel_skew_ = 0, saturation_ = 0, launch_ = 0;
    std::vector<Finding> list_;
};

std::vector<Bound> upper_bounds(const RunFacts& facts) {
    std::vector<Bound> bounds;
    bounds.push_back({"perfect_l1", {"every load hits in the L1", {"l1.perfect=true"}, {}}, {}});
    std::vector<std::string> rows = {"dram.timing.tRCD=1", "dram.timing.tRP=1", "dram.timing.tRAS=2", "dram.timing.tRC=3",
                                     "dram.timing.tRRD=1"};
    if (facts.value("dram.controller.enabled") == "true")
        rows.insert(rows.end(), {"dram.timing.tRCDWR=1", "dram.timing.tRRDL=1", "dram.timing.tFAW=0", "dram.controller.activate_cycles=1"});
    bounds.push_back({"row_hits", {"row activation and precharge take one DRAM cycle each", std::move(rows), {}}, {}});
    bounds.push_back({"contention_free_network",
                      {"almost no network contention (1,024-byte flits, 65,536-flit buffers)",
                       {"noc.flit_bytes=1024", "noc.input_buffer_flits=65536"},
                       {}},
                      {}});
    return bounds;
}

/// Work per cycle: of the same work, or of another number of CTAs or instructions.
double speed(const RunResult& run, bool with_launches) {
    const double cycles = static_cast<double>(with_launches ? run.cycles : run.kernel_cycles());
    return cycles == 0 ? 0 : 1 / cycles;
}

bool work_changes(Change change) {
    return change == Change::whole_waves || change == Change::twice_the_warps || change == Change::equal_ctas;
}

double work_of(const RunResult& run, Change change) {
    double ctas = 0;
    for (const KernelResult& kernel : run.kernels) ctas += static_cast<double>(kernel.ctas);
    switch (change) {
        case Change::whole_waves: return ctas;
        case Change::twice_the_warps:
        case Change::equal_ctas: return static_cast<double>(run.warp_instructions);
        default: return 1;
    }
}

std::optional<double> measured(const WhatIf& what_if, const RunResult& run, const Simulate& simulate, bool with_launches) {
    const std::optional<RunResult> other = simulate(what_if);
    if (!other) return std::nullopt;
    const Change change = what_if.change.change;
    return speed(*other, with_launches) * work_of(*other, change) / (speed(run, with_launches) * work_of(run, change));
}

}  // namespace

Explanation explain(const RunResult& run, const AccessFacts& accesses) {
    Explanation explanation;
    if (run.kernels.empty()) {
        explanation.headline = "no kernel ran";
        return explanation;
    }
    const RunFacts facts(run, accesses);
    explanation.findings = Rules(run, accesses).findings();
    explanation.bounds = upper_bounds(facts);
    explanation.headline = explanation.findings.empty() ? "nothing stands out" : explanation.findings.front().sentence;
    if (facts.idle_sms() > 0.01)
        explanation.remarks.push_back(fmt::format("{:.0f} of {} SMs have no work.", facts.idle_sms() * run.machine.sms, run.machine.sms));
    return explanation;
}

double ranked_gain(const Finding& finding) {
    const double gain = finding.gain.value_or(0);
    const bool other_work = finding.what_if && work_changes(finding.what_if->change.change);
    return other_work ? std::min(gain, 1 / (1 - std::min(finding.share, 0.99))) : gain;
}

void confirm(Explanation& explanation, const RunResult& run, const Simulate& simulate) {
    for (Finding& finding : explanation.findings) {
        if (finding.what_if) finding.gain = measured(*finding.what_if, run, simulate, finding.id == "launch_bound");
    }
    for (Bound& bound : explanation.bounds) bound.gain = measured(bound.what_if, run, simulate, false);
    std::stable_sort(explanation.findings.begin(), explanation.findings.end(),
                     [](const Finding& a, const Finding& b) { return ranked_gain(a) > ranked_gain(b); });
    if (!explanation.findings.empty()) explanation.headline = explanation.findings.front().sentence;
}

}  // namespace mergelane::explain
