// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "core/error.hpp"
#include "dispatch/own_instructions.hpp"
#include "dispatch/past_l1.hpp"
#include "dispatch/task_ahead.hpp"

namespace mergelane {

namespace {

/// Addresses of the agent counters, one word per SM; no built-in kernel uses this range.
constexpr Addr kCounters = Addr{0x7F00} << 32;

/// As many CTAs as fit on all SMs. Each determines its SM and executes the tasks of that SM's CTA cluster one after another.
class AgentKernel final : public KernelSource {
public:
    AgentKernel(const KernelSource& kernel, const ClusteringSpec& spec, const TransformTarget& target)
        : past_l1_(past_l1(kernel, pc_list(spec.bypass))),
          kernel_(past_l1_ != nullptr ? *past_l1_ : kernel),
          info_(kernel.info()),
          order_(spec.order_of(info_.grid)),
          clusters_(info_.ctas(), target.sms),
          per_sm_(target.ctas_per_sm),
          active_(spec.agents == 0 ? per_sm_ : std::min(spec.agents, per_sm_)),
          prefetch_(spec.prefetch),
          counts_(spec.agent_id == ClusteringSpec::AgentId::atomic),
          places_(std::size_t{target.sms} * per_sm_),
          placed_(target.sms),
          done_(info_.ctas()) {
        first_ = address_arithmetic(info_, spec.agent_instructions);
        each_ = address_arithmetic(info_, spec.task_instructions);
        barrier_[0].pc = kAddedPc;
        barrier_[0].op = OpClass::barrier;
        barrier_[0].lane_bytes = 0;
        if (counts_) count_in_memory();
        info_.grid = {static_cast<std::uint32_t>(places_.size()), 1, 1};
    }

    const KernelInfo& info() const override { return info_; }
    std::unique_ptr<CtaStream> make_stream() const override { return std::make_unique<Stream>(*this); }
    Listing listing() const override { return kernel_.listing(); }
    bool wants_places() const override { return true; }

    /// An SM belongs to one dispatcher, so no two threads write the same entries.
    void place(std::uint64_t agent, const CtaPlace& place) const override {
        std::uint32_t& placed = placed_[place.sm];
        places_[agent] = {place.sm, counts_ ? placed : place.slot};
        if (++placed > per_sm_)
            throw SimulationError(fmt::format(
                "kernel '{}': SM {} received {} agents, but {} fit; agents of other SMs are missing, so their tasks would never run",
                info_.name, place.sm, placed, per_sm_));
    }

    /// Every task has been executed exactly once. Agents placed differently than planned would leave some out.
    void finish() const override {
        for (std::uint64_t task = 0; task < done_.size(); ++task) {
            const std::uint32_t times = done_[task].load(std::memory_order_relaxed);
            if (times != 1)
                throw SimulationError(fmt::format("kernel '{}': agents executed the task of CTA {} {} times", info_.name, task, times));
        }
    }

private:
    /// One warp counts, and enters the barrier when it knows the agent's number.
    void count_in_memory() {
        const auto number = static_cast<std::uint16_t>(info_.register_slots++);
        StaticInst& atomic = atomic_[0];
        atomic.op = OpClass::atomic;
        StaticInst& use = tell_[0];
        for (StaticInst* inst : {&atomic, &use}) {
            inst->pc = kAddedPc;
            inst->dst_count = inst->reg_count = 1;
            inst->regs[0] = number;
        }
        tell_[1] = barrier_[0];
    }

    struct Agent {
        std::uint32_t sm = 0;
        std::uint32_t id = 0;
    };

    class Stream final : public CtaStream {
    public:
        explicit Stream(const AgentKernel& kernel) : kernel_(kernel), warps_(kernel.info_.warps_per_cta()) {
            tasks_[0].stream = kernel.kernel_.make_stream();
            if (kernel.prefetch_ == 0) return;
            tasks_[1].stream = kernel.kernel_.make_stream();
            ahead_ = std::make_unique<TaskAhead>(kernel.info_, kernel.prefetch_);
        }

        void open(std::uint64_t agent) override {
            agent_ = kernel_.places_[agent];
            std::fill(warps_.begin(), warps_.end(), Warp());
            opened_ = 0;
            ended_ = 0;
            if (ahead_ != nullptr) ahead_->clear();
        }

        bool next_run(std::uint32_t warp, Run& run) override {
            Warp& w = warps_[warp];
            if (w.at < At::between && begin(w, warp, run)) return true;
            if (w.at == At::in_task) {
                if (next_of_task(w, warp, run)) return true;
                ++w.ended;
                w.at = At::between;
            }
            if (w.at == At::between) {
                if (!has_task(w.ended)) return false;
                w.at = At::finding;
                return give(kernel_.each_, warp, run);
            }
            if (w.ended != 0 && join(w, warp, run)) return true;
            if (opened_ == w.ended) open_task();
            w.at = At::in_task;
            return next_run(warp, run);
        }

        void addresses(std::uint32_t warp, const StaticInst& inst, std::uint32_t active, LaneAddresses& out) override {
            if (&inst != kernel_.atomic_.data()) {
                if (ahead_ == nullptr || !ahead_->addresses(warp, inst, out))
                    task_of(warps_[warp]).stream->addresses(warp, inst, active, out);
                return;
            }
            out.affine = true;
            out.run_count = 0;
            out.base = kCounters + 4 * agent_.sm;
            out.stride = 0;
        }

