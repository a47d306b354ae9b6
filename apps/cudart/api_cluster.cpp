// SPDX-License-Identifier: MIT
// Clusters of CTAs: their dimensions, which the kernel, its attributes or the launch give, and how many of them fit on the device.
#include <fmt/format.h>

#include <algorithm>

#include "api.hpp"
#include "cluster.hpp"
#include "core/text.hpp"
#include "driver.hpp"

namespace mergelane::cudart {

namespace {

constexpr std::uint32_t kPortableClusterCtas = 8;
constexpr std::uint32_t kLargestClusterCtas = 16;

/// As cudaFuncAttribute and CUfunction_attribute.
enum ClusterAttribute : int { kMustBeSet = 10, kWidth, kHeight, kDepth, kNonPortable, kPolicy };

bool is_given(Dim cluster) {
    return cluster.x != 0 || cluster.y != 0 || cluster.z != 0;
}
bool same(Dim a, Dim b) {
    return a.x == b.x && a.y == b.y && a.z == b.z;
}
std::uint64_t ctas_of(Dim cluster) {
    const bool small = std::max({cluster.x, cluster.y, cluster.z}) <= kLargestClusterCtas;
    return small ? std::uint64_t{cluster.x} * cluster.y * cluster.z : UINT64_MAX;  // without overflow
}
template <class... Values>
[[noreturn]] void wrong_cluster(const Kernel& kernel, fmt::format_string<const Values&...> text, const Values&... values) {
    throw CudaError{kInvalidClusterSize,
                    fmt::format("kernel '{}' cannot be launched: {}", readable_name(kernel.name), fmt::format(text, values...))};
}

/// CTAs of the kernel that the whole device holds at once.
std::uint64_t resident_ctas(Runtime& runtime, Kernel& kernel, const LaunchConfiguration& config) {
    const std::uint64_t threads = Dim3{config.block.x, config.block.y, config.block.z}.count();
    if (threads == 0) throw CudaError{kInvalidValue, ""};
    if (threads > 1024 || config.dynamic_shared > runtime.spec().sm.shared_kib * 1024) return 0;
    const KernelInfo info =
        runtime.needs(kernel, {static_cast<std::uint32_t>(threads), 1, 1}, static_cast<std::uint32_t>(config.dynamic_shared));
    return std::uint64_t{residency(runtime.spec().sm, info).ctas} * runtime.spec().sms();
}

}  // namespace

LaunchKind launch_kind(const LaunchConfiguration& config) {
    LaunchKind kind;
    for (unsigned i = 0; i < config.attribute_count; ++i) {
        const LaunchAttribute& attribute = config.attributes[i];
        const unsigned* const value = attribute.value;
        if (attribute.id == kClusterDimension) kind.cluster = {value[0], value[1], value[2]};
        if (attribute.id == kCooperative) kind.cooperative = value[0] != 0;
    }
    return kind;
}

bool set_cluster_attribute(Runtime& runtime, Kernel& kernel, int attribute, int value) {
    if (attribute < kMustBeSet || attribute > kPolicy) return false;
    if (value < 0 || attribute == kMustBeSet) throw CudaError{kInvalidValue, ""};  // only the compiler says that it must be set
    if (attribute == kNonPortable) {
        if (value > 1) throw CudaError{kInvalidValue, ""};
        kernel.large_clusters = value != 0;
    } else if (attribute == kPolicy) {
        constexpr int kLoadBalancing = 2;
        if (value > kLoadBalancing) throw CudaError{kInvalidValue, ""};
        kernel.cluster_policy = value;
    } else {
        if (is_given(runtime.required_cluster(kernel)) && !is_given(kernel.required_cluster)) throw CudaError{kNotPermitted, ""};
        unsigned* const sides[] = {&kernel.required_cluster.x, &kernel.required_cluster.y, &kernel.required_cluster.z};
        *sides[attribute - kWidth] = static_cast<unsigned>(value);
    }
    return true;
}

// ---- of the runtime

Dim Runtime::required_cluster(Kernel& kernel) {
    program(kernel);
    const Dim3 own = kernel.image->module->kernel(kernel.name).cluster;
    return own.x != 0 ? Dim{own.x, own.y, own.z} : kernel.required_cluster;
}

std::uint32_t Runtime::largest_cluster(Kernel& kernel) {
    program(kernel);
    const std::uint32_t bound = kernel.image->module->kernel(kernel.name).largest_cluster;
    const std::uint32_t most = kernel.large_clusters ? kLargestClusterCtas : kPortableClusterCtas;
    return bound == 0 ? most : std::min(bound, most);
}

Dim Runtime::cluster_of(Kernel& kernel, Dim given) {
    const Dim own = required_cluster(kernel);
    if (is_given(given) && is_given(own) && !same(given, own))
        wrong_cluster(kernel, "it requires clusters of {} x {} x {} CTAs, but the launch says {} x {} x {}; make them agree", own.x, own.y,
                      own.z, given.x, given.y, given.z);
    const Dim made = is_given(given) ? given : own;
    if (!is_given(made)) {
        if (kernel.image->module->kernel(kernel.name).explicit_cluster)
            wrong_cluster(kernel, "it was compiled for clusters; give their dimensions at launch (cudaLaunchAttributeClusterDimension)");
        return {1, 1, 1};
    }
    const std::uint64_t ctas = ctas_of(made);
    const std::uint32_t most = largest_cluster(kernel);
    if (ctas == 0 || ctas > most)
        wrong_cluster(kernel, "a cluster of {} x {} x {} CTAs does not exist; use 1 to {}{}", made.x, made.y, made.z, most,
                      most == kPortableClusterCtas ? ", or allow 16 by cudaFuncAttributeNonPortableClusterSizeAllowed" : "");
    if (ctas > 1 && compute_capability() < kFirstWithClusters)
        throw CudaError{kNotSupported, fmt::format("kernel '{}' cannot be launched with clusters on a device of compute capability {}.{}; "
                                                   "compile the program for sm_90",
                                                   readable_name(kernel.name), compute_capability() / 10, compute_capability() % 10)};
    return made;
}

}  // namespace mergelane::cudart

