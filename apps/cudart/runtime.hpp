// SPDX-License-Identifier: MIT
// The simulated device behind the runtime functions. A single lock serialises all calls, and every call is synchronous.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "abi.hpp"
#include "errors.hpp"
#include "graph.hpp"
#include "recording.hpp"
#include "report_table.hpp"
#include "sim/machine_spec.hpp"
#include "timing.hpp"
#include "workload/cuda/fatbin.hpp"
#include "workload/ptx/ptx.hpp"

namespace mergelane::cudart {

/// Thrown inside the runtime, caught at the API boundary. `text`: message for the user; empty if the code is sufficient.
struct CudaError {
    Error code;
    std::string text;
};

/// Device code as registered by a program; parsed on first use.
struct CodeImage {
    const cuda::FatbinWrapper* wrapper = nullptr;
    std::string name;
    std::shared_ptr<const ptx::Module> module;
    std::uint32_t sm = 0;
    std::map<std::string, Addr, std::less<>> managed;  ///< its __managed__ variables
    Error error = kSuccess;                            ///< why it cannot be used
};
struct Kernel {
    CodeImage* image = nullptr;
    std::string name;
    std::uint32_t most_dynamic_shared = 0;  ///< allowed beyond the default limit, by cudaFuncSetAttribute
    Dim required_cluster{};                 ///< by cudaFuncSetAttribute; 0: none
    bool large_clusters = false;            ///< of more CTAs than is portable are allowed, by cudaFuncSetAttribute
    int cluster_policy = 0;                 ///< of placement: a hint, without effect
    bool warned = false;
};
struct DeviceVariable {
    CodeImage* image = nullptr;
    std::string name;
    std::uint64_t bytes = 0;
};
struct Event {
    bool recorded = false;
    std::uint64_t tick = 0;
    std::shared_ptr<Capture> capture;  ///< recorded on a stream that is being captured
    std::vector<Node*> nodes;          ///< what it then stands for
};
struct Stream {
    unsigned flags = 0;
    int priority = 0;
    std::shared_ptr<Capture> capture;
    std::vector<Node*> last;  ///< what captured work comes after
};
struct Pool {
    int switches[3] = {1, 1, 1};  ///< how memory may be reused
    std::uint64_t threshold = 0, reserved = 0, reserved_high = 0, used = 0, used_high = 0;
};
struct PooledMemory {
    Pool* pool = nullptr;
    std::uint64_t bytes = 0;
};
/// What a texture or surface was made of.
struct Resource {
    ResourceDescription resource;
    TextureDescription how;
};
/// Objects that a program knows by their addresses. An unknown address throws CudaError.
template <class T>
class Handles {
public:
    T* add(T object) { return adopt(std::make_unique<T>(std::move(object))); }
    T* adopt(std::unique_ptr<T> made) {
        T* const handle = made.get();
        objects_[handle] = std::move(made);
        return handle;
    }
    void remove(void* handle) {
        if (objects_.erase(handle) == 0) throw CudaError{kInvalidResourceHandle, ""};
    }
    T& at(void* handle) {
        const auto found = objects_.find(handle);
        if (found == objects_.end()) throw CudaError{kInvalidResourceHandle, ""};
        return *found->second;
    }
    template <class Use>
    void each(const Use& use) {
        for (auto& [handle, object] : objects_) use(*object);
    }

private:
    std::map<void*, std::unique_ptr<T>> objects_;
};
/// Host memory of the program that kernels see at the same address.
struct HostBlock {
    std::uint64_t bytes = 0;
    bool managed = false;
    bool mapped_here = false;  ///< by the runtime, not by the program
    Addr place = 0;            ///< in the timing model
};

class Runtime {
public:
    static constexpr std::uint64_t kDeviceBytes = ptx::DeviceMemory::kDefaultLimit;
    static constexpr int kExitFailedLaunch = 3;
    static constexpr int kExitNoResult = 2;                   ///< the result file could not be written
    static constexpr std::uint32_t kUsualShared = 48 * 1024;  ///< bytes a CTA may use by default

    static constexpr int kGreatestPriority = -5;
    static constexpr int kHeapLimit = 2;  ///< cudaLimitMallocHeapSize
    static constexpr std::uint32_t kFirstWithClusters = 90;

