// SPDX-License-Identifier: MIT
#include "advise/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "advise/cta_graph.hpp"
#include "advise/parallel.hpp"
#include "core/error.hpp"

namespace mergelane {

namespace {

constexpr double kInFlight = 2;        ///< concurrent loads of a warp
constexpr double kComputeLatency = 6;  ///< cycles between instructions of a warp that waits for nothing else
constexpr double kSharpness = 4;       ///< of the soft maximum over the bounds
constexpr double kBanksAtOnce = 4;
constexpr double kSector = 32;
constexpr double kUseless = 0.05;  ///< share of a load's sectors that hit in the L1: below it, the load may bypass the L1

/// Rates and latencies in core cycles, without contention.
struct Rates {
    explicit Rates(const MachineSpec& spec) : facts(mergelane::facts(spec)) {
        const double core = spec.gpu.core_mhz;
        issue = static_cast<double>(facts.sms) * facts.schedulers_per_sm;
        network = static_cast<double>(facts.slices) * facts.flit_bytes * spec.gpu.noc_mhz / core;
        dram = network / facts.network_to_dram;
        const double crossing = spec.noc.injection_latency + spec.noc.traversal_latency + spec.noc.ejection_latency;
        l1_hit = spec.l1.hit_latency;
        l2_hit = l1_hit + 2 * crossing * core / spec.gpu.noc_mhz + spec.l2.latency * core / spec.gpu.l2_mhz;
        from_dram = l2_hit + spec.dram.access_latency * core / spec.gpu.dram_mhz;
        // A few banks of a channel activate rows concurrently.
        row = spec.dram.timing.tRC * core / spec.gpu.dram_mhz / kBanksAtOnce / facts.channels;
    }
    MachineFacts facts;
    double issue, network, dram;       ///< warp instructions, bytes
    double l1_hit, l2_hit, from_dram;  ///< latencies
    double row;                        ///< cycles that one row activation costs DRAM as a whole
};

/// The machine is limited by its bottleneck, and slightly by the next one.
double soft_maximum(std::initializer_list<double> bounds) {
    double sum = 0;
    for (const double bound : bounds) sum += std::pow(bound, kSharpness);
    return std::pow(sum, 1 / kSharpness);
}

Prediction::Bounds bounds_of(const Rates& rates, const AccessLog::Counts& counts, const Traffic& traffic, std::uint64_t warps_at_once) {
    const double waiting = static_cast<double>(counts.loads) * rates.l1_hit +
                           static_cast<double>(traffic.waits_l2) * (rates.l2_hit - rates.l1_hit) +
                           static_cast<double>(traffic.waits_dram) * (rates.from_dram - rates.l2_hit);
    const auto instructions = static_cast<double>(counts.warp_instructions);
    return {instructions / rates.issue, static_cast<double>(traffic.to_l2()) * kSector / rates.network,
            static_cast<double>(traffic.to_dram()) * kSector / rates.dram, static_cast<double>(traffic.row_misses) * rates.row,
            (waiting / kInFlight + instructions * kComputeLatency) / static_cast<double>(warps_at_once)};
}

void add_bounds(Prediction::Bounds& sum, const Prediction::Bounds& more) {
    sum.issue += more.issue;
    sum.network += more.network;
    sum.dram += more.dram;
    sum.rows += more.rows;
    sum.latency += more.latency;
}

/// A load of the program over all launches of all kernels: the machine's bypass list knows program counters only.
struct SiteUse {
    std::uint64_t sectors = 0;
    std::uint64_t kept = 0;  ///< of those, L1 hits
};

/// Progress of long work: CTAs read or replayed, and their total.
class Work {
public:
    explicit Work(const std::function<void(double)>& tell) : tell_(tell) {}
    void plan(std::uint64_t ctas) { planned_ += ctas; }
    void done(std::uint64_t ctas) {
        const std::lock_guard guard(lock_);
        done_ += ctas;
        if (tell_) tell_(std::min(1.0, static_cast<double>(done_) / static_cast<double>(planned_)));
    }

private:
    const std::function<void(double)>& tell_;
    std::mutex lock_;
    std::uint64_t planned_ = 0, done_ = 0;
};

ReplayMachine replay_machine(const MachineSpec& spec) {
    ReplayMachine machine;
    machine.sms = spec.sms();
    machine.l1 = spec.l1;
    machine.map = AddressMap(spec.dram.channels, spec.l2.slices_per_channel, spec.l2.interleave_bytes, spec.l2.slice_hash);
    machine.slice = {spec.l2.sets(), spec.l2.ways, spec.l2.set_hash, spec.l2.replacement};
    machine.l2_line_bytes = spec.l2.line_bytes;
    machine.l2_sector_bytes = spec.l2.sector_bytes;
    machine.slices_per_channel = spec.l2.slices_per_channel;
    machine.dram = spec.dram.map();
    machine.banks = spec.dram.banks;
    machine.dram_queue = spec.dram.queue;
    return machine;
}

class Forecaster {
public:
    Forecaster(const MachineSpec& spec, const ForecastOptions& options)
        : spec_(spec), options_(options), rates_(spec), machine_(replay_machine(spec)), work_(options.progress) {}