        /// Data fetched for the next task is attributed to that task.
        std::uint64_t task(std::uint32_t warp, std::uint64_t) const override { return task_of(warps_[warp]).cta; }

    private:
        enum class At : std::uint8_t { start, counting, telling, between, finding, fetching, joining, in_task };
        struct Warp {
            At at = At::start;
            std::uint64_t ended = 0;  ///< tasks
        };

        struct Task {
            std::unique_ptr<CtaStream> stream;
            std::uint64_t cta = 0;  ///< of the original kernel
        };

        /// The instructions before its first task; false: none left.
        bool begin(Warp& w, std::uint32_t warp, Run& run) {
            if (w.at == At::start) {
                w.at = kernel_.counts_ ? At::counting : At::between;
                if (!kernel_.first_.empty()) return give(kernel_.first_, warp, run);
            }
            if (w.at == At::counting) {  // one lane, which informs the others
                w.at = At::telling;
                run = {kernel_.atomic_.data(), 1, 1};
                if (warp == 0) return true;
            }
            if (w.at != At::telling) return false;
            w.at = At::between;
            return give(warp == 0 ? kernel_.tell_ : kernel_.barrier_, warp, run);
        }
        /// A warp that has ended its task waits for the others, which may have more barriers before they end it. Returns false when all
        /// have ended.
        bool join(Warp& w, std::uint32_t warp, Run& run) {
            if (w.at == At::finding) {
                // It counts as ended only now: a task may end with a barrier, and warps that waited there must not see this warp as ended
                // before it has reached the next one.
                ++ended_;
                w.at = At::fetching;
                if (ahead_ != nullptr) {
                    if (opened_ == w.ended) open_task();  // in addition to the one that others have not ended
                    ahead_->read(warp, *task_of(w).stream);
                }
            }
            if (w.at == At::fetching) {
                if (ahead_ != nullptr && ahead_->fetch(warp, run)) return true;
                w.at = At::joining;
                return give(kernel_.barrier_, warp, run);
            }
            return ended_ < w.ended * warps_.size() && give(kernel_.barrier_, warp, run);
        }
        bool next_of_task(const Warp& w, std::uint32_t warp, Run& run) {
            if (ahead_ != nullptr) {
                if (ahead_->replay(warp, run)) return true;
                if (ahead_->read_all(warp)) return false;
            }
            return task_of(w).stream->next_run(warp, run);
        }
        bool has_task(std::uint64_t number) const {
            return agent_.id < kernel_.active_ && agent_.id + number * kernel_.active_ < kernel_.clusters_.size(agent_.sm);
        }
        void open_task() {
            Task& task = tasks_[place_of(opened_)];
            task.cta = kernel_.order_.cta(kernel_.clusters_.task({agent_.id + opened_ * kernel_.active_, agent_.sm}));
            ++opened_;
            kernel_.done_[task.cta].fetch_add(1, std::memory_order_relaxed);
            task.stream->open(task.cta);
        }
        /// Two tasks are open if the next one is opened before all warps have ended this one; all have ended the one before.
        std::size_t place_of(std::uint64_t number) const { return ahead_ != nullptr ? number % tasks_.size() : 0; }
        Task& task_of(const Warp& w) { return tasks_[place_of(w.ended)]; }
        const Task& task_of(const Warp& w) const { return tasks_[place_of(w.ended)]; }
        bool give(const std::vector<StaticInst>& instructions, std::uint32_t warp, Run& run) const {
            run = run_of(instructions, kernel_.info_, warp);
            return true;
        }

        const AgentKernel& kernel_;
        std::array<Task, 2> tasks_;         ///< the current task and the next
        std::unique_ptr<TaskAhead> ahead_;  ///< if data of the next task is prefetched
        std::vector<Warp> warps_;
        Agent agent_;
        std::uint64_t opened_ = 0;  ///< tasks
        std::uint64_t ended_ = 0;   ///< tasks times warps
    };

    const std::unique_ptr<KernelSource> past_l1_;  ///< if some loads bypass the L1
    const KernelSource& kernel_;
    KernelInfo info_;
    TaskOrder order_;
    TaskClusters clusters_;
    const std::uint32_t per_sm_;
    const std::uint32_t active_;
    const std::uint32_t prefetch_;
    const bool counts_;
    std::vector<StaticInst> first_, each_;
    std::vector<StaticInst> barrier_ = std::vector<StaticInst>(1);
    std::vector<StaticInst> atomic_ = std::vector<StaticInst>(1);
    std::vector<StaticInst> tell_ = std::vector<StaticInst>(2);
    mutable std::vector<Agent> places_;                     ///< by agent
    mutable std::vector<std::uint32_t> placed_;             ///< agents, by SM
    mutable std::vector<std::atomic<std::uint32_t>> done_;  ///< how often executed, by task
};

}  // namespace

std::unique_ptr<KernelTransform> make_agents(const DispatchSpec&, const Sections& sections) {
    return std::make_unique<WrappedBy<AgentKernel>>("agents", sections);
}

}  // namespace mergelane
