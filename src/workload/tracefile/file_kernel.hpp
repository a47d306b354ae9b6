// SPDX-License-Identifier: MIT
// A kernel of a trace file as an instruction source.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/kernel.hpp"
#include "workload/tracefile/format.hpp"
#include "workload/tracefile/program_text.hpp"
#include "workload/tracefile/trace_file.hpp"

namespace mergelane::tracefile {

class FileKernel final : public KernelSource {
public:
    FileKernel(const TraceFile& file, std::size_t number);

    const KernelInfo& info() const override { return info_; }
    std::unique_ptr<CtaStream> make_stream() const override;
    Listing listing() const override { return {program_.program.instructions, program_.program.text}; }

    const LoadedProgram& program() const { return program_; }
    const TraceFile& file() const { return file_; }
    const UnpackDictionary* dictionary(std::uint64_t cta) const { return cta == 0 ? nullptr : dictionary_.get(); }
    Block cta(std::uint64_t number) const { return {offsets_[number], offsets_[number + 1] - offsets_[number] - kHashBytes, raw_[number]}; }
    /// "x.mlt: kernel 2: " and "kernel 2: ", for error messages.
    std::string_view prefix() const { return prefix_; }
    std::string_view where() const { return prefix().substr(file_.name().size() + 2); }
    const record::CtaReader::Counter& open_bytes() const { return open_bytes_; }

private:
    void load();
    void read_table(std::string_view table);

    const TraceFile& file_;
    const KernelEntry& entry_;
    KernelInfo info_;
    std::string prefix_;
    LoadedProgram program_;
    std::vector<std::uint64_t> offsets_;  ///< of every CTA's block, and the end of the last one
    std::vector<std::uint32_t> raw_;      ///< bytes of every CTA, unpacked
    std::unique_ptr<UnpackDictionary> dictionary_;
    record::CtaReader::Counter open_bytes_ = std::make_shared<std::atomic<std::uint64_t>>(0);
};

}  // namespace mergelane::tracefile
