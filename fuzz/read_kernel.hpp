// SPDX-License-Identifier: MIT
// Reads what fuzzers made as a machine would, every instruction and every address of the first CTAs, and once more as functional warming
// would, which passes over the addresses of some instructions.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/error.hpp"
#include "core/kernel.hpp"
#include "core/passing_stream.hpp"

namespace mergelane {

/// `passing`: for instructions with an odd PC, instead of their addresses; nullptr: none.
inline void read_ctas(const KernelSource& kernel, CtaStream& stream, PassingStream* passing) {
    LaneAddresses lanes;
    for (std::uint64_t cta = 0; cta < kernel.info().ctas() && cta < 50; ++cta) {
        stream.open(cta);
        for (std::uint32_t warp = 0; warp < kernel.info().warps_per_cta(); ++warp) {
            Run run;
            while (stream.next_run(warp, run)) {
                for (std::uint32_t i = 0; i < run.count && run.active != 0; ++i) {
                    if (run.first[i].op < OpClass::load || run.first[i].op > OpClass::atomic) continue;
                    if (passing != nullptr && run.first[i].pc % 2 == 1) {
                        passing->pass_addresses(warp, run.first[i], run.active);
                        continue;
                    }
                    stream.addresses(warp, run.first[i], run.active, lanes);
                    if (lanes.run_count != 0) lanes.expand(run.active);
                }
            }
        }
    }
}

inline void read_kernel(const KernelSource& kernel) {
    read_ctas(kernel, *kernel.make_stream(), nullptr);
    const auto stream = kernel.make_stream();
    if (auto* const passing = dynamic_cast<PassingStream*>(stream.get())) read_ctas(kernel, *stream, passing);
}

/// Errors are sentences of one line.
inline void check_message(const InputError& error) {
    const std::string_view message = error.what();
    if (message.empty() || message.size() >= 2000 || message.find('\n') != std::string_view::npos) std::abort();
}

/// A file without a name that holds the bytes.
inline int file_of(std::string_view bytes) {
    const int file = ::memfd_create("fuzz", MFD_CLOEXEC);
    if (file < 0 || ::write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
    return file;
}

}  // namespace mergelane