    /// Created on first use and never destroyed: programs call the runtime until the very end.
    static Runtime& get();
    /// Writes table and result file; called when the process ends.
    static void report_at_exit();
    /// `status`: the argument of exit. Success becomes kExitFailedLaunch if the program never queried a failed launch.
    static void judge_exit(int status);

    std::mutex& mutex() { return mutex_; }
    const MachineSpec& spec() const { return spec_; }
    ptx::DeviceMemory& memory() { return memory_; }
    std::uint32_t compute_capability() const;  ///< 75 for 7.5

    CodeImage* add_image(const cuda::FatbinWrapper* wrapper);
    void remove_image(CodeImage* image);
    void add_kernel(CodeImage* image, const void* host, const char* name);
    void add_variable(CodeImage* image, const void* host, const char* name, std::uint64_t bytes);
    /// The address of a __managed__ variable, which host and kernels share.
    void* add_managed_variable(CodeImage* image, const char* name, std::uint64_t bytes);
    /// Device code that the program loads while it runs (modules.cpp): the PTX of one or several units, and remarks for the parser.
    CodeImage* load_module(const std::vector<std::string>& units, std::uint32_t sm, const std::string& remarks);
    void unload_module(CodeImage* image);
    /// The same handle for every call. Throws CudaError if the module has no such kernel.
    Kernel& module_kernel(CodeImage* image, std::string_view name);
    /// `function`: the host stub or a handle. Throw CudaError.
    Kernel& kernel(const void* function);
    const ptx::Module& module(CodeImage& image);
    const ptx::Program& program(Kernel& kernel);
    DeviceVariable& variable(const void* host);
    Addr variable_address(DeviceVariable& variable);

    void launch(Kernel& kernel, Dim grid, Dim block, void** arguments, std::size_t dynamic_shared, void* stream,
                const LaunchKind& kind = {});
    /// Hands what kernels have printed to standard output, as every call of the runtime does first.
    void flush_printed();
    /// If a trace is being recorded, a launch that cannot be recorded ends the program; otherwise does nothing.
    void lost_for_recording(const std::string& kernel, std::string_view why) const;
    /// Resource requirements of a CTA of the kernel.
    KernelInfo needs(Kernel& kernel, Dim3 block, std::uint32_t dynamic_shared);
    std::uint32_t dynamic_shared_limit(Kernel& kernel);
    /// CTAs of the clusters that the kernel requires, because it was compiled so or the program has set it; 0: none.
    Dim required_cluster(Kernel& kernel);
    /// CTAs of the clusters of a launch that says `given`; 1 without clusters. Throws CudaError unless there can be such.
    Dim cluster_of(Kernel& kernel, Dim given);
    /// Most CTAs that a cluster of the kernel may have.
    std::uint32_t largest_cluster(Kernel& kernel);

    Addr allocate(std::uint64_t bytes);
    void release(Addr address);
    void* allocate_host(std::uint64_t bytes, bool managed);
    void register_host(void* host, std::uint64_t bytes);
    void release_host(void* host, bool registered);
    const std::map<Addr, HostBlock>& host_blocks() const { return host_blocks_; }
    /// The host address of the bytes: behind a device address, or the address itself. Throws CudaError.
    std::byte* resolve(const void* address, std::uint64_t bytes, bool must_be_device);

    /// cudaLimit: stack, printf buffer, heap of device code, two of dynamic parallelism, L2 fetch granularity, persisting L2.
    std::size_t limits[7] = {1024, 1 << 20, 0, 2, 2048, 64, 0};
    Handles<Stream> streams;
    Handles<Event> events;
    Handles<Array> arrays;
    Handles<Pool> pools;
    Handles<Graph> graphs;
    Handles<GraphExecutable> executables;
    std::map<Addr, PooledMemory> pooled;
    std::map<std::uint64_t, Resource> resources;  ///< by handle
    Pool* default_pool();
    Pool* current_pool() { return current_pool_ == nullptr ? default_pool() : current_pool_; }
    void set_current_pool(Pool* pool) { current_pool_ = pool; }

