// SPDX-License-Identifier: MIT
// The accounts of a run as shares of its time, which rules compare.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "explain/watched_workload.hpp"

namespace mergelane::explain {

class RunFacts {
public:
    RunFacts(const RunResult& run, const AccessFacts& accesses);

    const RunResult& run() const { return run_; }
    const AccessFacts& accesses() const { return accesses_; }
    const MachineFacts& machine() const { return run_.machine; }

    /// 0 if the machine has no such counter.
    double stat(std::string_view name) const;
    /// Of the configuration; 0 if there is no such key or it is no number.
    double number(std::string_view key) const;
    std::string value(std::string_view key) const;
    double kernel_cycles() const { return kernel_cycles_; }

    // Shares of the schedulers' time between the start and the end of kernels, of SMs that have work; they add up to 1.
    double issued() const { return slot_share("sm.warp_instructions"); }
    double waits_for_memory() const { return slot_share("sm.stall_memory"); }
    double lsu_busy() const { return slot_share("sm.stall_lsu") + held_back(); }
    /// Waiting for units of arithmetic.
    double units_busy() const;
    double slot_share(std::string_view counter) const;
    double no_warp() const;

    /// Of the waits for memory, what loads spent in these stages, for example {"l2.merge_limit"} or {"flight."}: all that begin so.
    double stages(std::initializer_list<std::string_view> names) const;
    /// Share of the time in which schedulers waited for these stages, or for the load/store unit while it could not go on for `parked`.
    double waiting(std::initializer_list<std::string_view> names, std::string_view parked = "") const;
    /// Of the time in which the load/store unit was the reason not to issue, that in which it waited for `parked` (a counter).
    double parked_share(std::string_view parked) const;
    /// The same with these stages' part of the waits for an MSHR entry or a credit in the SM, which last as long as requests are under way.
    double charged(std::initializer_list<std::string_view> names) const;
    /// Waits that the network, the L2 and DRAM are responsible for.
    double beyond_sm() const;
    /// Of the time beyond the SM, what is no wait.
    double plain_flight() const;

    double dram_utilisation() const;
    /// Of the ports that are busiest on average: requests in, replies out of the L2 side.
    double network_utilisation() const;
    /// 1 - mean / highest over the components that count it.
    double skew(std::string_view counter, double components) const;
    /// Sectors and lines that coalesced accesses would not have touched, as a share of all.
    double wasted_accesses() const;

    // Over kernels, weighted with their time.
    double occupancy() const { return occupancy_; }          ///< resident warps over sm.warps, on SMs that have work
    double idle_sms() const { return idle_sms_; }            ///< SMs without a CTA
    double partial_wave() const { return partial_wave_; }    ///< of the time, lost because the last wave does not fill the machine
    double several_waves() const { return several_waves_; }  ///< kernels with more CTAs than fit
    const KernelResult& longest_kernel() const { return *longest_; }

private:
    /// Counted as waiting for units, but with the operand collectors full of memory instructions (lsu.issue_limit) nothing else may issue.
    double held_back() const;
    void add_kernel(const KernelResult& kernel, std::uint32_t warps_per_cta);

    const RunResult& run_;
    const AccessFacts& accesses_;
    double kernel_cycles_ = 0;
    double slots_ = 0;
    double explained_ = 0;  ///< of the waits for memory
    const KernelResult* longest_ = nullptr;
    double occupancy_ = 0, idle_sms_ = 0, partial_wave_ = 0, several_waves_ = 0;
};

}  // namespace mergelane::explain
