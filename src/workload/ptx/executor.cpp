// SPDX-License-Identifier: MIT
// CTAs and their warps; divergence.cpp handles the end of a block.
#include "workload/ptx/executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>

#include "core/error.hpp"
#include "workload/ptx/decode.hpp"

namespace mergelane::ptx {

namespace {

constexpr std::uint32_t kMostThreads = 1024;
constexpr std::uint64_t kMostCtas = std::uint64_t{1} << 26;
constexpr std::uint32_t kMostShared = 1u << 20;
constexpr std::size_t kMostWarnings = 1000;
/// Iterations a warp waits before its CTA yields, CTAs that may wait at once, and iterations without progress over all of them.
constexpr std::uint32_t kWaitsBeforeYield = 256;
constexpr std::size_t kMostLiveCtas = 4096;
constexpr std::uint32_t kMostUselessRounds = 1000;
constexpr std::uint64_t kCheckEvery = std::uint64_t{1} << 18;  ///< warp instructions between two looks at the limits
constexpr std::uint64_t kWorkspaceBytes = 256;                 ///< of a cooperative launch: its size, the barrier
constexpr std::size_t kMostCtaBytes = std::size_t{1} << 30;

/// CTAs of a cluster: as the kernel requires, as the launch says, or one.
template <class Fail>
Dim3 cluster_of(const Function& function, const LaunchConfig& config, const Fail& fail) {
    const bool required = function.cluster.x != 0;
    const bool given = !(config.cluster == Dim3{0, 0, 0});
    const Dim3 made = given ? config.cluster : required ? function.cluster : Dim3{};
    const Dim3& own = function.cluster;
    if (function.explicit_cluster && !given && !required)
        fail("it must be launched with clusters of CTAs; give their dimensions at launch, or compile it without clusters");
    if (given && required && !(made == own))
        fail("it requires clusters of {} x {} x {} CTAs, but the launch says {} x {} x {}; make them agree", own.x, own.y, own.z, made.x,
             made.y, made.z);
    const std::uint32_t most = kMostClusterCtas;
    if (made.x == 0 || made.y == 0 || made.z == 0 || made.x > most || made.y > most || made.z > most || made.count() > most)
        fail("a cluster of {} x {} x {} CTAs cannot be launched; use 1 to {}", made.x, made.y, made.z, most);
    if (config.grid.x % made.x != 0 || config.grid.y % made.y != 0 || config.grid.z % made.z != 0)
        fail("a grid of {} x {} x {} CTAs cannot be divided into clusters of {} x {} x {}; use a multiple", config.grid.x, config.grid.y,
             config.grid.z, made.x, made.y, made.z);
    return made;
}

/// " (app.cu:13)", or nothing if the PTX does not say.
std::string source_place(const Program& program, std::uint32_t ptx_line) {
    const ProgramText& text = *program.timed.text;
    const auto found = std::find_if(text.origins.begin(), text.origins.end(), [&](const auto& o) { return o.ptx_line == ptx_line; });
    if (found == text.origins.end() || found->source.line == 0) return "";
    const std::string_view file = text.words[found->source.file];
    return fmt::format(" ({}:{})", file.substr(file.rfind('/') + 1), found->source.line);
}

/// Which memory the access misses, and by how much.
std::string what_is_there(const Launch& launch, const Warp& warp, const OutOfBounds& access) {
    if (access.space == StateSpace::shared) return fmt::format("outside the {} bytes of shared memory of the CTA", warp.shared_bytes);
    if (access.space == StateSpace::local) return fmt::format("outside the {} bytes of local memory", launch.program.local_bytes);
    constexpr Addr kNullPage = 4096;
    if (access.address < kNullPage) return "which looks like an offset to a null pointer";
    const DeviceMemory::Range near = launch.memory.nearest(access.address);
    if (near.bytes == 0) return "while nothing is allocated";
    const auto said = [&](std::uint64_t distance, std::string_view where) {
        return fmt::format("{} bytes {} the allocation of {} bytes at {:#x}", distance, where, near.bytes, near.base);
    };
    if (access.address < near.base) return said(near.base - access.address, "before");
    const std::uint64_t offset = access.address - near.base;
    if (offset >= near.bytes) return said(offset - near.bytes, "after");
    return said(offset + access.bytes - near.bytes, "too long for");
}

}  // namespace

void Launch::warn(const Warp& warp, const Inst& inst, const OutOfBounds& access) {
    if (warned[inst.memory] != 0) return;
    warned[inst.memory] = 1;
    if (memory.warnings().size() >= kMostWarnings) return;
    memory.warnings().push_back(fmt::format("{}: {} of {} bytes at {:#x}, {}; {}", where(warp, inst, access.lane),
                                            inst.store ? "invalid write" : "invalid read", access.bytes, access.address,
                                            what_is_there(*this, warp, access), inst.store ? "nothing is written" : "it reads 0"));
}

void Launch::refuse(const Warp& warp, const Inst& inst, std::uint32_t lane, std::string_view why) const {
    throw InputError(fmt::format("{}: {}", where(warp, inst, lane), why));
}

std::string Launch::where(const Warp& warp, const Inst& inst, std::uint32_t lane) const {
    return fmt::format("{}:{}: kernel {}{}, CTA {}, thread {}", module.file_name(), inst.line, program.name,
                       source_place(program, inst.line), warp.cta, warp.index * kWarpLanes + lane);
}

void AlignedBytes::resize(std::size_t bytes) {
    data = std::make_unique<std::byte[]>(bytes + 64);
    aligned = data.get() + (64 - reinterpret_cast<std::uintptr_t>(data.get()) % 64) % 64;
}

Executor::Executor(const Module& module, const Program& program, const LaunchConfig& config, const std::vector<std::byte>& params,
                   DeviceMemory& memory, const ExecOptions& options, record::RecordedKernel* recorded)
    : program_(program),
      config_(config),
      options_(options),
      recorded_(recorded),
      launch_(program, module, memory),
      warps_(static_cast<std::uint32_t>((config.block.count() + kWarpLanes - 1) / kWarpLanes)),
      shared_bytes_(config.dynamic_shared == 0 ? std::max(program.shared_bytes, program.dynamic_shared)
                                               : program.dynamic_shared + config.dynamic_shared) {
    launch_.executed = &stats_.warp_instructions;
    for (std::size_t s = 0; s < program.specials.size(); ++s) {
        if (program.specials[s] != kAbsent) specials_.push_back(s);
    }
    if (config.cooperative) workspace_ = memory.allocate(kWorkspaceBytes);
    explicit_cluster_ = config.cluster.count() > 1 || module.kernel(program.name).explicit_cluster;
    launch_.params = params.data();
    launch_.param_bytes = static_cast<std::uint32_t>(params.size());
    launch_.ranges.resize(program.timed.memory_count);
    launch_.warned.resize(program.timed.memory_count);
    launch_.pool.resize(program.pool.size());
    std::memcpy(launch_.pool.aligned, program.pool.data(), program.pool.size());
    for (const PoolAddress& address : program.pool_addresses) {
        const std::uint64_t value = memory.symbol(module, address.symbol) + static_cast<std::uint64_t>(address.addend);
        for (std::uint32_t lane = 0; lane < kWarpLanes; ++lane)
            std::memcpy(launch_.pool.aligned + address.at + std::size_t{lane} * address.bytes, &value, address.bytes);
    }
}

Executor::~Executor() {
    if (workspace_ != 0) launch_.memory.free(workspace_);
}

std::unique_ptr<Executor::Cta> Executor::make_cta() {
    auto cta = std::make_unique<Cta>();
    cta->warps.resize(warps_);
    cta->recorders.resize(recorded_ != nullptr ? warps_ : 0);
    // The stagger keeps the same register of several warps out of the same cache set.
    const std::size_t file = program_.register_bytes + 64;
    const std::size_t local = std::size_t{program_.local_bytes} * kWarpLanes;
    const std::size_t params = std::size_t{program_.parameter_bytes} * kWarpLanes;
    cta->registers.resize(file * warps_);
    cta->local.resize(local * warps_);
    cta->params.resize(params * warps_);
    cta->shared.resize(shared_bytes_);
    for (std::uint32_t w = 0; w < warps_; ++w) {
        Warp& warp = cta->warps[w];
        warp.regs = cta->registers.aligned + file * w;
        warp.local = cta->local.aligned + local * w;
        warp.call_params = cta->params.aligned + params * w;
        warp.shared = cta->shared.aligned;
        warp.shared_bytes = shared_bytes_;
        warp.pool = launch_.pool.aligned;
        warp.launch = &launch_;
        warp.index = w;
        warp.recorder = recorded_ != nullptr ? &cta->recorders[w] : nullptr;
        fill_specials(0, warp, true);
    }
    return cta;
}

std::unique_ptr<Executor::Cluster> Executor::make_cluster() {
    auto cluster = std::make_unique<Cluster>();
    const std::uint64_t size = config_.cluster.count();
    for (std::uint32_t rank = 0; rank < size; ++rank) {
        cluster->ctas.push_back(make_cta());
        cluster->ctas.back()->cluster = cluster.get();
        cluster->shared.push_back(cluster->ctas.back()->shared.aligned);
    }
    for (std::uint32_t rank = 0; rank < size; ++rank) {
        for (Warp& warp : cluster->ctas[rank]->warps) {
            warp.cluster = cluster->shared.data();
            warp.cluster_size = static_cast<std::uint32_t>(size);
            warp.rank = rank;
        }
    }
    return cluster;
}

void Executor::start(Cluster& cluster, std::uint64_t number) {
    cluster.arrived = cluster.phase = 0;
    KernelInfo launch;
    launch.grid = config_.grid;
    launch.cluster = config_.cluster;
    for (std::uint32_t rank = 0; rank < cluster.ctas.size(); ++rank) start(*cluster.ctas[rank], launch.cta_of(number, rank));
}

void Executor::start(Cta& cta, std::uint64_t id) {
    cta.id = id;
    cta.live = warps_;
    cta.barriers.fill({});
    std::memset(cta.shared.aligned, 0, shared_bytes_);
    if (recorded_ != nullptr) launch_.mbarriers.forget(cta.shared.aligned, shared_bytes_);
    const std::uint64_t threads = config_.block.count();
    for (Warp& warp : cta.warps) {
        const std::uint64_t left = threads - std::uint64_t{warp.index} * kWarpLanes;
        const std::uint32_t mask = left >= kWarpLanes ? 0xFFFFFFFFu : (1u << left) - 1;
        warp.stack.assign(1, {program_.entry, kNone, mask, kNone});
        warp.block = kNone;
        warp.state = WarpState::ready;
        warp.carry = 0;
        warp.cta = id;
        warp.waits = 0;
        warp.local_address = kLocalArena + (id * warps_ + warp.index) * program_.local_bytes * kWarpLanes;
        if (!program_.recursive.empty()) start_addresses(warp);
        if (warp.recorder != nullptr) warp.recorder->start(program_.timed.memory_count);
        fill_specials(id, warp, false);
    }
}

/// `by_lane`: those that differ between lanes, which stay as they are for all CTAs; otherwise the others.
void Executor::fill_specials(std::uint64_t cta, Warp& warp, bool by_lane) const {
    ThreadPosition at{config_.grid,
                      config_.block,
                      config_.cluster,
                      explicit_cluster_,
                      place_,
                      cta,
                      warps_,
                      warp.index,
                      0,
                      config_.dynamic_shared,
                      shared_bytes_ - program_.reserved_shared,
                      workspace_};
    for (const std::size_t s : specials_) {
        const Special& special = special_registers()[s];
        if (special.by_lane != by_lane) continue;
        std::array<std::uint64_t, kWarpLanes> values;
        values.fill(special.value(at));
        for (at.lane = 0; by_lane && at.lane < kWarpLanes; ++at.lane) values[at.lane] = special.value(at);
        at.lane = 0;
        std::byte* const to = warp.regs + program_.specials[s];
        if (special.bytes == sizeof(std::uint64_t)) {
            std::memcpy(to, values.data(), sizeof values);
        } else {
            std::array<std::uint32_t, kWarpLanes> words;
            std::transform(values.begin(), values.end(), words.begin(),
                           [](std::uint64_t value) { return static_cast<std::uint32_t>(value); });
            std::memcpy(to, words.data(), sizeof words);
        }
    }
}

/// CTAs in numerical order. A CTA whose warps all wait yields to the following ones, and is retried whenever another one finishes or waits
/// too.
void Executor::run() {
    const std::uint64_t size = config_.cluster.count();
    const std::uint64_t total = config_.grid.count() / size;
    const std::size_t most_waiting = kMostLiveCtas / size;
    std::uint64_t next = 0;
    std::vector<std::unique_ptr<Cluster>> spare;
    std::deque<std::unique_ptr<Cluster>> waiting;
    std::uint64_t changes = 0;
    std::size_t useless = 0;
    while (next < total || !waiting.empty()) {
        std::unique_ptr<Cluster> cluster;
        if (next < total && waiting.size() < most_waiting && (waiting.empty() || useless > 0)) {
            if (spare.empty()) {
                cluster = make_cluster();
            } else {
                cluster = std::move(spare.back());
                spare.pop_back();
            }
            start(*cluster, next++);
            useless = 0;
        } else {
            cluster = std::move(waiting.front());
            waiting.pop_front();
        }
        stats_.most_live_ctas = std::max<std::uint64_t>(stats_.most_live_ctas, (waiting.size() + 1) * size);
        if (run_cluster(*cluster) == Outcome::finished) {
            spare.push_back(std::move(cluster));
            useless = 0;
        } else {
            waiting.push_back(std::move(cluster));
            useless = launch_.changes != changes && next == total ? 0 : useless + 1;
            if (useless > std::size_t{kMostUselessRounds} * (waiting.size() + 1) && (next == total || waiting.size() >= most_waiting))
                fail("{} CTAs wait for something that never happens; is a lock never released?", waiting.size() * size);
        }
        changes = launch_.changes;
    }
    if (options_.stats != nullptr) *options_.stats = stats_;
    if (recorded_ != nullptr) recorded_->totals.warp_instructions = stats_.warp_instructions;
}

void Executor::run_placed(std::uint64_t cta, const CtaPlace& place) {
    place_ = place;
    launch_.clock_base = 0;
    launch_.clock_base = place.cycle - launch_.clock();
    if (placed_cluster_ == nullptr) placed_cluster_ = make_cluster();
    start(*placed_cluster_, cta);
    if (run_cluster(*placed_cluster_) != Outcome::finished)
        fail(
            "CTA {} waits for another one, but the kernel also reads its SM, its warp slot or a clock, so that its CTAs "
            "execute one after the other when they are placed; do without one of the two",
            cta);
    if (options_.stats != nullptr) *options_.stats = stats_;
    recorded_->totals.warp_instructions = stats_.warp_instructions;
}

/// CTAs of a cluster take turns until all of them wait.
Executor::Outcome Executor::run_cluster(Cluster& cluster) {
    for (;;) {
        const std::uint64_t changes = launch_.changes;
        const std::uint32_t phase = cluster.phase;
        bool all = true;
        bool progress = false;
        for (const auto& cta : cluster.ctas) {
            if (cta->live == 0) continue;
            const Outcome outcome = run_cta(*cta);
            check_fault();
            if (outcome == Outcome::finished)
                finish(*cta), progress = true;
            else
                all = false;
        }
        if (all) return Outcome::finished;
        if (!progress && (cluster.ctas.size() == 1 || launch_.changes == changes) && cluster.phase == phase)
            return Outcome::waits_for_others;
    }
}

Executor::Outcome Executor::run_cta(Cta& cta) {
    for (Warp& warp : cta.warps) warp.waits = 0;
    while (cta.live > 0) {
        bool any = false;
        bool all_wait = true;
        for (Warp& warp : cta.warps) {
            if (warp.state != WarpState::ready) continue;
            any = true;
            turn(cta, warp);
            all_wait = all_wait && (warp.waits >= kWaitsBeforeYield || warp.state != WarpState::ready);
            if (warp.state == WarpState::done) all_wait = false;
        }
        if (!any && std::any_of(cta.warps.begin(), cta.warps.end(), [](const Warp& w) { return w.state == WarpState::at_cluster_barrier; }))
            return Outcome::waits_for_others;
        if (!any)
            fail("CTA {}: its warps wait at barriers that the others never reach; check that all threads pass the same barriers", cta.id);
        if (stats_.warp_instructions >= check_at_) check_limits(cta);
        if (all_wait) {
            bool waits = false;
            for (const Warp& warp : cta.warps) waits = waits || (warp.state == WarpState::ready && warp.waits >= kWaitsBeforeYield);
            for (const Warp& warp : cta.warps) waits = waits && (warp.state != WarpState::ready || warp.waits >= kWaitsBeforeYield);
            if (waits) return Outcome::waits_for_others;
        }
    }
    return Outcome::finished;
}

/// Kernels that never end would otherwise execute, and be recorded, forever.
void Executor::check_limits(const Cta& cta) {
    if (stopped()) throw Interrupted{};
    if (options_.budget != 0 && stats_.warp_instructions > options_.budget)
        fail(
            "more than {} warp instructions were executed; does it end? If so, raise --max-instructions and, if the manifest has it, "
            "budget",
            options_.budget);
    std::size_t bytes = 0;
    for (const record::WarpRecorder& recorder : cta.recorders) bytes += recorder.bytes().size();
    if (bytes > kMostCtaBytes)
        fail("the recording of CTA {} alone has more than {} MiB; does it end? If so, divide its work among more CTAs", cta.id,
             kMostCtaBytes >> 20);
    if (recorded_ != nullptr && recorded_->totals.bytes > options_.most_recorded)
        fail("its recording has more than {} MiB after {} of {} CTAs; launch it with fewer CTAs, or let each do less",
             options_.most_recorded >> 20, cta.id, config_.grid.count());
    check_at_ = stats_.warp_instructions + kCheckEvery;
    if (options_.budget != 0) check_at_ = std::min(check_at_, options_.budget + 1);
}

void Executor::finish(Cta& cta) {
    if (recorded_ == nullptr) return;
    std::vector<const record::WarpRecorder*> warps;
    for (const record::WarpRecorder& recorder : cta.recorders) warps.push_back(&recorder);
    recorded_->put(cta.id, warps);
}

/// Runs one warp for one quantum, or until it waits or ends.
void Executor::turn(Cta& cta, Warp& warp) {
    std::uint64_t left = options_.quantum != 0 ? options_.quantum : ~std::uint64_t{0};
    std::uint64_t done = 0;
    while (left > 0) {
        if (warp.block == kNone && !fetch(cta, warp)) break;
        const Block& block = program_.blocks[warp.block];
        const auto many = static_cast<std::uint32_t>(std::min<std::uint64_t>(block.end - warp.at, left));
        if (warp.mask != 0) {
            const Inst* inst = program_.code.data() + warp.at;
            const Inst* const end = inst + many;
            const std::uint32_t mask = warp.mask;
            for (; inst != end; ++inst) inst->fn(warp, *inst, mask);
        }
        warp.at += many;
        left -= many;
        done += many;
        if (warp.at != block.end) break;
        if (block.how == End::fall) {
            if (go_on(warp, warp.block + 1)) continue;
            warp.stack.back().block = warp.block + 1;
            warp.block = kNone;
            continue;
        }
        if (left == 0) break;
        --left;
        ++done;
        if (!branch_together(warp, block)) {
            end_block(cta, warp, block);
            if (warp.state != WarpState::ready) break;
        }
        if (options_.quantum == 0 && (warp.waits >= kWaitsBeforeYield || (options_.budget != 0 && done > options_.budget) || stopped()))
            break;
    }
    stats_.warp_instructions += done;
}

namespace {

/// Executes a CTA when the dispatcher has placed it; replays it like any other recording.
class PlacedKernel final : public KernelSource {
public:
    PlacedKernel(const Module& module, std::unique_ptr<Program> own, const Program& program, const LaunchConfig& config,
                 std::vector<std::byte> params, DeviceMemory& memory, const ExecOptions& options,
                 std::unique_ptr<record::RecordedKernel> recorded)
        : own_program_(std::move(own)),
          params_(std::move(params)),
          recorded_(std::move(recorded)),
          executor_(module, program, config, params_, memory, options, recorded_.get()) {}