using namespace mergelane;
using namespace mergelane::cudart;

// A simulated machine has no units that a cluster must stay in: its CTAs may be on any SMs.
MERGELANE_API int cudaOccupancyMaxActiveClusters(int* clusters, const void* function, const LaunchConfiguration* config) {
    return guarded([&](Runtime& runtime) {
        out(clusters) = 0;
        Kernel& kernel = runtime.kernel(function);
        const Dim given = launch_kind(out(config)).cluster;
        if (!is_given(given) && !is_given(runtime.required_cluster(kernel))) throw CudaError{kInvalidClusterSize, ""};
        const std::uint64_t ctas = ctas_of(runtime.cluster_of(kernel, given));
        *clusters = static_cast<int>(resident_ctas(runtime, kernel, *config) / ctas);
    });
}
MERGELANE_API int cudaOccupancyMaxPotentialClusterSize(int* ctas, const void* function, const LaunchConfiguration* config) {
    return guarded([&](Runtime& runtime) {
        out(ctas) = 0;
        Kernel& kernel = runtime.kernel(function);
        const Dim own = runtime.required_cluster(kernel);
        const std::uint64_t most = is_given(own) ? ctas_of(own) : runtime.largest_cluster(kernel);
        *ctas = static_cast<int>(std::min(most, resident_ctas(runtime, kernel, out(config))));
    });
}
MERGELANE_API int cuOccupancyMaxActiveClusters(int* clusters, void* function, const DriverLaunch* launch) {
    if (launch == nullptr) return kInvalidValue;
    const LaunchConfiguration config = launch->configuration();
    return driver_call([&] { return cudaOccupancyMaxActiveClusters(clusters, function, &config); });
}
MERGELANE_API int cuOccupancyMaxPotentialClusterSize(int* ctas, void* function, const DriverLaunch* launch) {
    if (launch == nullptr) return kInvalidValue;
    const LaunchConfiguration config = launch->configuration();
    return driver_call([&] { return cudaOccupancyMaxPotentialClusterSize(ctas, function, &config); });
}
