// SPDX-License-Identifier: MIT
// Kernels whose addresses are numpy arrays, and what is said about a workload without running it.
#include <fmt/format.h>
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "advise/advice.hpp"
#include "config/config.hpp"
#include "core/error.hpp"
#include "module.hpp"
#include "profile/profile.hpp"
#include "running.hpp"
#include "sim/simulation.hpp"
#include "workload.hpp"
#include "workload/array/array_kernel.hpp"
#include "workload/tracefile/writer.hpp"

namespace py = pybind11;

namespace mergelane::python {

namespace {

/// Runs `work` in another thread without the GIL, which kernels may need, and rethrows what it throws. Ctrl-C sets `stop`, which the work
/// must obey, and is raised when it has ended.
void run_interruptibly(std::atomic<bool>& stop, const std::function<void()>& work) {
    std::optional<py::error_already_set> interrupt;
    std::future<void> done;
    {
        const py::gil_scoped_release no_gil;
        done = std::async(std::launch::async, work);
        while (done.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready) {
            if (stop.load()) continue;
            const py::gil_scoped_acquire gil;
            if (PyErr_CheckSignals() == 0) continue;
            interrupt.emplace();
            stop.store(true);
        }
    }
    if (interrupt) throw std::move(*interrupt);
    done.get();
}

using Kernels = std::vector<std::shared_ptr<const KernelSource>>;

/// A Python object that threads of the simulation keep. They let go of it without the GIL.
template <class T>
std::shared_ptr<T> keep(T&& value) {
    return {new T(std::forward<T>(value)), [](T* kept) {
                const py::gil_scoped_acquire gil;
                delete kept;
            }};
}

/// The arrays of a CTA, or of several.
struct Arrays {
    py::buffer_info addresses;
    std::optional<py::buffer_info> active;
};

bool is_array(const py::buffer_info& info, py::ssize_t bytes) {
    py::ssize_t stride = bytes;
    for (py::ssize_t d = info.ndim; d-- > 0; stride *= info.shape[static_cast<std::size_t>(d)]) {
        if (info.strides[static_cast<std::size_t>(d)] != stride && info.size != 0) return false;
    }
    return info.itemsize == bytes && info.ndim == 3;
}

/// _kernels.py has converted and checked them; what would read beyond an array is checked again.
std::shared_ptr<Arrays> arrays_of(const py::buffer& addresses, const py::object& active) {
    Arrays arrays{addresses.request(), std::nullopt};
    if (!active.is_none()) arrays.active = py::cast<py::buffer>(active).request();
    if (!is_array(arrays.addresses, 8) ||
        (arrays.active && (!is_array(*arrays.active, 1) || arrays.active->shape != arrays.addresses.shape)))
        throw std::invalid_argument("addresses must be a C array of 8-byte integers with three dimensions, active one of bytes like it");
    return keep(std::move(arrays));
}

/// The CTA that begins at warp `first` of the arrays.
ArrayCta cta_of(const Arrays& arrays, std::uint64_t first, std::uint64_t most_warps) {
    const auto size = [&](std::size_t dimension) { return static_cast<std::uint64_t>(arrays.addresses.shape[dimension]); };
    const std::uint64_t offset = first * size(1) * size(2);
    ArrayCta cta;
    cta.addresses = static_cast<const Addr*>(arrays.addresses.ptr) + offset;
    if (arrays.active) cta.active = static_cast<const std::uint8_t*>(arrays.active->ptr) + offset;
    cta.warps = static_cast<std::uint32_t>(std::min(most_warps, size(0) - first));
    cta.instructions = size(1);
    cta.lanes = static_cast<std::uint32_t>(size(2));
    return cta;
}

/// A function of Python's that returns the arrays of a CTA.
ArrayCta called(const py::function& function, std::uint64_t number) {
    const py::gil_scoped_acquire gil;
    const auto made = function(number).cast<std::pair<py::buffer, py::object>>();
    const std::shared_ptr<Arrays> arrays = arrays_of(made.first, made.second);
    ArrayCta cta = cta_of(*arrays, 0, ~std::uint32_t{0});
    cta.owner = arrays;
    return cta;
}

class OpenedWorkload final : public PythonWorkload {
public:
    using Open = std::function<std::unique_ptr<Workload>()>;
    explicit OpenedWorkload(Open open) : open_(std::move(open)) {}
    std::unique_ptr<Workload> open() const override { return open_(); }

private:
    Open open_;
};

std::shared_ptr<PythonWorkload> workload_of(OpenedWorkload::Open open) {
    return std::make_shared<OpenedWorkload>(std::move(open));
}

std::shared_ptr<PythonWorkload> workload_of(const ArrayParams& params, ArraySource source) {
    const Kernels kernels = {make_array_kernel(params, std::move(source))};
    return workload_of([name = params.name, kernels] { return make_kernel_list(name, kernels); });
}

ArrayParams params_of(const py::dict& values) {
    ArrayParams p;
    p.name = values["name"].cast<std::string>();
    p.ctas = values["ctas"].cast<std::uint64_t>();
    p.warps = values["warps"].cast<std::uint32_t>();
    p.instructions = values["instructions"].cast<std::uint64_t>();
    p.lane_bytes = values["size"].cast<std::uint32_t>();
    p.registers = values["registers"].cast<std::uint32_t>();
    p.shared_bytes = values["shared_bytes"].cast<std::uint32_t>();
    p.space = static_cast<Space>(std::min<std::uint8_t>(values["space"].cast<std::uint8_t>(), 2));
    p.in_flight = values["in_flight"].cast<std::uint32_t>();
    p.write = values["write"].cast<std::vector<bool>>();
    p.compute = values["compute"].cast<std::vector<std::uint16_t>>();
    return p;
}

std::shared_ptr<PythonWorkload> kernel_of_arrays(const py::dict& values, const py::buffer& addresses, const py::object& active) {
    const ArrayParams params = params_of(values);
    const std::shared_ptr<Arrays> arrays = arrays_of(addresses, active);
    const auto source = [arrays, warps = params.warps](std::uint64_t cta) { return cta_of(*arrays, cta * warps, warps); };
    if ((params.ctas - 1) * params.warps >= static_cast<std::uint64_t>(arrays->addresses.shape[0]))
        throw std::invalid_argument("the array has fewer warps than the CTAs");
    return workload_of(params, source);
}

std::shared_ptr<PythonWorkload> kernel_of_function(const py::dict& values, py::function function) {
    const ArrayParams params = params_of(values);
    const auto kept = keep(std::move(function));
    return workload_of(params, [kept](std::uint64_t cta) { return called(*kept, cta); });
}

/// Each workload from its beginning to its end, one after the other.
class Sequence final : public Workload {
public:
    Sequence(std::string name, std::vector<std::shared_ptr<PythonWorkload>> parts) : name_(std::move(name)), parts_(std::move(parts)) {}
    const std::string& name() const override { return name_; }
    const KernelSource* next_kernel() override {
        while (next_ <= parts_.size()) {
            if (open_ != nullptr) {
                if (const KernelSource* const kernel = open_->next_kernel()) return kernel;
            }
            open_ = next_ < parts_.size() ? parts_[next_]->open() : nullptr;
            ++next_;
        }
        return nullptr;
    }

private:
    std::string name_;
    std::vector<std::shared_ptr<PythonWorkload>> parts_;
    std::size_t next_ = 0;
    std::unique_ptr<Workload> open_;
};

std::shared_ptr<PythonWorkload> sequence_of(const std::string& name, const std::vector<std::shared_ptr<PythonWorkload>>& parts) {
    return workload_of([name, parts] { return std::make_unique<Sequence>(name, parts); });
}

/// What the command takes: a file, "synthetic:KIND" or a benchmark.
std::shared_ptr<PythonWorkload> named_workload(const std::string& name, const std::string& size, std::uint64_t seed,
                                               const std::vector<std::string>& params, const std::string& kernels) {
    static const std::atomic<bool> never{false};
    return workload_of([workload = WorkloadName{name, size, seed, params, kernels}] { return open_workload(workload, never); });
}

std::uint64_t save(const PythonWorkload& workload, const std::string& path) {
    std::atomic<bool> stop{false};
    tracefile::WriteOptions options;
    options.writer = fmt::format("mergelane {}", version());
    options.progress = [&](const tracefile::WriteProgress&) {
        if (stop.load()) throw Interrupted{};
    };
    std::uint64_t bytes = 0;
    run_interruptibly(stop, [&] { bytes = tracefile::write_trace(*workload.open(), path, options).bytes; });
    return bytes;
}

using JsonAndText = std::pair<std::string, std::string>;

JsonAndText profile(const PythonWorkload& workload, std::uint32_t sms, std::uint32_t resident) {
    std::atomic<bool> stop{false};
    ProfileOptions options;
    options.sms = sms;
    options.resident = resident;
    options.progress = [&](std::uint64_t, std::uint64_t, std::uint64_t) {
        if (stop.load()) throw Interrupted{};
    };
    JsonAndText result;
    run_interruptibly(stop, [&] {
        const Profile made = profile_workload(*workload.open(), options);
        result = {profile_json(made), profile_summary(made)};
    });
    return result;
}

JsonAndText advise(const PythonWorkload& workload, const std::string& gpu, const std::vector<std::string>& overrides,
                   std::uint32_t simulations, std::uint32_t threads, bool by_instruction) {
    std::atomic<bool> stop{false};
    AdviseOptions options;
    options.simulations = simulations;
    options.threads = threads;
    options.run.interrupt = &stop;
    options.run.by_instruction = by_instruction;
    options.progress = [&](std::string_view, double) {
        if (stop.load()) throw Interrupted{};
    };
    const auto configure = [&](const std::vector<std::string>& more) {
        std::vector<std::string> all = overrides;
        all.insert(all.end(), more.begin(), more.end());
        return load_config(gpu, all, default_preset_dirs()).spec;
    };
    JsonAndText result;
    run_interruptibly(stop, [&] {
        const Advice made = mergelane::advise(
            configure, [&] { return workload.open(); }, options);
        result = {advice_json(made), advice_text(made)};
    });
    return result;
}

}  // namespace

void add_kernels(py::module_& module) {
    py::class_<PythonWorkload, std::shared_ptr<PythonWorkload>>(module, "Workload");
    module.def("kernel_of_arrays", &kernel_of_arrays);
    module.def("kernel_of_function", &kernel_of_function);
    module.def("sequence_of", &sequence_of);
    module.def("named_workload", &named_workload);
    module.def("save", &save);
    module.def("profile", &profile);
    module.def("advise", &advise);
}

}  // namespace mergelane::python