    // If the stream is being captured, work becomes a node of a graph and they return true (the address of the memory); it is then not
    // to be done now.
    bool capture(void* stream, const Copy3D& copy);
    bool capture(void* stream, const Fill& what);
    bool capture(void* stream, const HostNode& host);
    bool capture(void* stream, const KernelNode& what, const LaunchKind& kind);
    bool capture_graph(void* stream, const Graph& graph);
    void* capture_allocation(void* stream, std::size_t bytes);
    bool capture_release(void* stream, void* pointer);
    bool capture_record(void* stream, void* event);
    bool capture_wait(void* stream, void* event);
    void begin_capture(void* stream, Graph& graph, bool existing, const std::vector<Node*>& before);
    Graph* end_capture(void* stream);
    /// Throws CudaError if the stream is being captured: it cannot be waited for.
    void check_not_captured(void* stream);
    KernelWork kernel_work(const KernelNode& what, const LaunchKind& kind);
    void* graph_allocation(std::size_t bytes);
    std::uint64_t graph_bytes() const;
    void run_node(Node& node);
    /// nullptr for the default streams. Throws CudaError unless it exists.
    Stream* stream(void* handle);
    std::uint64_t now() const { return now_; }
    double ticks_per_millisecond() const;

    /// An error of an earlier launch that every later call reports.
    Error sticky() const { return sticky_; }
    /// Whether the program's own assertion or trap caused it: a GPU would end the launch, too.
    bool faulted() const { return faulted_; }
    /// Whether a launch failed and the program has not queried the error since.
    void set_unseen_failure(bool unseen) { unseen_failure_ = unseen; }
    /// Prints each message once.
    void say(const std::string& text);

private:
    Runtime();
    /// Returns the CTAs of its clusters.
    Dim check_launch(Kernel& kernel, Dim grid, Dim block, std::size_t dynamic_shared, const LaunchKind& kind);
    void warn_once(Kernel& kernel);
    void execute(Kernel& kernel, const ptx::LaunchConfig& config, void** arguments);
    Error end_by(const ptx::KernelFault& fault);
    Addr free_place(std::uint64_t bytes) const;
    void add_host_block(void* host, const HostBlock& block);
    std::vector<std::string> ptx_of(CodeImage& image);
    static std::string registers_of(const CodeImage& image);
    Node* captured(void* stream, NodeType type);
    void keep_ptx(const std::string& name, const std::string& text);
    void fit_device();
    void report();

    std::mutex mutex_;
    int process_ = 0;
    std::string program_;
    std::string html_file_;
    std::string json_file_;    ///< "-": json_descriptor_
    int json_descriptor_ = 0;  ///< what was standard output before the program began
    std::string ptx_folder_;
    std::uint64_t max_instructions_ = ptx::kMostInstructions;
    MachineSpec spec_;
    bool functional_ = false;  ///< nothing is timed: the device is nobody's
    std::unique_ptr<Timing> timing_;
    std::unique_ptr<Recording> recording_;
    ptx::DeviceMemory memory_;
    std::deque<CodeImage> images_;
    std::deque<Kernel> kernels_;
    std::unordered_map<const void*, Kernel*> kernel_of_;
    std::unordered_map<const void*, DeviceVariable> variables_;
    std::map<Addr, HostBlock> host_blocks_;
    std::map<Addr, std::uint64_t> places_;  ///< of host memory in the timing model, and their bytes
    std::uint64_t now_ = 0;                 ///< core cycles if timed, otherwise warp instructions
    std::uint64_t launches_ = 0, failed_launches_ = 0;
    std::atomic<bool> unseen_failure_ = false;
    bool exit_changed_ = false;
    int exit_status_ = 0;  ///< what the program passed to exit
    std::size_t warned_ = 0;
    std::set<std::string> said_;
    Error sticky_ = kSuccess;
    bool faulted_ = false;
    Pool* default_pool_ = nullptr;
    Pool* current_pool_ = nullptr;  ///< nullptr: the default one
    std::map<Addr, std::uint64_t> graph_memory_;
    unsigned long long captures_ = 0;
    std::string printed_;  ///< by kernels, not yet written
    std::vector<LaunchRow> rows_;
};

/// Stores the error for cudaGetLastError and returns it.
int remember(Error error);
/// The last error of the calling thread.
Error& last_error();
/// The result of an unsupported function.
int not_supported(const char* function);
/// Runs `body` under the lock; exceptions become an error code and a message.
int guarded_call(const std::function<void(Runtime&)>& body);
template <class Body>
int guarded(const Body& body) {
    return guarded_call(std::cref(body));  // a copy might have to be allocated, and the program cannot catch what that throws
}
/// Reports that the host's memory is exhausted; needs none itself. Returns the error for the program.
int out_of_memory();

}  // namespace mergelane::cudart
