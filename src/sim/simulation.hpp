// SPDX-License-Identifier: MIT
// Runs a workload on a machine, kernel by kernel, with watchdogs, invariant checks and a digest.
#pragma once

#include <atomic>
#include <functional>

#include "core/kernel.hpp"
#include "core/result.hpp"
#include "sim/engine.hpp"
#include "sim/machine.hpp"
#include "sim/sampler.hpp"
#include "sim/work_recorder.hpp"

namespace mergelane {

struct Progress {
    std::uint64_t kernel = 0;  ///< counted from 1
    std::uint64_t cycles = 0;
    std::uint64_t ctas_done = 0;
    std::uint64_t ctas_total = 0;
};

struct RunOptions {
    std::uint32_t follow_one_of =
        0;  ///< lines whose loads are accounted for by stage: 1: all; 32: one of so many; 0: all in small grids, else 32
    bool by_instruction = false;  ///< also count per static instruction (RunResult::by_instruction)
    std::uint32_t threads = 1;
    std::uint32_t window_cycles = 0;  ///< core cycles; 0: as long as the machine allows
    bool sleep = true;
    std::uint64_t interval_cycles = 0;           ///< core cycles between two readings of all counters; 0: only kernels are told apart
    Timeline* timeline = nullptr;                ///< to be filled
    std::uint64_t max_cycles = 0;                ///< core cycles; 0: no limit
    std::uint64_t watchdog_cycles = 50'000'000;  ///< without any CTA finishing; 0: off
    const std::atomic<bool>* interrupt = nullptr;
    std::function<void(const Progress&)> progress;  ///< called periodically
    /// Called with a kernel's result and statistics before the next one is requested.
    std::function<void(const KernelResult&, const std::vector<StatValue>&)> after_kernel;
    std::function<void(Machine&, Time)> after_window;  ///< for tests and measurements
    std::uint32_t measure_every = 0;                   ///< windows between measurements of what domains cost the host; 0: never
};

class Simulation {
public:
    Simulation(const MachineSpec& spec, const RunOptions& options);

    /// Throws InputError for a workload that cannot run on this machine, SimulationError for deadlock, livelock or a violated invariant.
    RunResult run(Workload& workload);

    /// For workloads that leave out launches: when asked for the next kernel, simulates what the previous one left in flight. Returns its
    /// counts, in the order of totals(); they belong to no kernel.
    std::vector<std::uint64_t> drain();

    /// All counters at a moment of a kernel.
    struct Reading {
        Cycle cycle = 0;
        std::vector<std::uint64_t> counts;  ///< since the kernel's start, in the order of totals()
    };
    /// For workloads, when asked for the next kernel: reads all counters of that kernel a fixed time after so many of its CTAs have
    /// completed (ascending numbers, not all). The time is as long as domains may run without synchronization, so that the moment is the
    /// same for any number of threads and any window. Only for machines of one group.
    void read_when_completed(std::vector<std::uint64_t> ctas);
    /// Of the last kernel.
    const std::vector<Reading>& readings() const { return readings_; }

    Machine& machine() { return machine_; }
    /// Current values of all statistics.
    std::vector<StatValue> totals() const;

private:
    KernelResult run_kernel(const KernelSource& kernel, Cycle start, Time limit, Cycle& next_start);
    void check_laws(const std::vector<StatValue>& stats) const;
    bool keep_going(Time now);
    bool pass(Time now);
    Engine::End run_engine(Time limit, bool while_busy);
    void sample();
    void follow_loads(const KernelInfo& first);
    void record_work();
    void end_intervals(RunResult& result);
    void run_quietly_to(Time time);
    Time next_reading() const;
    void read_counters();
    void stop_at(Time time);
    void check_livelock(Cycle now);
    LoadTimes load_times() const;
    void take_instructions(const KernelSource& kernel);
    std::vector<std::pair<std::string, std::vector<std::uint64_t>>> per_unit() const;
    std::string digest(const std::vector<KernelResult>& kernels) const;
    [[noreturn]] void report_deadlock() const;

    const RunOptions options_;
    Machine machine_;
    Engine engine_;
    Sampler sampler_;
    std::deque<WorkRecorder> recorders_;  ///< per SM, for a timeline
    std::vector<StatValue> before_;       ///< counters when the kernel started
    LoadTimes times_before_;
    std::vector<std::uint64_t> reading_marks_;  ///< of the next kernel
    std::vector<Reading> readings_;
    Time engine_limit_ = 0;  ///< how far the engine goes unless it is stopped
    std::vector<KernelInstructions> by_instruction_;
    std::string stopped_;  ///< reason, if the run was stopped early
    std::uint64_t kernel_ = 0;
    std::uint64_t ctas_total_ = 0;
    Time look_at_ = 0;
    std::uint64_t watched_ctas_ = 0;
    std::uint64_t watched_instructions_ = 0;
    Cycle watched_since_ = 0;
};

/// Gauges of all components, summed by name, in the order of the machine.
std::vector<StatValue> gauges_of(const Machine& machine);

/// Checks all invariants; returns one sentence per violation. Throws std::logic_error if an invariant uses a statistic that no component
/// counts.
std::vector<std::string> broken_laws(const Machine& machine, const std::vector<StatValue>& totals, bool drained);
/// The same for counts by instruction: their sums are those of the machine.
std::vector<std::string> broken_instruction_laws(const Machine& machine, const std::vector<StatValue>& totals,
                                                 const std::vector<KernelInstructions>& kernels, bool drained);

/// Hash of all active configuration values, without those of disabled mechanisms (SpecFields::counts).
std::string config_hash(const MachineSpec& spec);

std::string_view version();

}  // namespace mergelane
