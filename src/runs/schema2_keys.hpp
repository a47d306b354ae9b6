// SPDX-License-Identifier: MIT
// How a machine's hash was made before record schema 3 (docs/adr/0023): only for reading stores of schema 2. Nothing here ever changes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace mergelane::runs_schema2 {

struct OldDefault {
    std::string_view key, value;
};

/// A key with this value did not count.
// clang-format off
inline constexpr OldDefault kNeutral[] = {
    {"dispatch.transform", "none"}, {"dispatch.continue_round", "false"}, {"dispatch.seed", "1"}, {"sm.shared_path", "front"},
    {"sm.warp_limit", "0"}, {"lsu.front", "in_order"}, {"lsu.warp_pool.instruction_queues", "16"}, {"lsu.warp_pool.queue_entries", "8"},
    {"lsu.warp_pool.coalescers", "2"}, {"lsu.warp_pool.line_queues", "32"}, {"lsu.warp_pool.tags", "2"}, {"lsu.warp_pool.merges", "4"},
    {"lsu.warp_pool.map_entries", "8"}, {"lsu.warp_pool.added_latency", "2"}, {"lsu.warp_pool.policy", "switching"},
    {"lsu.warp_pool.quantum", "100000"}, {"lsu.warp_pool.switch_percent", "99"}, {"lsu.warp_pool.count_merged_misses", "true"},
    {"lsu.warp_pool.writeback_per_cycle", "1"}, {"lsu.warp_pool.writeback_buffer", "2"}, {"lsu.warp_pool.store_patience", "0"},
    {"lsu.banked.banks", "8"}, {"lsu.mrpb.queues", "48"}, {"lsu.mrpb.queue_entries", "8"}, {"l1.partitions", "1"},
    {"l1.flush_at_kernel", "true"}, {"l1.perfect", "false"}, {"noc.kind", "crossbar"}, {"noc.stage_inputs", "8"},
    {"noc.stage_links", "4"}, {"noc.mesh.width", "0"}, {"noc.mesh.height", "0"}, {"noc.mesh.memory_nodes", "even"},
    {"noc.mesh.cluster_nodes", "rest"}, {"noc.mesh.virtual_channels", "4"}, {"noc.mesh.buffer_flits", "8"}, {"noc.mesh.routing", "xy"},
    {"noc.mesh.shared", "false"}, {"noc.mesh.router_latency", "4"}, {"noc.mesh.link_latency", "1"}, {"noc.mesh.credit_latency", "2"},
    {"l2.enabled", "true"}, {"dram.bank_queue", "4"}, {"clustering.order", "rows"}, {"clustering.tile", "2"},
    {"clustering.table", "none"}, {"clustering.clusters", "0"}, {"clustering.agents", "0"}, {"clustering.agent_id", "slot"},
    {"clustering.cta_instructions", "12"}, {"clustering.agent_instructions", "10"}, {"clustering.task_instructions", "8"},
    {"clustering.bypass", "none"}, {"clustering.prefetch", "0"}, {"dcl1.sets", "whole"},
};
// clang-format on

/// Below such a prefix nothing counted unless its key "enabled" was true.
inline constexpr std::string_view kSwitched[] = {"cluster.icc.", "cluster.cc.", "cluster.locality.", "dram.meter.", "noc.coalescing.",
                                                 "noc.meter.",   "dcl1.",       "l1.meter.",         "lsu.meter."};

