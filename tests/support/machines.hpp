// SPDX-License-Identifier: MIT
// Small machines built in code, so that tests do not depend on the configuration parser.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/kernel.hpp"
#include "sim/machine_spec.hpp"

namespace mergelane::testing {

/// Every machine a test uses must be one that a user could have configured.
inline MachineSpec valid(MachineSpec spec) {
    for (const SpecProblem& problem : check(spec)) ADD_FAILURE() << spec.name << ": " << problem.text;
    return spec;
}

inline void set_exec(MachineSpec& spec, OpClass op, std::uint32_t latency, std::uint32_t interval, const char* unit) {
    spec.sm.exec[static_cast<std::size_t>(op)] = {latency, interval, unit};
}

inline void fermi_exec(MachineSpec& spec) {
    set_exec(spec, OpClass::int_add, 4, 1, "alu");
    set_exec(spec, OpClass::int_minmax, 13, 2, "alu");
    set_exec(spec, OpClass::int_mul, 4, 2, "alu");
    set_exec(spec, OpClass::int_mad, 5, 1, "alu");
    set_exec(spec, OpClass::int_div, 145, 8, "sfu");
    set_exec(spec, OpClass::fp_add, 4, 1, "alu");
    set_exec(spec, OpClass::fp_mad, 5, 1, "alu");
    set_exec(spec, OpClass::fp_div, 39, 4, "sfu");
    set_exec(spec, OpClass::dp_add, 8, 8, "alu");
    set_exec(spec, OpClass::dp_div, 330, 130, "sfu");
    set_exec(spec, OpClass::sfu, 20, 8, "sfu");
}

/// Clusters of five SMs behind one port, one clock for all, 64-byte flits, GDDR5.
inline MachineSpec icc60_like(std::uint32_t clusters = 12) {
    MachineSpec s;
    s.name = "icc60-like";
    s.gpu.clusters = clusters;
    s.gpu.sms_per_cluster = 5;
    s.sm.warps = 64;
    s.sm.cta_slots = 32;
    s.sm.registers = 65536;
    s.sm.shared_kib = 64;
    s.l1.size_kib = 48;
    s.noc.flit_bytes = 64;
    s.dram.timing.tCCDL = 2;
    s.dram.timing.tRTW = 12;
    fermi_exec(s);
    return valid(s);
}

/// One SM per port, four different clocks, six channels (not a power of two), 32-byte flits.
inline MachineSpec gtx480_like() {
    MachineSpec s;
    s.name = "gtx480-like";
    s.gpu.clusters = 15;
    s.gpu.sms_per_cluster = 1;
    s.gpu.noc_mhz = 700;
    s.gpu.l2_mhz = 700;
    s.gpu.dram_mhz = 924;
    s.l1.size_kib = 32;
    s.l1.hit_latency = 35;
    s.noc.flit_bytes = 32;
    s.noc.traversal_latency = 4;
    s.noc.credit_latency = 4;
    s.l2.size_kib = 128;
    s.dram.channels = 6;
    s.dram.bus_bytes = 32;
    s.dram.timing.tCCDL = 3;
    s.dram.timing.tRTW = 14;
    fermi_exec(s);
    return valid(s);
}

/// 32-byte blocks and sectors, byte-masked writes in the L1, sub-cores, two slices per HBM2 channel, another DRAM clock.
inline MachineSpec v100_like() {
    MachineSpec s;
    s.name = "v100-like";
    s.gpu.clusters = 16;
    s.gpu.sms_per_cluster = 1;
    s.gpu.core_mhz = s.gpu.noc_mhz = s.gpu.l2_mhz = 1132;
    s.gpu.dram_mhz = 850;
    s.sm.warps = 64;
    s.sm.cta_slots = 32;
    s.sm.registers = 65536;
    s.sm.shared_kib = 96;
    s.sm.schedulers = 4;
    s.sm.scheduler = "lrr";
    s.sm.sub_cores = true;
    s.sm.pipeline_latency = 3;
    s.sm.units = {4, 4, 4, 4, 4};
    s.sm.shared_latency = 20;
    for (ExecClassSpec& exec : s.sm.exec) exec = {2, 2, "alu"};
    set_exec(s, OpClass::fp_mad, 2, 2, "fpu");
    set_exec(s, OpClass::dp_add, 8, 4, "dpu");
    set_exec(s, OpClass::sfu, 20, 8, "sfu");
    s.lsu.queue = 20;
    s.lsu.block_bytes = 32;
    s.lsu.blocks_per_cycle = 4;
    s.lsu.banks = 4;
    s.lsu.issue_limit = 3;
    s.l1.size_kib = 32;
    s.l1.unified_kib = 128;
    s.l1.carveouts_kib = {0, 8, 16, 32, 64, 96};
    s.l1.sector_bytes = 32;
    s.l1.ways = 64;
    s.l1.set_hash = "plain";
    s.l1.hit_latency = 20;
    s.l1.mshrs = 512;
    s.l1.miss_queue = 16;
    s.l1.write_policy = L1Spec::WritePolicy::byte_mask;
    s.cluster.response_fifo = 32;
    s.noc.flit_bytes = 40;
    s.noc.traversal_latency = 4;
    s.noc.input_buffer_flits = 512;
    s.noc.queueing = NetworkShape::Queueing::voq;
    s.noc.arbiter = NetworkShape::Arbiter::islip;
    s.l2.slices_per_channel = 2;
    s.l2.size_kib = 96;
    s.l2.sector_bytes = 32;
    s.l2.ways = 24;
    s.l2.set_hash = "ipoly";
    s.l2.mshrs = 192;
    s.l2.mshr_merges = 4;
    s.l2.latency = 160;
    s.l2.slice_hash = "ipoly";
    s.dram.channels = 8;
    s.dram.bus_bytes = 32;
    s.dram.access_bytes = 32;
    s.dram.command_buses = 2;
    s.dram.address_map = "RBBBCCCBCCCSSSSS";
    s.dram.timing = {12, 12, 28, 40, 3, 1, 2, 12, 2, 10, 3, 3, 13};
    return valid(s);
}

/// The same machine with every queue and buffer as small as its check allows: forces back-pressure everywhere.
inline MachineSpec with_tiny_buffers(MachineSpec s) {
    s.name += "-tiny";
    s.lsu.queue = 1;
    s.l1.mshrs = 2;
    s.l1.mshr_merges = 2;
    s.l1.miss_queue = 1;
    s.cluster.injection_buffer = 1;
    s.l2.mshrs = 2;
    s.l2.mshr_merges = 2;
    s.l2.input_queue = 1;
    s.l2.output_queue = 2;
    s.dram.queue = 2;
    // Flow-controlled links must cover their round trip, so these only shrink until the check objects.
    const auto shrink = [&](std::uint32_t& value, std::uint32_t floor) {
        const std::uint32_t original = value;
        for (value = floor; value < original && !check(s).empty(); ++value) {
        }
    };
    shrink(s.cluster.response_fifo, 1);
    shrink(s.noc.input_buffer_flits, 1);
    shrink(s.l2.dram_queue, 2);
    return valid(s);
}

}  // namespace mergelane::testing
