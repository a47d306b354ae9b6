// SPDX-License-Identifier: MIT
// A kernel held as recorded byte strings, one per CTA, so that CTAs can be replayed in any order.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/kernel.hpp"
#include "workload/record/cta_reader.hpp"
#include "workload/record/recorder.hpp"

namespace mergelane::record {

struct RecordTotals {
    std::uint64_t warp_instructions = 0;
    std::uint64_t memory_instructions = 0;
    std::uint64_t bytes = 0;
};

class RecordedKernel final : public KernelSource {
public:
    RecordedKernel(KernelInfo info, RecordedProgram program) : info_(std::move(info)), program_(std::move(program)), ctas_(info_.ctas()) {}

    const KernelInfo& info() const override { return info_; }
    std::unique_ptr<CtaStream> make_stream() const override;
    Listing listing() const override { return {program_.instructions, program_.text}; }

    /// Stores what the warps of a CTA recorded.
    void put(std::uint64_t cta, const std::vector<const WarpRecorder*>& warps);
    /// The same, from a result of cta().
    void put_bytes(std::uint64_t cta, std::string bytes);

    const RecordedProgram& program() const { return program_; }
    const std::vector<StaticInst>& instructions() const { return program_.instructions; }
    const std::string& cta(std::uint64_t index) const { return ctas_[index]; }
    const CtaReader::Counter& open_bytes() const { return open_bytes_; }

    RecordTotals totals;  ///< of the recording; informative

private:
    KernelInfo info_;
    RecordedProgram program_;
    std::vector<std::string> ctas_;
    CtaReader::Counter open_bytes_ = std::make_shared<std::atomic<std::uint64_t>>(0);
};

}  // namespace mergelane::record
