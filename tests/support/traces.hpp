// SPDX-License-Identifier: MIT
// Trace text for tests, and what a stream decodes from it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "workload/accelsim/kernel_list.hpp"
#include "workload/accelsim/traced_kernel.hpp"

namespace mergelane::testing {

/// A folder of this process's own, because tests run side by side; gone at its end.
class TemporaryFolder {
public:
    TemporaryFolder() : path_(std::filesystem::path(::testing::TempDir()) / ("mergelane-" + std::to_string(::getpid()))) {
        std::filesystem::create_directories(path_);
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

inline std::string write_temporary(const std::string& name, const std::string& bytes) {
    static const TemporaryFolder folder;
    const std::filesystem::path path = folder.path() / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path.string();
}

/// A trace put together piece by piece.
class TraceText {
public:
    std::string name = "test";
    std::string grid = "(1,1,1)";
    std::string block = "(32,1,1)";
    std::string version = "5";  ///< empty: the header does not say
    bool line_numbers = false;
    std::string more_header;

    TraceText& cta(const std::string& id, const std::vector<std::vector<std::string>>& warps) {
        std::vector<std::pair<std::uint32_t, std::vector<std::string>>> numbered;
        for (std::uint32_t w = 0; w < warps.size(); ++w) numbered.emplace_back(w, warps[w]);
        return cta_in_order(id, numbered);
    }
    TraceText& cta_in_order(const std::string& id, const std::vector<std::pair<std::uint32_t, std::vector<std::string>>>& warps) {
        body_ += "#BEGIN_TB\n\nthread block = " + id + "\n\n";
        for (const auto& [number, lines] : warps) {
            body_ += "warp = " + std::to_string(number) + "\ninsts = " + std::to_string(lines.size()) + "\n";
            for (const std::string& line : lines) body_ += line + "\n";
            body_ += "\n";
        }
        body_ += "#END_TB\n\n";
        return *this;
    }
    std::string text() const {
        std::string header = "-kernel name = " + name + "\n-kernel id = 1\n-grid dim = " + grid + "\n-block dim = " + block +
                             "\n-shmem = 0\n-nregs = 16\n-binary version = 70\n-cuda stream id = 0\n" +
                             "-shmem base_addr = 0x00007f4ace000000\n-local mem base_addr = 0x00007f4ad0000000\n-nvbit version = 1.7\n";
        if (!version.empty()) header += "-accelsim tracer version = " + version + "\n";
        if (line_numbers) header += "-enable lineinfo = 1\n";
        return header + more_header + "\n#traces format = ...\n\n" + body_;
    }
    std::string write(const std::string& file = "kernel-1.traceg") const { return write_temporary(file, text()); }

private:
    std::string body_;
};

/// One instruction as the machine would see it.
struct TracedInst {
    StaticInst inst;
    std::uint32_t active = 0;
    std::vector<Addr> addresses;  ///< of the active lanes, lowest first; empty if none are read

    bool operator==(const TracedInst& other) const {
        return inst.pc == other.inst.pc && inst.op == other.inst.op && inst.space == other.inst.space &&
               inst.lane_bytes == other.inst.lane_bytes && inst.bypass_l1 == other.inst.bypass_l1 && inst.l2_hint == other.inst.l2_hint &&
               inst.dst_count == other.inst.dst_count && inst.reg_count == other.inst.reg_count && inst.regs == other.inst.regs &&
               active == other.active && addresses == other.addresses;
    }
};
using TracedWarp = std::vector<TracedInst>;

/// The next run of a warp; false when there is none.
inline bool read_run(CtaStream& stream, std::uint32_t warp, TracedWarp& out) {
    Run run;
    if (!stream.next_run(warp, run)) return false;
    EXPECT_GE(run.count, 1u);
    for (std::uint32_t i = 0; i < run.count; ++i) {
        TracedInst& next = out.emplace_back();
        next.inst = run.first[i];
        next.active = run.active;
        if (run.active == 0 || next.inst.op < OpClass::load || next.inst.op > OpClass::atomic) continue;
        LaneAddresses lanes;
        stream.addresses(warp, run.first[i], run.active, lanes);
        lanes.expand(run.active);
        for (std::uint32_t lanes_left = run.active; lanes_left != 0; lanes_left &= lanes_left - 1)
            next.addresses.push_back(lanes.of(static_cast<std::uint32_t>(std::countr_zero(lanes_left))));
    }
    return true;
}

/// All warps of a CTA, one run of each in turn.
inline std::vector<TracedWarp> read_cta(CtaStream& stream, const KernelInfo& info, std::uint64_t cta) {
    stream.open(cta);
    std::vector<TracedWarp> warps(info.warps_per_cta());
    std::vector<bool> done(warps.size(), false);
    for (std::size_t finished = 0; finished < warps.size();) {
        for (std::uint32_t w = 0; w < warps.size(); ++w) {
            if (done[w] || read_run(stream, w, warps[w])) continue;
            done[w] = true;
            ++finished;
        }
    }
    return warps;
}

/// Every CTA of a kernel, in order.
inline std::vector<std::vector<TracedWarp>> read_kernel(const KernelSource& kernel) {
    std::vector<std::vector<TracedWarp>> ctas;
    const auto stream = kernel.make_stream();
    for (std::uint64_t cta = 0; cta < kernel.info().ctas(); ++cta) ctas.push_back(read_cta(*stream, kernel.info(), cta));
    return ctas;
}

inline std::unique_ptr<accelsim::TracedKernel> open_kernel(const std::string& path) {
    return std::make_unique<accelsim::TracedKernel>(std::make_unique<accelsim::TraceFile>(path));
}

/// The first warp of the only CTA.
inline TracedWarp read_lines(TraceText trace, const std::vector<std::string>& lines) {
    const auto kernel = open_kernel(trace.cta("0,0,0", {lines}).write());
    return read_kernel(*kernel).front().front();
}

}  // namespace mergelane::testing