    const KernelInfo& info() const override { return recorded_->info(); }
    std::unique_ptr<CtaStream> make_stream() const override { return recorded_->make_stream(); }
    Listing listing() const override { return recorded_->listing(); }
    bool executes_at_placement() const override { return true; }
    void place(std::uint64_t cta, const CtaPlace& place) const override { executor_.run_placed(cta, place); }

private:
    std::unique_ptr<Program> own_program_;
    std::vector<std::byte> params_;
    std::unique_ptr<record::RecordedKernel> recorded_;
    mutable Executor executor_;  // one dispatcher at a time
};

}  // namespace

namespace {

/// The launch with the dimensions of its clusters. Throws InputError if it cannot be executed.
LaunchConfig checked(const Module& module, std::string_view kernel, const LaunchConfig& config, std::size_t param_bytes) {
    const Function& function = module.kernel(kernel);
    const auto fail = [&]<class... Values>(fmt::format_string<const Values&...> text, const Values&... values) {
        fail_at(module.file_name(), function.line, "kernel {}: {}", in_quotes(kernel), fmt::format(text, values...));
    };
    const std::uint64_t threads = config.block.count();
    if (config.block.x > kMostThreads || config.block.y > kMostThreads || config.block.z > kMostThreads || threads == 0 ||
        threads > kMostThreads)
        fail("a CTA of {} x {} x {} threads cannot be launched; use 1 to {}", config.block.x, config.block.y, config.block.z, kMostThreads);
    if (config.grid.x == 0 || config.grid.y == 0 || config.grid.z == 0 || config.grid.x > kMostCtas ||
        std::uint64_t{config.grid.x} * config.grid.y > kMostCtas || config.grid.count() > kMostCtas)
        fail("a grid of {} x {} x {} CTAs cannot be launched; use 1 to {}", config.grid.x, config.grid.y, config.grid.z, kMostCtas);
    if (config.dynamic_shared > kMostShared)
        fail("{} bytes of shared memory are too many; use at most {}", config.dynamic_shared, kMostShared);
    if (param_bytes != function.param_bytes())
        fail("its parameters have {} bytes, but {} are given; use Module::pack", function.param_bytes(), param_bytes);
    LaunchConfig launch = config;
    launch.cluster = cluster_of(function, config, fail);
    return launch;
}

/// Executes launches of kernels, last one first, each together with what it launches itself.
void run_children(const Module& module, std::vector<ChildLaunch> pending, DeviceMemory& memory, const ExecOptions& options,
                  ExecStats& stats) {
    constexpr std::size_t kMostPending = std::size_t{1} << 20;
    while (!pending.empty()) {
        const ChildLaunch next = pending.back();
        pending.pop_back();
        const std::string_view name = next.kernel->name;
        std::vector<std::byte> params(next.kernel->param_bytes());
        memory.read(next.parameters, params.data(), params.size());
        memory.free(next.parameters);
        if (options.stop != nullptr && options.stop->load(std::memory_order_relaxed)) throw Interrupted{};
        ExecStats own;
        ExecOptions rest = options;
        rest.stats = &own;
        if (options.budget != 0) rest.budget = options.budget - std::min(options.budget - 1, stats.warp_instructions);
        const LaunchConfig launch = checked(module, name, next.config, params.size());
        Executor executor(module, module.program(name), launch, params, memory, rest, nullptr);
        executor.run();
        stats.warp_instructions += own.warp_instructions;
        stats.thread_instructions += own.thread_instructions;
        const std::vector<ChildLaunch> more = executor.take_children();
        pending.insert(pending.end(), more.begin(), more.end());
        if (pending.size() > kMostPending)
            fail_at(module.file_name(), next.kernel->line, "kernel {}: more than {} child grids are pending; launch fewer", in_quotes(name),
                    kMostPending);
    }
}

}  // namespace

std::unique_ptr<KernelSource> execute(const Module& module, std::string_view kernel, const LaunchConfig& config,
                                      const std::vector<std::byte>& params, DeviceMemory& memory, const ExecOptions& options, bool record) {
    const LaunchConfig launch = checked(module, kernel, config, params.size());
    const auto fail = [&](const std::string& text) {
        fail_at(module.file_name(), module.kernel(kernel).line, "kernel {}: {}", in_quotes(kernel), text);
    };
    std::unique_ptr<Program> portable;
    if (options.portable) portable = Decoder(module, select_for_host(true)).run(kernel);
    const Program& program = options.portable ? *portable : module.program(kernel);
    memory.bind(module);

    std::unique_ptr<record::RecordedKernel> recorded;
    if (record && !program.untimed.empty())
        fail(fmt::format("instruction {} has no timing yet; run the kernel without a machine", in_quotes(program.untimed)));
    if (record) {
        const std::uint32_t shared = config.dynamic_shared == 0 ? program.shared_bytes : program.dynamic_shared + config.dynamic_shared;
        KernelInfo info{std::string(kernel),    config.grid, config.block,           program.registers_per_thread,
                        program.register_slots, shared,      program.registers_from, launch.cluster};
        recorded = std::make_unique<record::RecordedKernel>(std::move(info), program.timed);
    }
    if (record && options.at_placement && program.placement_dependent && launch.cluster.count() > 1)
        fail(
            "it reads its SM, its warp slot or a clock, so its CTAs execute when they are placed, but those of a cluster wait for each "
            "other; do without one of the two");
    if (record && options.at_placement && program.placement_dependent)
        return std::make_unique<PlacedKernel>(module, std::move(portable), program, launch, params, memory, options, std::move(recorded));
    ExecStats stats;
    ExecOptions own = options;
    own.stats = &stats;
    Executor executor(module, program, launch, params, memory, own, recorded.get());
    executor.run();
    run_children(module, executor.take_children(), memory, options, stats);
    if (options.stats != nullptr) *options.stats = stats;
    return recorded;
}

}  // namespace mergelane::ptx
