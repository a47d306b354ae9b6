// SPDX-License-Identifier: MIT
// A simulation for Python. It runs in a thread of its own without the GIL, so that Ctrl-C can stop it and several can run at once.
#include "running.hpp"

#include <pybind11/stl.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "config/config.hpp"
#include "core/error.hpp"
#include "costing/energy_of_run.hpp"
#include "explain/finding.hpp"
#include "module.hpp"
#include "report/report.hpp"
#include "workload.hpp"

namespace py = pybind11;

namespace mergelane::python {

namespace {

constexpr auto kPoll = std::chrono::milliseconds(50);    ///< between looks at Ctrl-C
constexpr auto kGrace = std::chrono::milliseconds(700);  ///< for a simulation that is asked to stop

struct Request {
    std::string gpu;
    std::vector<std::string> overrides;
    WorkloadName workload;
    std::shared_ptr<const PythonWorkload> own;  ///< instead of a name
    RunOptions options;
    std::vector<std::string> energy;  ///< tables; "*": all that the machine can be priced with
    bool explain = false, what_if = false;
};

struct Outcome {
    std::shared_ptr<RunResult> result;
    std::optional<explain::Explanation> explanation;
};

/// Shared by the thread that simulates and the one that waits.
struct Job {
    Request request;
    std::atomic<bool> stop{false};
    std::mutex lock;
    std::condition_variable changed;
    bool done = false;
    Progress progress;
    std::exception_ptr failure;
    Outcome outcome;
};

double cpu_seconds() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::unique_ptr<Workload> open(Job& job) {
    return job.request.own ? job.request.own->open() : open_workload(job.request.workload, job.stop);
}

std::vector<EnergyData> energy_tables(const Request& request, const MachineSpec& spec, const std::vector<StatValue>& counted) {
    std::vector<EnergyData> tables;
    std::string why;
    for (const std::string& name : request.energy) {
        if (name != "*") {
            tables.push_back(load_energy_table(name, default_energy_dirs()));
            check_energy(spec, counted, tables.back());
            continue;
        }
        for (const EnergyTable& info : list_energy_tables(default_energy_dirs())) {
            try {
                EnergyData table = load_energy_table(info.name, default_energy_dirs());
                check_energy(spec, counted, table);
                tables.push_back(std::move(table));
            } catch (const InputError& error) {
                why += std::string("\n") + error.what();
            }
        }
        if (tables.empty()) throw InputError("no energy table fits this machine:" + why);
    }
    return tables;
}

RunResult simulate(Job& job, const std::vector<std::string>& further, Workload& workload) {
    const Request& request = job.request;
    std::vector<std::string> overrides = request.overrides;
    overrides.insert(overrides.end(), further.begin(), further.end());
    const LoadedConfig config = load_config(request.gpu, overrides, default_preset_dirs());
    const double before = cpu_seconds();
    Simulation simulation(config.spec, request.options);
    std::vector<EnergyData> tables;
    if (!request.energy.empty()) tables = energy_tables(request, config.spec, simulation.totals());
    RunResult result = simulation.run(workload);
    for (const EnergyData& table : tables) add_energy(result, config.spec, table);
    result.cpu_seconds = cpu_seconds() - before;  // the process may have done other work before
    return result;
}

void explain_into(Outcome& outcome, Job& job) {
    explain::WatchedWorkload watched(open(job));
    outcome.result = std::make_shared<RunResult>(simulate(job, {}, watched));
    if (outcome.result->partial == "interrupted") return;
    outcome.explanation = explain::explain(*outcome.result, watched.facts());
    if (!job.request.what_if) return;
    explain::confirm(*outcome.explanation, *outcome.result, [&](const explain::WhatIf& what_if) -> std::optional<RunResult> {
        if (job.stop) return std::nullopt;
        try {
            explain::ChangedWorkload workload(open(job), what_if.change);
            return simulate(job, what_if.overrides, workload);
        } catch (const InputError&) {  // the machine or the kernel cannot be like that
            return std::nullopt;
        }
    });
}

/// In the thread of the job.
void carry_out(Job& job) {
    Outcome outcome;
    std::exception_ptr failure;
    try {
        job.request.options.interrupt = &job.stop;
        job.request.options.progress = [&job](const Progress& now) {
            const std::lock_guard guard(job.lock);
            job.progress = now;
        };
        if (job.request.explain)
            explain_into(outcome, job);
        else
            outcome.result = std::make_shared<RunResult>(simulate(job, {}, *open(job)));
    } catch (...) {
        failure = std::current_exception();
    }
    if (job.request.own) {  // perhaps the last use of a Python object
        const py::gil_scoped_acquire locked;
        job.request.own.reset();
    }
    const std::lock_guard guard(job.lock);
    job.outcome = std::move(outcome);
    job.failure = failure;
    job.done = true;
    job.changed.notify_all();
}

/// All jobs that may not have ended, for the end of the process.
std::mutex jobs_lock;
std::vector<std::weak_ptr<Job>> jobs;

std::atomic<bool> closing{false};  ///< the interpreter is about to end

/// Without the GIL. A daemon thread does not get it back while the interpreter ends: Python would unwind it through our destructors.
class Unlocked {
public:
    Unlocked() : state_(PyEval_SaveThread()) {}
    ~Unlocked() {
        while (closing) std::this_thread::sleep_for(std::chrono::hours(1));
        PyEval_RestoreThread(state_);
    }
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;

private:
    PyThreadState* state_;
};

/// Starts a job, and stops it if nobody waits for its end.
class Runner {
public:
    explicit Runner(std::shared_ptr<Job> job) : job_(std::move(job)) {
        {
            const std::lock_guard guard(jobs_lock);
            std::erase_if(jobs, [](const std::weak_ptr<Job>& one) { return one.expired(); });
            jobs.push_back(job_);
        }
        thread_ = std::thread([job = job_] { carry_out(*job); });
    }
    ~Runner() {
        job_->stop = true;
        // Reading a trace or preparing a benchmark may notice it late: such a thread ends by itself.
        const Unlocked unlocked;
        if (wait(kGrace))
            thread_.join();
        else
            thread_.detach();
    }
    Runner(const Runner&) = delete;
    Runner& operator=(const Runner&) = delete;