    /// The candidates, derived from the largest two-dimensional grid, if there is one.
    void look_at(Workload& workload) {
        Dim3 grid{0, 0, 0};
        std::uint32_t slots = 0;
        while (const KernelSource* kernel = workload.next_kernel()) {
            const KernelInfo& info = kernel->info();
            if (kernel->executes_at_placement())
                throw InputError(
                    fmt::format("kernel '{}' reads its SM ID, its warp slot or a clock, so its behaviour depends on CTA placement; its "
                                "order cannot be changed",
                                info.name));
            slots = std::max(slots, fitting(info));
            ctas_ += info.ctas();
            const auto two = [](const Dim3& of) { return of.x > 1 && of.y > 1; };
            if (two(info.grid) != two(grid) ? two(info.grid) : info.grid.count() > grid.count()) grid = info.grid;
            if (launches_++ == 0) grid_ = info.grid;
            one_grid_ = one_grid_ && grid_ == info.grid;
        }
        if (slots == 0) throw InputError("the workload has no kernels");
        result.candidates = options_.only.empty() ? candidates_for(grid, slots) : options_.only;
        work_.plan(ctas_ * (1 + result.candidates.size()));
    }

    void read(Workload& workload) {
        prepare();
        uses_.resize(result.candidates.size());
        while (const KernelSource* kernel = workload.next_kernel()) {
            const KernelInfo& info = kernel->info();
            const AccessLog log = read(*kernel);
            KernelForecast& entry = entry_of(info);
            if (entry.launches++ == 0 || info.ctas() > entry.info.ctas()) entry.info = info;
            entry.ctas += info.ctas();
            entry.counts.add(log.counts());
            entry.sharing.add(sharing_of(log));
            if (one_grid_ && options_.only.empty()) graph_.add(log);
            play(entry, log, 0);
            for (std::size_t c = 0; c < uses_.size(); ++c) {
                if (may_go_past(result.candidates[c])) count_uses(uses_[c], log, *replays_[c]);
            }
        }
    }

    /// Candidates that the first pass suggests: loads that rarely hit bypass the L1, and CTAs that share most go to one SM.
    void read_again(const OpenWorkload& open) {
        const std::size_t plain = result.candidates.size();
        for (std::size_t c = 0; c < plain; ++c) {
            Candidate candidate = result.candidates[c];
            for (const auto& [pc, use] : uses_[c]) {
                if (static_cast<double>(use.kept) < kUseless * static_cast<double>(use.sectors)) candidate.past_l1.push_back(pc);
            }
            result.loads = std::max<std::uint64_t>(result.loads, uses_[c].size());
            if (!candidate.past_l1.empty()) result.candidates.push_back(candidate);
        }
        partition();
        if (result.candidates.size() == plain) return;
        work_.plan(ctas_ * (1 + result.candidates.size() - plain));
        prepare();
        const std::unique_ptr<Workload> workload = open();
        while (const KernelSource* kernel = workload->next_kernel()) play(entry_of(kernel->info()), read(*kernel), plain);
    }

    Forecast result;

private:
    std::uint32_t fitting(const KernelInfo& info) const {
        const Residency fit = residency(spec_.sm, info);
        if (fit.ctas != 0) return fit.ctas;
        throw InputError(
            fmt::format("kernel '{}' does not fit on an SM of {}: one CTA exceeds the {}", info.name, spec_.name, fit.limited_by));
    }

    /// A machine per candidate: each sees all launches.
    void prepare() {
        for (std::size_t c = replays_.size(); c < result.candidates.size(); ++c) replays_.push_back(std::make_unique<Replay>(machine_));
        replays_.front()->watch(options_.watcher);
        for (KernelForecast& kernel : result.kernels) kernel.by_candidate.resize(result.candidates.size());
    }

    AccessLog read(const KernelSource& kernel) {
        std::uint64_t before = 0;
        return {kernel, {options_.most_entries, [&](std::uint64_t done, std::uint64_t) {
                             work_.done(done - before);
                             before = done;
                         }}};
    }

