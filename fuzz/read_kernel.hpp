// SPDX-License-Identifier: MIT
// Reads what fuzzers made as a machine would: every instruction and every address of the first CTAs.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/error.hpp"
#include "core/kernel.hpp"

namespace mergelane {

inline void read_kernel(const KernelSource& kernel) {
    LaneAddresses lanes;
    const auto stream = kernel.make_stream();
    for (std::uint64_t cta = 0; cta < kernel.info().ctas() && cta < 50; ++cta) {
        stream->open(cta);
        for (std::uint32_t warp = 0; warp < kernel.info().warps_per_cta(); ++warp) {
            Run run;
            while (stream->next_run(warp, run)) {
                for (std::uint32_t i = 0; i < run.count && run.active != 0; ++i) {
                    if (run.first[i].op < OpClass::load || run.first[i].op > OpClass::atomic) continue;
                    stream->addresses(warp, run.first[i], run.active, lanes);
                    if (lanes.run_count != 0) lanes.expand(run.active);
                }
            }
        }
    }
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