    /// Whether it has ended. Without the GIL.
    bool wait(std::chrono::milliseconds most) {
        std::unique_lock guard(job_->lock);
        return job_->changed.wait_for(guard, most, [this] { return job_->done; });
    }

private:
    std::shared_ptr<Job> job_;
    std::thread thread_;
};

/// No thread may outlive what it uses.
void end_jobs() {
    const py::gil_scoped_release unlocked;
    closing = true;
    const std::lock_guard guard(jobs_lock);
    for (const std::weak_ptr<Job>& one : jobs) {
        const std::shared_ptr<Job> job = one.lock();
        if (!job) continue;
        job->stop = true;
        std::unique_lock waiting(job->lock);
        job->changed.wait(waiting, [&] { return job->done; });
    }
}

Outcome run(Request request, const py::object& progress) {
    if (closing) throw SimulationError("the interpreter ends; no further simulation is started");
    const auto job = std::make_shared<Job>();
    job->request = std::move(request);
    {
        Runner runner(job);
        while (true) {
            bool done = false;
            {
                const Unlocked unlocked;
                done = runner.wait(kPoll);
            }
            if (done) break;
            if (PyErr_CheckSignals() != 0) throw py::error_already_set();
            if (progress.is_none()) continue;
            Progress now;
            {
                const std::lock_guard guard(job->lock);
                now = job->progress;
            }
            if (now.kernel != 0) progress(now.kernel, now.cycles, now.ctas_done, now.ctas_total);
        }
    }
    if (job->failure) std::rethrow_exception(job->failure);
    return std::move(job->outcome);
}

/// The arguments are checked by the package's own code.
Request request_of(const py::dict& given) {
    Request request;
    request.gpu = given["gpu"].cast<std::string>();
    request.overrides = given["set"].cast<std::vector<std::string>>();
    if (py::isinstance<py::str>(given["workload"]))
        request.workload.name = given["workload"].cast<std::string>();
    else
        request.own = given["workload"].cast<std::shared_ptr<PythonWorkload>>();
    request.workload.size = given["size"].cast<std::string>();
    request.workload.seed = given["seed"].cast<std::uint64_t>();
    request.workload.params = given["params"].cast<std::vector<std::string>>();
    request.workload.kernels = given["kernels"].cast<std::string>();
    request.options.threads = given["threads"].cast<std::uint32_t>();
    request.options.interval_cycles = given["interval"].cast<std::uint64_t>();
    request.options.max_cycles = given["max_cycles"].cast<std::uint64_t>();
    request.options.by_instruction = given["by_instruction"].cast<bool>();
    request.energy = given["energy"].cast<std::vector<std::string>>();
    return request;
}

}  // namespace

void add_running(py::module_& module) {
    module.def("run", [](const py::dict& given, const py::object& progress) { return run(request_of(given), progress).result; });
    module.def("explain", [](const py::dict& given, bool what_if, const py::object& progress) {
        Request request = request_of(given);
        request.explain = true;
        request.what_if = what_if;
        request.options.follow_one_of = 1;
        request.options.by_instruction = true;
        const Outcome outcome = run(std::move(request), progress);
        const auto findings = explain::page_findings(*outcome.explanation);
        return py::make_tuple(outcome.result, to_text(*outcome.explanation, *outcome.result),
                              to_json(*outcome.explanation, *outcome.result), to_html(*outcome.result, findings));
    });
    py::module_::import("atexit").attr("register")(py::cpp_function(end_jobs));
}

}  // namespace mergelane::python