/// All other keys there were, each followed by a space.
inline constexpr std::string_view kPlainKeys =
    "gpu.groups gpu.clusters gpu.sms_per_cluster gpu.core_mhz gpu.noc_mhz gpu.l2_mhz gpu.dram_mhz dispatch.scheduler "
    "dispatch.block_ctas dispatch.delayed_launch dispatch.latency dispatch.launch_latency sm.warps sm.cta_slots sm.registers "
    "sm.shared_kib sm.schedulers sm.scheduler sm.sub_cores sm.pipeline_latency sm.barrier_latency sm.shared_banks sm.shared_latency "
    "units.alu units.fpu units.dpu units.sfu units.tensor exec.int_add.latency exec.int_add.interval exec.int_add.unit "
    "exec.int_minmax.latency exec.int_minmax.interval exec.int_minmax.unit exec.int_mul.latency exec.int_mul.interval "
    "exec.int_mul.unit exec.int_mad.latency exec.int_mad.interval exec.int_mad.unit exec.int_div.latency exec.int_div.interval "
    "exec.int_div.unit exec.fp_add.latency exec.fp_add.interval exec.fp_add.unit exec.fp_minmax.latency exec.fp_minmax.interval "
    "exec.fp_minmax.unit exec.fp_mul.latency exec.fp_mul.interval exec.fp_mul.unit exec.fp_mad.latency exec.fp_mad.interval "
    "exec.fp_mad.unit exec.fp_div.latency exec.fp_div.interval exec.fp_div.unit exec.dp_add.latency exec.dp_add.interval "
    "exec.dp_add.unit exec.dp_minmax.latency exec.dp_minmax.interval exec.dp_minmax.unit exec.dp_div.latency exec.dp_div.interval "
    "exec.dp_div.unit exec.sfu.latency exec.sfu.interval exec.sfu.unit exec.tensor.latency exec.tensor.interval exec.tensor.unit "
    "exec.branch.latency exec.branch.interval exec.branch.unit exec.constant.latency exec.constant.interval exec.constant.unit "
    "lsu.queue lsu.block_bytes lsu.blocks_per_cycle lsu.banks lsu.atomic_rounds lsu.issue_limit lsu.meter.enabled l1.enabled "
    "l1.size_kib l1.unified_kib l1.carveouts_kib l1.line_bytes l1.sector_bytes l1.ways l1.set_hash l1.replacement l1.hit_latency "
    "l1.mshrs l1.mshr_merges l1.miss_queue l1.write_policy l1.allocate l1.meter.enabled cluster.injection_buffer "
    "cluster.response_fifo cluster.locality.enabled cluster.icc.enabled cluster.icc.entries cluster.icc.request_cycles "
    "cluster.icc.reply_cycles cluster.icc.match cluster.icc.on_store cluster.icc.l1_bypassing_loads cluster.cc.enabled "
    "cluster.cc.entries cluster.cc.ways cluster.cc.replacement cluster.cc.invalidate_on_store cluster.cc.hit_queue noc.flit_bytes "
    "noc.header_bytes noc.injection_latency noc.traversal_latency noc.ejection_latency noc.credit_latency noc.input_buffer_flits "
    "noc.queueing noc.arbiter noc.islip_iterations noc.meter.enabled noc.coalescing.enabled noc.coalescing.policy "
    "noc.coalescing.delay_per_hop noc.coalescing.merge noc.coalescing.table_entries noc.coalescing.most_requests "
    "noc.coalescing.request_bytes noc.coalescing.hops l2.slices_per_channel l2.size_kib l2.line_bytes l2.sector_bytes l2.ways "
    "l2.set_hash l2.replacement l2.mshrs l2.mshr_merges l2.latency l2.input_queue l2.output_queue l2.dram_queue l2.interleave_bytes "
    "l2.slice_hash dram.channels dram.scheduler dram.queue dram.banks dram.bank_groups dram.bus_bytes dram.access_bytes "
    "dram.access_latency dram.command_buses dram.address_map dram.bank_hash dram.timing.tRCD dram.timing.tRP dram.timing.tRAS "
    "dram.timing.tRC dram.timing.tRRD dram.timing.tCCD dram.timing.tCCDL dram.timing.tCL dram.timing.tWL dram.timing.tWR "
    "dram.timing.tRTP dram.timing.tCDLR dram.timing.tRTW dram.meter.enabled dram.meter.window dcl1.enabled dcl1.nodes dcl1.clusters "
    "dcl1.caching dcl1.local dcl1.local_mhz dcl1.local_flit_bytes dcl1.local_header_bytes dcl1.queue dcl1.hit_latency dcl1.mshrs "
    "dcl1.mshr_merges dcl1.home dcl1.reply dcl1.write_hit ";

/// The hash of a machine under those rules, of all its values in any order. Keys that came later are left out.
std::string old_config_hash(std::span<const std::pair<std::string, std::string>> values);

}  // namespace mergelane::runs_schema2
