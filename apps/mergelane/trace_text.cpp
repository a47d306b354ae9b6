// SPDX-License-Identifier: MIT
#include "trace_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/bits.hpp"
#include "core/text.hpp"
#include "profile/profile.hpp"

namespace mergelane {

namespace {

std::string friendly_bytes(std::uint64_t bytes) {
    if (bytes < 10'000) return fmt::format("{} bytes", bytes);
    if (bytes < 10 << 20) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
    return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1024 * 1024));
}

std::string per(std::uint64_t bytes, std::uint64_t instructions) {
    return instructions == 0 ? "-" : fmt::format("{:.3f}", static_cast<double>(bytes) / static_cast<double>(instructions));
}

std::string hint_name(L2Hint hint) {
    if (!hint.any()) return "";
    std::string text = fmt::format(".{}", kL2PriorityNames[static_cast<std::size_t>(hint.priority())]);
    if (hint.sixteenths() != L2Hint::kWhole) text += fmt::format(".{}of{}", hint.sixteenths(), L2Hint::kWhole);
    return text;
}

std::string class_name(const StaticInst& inst) {
    static constexpr const char* kSpaces[] = {"global", "local", "shared"};
    const auto op = static_cast<std::size_t>(inst.op);
    const std::string_view name = op < kComputeClasses ? kComputeClassNames[op] : kOtherClassNames[op - kComputeClasses];
    if (inst.op == OpClass::barrier) return fmt::format("{}.{}", name, inst.lane_bytes);
    if (inst.op == OpClass::fence && inst.async)
        return inst.lane_bytes == StaticInst::kEndsGroup ? "fence.async.commit" : fmt::format("fence.async.wait.{}", inst.lane_bytes);
    if (inst.op < OpClass::load || inst.op > OpClass::atomic) return std::string(name);
    return fmt::format("{}.{}.{}{}{}", name, kSpaces[static_cast<std::size_t>(inst.space)], inst.lane_bytes,
                       inst.bypass_l1 ? ".bypass" : "", inst.async ? ".async" : "") +
           hint_name(inst.l2_hint);
}

}  // namespace

std::string record_summary(const std::string& path, const tracefile::WriteTotals& totals, double seconds) {
    return fmt::format("{}: {} kernel{}, {} CTAs, {} warp instructions ({} memory); {}, {} bytes per memory instruction, {:.2f} s\n",
                       printable(path), totals.kernels, totals.kernels == 1 ? "" : "s", grouped(totals.ctas),
                       grouped(totals.warp_instructions), grouped(totals.memory_instructions), friendly_bytes(totals.bytes),
                       per(totals.bytes, totals.memory_instructions), seconds);
}

std::string trace_summary(const tracefile::TraceFile& file) {
    const tracefile::Index& index = file.index();
    std::string text =
        fmt::format("{}\n  recorded from                {}\n  by                           {}\n  format version               {}\n",
                    printable(file.name()), index.source, index.writer, tracefile::kVersion);
    std::uint64_t memory = 0;
    std::uint64_t all = 0;
    std::size_t name_width = 6;
    std::size_t grid_width = 4;
    std::size_t block_width = 5;
    for (const tracefile::KernelEntry& kernel : index.kernels) {
        memory += kernel.memory_instructions;
        all += kernel.warp_instructions;
        name_width = std::max(name_width, std::min<std::size_t>(kernel.info.name.size(), 40));
        grid_width = std::max(grid_width, dimensions(kernel.info.grid).size());
        block_width = std::max(block_width, dimensions(kernel.info.block).size());
    }
    text += fmt::format(
        "  size                         {} ({} bytes)\n  warp instructions            {}\n  warp memory instructions     {}\n"
        "  bytes per memory instruction {}\n\n",
        friendly_bytes(file.bytes()), grouped(file.bytes()), grouped(all), grouped(memory), per(file.bytes(), memory));
    text += fmt::format("{:>6}  {:<{}}  {:<{}}  {:<{}}  {:>9}  {:>8}  {:>14}  {:>6}  {:>12}  {:>12}  {:>9}\n", "kernel", "name", name_width,
                        "grid", grid_width, "block", block_width, "registers", "shared", "warp instr", "lanes", "memory instr", "bytes",
                        "per instr");
    for (std::size_t k = 0; k < index.kernels.size(); ++k) {
        const tracefile::KernelEntry& kernel = index.kernels[k];
        const std::uint64_t bytes = kernel.table.end() - kernel.first_cta;
        const double lanes = kernel.warp_instructions == 0
                                 ? 0
                                 : static_cast<double>(kernel.thread_instructions) / static_cast<double>(kernel.warp_instructions);
        text += fmt::format("{:>6}  {:<{}}  {:<{}}  {:<{}}  {:>9}  {:>8}  {:>14}  {:>6.1f}  {:>12}  {:>12}  {:>9}\n", k + 1,
                            printable(kernel.info.name.substr(0, 40)), name_width, dimensions(kernel.info.grid), grid_width,
                            dimensions(kernel.info.block), block_width, kernel.info.registers_per_thread, kernel.info.shared_bytes,
                            grouped(kernel.warp_instructions), lanes, grouped(kernel.memory_instructions), grouped(bytes),
                            per(bytes, kernel.memory_instructions));
    }
    return text;
}

std::string instruction_text(const StaticInst& inst, std::uint32_t active, LaneAddresses* lanes) {
    std::string text = fmt::format("{:06x} {:08x} {:<16}", inst.pc, active, class_name(inst));
    for (std::uint32_t r = 0; r < inst.dst_count; ++r) text += fmt::format(" R{}", inst.regs[r]);
    if (inst.reg_count > inst.dst_count) text += " <-";
    for (std::uint32_t r = inst.dst_count; r < inst.reg_count; ++r) text += fmt::format(" R{}", inst.regs[r]);
    if (lanes != nullptr) {
        text += " :";
        if (lanes->run_count != 0) {
            lanes->affine = false;
            lanes->expand(active);
        }
        if (lanes->affine) {
            text += fmt::format(" {:#x} stride {}", lanes->of(lowest_bit(active)), lanes->stride);
        } else {
            for (std::uint32_t left = active; left != 0; left &= left - 1) text += fmt::format(" {:#x}", lanes->of(lowest_bit(left)));
        }
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
}

}  // namespace mergelane
