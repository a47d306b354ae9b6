// SPDX-License-Identifier: MIT
// Any text given as PTX must be rejected with an InputError or become kernels. Kernels that can be decoded are executed for a while, with
// the same pointer in every parameter, and their recording is replayed.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "core/error.hpp"
#include "workload/ptx/ptx.hpp"

namespace {

void check_message(const mergelane::InputError& error) {
    const std::string_view message = error.what();
    if (message.empty() || message.size() >= 2000) std::abort();
}

void replay(const mergelane::KernelSource& kernel) {
    const auto stream = kernel.make_stream();
    for (std::uint64_t cta = 0; cta < kernel.info().ctas(); ++cta) {
        stream->open(cta);
        for (std::uint32_t warp = 0; warp < kernel.info().warps_per_cta(); ++warp) {
            mergelane::Run run;
            mergelane::LaneAddresses lanes;
            while (stream->next_run(warp, run)) {
                for (std::uint32_t i = 0; i < run.count; ++i) {
                    const mergelane::OpClass op = run.first[i].op;
                    if (op >= mergelane::OpClass::load && op <= mergelane::OpClass::atomic && run.active != 0)
                        stream->addresses(warp, run.first[i], run.active, lanes);
                }
            }
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace mergelane;
    std::shared_ptr<const ptx::Module> module;
    try {
        module = ptx::parse_module({reinterpret_cast<const char*>(data), size}, "fuzz.ptx");
    } catch (const InputError& error) {
        check_message(error);
        return 0;
    }
    for (const std::string_view name : module->kernels()) {
        for (const bool portable : {false, true}) {
            try {
                ptx::DeviceMemory memory(std::uint64_t{1} << 20);
                const Addr buffer = memory.allocate(4096);
                std::vector<std::byte> params(module->kernel(name).param_bytes());
                for (std::size_t at = 0; at + sizeof buffer <= params.size(); at += sizeof buffer)
                    std::memcpy(params.data() + at, &buffer, sizeof buffer);
                ptx::ExecOptions options;
                options.budget = 3000;
                options.portable = portable;
                options.quantum = portable ? 0 : 7;
                const auto kernel = ptx::execute(*module, name, {{2, 1, 1}, {40, 1, 1}, 256}, params, memory, options, true);
                replay(*kernel);
            } catch (const InputError& error) {
                check_message(error);
            }
        }
    }
    return 0;
}
