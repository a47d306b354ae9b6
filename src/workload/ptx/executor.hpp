// SPDX-License-Identifier: MIT
// Executes the CTAs of a launch: warps take turns; a divergence stack per warp; barriers.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "workload/ptx/child_launches.hpp"
#include "workload/ptx/lexer.hpp"
#include "workload/ptx/ptx.hpp"
#include "workload/ptx/warp.hpp"
#include "workload/record/recorded_kernel.hpp"

namespace mergelane::ptx {

class Executor {
public:
    Executor(const Module& module, const Program& program, const LaunchConfig& config, const std::vector<std::byte>& params,
             DeviceMemory& memory, const ExecOptions& options, record::RecordedKernel* recorded);
    ~Executor();
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;
    void run();
    /// The kernels that it launched, which have to be executed next; last one first.
    std::vector<ChildLaunch> take_children() { return children_.take(launch_.memory); }
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
    struct Cluster;
    struct Cta {
        std::uint64_t id = 0;
        Cluster* cluster = nullptr;
        std::vector<Warp> warps;
        std::vector<record::WarpRecorder> recorders;
        AlignedBytes registers, local, params, shared;
        std::array<Barrier, kBarriers> barriers;
        std::uint32_t live = 0;
    };
    /// CTAs that run at the same time; mostly one.
    struct Cluster {
        std::vector<std::unique_ptr<Cta>> ctas;  ///< by rank
        std::vector<std::byte*> shared;
        std::uint32_t arrived = 0;  ///< threads, at its barrier
        std::uint32_t phase = 0;    ///< of its barrier
    };
    enum class Outcome : std::uint8_t { finished, waits_for_others };

    std::unique_ptr<Cta> make_cta();
    std::unique_ptr<Cluster> make_cluster();
    void start(Cluster& cluster, std::uint64_t number);
    void start(Cta& cta, std::uint64_t id);
    void fill_specials(std::uint64_t cta, Warp& warp, bool by_lane) const;
    Outcome run_cluster(Cluster& cluster);
    Outcome run_cta(Cta& cta);
    void check_limits(const Cta& cta);
    bool stopped() const { return options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed); }
    void finish(Cta& cta);

    void turn(Cta& cta, Warp& warp);
    bool waits_for_others(Warp& warp) const;
    bool fetch(Cta& cta, Warp& warp);
    void begin(Warp& warp, std::uint32_t number);
    bool go_on(Warp& warp, std::uint32_t next);
    bool branch_together(Warp& warp, const Block& block);
    void end_block(Cta& cta, Warp& warp, const Block& block);
    /// The lanes that execute the instruction at the end of the block.
    static std::uint32_t lanes_at_end(const Warp& warp, const Block& block);
    void branch(Warp& warp, const Block& block);
    void diverge(Warp& warp, std::uint32_t join, std::uint32_t to, std::uint32_t mask, std::uint32_t rest_to, std::uint32_t rest);
    void table_branch(Warp& warp, const Block& block);
    void call(Warp& warp, const Block& block);
    void enter(Warp& warp, const Block& block, std::uint32_t call, std::uint32_t mask);
    void pointer_call(Warp& warp, const Block& block);
    // recursion.cpp
    void start_addresses(Warp& warp) const;
    bool is_active(const Warp& warp, std::uint32_t first_block) const;
    void keep_frame(Warp& warp, std::uint32_t number, std::uint32_t mask, std::uint32_t line);
    static void restore_frame(Warp& warp, std::uint32_t number, std::uint32_t mask);
    void return_results(Warp& warp, const CallSite& site, std::uint32_t mask);
    void leave(Warp& warp, const Block& block);
    void service(Warp& warp, const Block& block);
    std::uint64_t serve(Warp& warp, const ServiceSite& site, std::uint32_t lane);
    std::uint64_t serve_launch(Warp& warp, const ServiceSite& site, std::uint32_t lane);
    static void remove_lanes(Warp& warp, std::uint32_t mask);
    void trap(Warp& warp, const Block& block);
    void check_fault() const;
    void barrier(Cta& cta, Warp& warp, const Block& block);
    void release(Cta& cta, std::uint32_t number);
    void cluster_barrier(Cta& cta, Warp& warp, BarrierOp op, std::uint32_t mask);
    void release_cluster(Cluster& cluster);
    void note_wait(Warp& warp);
    bool run_sibling(Warp& warp);

    void copy_params(Warp& warp, const std::vector<Copy>& copies, std::uint32_t mask) const;
    template <class... Values>
    [[noreturn]] void fail_in(std::uint32_t line, fmt::format_string<const Values&...> text, const Values&... values) const {
        fail_at(launch_.module.file_name(), line, "kernel {}: {}", in_quotes(program_.name), fmt::format(text, values...));
    }
    template <class... Values>
    [[noreturn]] void fail(fmt::format_string<const Values&...> text, const Values&... values) const {
        fail_in(launch_.module.kernel(program_.name).line, text, values...);
    }

    const Program& program_;
    LaunchConfig config_;
    CtaPlace place_;  ///< of the CTA being started
    std::unique_ptr<Cluster> placed_cluster_;
    ExecOptions options_;
    record::RecordedKernel* recorded_;
    Launch launch_;
    std::uint32_t warps_;
    std::uint32_t shared_bytes_;
    std::vector<std::size_t> specials_;  ///< special registers in use
    ExecStats stats_;
    bool explicit_cluster_ = false;
    std::uint64_t check_at_ = 0;  ///< warp instructions
    std::string assertions_;      ///< that failed, one line per thread
    Addr workspace_ = 0;          ///< of a cooperative launch
    ChildLaunches children_;
};

}  // namespace mergelane::ptx