    KernelForecast& entry_of(const KernelInfo& info) {
        for (KernelForecast& kernel : result.kernels) {
            if (kernel.info.name == info.name) return kernel;
        }
        KernelForecast kernel;
        kernel.slots = fitting(info);
        kernel.by_candidate.resize(result.candidates.size());
        result.kernels.push_back(std::move(kernel));
        return result.kernels.back();
    }

    void play(KernelForecast& entry, const AccessLog& log, std::size_t first) {
        const std::uint32_t slots = fitting(log.info());
        in_parallel(result.candidates.size() - first, options_.threads, [&](std::size_t i) {
            play_one(entry, first + i, log, slots);
            work_.done(log.ctas());
        });
    }

    void play_one(KernelForecast& entry, std::size_t index, const AccessLog& log, std::uint32_t slots) {
        const Candidate& candidate = result.candidates[index];
        const KernelInfo& info = log.info();
        const std::unique_ptr<TaskSource> tasks = candidate.tasks(info.grid, machine_.sms, slots);
        const std::uint32_t resident = candidate.resident(slots);
        SiteSet past;
        for (std::size_t site = 0; site < log.sites().size(); ++site)
            past[site] = std::binary_search(candidate.past_l1.begin(), candidate.past_l1.end(), log.sites()[site].pc);
        const Traffic traffic = replays_[index]->run(log, *tasks, resident, past);
        const std::uint64_t ctas = std::min<std::uint64_t>(std::uint64_t{machine_.sms} * resident, info.ctas());
        entry.by_candidate[index].traffic.add(traffic);
        const Prediction::Bounds bounds = bounds_of(rates_, log.counts(), traffic, ctas * info.warps_per_cta());
        entry.by_candidate[index].cycles += soft_maximum({bounds.issue, bounds.network, bounds.dram, bounds.rows, bounds.latency});
        add_bounds(entry.by_candidate[index].bounds, bounds);
    }

    static void count_uses(std::map<std::uint32_t, SiteUse>& uses, const AccessLog& log, const Replay& replay) {
        for (std::size_t site = 0; site < log.sites().size(); ++site) {
            const AccessLog::Site& load = log.sites()[site];
            SiteUse& use = uses[load.pc];
            use.sectors += load.sectors;
            use.kept += load.near_sectors + replay.l1_hits()[site];
        }
    }

    void partition() {
        CtaGraph::Parts parts = graph_.split(machine_.sms);
        if (parts.order.empty()) return;
        const auto cut = [&](TaskOrder::Kind kind) {
            const TaskOrder order(grid_, kind);
            std::vector<std::uint64_t> list(order.ctas());
            for (std::uint64_t place = 0; place < list.size(); ++place) list[place] = order.cta(place);
            return graph_.cut_of(list, machine_.sms);
        };
        result.cuts = {parts.cut, cut(TaskOrder::Kind::rows), cut(TaskOrder::Kind::columns)};
        Candidate candidate{Candidate::How::agents, TaskOrder::Kind::table};
        candidate.table = std::make_shared<const std::vector<std::uint64_t>>(std::move(parts.order));
        result.candidates.push_back(std::move(candidate));
    }

    const MachineSpec& spec_;
    const ForecastOptions& options_;
    const Rates rates_;
    const ReplayMachine machine_;
    Work work_;
    std::uint64_t launches_ = 0;
    std::uint64_t ctas_ = 0;                              ///< of all launches
    Dim3 grid_;                                           ///< of the first
    bool one_grid_ = true;                                ///< all launches have this grid
    std::vector<std::unique_ptr<Replay>> replays_;        ///< by candidate
    std::vector<std::map<std::uint32_t, SiteUse>> uses_;  ///< by candidate and program counter
    CtaGraph graph_;
};

}  // namespace

std::uint64_t Forecast::launches() const {
    std::uint64_t sum = 0;
    for (const KernelForecast& kernel : kernels) sum += kernel.launches;
    return sum;
}

Prediction Forecast::total(std::size_t candidate) const {
    Prediction sum;
    for (const KernelForecast& kernel : kernels) {
        sum.traffic.add(kernel.by_candidate[candidate].traffic);
        sum.cycles += kernel.by_candidate[candidate].cycles;
        add_bounds(sum.bounds, kernel.by_candidate[candidate].bounds);
    }
    return sum;
}

Forecast forecast(const MachineSpec& spec, const OpenWorkload& open, const ForecastOptions& options) {
    Forecaster forecaster(spec, options);
    forecaster.look_at(*open());
    forecaster.read(*open());
    if (options.only.empty()) forecaster.read_again(open);
    return std::move(forecaster.result);
}

}  // namespace mergelane
