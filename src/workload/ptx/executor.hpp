// SPDX-License-Identifier: MIT
// Executes the CTAs of a launch: warps take turns; a divergence stack per warp; barriers.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "workload/ptx/lexer.hpp"
#include "workload/ptx/ptx.hpp"
#include "workload/ptx/warp.hpp"
#include "workload/record/recorded_kernel.hpp"

namespace mergelane::ptx {

class Executor {
public:
    Executor(const Module& module, const Program& program, const LaunchConfig& config, const std::vector<std::byte>& params,
             DeviceMemory& memory, const ExecOptions& options, record::RecordedKernel* recorded);
    void run();
    /// Executes one CTA at its place; other CTAs may not have been executed yet.
    void run_placed(std::uint64_t cta, const CtaPlace& place);

private:
    static constexpr std::uint32_t kBarriers = 16;
    struct Barrier {
        std::uint32_t arrived = 0;   ///< warps
        std::uint32_t expected = 0;  ///< warps; 0: all that have not finished
        std::uint32_t count = 0;     ///< threads whose predicate held
        bool all = true;
    };
    struct Cta {
        std::uint64_t id = 0;
        std::vector<Warp> warps;
        std::vector<record::WarpRecorder> recorders;
        AlignedBytes registers, local, params, shared;
        std::array<Barrier, kBarriers> barriers;
        std::uint32_t live = 0;
    };
    enum class Outcome : std::uint8_t { finished, waits_for_others };

    std::unique_ptr<Cta> make_cta();
    void start(Cta& cta, std::uint64_t id);
    void fill_specials(Cta& cta, Warp& warp) const;
    Outcome run_cta(Cta& cta);
    void check_limits(const Cta& cta);
    bool stopped() const { return options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed); }
    void finish(Cta& cta);

    void turn(Cta& cta, Warp& warp);
    bool fetch(Cta& cta, Warp& warp);
    void end_block(Cta& cta, Warp& warp, const Block& block);
    void branch(Warp& warp, const Block& block);
    void diverge(Warp& warp, std::uint32_t join, std::uint32_t to, std::uint32_t mask, std::uint32_t rest_to, std::uint32_t rest);
    void table_branch(Warp& warp, const Block& block);
    void call(Warp& warp, const Block& block);
    void leave(Warp& warp, const Block& block);
    void barrier(Cta& cta, Warp& warp, const Block& block);
    void release(Cta& cta, std::uint32_t number);
    void note_wait(Warp& warp);
    bool run_sibling(Warp& warp);

    void copy_params(Warp& warp, const std::vector<Copy>& copies, std::uint32_t mask) const;
    template <class... Values>
    [[noreturn]] void fail(fmt::format_string<const Values&...> text, const Values&... values) const {
        fail_at(launch_.module.file_name(), launch_.module.kernel(program_.name).line, "kernel {}: {}", in_quotes(program_.name),
                fmt::format(text, values...));
    }

    const Program& program_;
    LaunchConfig config_;
    CtaPlace place_;  ///< of the CTA being started
    std::unique_ptr<Cta> placed_cta_;
    ExecOptions options_;
    record::RecordedKernel* recorded_;
    Launch launch_;
    std::uint32_t warps_;
    std::uint32_t shared_bytes_;
    ExecStats stats_;
    std::uint64_t check_at_ = 0;  ///< warp instructions
};

}  // namespace mergelane::ptx
