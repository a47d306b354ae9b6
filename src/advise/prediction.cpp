// SPDX-License-Identifier: MIT
#include "advise/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.hpp"

namespace mergelane {

namespace {

constexpr double kInFlight = 2;        ///< loads of a warp at the same time
constexpr double kComputeLatency = 6;  ///< cycles between instructions of a warp that waits for nothing else
constexpr double kSharpness = 4;       ///< of the maximum of the bounds
constexpr double kBanksAtOnce = 4;
constexpr double kSector = 32;

/// Rates and latencies in core cycles, of a machine on which nobody else is.
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
        // A few banks of a channel open rows at the same time.
        row = spec.dram.timing.tRC * core / spec.gpu.dram_mhz / kBanksAtOnce / facts.channels;
    }
    MachineFacts facts;
    double issue, network, dram;       ///< warp instructions, bytes
    double l1_hit, l2_hit, from_dram;  ///< latencies
    double row;                        ///< cycles by which DRAM as a whole is later for a row that it opens
};

/// The machine is limited by what takes longest, and a little by what comes next.
double soft_maximum(std::initializer_list<double> bounds) {
    double sum = 0;
    for (const double bound : bounds) sum += std::pow(bound, kSharpness);
    return std::pow(sum, 1 / kSharpness);
}

double cycles_of(const Rates& rates, const AccessLog::Counts& counts, const Traffic& traffic, std::uint64_t warps_at_once) {
    const double waiting = static_cast<double>(counts.loads) * rates.l1_hit +
                           static_cast<double>(traffic.waits_l2) * (rates.l2_hit - rates.l1_hit) +
                           static_cast<double>(traffic.waits_dram) * (rates.from_dram - rates.l2_hit);
    const auto instructions = static_cast<double>(counts.warp_instructions);
    return soft_maximum({instructions / rates.issue, static_cast<double>(traffic.to_l2()) * kSector / rates.network,
                         static_cast<double>(traffic.to_dram()) * kSector / rates.dram, static_cast<double>(traffic.row_misses) * rates.row,
                         (waiting / kInFlight + instructions * kComputeLatency) / static_cast<double>(warps_at_once)});
}

class Forecaster {
public:
    Forecaster(const MachineSpec& spec, const ForecastOptions& options)
        : spec_(spec), options_(options), rates_(spec), machine_(replay_machine(spec)) {}

    /// What can be tried: by the largest grid in two directions, if there is one.
    void look_at(Workload& workload) {
        Dim3 grid{0, 0, 0};
        std::uint32_t slots = 0;
        while (const KernelSource* kernel = workload.next_kernel()) {
            const KernelInfo& info = kernel->info();
            if (kernel->executes_at_placement())
                throw InputError(
                    fmt::format("kernel '{}' looks at its SM, its warp slot or a clock: what its CTAs do depends on where they "
                                "run, so another order would be another program",
                                info.name));
            slots = std::max(slots, fitting(info));
            const auto two = [](const Dim3& of) { return of.x > 1 && of.y > 1; };
            if (two(info.grid) != two(grid) ? two(info.grid) : info.grid.count() > grid.count()) grid = info.grid;
        }
        if (slots == 0) throw InputError("the workload has no kernel; there is nothing to advise");
        result.candidates = candidates_for(grid, slots);
        for (std::size_t c = 0; c < result.candidates.size(); ++c) replays_.push_back(std::make_unique<Replay>(machine_));
    }

    void launch(const KernelSource& kernel) {
        const KernelInfo& info = kernel.info();
        ++launches_;
        const std::uint32_t slots = fitting(info);
        const AccessLog log(kernel, {options_.most_entries, [&](std::uint64_t done, std::uint64_t total) {
                                         if (options_.progress) options_.progress(launches_, done, total);
                                     }});
        KernelForecast& entry = entry_of(info, slots);
        if (entry.launches++ == 0 || info.ctas() > entry.info.ctas()) entry.info = info;
        entry.ctas += info.ctas();
        entry.counts.add(log.counts());
        entry.sharing.add(sharing_of(log));
        for (std::size_t c = 0; c < result.candidates.size(); ++c) play(entry, c, log, slots);
    }

    Forecast result;

private:
    std::uint32_t fitting(const KernelInfo& info) const {
        const Residency fit = residency(spec_.sm, info);
        if (fit.ctas != 0) return fit.ctas;
        throw InputError(
            fmt::format("kernel '{}' does not fit on an SM of {}: its {} cannot hold one CTA", info.name, spec_.name, fit.limited_by));
    }

    KernelForecast& entry_of(const KernelInfo& info, std::uint32_t slots) {
        for (KernelForecast& kernel : result.kernels) {
            if (kernel.info.name == info.name) return kernel;
        }
        KernelForecast kernel;
        kernel.slots = slots;
        kernel.by_candidate.resize(result.candidates.size());
        result.kernels.push_back(std::move(kernel));
        return result.kernels.back();
    }

    void play(KernelForecast& entry, std::size_t index, const AccessLog& log, std::uint32_t slots) {
        const Candidate& candidate = result.candidates[index];
        const KernelInfo& info = log.info();
        const std::unique_ptr<TaskSource> tasks = candidate.tasks(info.grid, machine_.sms, slots);
        const std::uint32_t resident = candidate.resident(slots);
        const Traffic traffic = replays_[index]->run(log, *tasks, resident);
        const std::uint64_t ctas = std::min<std::uint64_t>(std::uint64_t{machine_.sms} * resident, info.ctas());
        entry.by_candidate[index].traffic.add(traffic);
        entry.by_candidate[index].cycles += cycles_of(rates_, log.counts(), traffic, ctas * info.warps_per_cta());
    }

    const MachineSpec& spec_;
    const ForecastOptions& options_;
    const Rates rates_;
    const ReplayMachine machine_;
    std::vector<std::unique_ptr<Replay>> replays_;  ///< by candidate: each has seen all launches so far
    std::uint64_t launches_ = 0;
};

}  // namespace

Prediction Forecast::total(std::size_t candidate) const {
    Prediction sum;
    for (const KernelForecast& kernel : kernels) {
        sum.traffic.add(kernel.by_candidate[candidate].traffic);
        sum.cycles += kernel.by_candidate[candidate].cycles;
    }
    return sum;
}

ReplayMachine replay_machine(const MachineSpec& spec) {
    ReplayMachine machine;
    machine.sms = spec.sms();
    machine.l1 = spec.l1;
    machine.map = AddressMap(spec.dram.channels, spec.l2.slices_per_channel, spec.l2.interleave_bytes, spec.l2.slice_hash);
    machine.slice = {spec.l2.sets(), spec.l2.ways, spec.l2.set_hash, spec.l2.replacement};
    machine.l2_line_bytes = spec.l2.line_bytes;
    machine.l2_sector_bytes = spec.l2.sector_bytes;
    machine.slices_per_channel = spec.l2.slices_per_channel;
    machine.dram = DramAddressMap(spec.dram.address_map, spec.dram.banks, spec.dram.bank_hash);
    machine.banks = spec.dram.banks;
    machine.dram_queue = spec.dram.queue;
    return machine;
}

Forecast forecast(const MachineSpec& spec, const OpenWorkload& open, const ForecastOptions& options) {
    Forecaster forecaster(spec, options);
    forecaster.look_at(*open());
    const std::unique_ptr<Workload> workload = open();
    while (const KernelSource* kernel = workload->next_kernel()) forecaster.launch(*kernel);
    return std::move(forecaster.result);
}

}  // namespace mergelane
