// SPDX-License-Identifier: MIT
// Encodes the instructions of a CTA. The encoding starts with the first address of each warp at each memory instruction, as small
// differences between warps and to the first CTA. The warps' strings that follow (see record/recorder.hpp) contain no absolute addresses,
// so that warps and CTAs with the same behaviour have the same encoding.
#pragma once

#include <string>
#include <vector>

#include "core/kernel.hpp"
#include "workload/record/recorder.hpp"
#include "workload/tracefile/run_dictionary.hpp"

namespace mergelane::tracefile {

class CtaEncoder {
public:
    CtaEncoder(RunDictionary& runs, std::uint32_t warps);

    /// Reads all warps of the open CTA, one after another. The bytes stay valid until the next call.
    const std::string& encode(CtaStream& stream);

    /// First address of each memory instruction in the whole kernel.
    const std::vector<Addr>& references() const { return references_; }
    std::uint64_t warp_instructions = 0;
    std::uint64_t thread_instructions = 0;
    std::uint64_t memory_instructions = 0;

private:
    void encode_warp(CtaStream& stream, std::uint32_t warp, std::string& out);
    void put_addresses(CtaStream& stream, std::uint32_t warp, const StaticInst& inst, std::uint32_t active, std::uint32_t memory);
    void note_first(std::uint32_t memory, std::uint32_t warp, Addr base);
    void put_firsts(std::string& out) const;

    RunDictionary& runs_;
    std::uint32_t warps_;
    record::WarpRecorder events_;   ///< runs only
    record::WarpRecorder records_;  ///< addresses of the run that is being read
    LaneAddresses lanes_;
    std::vector<std::string> strings_;  ///< per warp
    std::vector<std::uint64_t> seen_;   ///< per memory instruction: which warps reached it
    std::vector<Addr> firsts_;          ///< per memory instruction and warp
    std::vector<Addr> references_;
    std::vector<bool> referenced_;  ///< which of them are set
    std::string bytes_;
};

}  // namespace mergelane::tracefile
