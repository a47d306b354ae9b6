// SPDX-License-Identifier: MIT
// A kernel of an Accel-Sim trace as an instruction source. Text is decoded line by line as warps advance.
#pragma once

#include <memory>

#include "core/kernel.hpp"
#include "workload/accelsim/program.hpp"
#include "workload/accelsim/trace_file.hpp"

namespace mergelane::accelsim {

class TracedKernel final : public KernelSource {
public:
    /// `timed`: what has no timing is refused, the kernel's clusters at once and instructions where they are.
    explicit TracedKernel(std::unique_ptr<TraceFile> file, bool timed = false);

    const KernelInfo& info() const override { return info_; }
    std::unique_ptr<CtaStream> make_stream() const override;

    const Program& program() const { return *program_; }
    const TraceFile& file() const { return *file_; }

private:
    std::unique_ptr<TraceFile> file_;
    std::unique_ptr<Program> program_;
    KernelInfo info_;
};

}  // namespace mergelane::accelsim
