// SPDX-License-Identifier: MIT
#include "runtime.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <span>
#include <sstream>

#include "config/config.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "files/result_file.hpp"
#include "report/report.hpp"
#include "workload/cuda/cubin.hpp"
#include "workload/cuda/link_ptx.hpp"
#include "workload/ptx/program.hpp"

namespace mergelane::cudart {

namespace {

constexpr std::uint32_t kCapability = 80;                   ///< of the device; a program that has only newer PTX sees a newer one
constexpr std::size_t kMostPrinted = std::size_t{1} << 20;  ///< characters held back until the next call
constexpr Addr kHostArena = 0x20'0000'0000;                 ///< base of memory shared with kernels, if it is free
constexpr std::uint64_t kPage = 4096;
constexpr std::uint32_t kMostThreads = 1024;
constexpr std::uint32_t kMostGridYZ = 65535;

constexpr const char* kOutOfMemory = "out of memory; use a smaller problem or machine, fewer threads, or a higher memory limit";

/// Neither throws nor allocates: if standard error cannot be written, the program goes on nevertheless.
void tell(const char* text) {
    std::fprintf(stderr, "mergelane: %s\n", text);
}

const char* reason(const std::exception& error) {
    return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ? kOutOfMemory : error.what();
}

std::string environment(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

std::vector<std::string> split(const std::string& text, char at) {
    std::vector<std::string> list;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, at);) list.push_back(part);
    return list;
}

void write_descriptor(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = write(descriptor, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) throw InputError(fmt::format("cannot write the result to standard output: {}", std::strerror(errno)));
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

using Bytes = std::span<const std::byte>;

/// What the program or library that contains `at` has loaded from there to the end of the segment; empty if there is none. A damaged
/// program may register any address and claim any size.
Bytes loaded_from(const void* at) {
    Bytes found{static_cast<const std::byte*>(at), std::size_t{0}};
    dl_iterate_phdr(
        [](dl_phdr_info* object, std::size_t, void* result) {
            Bytes& bytes = *static_cast<Bytes*>(result);
            const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
            for (const ElfW(Phdr)* part = object->dlpi_phdr; part != object->dlpi_phdr + object->dlpi_phnum; ++part) {
                const std::uintptr_t offset = begin - (object->dlpi_addr + part->p_vaddr);
                if (part->p_type != PT_LOAD || (part->p_flags & PF_R) == 0 || offset >= part->p_memsz) continue;
                bytes = {bytes.data(), part->p_memsz - offset};
                return 1;
            }
            return 0;
        },
        &found);
    return found;
}

/// The units of relocatable device code, otherwise the container; none: the format is unknown.
std::vector<Bytes> pieces(const cuda::FatbinWrapper* wrapper) {
    std::vector<Bytes> list;
    if (loaded_from(wrapper).size() < sizeof *wrapper || wrapper->magic != cuda::kWrapperMagic || wrapper->data == nullptr) return list;
    if (wrapper->version != 2 || wrapper->linked == nullptr) return {loaded_from(wrapper->data)};
    for (const void* const* unit = wrapper->linked; loaded_from(unit).size() >= sizeof *unit && *unit != nullptr; ++unit)
        list.push_back(loaded_from(*unit));
    return list;
}

/// The device that a program sees if nothing is timed.
MachineSpec functional_device() {
    MachineSpec spec;
    spec.name = "functional";
    spec.gpu.clusters = 8;
    spec.gpu.sms_per_cluster = 5;
    spec.gpu.core_mhz = 1500;
    spec.sm.warps = 64;
    spec.sm.cta_slots = 32;
    spec.sm.registers = 65536;
    spec.sm.shared_kib = 164;
    return spec;
}

}  // namespace

Runtime& Runtime::get() {
    static Runtime* const runtime = [] {
        try {
            Runtime* const made = new Runtime();
            if (on_exit([](int status, void*) { judge_exit(status); }, nullptr) != 0) throw std::bad_alloc();
            return made;
        } catch (const std::exception& error) {
            tell(reason(error));
            std::_Exit(kExitNoResult);
        }
    }();
    return *runtime;
}

Runtime::Runtime() : process_(getpid()), program_(program_invocation_short_name), memory_(kDeviceBytes) {
    json_file_ = environment("MERGELANE_CUDA_JSON");
    html_file_ = environment("MERGELANE_CUDA_HTML");
    json_descriptor_ = std::atoi(environment("MERGELANE_CUDA_JSON_DESCRIPTOR").c_str());
    ptx_folder_ = environment("MERGELANE_CUDA_KEEP_PTX");
    if (const std::string most = environment("MERGELANE_CUDA_MAX_INSTRUCTIONS"); !most.empty())
        max_instructions_ = std::strtoull(most.c_str(), nullptr, 10);
    const std::string trace = environment("MERGELANE_CUDA_TRACE");
    if (!trace.empty()) recording_ = std::make_unique<Recording>(trace, program_);
    const std::string gpu = environment("MERGELANE_CUDA_GPU");
    if (gpu.empty()) {
        spec_ = functional_device();
        functional_ = true;
        return;
    }
    std::vector<std::filesystem::path> presets;
    for (const std::string& folder : split(environment("MERGELANE_CUDA_PRESETS"), '\n')) presets.emplace_back(folder);
    spec_ = load_config(gpu, split(environment("MERGELANE_CUDA_SET"), '\n'), presets).spec;
    if (recording_ != nullptr) return;  // the program sees this machine; the trace can be timed afterwards
    RunOptions options;
    if (const int threads = std::atoi(environment("MERGELANE_CUDA_THREADS").c_str()); threads > 0)
        options.threads = static_cast<std::uint32_t>(threads);
    options.by_instruction = !environment("MERGELANE_CUDA_BY_INSTRUCTION").empty();
    timing_ = std::make_unique<Timing>(spec_, options, program_);
}

void Runtime::say(const std::string& text) {
    if (said_.insert(text).second) tell(text.c_str());
}

// ---- device code

CodeImage* Runtime::add_image(const cuda::FatbinWrapper* wrapper) {
    CodeImage& image = images_.emplace_back();
    image.wrapper = wrapper;
    image.name = fmt::format("{}.{}.ptx", program_, images_.size());
    try {
        for (const Bytes piece : pieces(wrapper)) {
            if (!cuda::container_bytes(piece)) continue;
            const std::vector<cuda::FatbinEntry> entries = cuda::fatbin_entries(piece, image.name);
            if (const cuda::FatbinEntry* const chosen = cuda::best_ptx(entries, kCapability)) image.sm = std::max(image.sm, chosen->sm);
        }
    } catch (const InputError&) {
        // Reported when it is used.
    }
    fit_device();
    return &image;
}

/// Programs for sm_90 expect its shared memory.
void Runtime::fit_device() {
    constexpr std::uint32_t kSharedKibOfHopper = 228;
    if (functional_ && compute_capability() >= kFirstWithClusters) spec_.sm.shared_kib = kSharedKibOfHopper;
}

void Runtime::remove_image(CodeImage* image) {
    std::erase_if(kernel_of_, [image](const auto& known) { return known.second->image == image; });
    std::erase_if(variables_, [image](const auto& known) { return known.second.image == image; });
    image->wrapper = nullptr;
}

void Runtime::add_kernel(CodeImage* image, const void* host, const char* name) {
    // Template instances are registered by every file that uses them; any of them will do.
    if (kernel_of_.contains(host)) return;
    Kernel& kernel = kernels_.emplace_back();
    kernel.image = image;
    kernel.name = name;
    kernel_of_[host] = &kernel;
    kernel_of_[&kernel] = &kernel;  // as a handle
}

void Runtime::add_variable(CodeImage* image, const void* host, const char* name, std::uint64_t bytes) {
    variables_.try_emplace(host, DeviceVariable{image, name, bytes});
}

void* Runtime::add_managed_variable(CodeImage* image, const char* name, std::uint64_t bytes) {
    void* const place = allocate_host(bytes, true);
    image->managed[name] = reinterpret_cast<Addr>(place);
    return place;
}

std::vector<std::string> Runtime::ptx_of(CodeImage& image) {
    const auto unknown_format = [&] {
        return InputError(fmt::format("{}: the format of the registered device code is unknown; compile with CUDA 13", image.name));
    };
    const std::vector<Bytes> found = pieces(image.wrapper);
    if (found.empty()) throw unknown_format();
    std::vector<std::string> units;
    for (const Bytes piece : found) {
        const auto* const text = reinterpret_cast<const char*>(piece.data());
        if (!piece.empty() && (*text == '/' || *text == '.')) {  // plain PTX, as embedded by clang
            units.emplace_back(text, strnlen(text, piece.size()));
        } else if (!cuda::container_bytes(piece)) {
            throw unknown_format();
        } else if (std::optional<cuda::PtxImage> ptx = cuda::find_ptx(piece, image.name, kCapability)) {
            image.sm = std::max(image.sm, ptx->sm);
            units.push_back(std::move(ptx->text));
        }
    }
    return units;
}

/// What the machine code beside the PTX says about its kernels, as remarks that the PTX parser reads.
std::string Runtime::registers_of(const CodeImage& image) {
    std::vector<Bytes> containers = pieces(image.wrapper);
    if (image.wrapper->version == 2) containers.push_back(loaded_from(image.wrapper->data));  // linked device code
    std::string remarks = "\n";
    for (const Bytes container : containers) {
        if (!cuda::container_bytes(container)) continue;
        for (const auto& [kernel, registers] : cuda::registers_in_container(container, image.sm))
            remarks += fmt::format("// mergelane: registers {} {}\n", kernel, registers);
    }
    return remarks;
}

const ptx::Module& Runtime::module(CodeImage& image) {
    if (image.module != nullptr) return *image.module;
    if (image.error != kSuccess) throw CudaError{image.error, ""};
    try {
        const std::vector<std::string> units = ptx_of(image);
        if (units.empty()) {
            image.error = kNoKernelImageForDevice;
            throw CudaError{image.error, fmt::format("{} has machine code but no PTX; compile it with nvcc -arch=sm_75 (without -code or "
                                                     "-gencode), which embeds PTX",
                                                     program_)};
        }
        const std::string text = cuda::link_ptx(units, image.name) + registers_of(image);
        keep_ptx(image.name, text);
        std::shared_ptr<const ptx::Module> parsed = ptx::parse_module(text, image.name);
        memory_.bind(*parsed, image.managed);
        image.module = std::move(parsed);
        return *image.module;
    } catch (const InputError& error) {
        image.error = kInvalidPtx;
        throw CudaError{image.error, error.what()};
    } catch (const std::bad_alloc&) {
        image.error = kMemoryAllocation;  // a second try would place its variables elsewhere
        throw;
    }
}

void Runtime::keep_ptx(const std::string& name, const std::string& text) try {
    if (!ptx_folder_.empty()) write_result(ptx_folder_ + "/" + name, text);
} catch (const InputError& error) {
    say(error.what());  // the program does not depend on it
}

const ptx::Program& Runtime::program(Kernel& kernel) {
    const ptx::Module& code = module(*kernel.image);
    const ptx::Function* const function = code.find_function(kernel.name);
    if (function == nullptr || !function->entry || !function->defined)
        throw CudaError{kInvalidDeviceFunction,
                        fmt::format("{} has no kernel '{}'; compile the program again", kernel.image->name, readable_name(kernel.name))};
    try {
        return code.program(kernel.name);
    } catch (const InputError& error) {
        throw CudaError{kInvalidPtx, fmt::format("kernel '{}' cannot be executed: {}", readable_name(kernel.name), error.what())};
    }
}

Kernel& Runtime::kernel(const void* function) {
    const auto found = kernel_of_.find(function);
    if (found == kernel_of_.end()) throw CudaError{kInvalidDeviceFunction, ""};
    return *found->second;
}

DeviceVariable& Runtime::variable(const void* host) {
    const auto found = variables_.find(host);
    if (found == variables_.end()) throw CudaError{kInvalidSymbol, ""};
    return found->second;
}

Addr Runtime::variable_address(DeviceVariable& variable) {
    return memory_.symbol(module(*variable.image), variable.name);
}

std::uint32_t Runtime::compute_capability() const {
    std::uint32_t highest = kCapability;
    for (const CodeImage& image : images_) highest = std::max(highest, image.sm);
    return highest;
}

// ---- launches

std::uint32_t Runtime::dynamic_shared_limit(Kernel& kernel) {
    const std::uint32_t own = program(kernel).dynamic_shared;
    const std::uint32_t usual = std::min(kUsualShared, spec_.sm.shared_kib * 1024);
    return std::max(kernel.most_dynamic_shared, usual > own ? usual - own : 0);
}

KernelInfo Runtime::needs(Kernel& kernel, Dim3 block, std::uint32_t dynamic_shared) {
    const ptx::Program& code = program(kernel);
    KernelInfo info;
    info.name = kernel.name;
    info.block = block;
    info.registers_per_thread = code.registers_per_thread;
    info.registers_from = code.registers_from;
    info.shared_bytes = dynamic_shared == 0 ? code.shared_bytes : code.dynamic_shared + dynamic_shared;
    return info;
}

Dim Runtime::check_launch(Kernel& kernel, Dim grid, Dim block, std::size_t dynamic_shared, const LaunchKind& kind) {
    const std::uint64_t threads = Dim3{block.x, block.y, block.z}.count();
    const bool grid_fits =
        grid.x != 0 && grid.x <= 0x7FFFFFFF && grid.y != 0 && grid.y <= kMostGridYZ && grid.z != 0 && grid.z <= kMostGridYZ;
    const bool block_fits = block.x != 0 && block.x <= kMostThreads && block.y != 0 && block.y <= kMostThreads && block.z != 0 &&
                            block.z <= 64 && threads <= kMostThreads;
    if (!grid_fits || !block_fits) throw CudaError{kInvalidConfiguration, ""};
    const Dim cluster = cluster_of(kernel, kind.cluster);
    if (grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0) throw CudaError{kInvalidConfiguration, ""};
    if (dynamic_shared > dynamic_shared_limit(kernel)) throw CudaError{kInvalidValue, ""};
    const Residency fit = residency(spec_.sm, needs(kernel, {block.x, block.y, block.z}, static_cast<std::uint32_t>(dynamic_shared)));
    if (fit.ctas == 0) {
        throw CudaError{kLaunchOutOfResources,
                        fmt::format("a CTA of kernel '{}' does not fit on an SM of {} (limit: {}); launch smaller CTAs",
                                    readable_name(kernel.name), spec_.name, fit.limited_by)};
    }
    if (kind.cooperative && Dim3{grid.x, grid.y, grid.z}.count() > std::uint64_t{fit.ctas} * spec_.sms())
        throw CudaError{kCooperativeLaunchTooLarge, ""};
    return cluster;
}

void Runtime::lost_for_recording(const std::string& kernel, std::string_view why) const try {
    if (recording_ != nullptr) recording_->refuse(fmt::format("kernel '{}' cannot be recorded: {}", readable_name(kernel), why));
} catch (const std::bad_alloc&) {
    recording_->refuse("out of memory");  // short enough not to be allocated
}

void Runtime::warn_once(Kernel& kernel) {
    if (std::exchange(kernel.warned, true)) return;
    if (timing_ == nullptr && kernel.image->module->placement_dependent(kernel.name)) {
        say(fmt::format("warning: kernel '{}' reads its SM ID, its warp slot or a clock; without --gpu it executes as if on SM 0 at time 0",
                        readable_name(kernel.name)));
    }
}

void Runtime::launch(Kernel& kernel, Dim grid, Dim block, void** arguments, std::size_t dynamic_shared, void* stream_handle,
                     const LaunchKind& kind) {
    ++launches_;
    ++failed_launches_;  // until it has succeeded
    stream(stream_handle);
    try {
        const Dim cluster = check_launch(kernel, grid, block, dynamic_shared, kind);
        if (kernel.image->module->placement_dependent(kernel.name)) {
            lost_for_recording(kernel.name,
                               "it reads its SM ID, its warp slot or a clock, so its behaviour depends on the placement of its CTAs; "
                               "simulate the program with mergelane cuda --gpu, which executes CTAs at placement, or remove this kernel");
        }
        warn_once(kernel);
        ptx::LaunchConfig config{{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, static_cast<std::uint32_t>(dynamic_shared)};
        config.cooperative = kind.cooperative;
        config.cluster = {cluster.x, cluster.y, cluster.z};
        execute(kernel, config, arguments);
    } catch (const CudaError& error) {
        // A launch that a real GPU would also reject is not a loss.
        if (error.code == kInvalidPtx || error.code == kNoKernelImageForDevice || error.code == kLaunchFailure || error.code == kAssert)
            lost_for_recording(kernel.name, error.text.empty() ? "see the previous message" : std::string_view(error.text));
        throw;
    } catch (const std::exception& error) {
        lost_for_recording(kernel.name, reason(error));
        throw;
    }
    for (; warned_ < memory_.warnings().size(); ++warned_) say("warning: " + memory_.warnings()[warned_]);
    --failed_launches_;
}

void Runtime::execute(Kernel& kernel, const ptx::LaunchConfig& config, void** arguments) {
    const ptx::Module& code = *kernel.image->module;
    std::vector<ptx::Argument> list;
    for (const ptx::Variable& parameter : code.kernel(kernel.name).params) {
        if (arguments == nullptr) throw CudaError{kInvalidValue, ""};
        list.push_back({arguments[list.size()], parameter.bytes});
    }
    ptx::ExecStats stats;
    ptx::ExecOptions options;
    options.stats = &stats;
    options.at_placement = timing_ != nullptr;
    options.budget = max_instructions_;
    options.print = [this](std::string_view text) {
        printed_ += text;
        if (printed_.size() > kMostPrinted) flush_printed();
    };
    const bool record = timing_ != nullptr || recording_ != nullptr;
    std::unique_ptr<KernelSource> recorded;
    try {
        recorded = ptx::execute(code, kernel.name, config, code.pack(kernel.name, list), memory_, options, record);
    } catch (const ptx::KernelFault& fault) {
        throw CudaError{end_by(fault), fault.what()};
    } catch (const InputError& error) {
        sticky_ = kLaunchFailure;
        throw CudaError{sticky_, fmt::format("kernel '{}' failed: {}", readable_name(kernel.name), error.what())};
    } catch (const std::bad_alloc&) {
        sticky_ = kLaunchFailure;  // a part of the kernel may have been executed
        throw;
    }
    if (recording_ != nullptr) recording_->add(*recorded);
    if (timing_ == nullptr) {
        now_ += stats.warp_instructions;
        return;
    }
    try {
        const Launched launched = timing_->run(*recorded);
        now_ = launched.result.start + launched.result.cycles;
        add_launch(rows_, recorded->info(), launched);
    } catch (const ptx::KernelFault& fault) {
        throw CudaError{end_by(fault), fault.what()};
    } catch (const std::exception& error) {
        sticky_ = kLaunchFailure;
        throw CudaError{sticky_, fmt::format("kernel '{}' cannot be timed: {}", readable_name(kernel.name), reason(error))};
    }
}

Error Runtime::end_by(const ptx::KernelFault& fault) {
    faulted_ = true;
    sticky_ = fault.kind == ptx::KernelFault::Kind::assertion ? kAssert : kLaunchFailure;
    return sticky_;
}

void Runtime::flush_printed() {
    if (printed_.empty()) return;
    std::fwrite(printed_.data(), 1, printed_.size(), stdout);
    printed_.clear();
}

double Runtime::ticks_per_millisecond() const {
    const double cycles = spec_.gpu.core_mhz * 1e3;
    return timing_ != nullptr ? cycles : cycles * spec_.sms();
}

// ---- memory

Addr Runtime::allocate(std::uint64_t bytes) {
    try {
        return memory_.allocate(bytes);
    } catch (const InputError& error) {
        throw CudaError{kMemoryAllocation, ""};
    }
}

void Runtime::release(Addr address) {
    if (address == 0) return;
    if (const auto block = host_blocks_.find(address); block != host_blocks_.end() && block->second.managed)
        return release_host(reinterpret_cast<void*>(address), false);
    if (graph_memory_.contains(address)) return;
    const ptx::DeviceMemory::Range range = memory_.find(address);
    if (range.base != address || host_blocks_.contains(address)) throw CudaError{kInvalidValue, ""};
    if (const auto known = pooled.find(address); known != pooled.end()) {
        if (known->second.pool != nullptr) known->second.pool->used -= known->second.bytes;
        pooled.erase(known);
    }
    memory_.free(address);
}

void* Runtime::allocate_host(std::uint64_t bytes, bool managed) {
    const std::uint64_t room = std::max<std::uint64_t>((bytes + kPage - 1) / kPage * kPage, kPage);
    if (room < bytes) throw CudaError{kMemoryAllocation, ""};
    const Addr place = free_place(room);
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* got = mmap(reinterpret_cast<void*>(place), room, PROT_READ | PROT_WRITE, kFlags | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == MAP_FAILED) got = mmap(nullptr, room, PROT_READ | PROT_WRITE, kFlags, -1, 0);
    if (got == MAP_FAILED) throw CudaError{kMemoryAllocation, ""};
    memory_.adopt(got, std::max<std::uint64_t>(bytes, 1), place);
    add_host_block(got, {std::max<std::uint64_t>(bytes, 1), managed, true, place});
    return got;
}

void Runtime::register_host(void* host, std::uint64_t bytes) {
    const Addr place = free_place(bytes);
    try {
        // Accesses keep their alignment, which is at most 16 bytes.
        memory_.adopt(host, bytes, place + reinterpret_cast<Addr>(host) % 16);
    } catch (const InputError&) {
        throw CudaError{kInvalidValue, ""};
    }
    add_host_block(host, {bytes, false, false, place});
}

/// The same address in every run: the lowest free one above a fixed base.
Addr Runtime::free_place(std::uint64_t bytes) const {
    Addr place = kHostArena;
    for (const auto& [at, taken] : places_) {
        if (at - place >= bytes + kPage) break;
        place = (at + taken + 2 * kPage - 1) / kPage * kPage;
    }
    return place;
}

void Runtime::add_host_block(void* host, const HostBlock& block) {
    host_blocks_[reinterpret_cast<Addr>(host)] = block;
    places_[block.place] = block.bytes;
}

void Runtime::release_host(void* host, bool registered) {
    if (host == nullptr) return;
    const auto block = host_blocks_.find(reinterpret_cast<Addr>(host));
    if (block == host_blocks_.end() || block->second.mapped_here == registered) throw CudaError{kInvalidValue, ""};
    memory_.free(block->first);
    places_.erase(block->second.place);
    if (block->second.mapped_here) munmap(host, (block->second.bytes + kPage - 1) / kPage * kPage);
    host_blocks_.erase(block);
}

std::byte* Runtime::resolve(const void* address, std::uint64_t bytes, bool must_be_device) {
    const Addr at = reinterpret_cast<Addr>(address);
    const ptx::DeviceMemory::Range range = memory_.find(at);
    if (range.host != nullptr) {
        if (!range.holds(at, bytes)) throw CudaError{kInvalidValue, ""};
        return range.host + (at - range.base);
    }
    // Device addresses are not valid on the host: one that is not allocated is an error of the program.
    const bool device_address = at >= ptx::DeviceMemory::kArenaBase && at - ptx::DeviceMemory::kArenaBase < 2 * kDeviceBytes;
    if (must_be_device || device_address || address == nullptr) throw CudaError{kInvalidValue, ""};
    return reinterpret_cast<std::byte*>(at);
}

Stream* Runtime::stream(void* handle) {
    if (reinterpret_cast<std::uintptr_t>(handle) <= 2) return nullptr;  // default, legacy, per thread
    return &streams.at(handle);
}

// ---- the end

void Runtime::report() {
    flush_printed();
    if (failed_launches_ != 0) {
        say(fmt::format(
            "{} of {} launches failed{}", failed_launches_, launches_,
            exit_changed_
                ? fmt::format("; the program did not check for errors (cudaGetLastError), so the exit code is {}, not 0", kExitFailedLaunch)
                : ""));
    }
    if (recording_ != nullptr) recording_->finish();
    if (timing_ == nullptr) return;
    const RunResult result = timing_->finish();
    timing_.reset();
    std::fflush(stdout);  // the program's output comes first
    if (!html_file_.empty()) write_result(html_file_, to_html(result));
    if (json_file_ == "-") {
        write_descriptor(json_descriptor_, to_json(result));
    } else if (!json_file_.empty()) {
        write_result(json_file_, to_json(result));
    } else {
        std::fputs(launch_table(rows_, result).c_str(), stderr);
    }
}

void Runtime::report_at_exit() {
    Runtime& runtime = get();
    // Not in a forked process, and not while another thread is inside the runtime.
    if (runtime.process_ != getpid() || !runtime.mutex_.try_lock()) return;
    bool complete = true;
    // The JSON library allocates in destructors, which must not throw. The program has ended: nobody else's exceptions come here.
    const std::terminate_handler theirs = std::set_terminate([] {
        AtomicFile::discard_all();
        std::fputs("mergelane: out of memory; the result was not written\n", stderr);
        std::_Exit(kExitNoResult);
    });
    try {
        runtime.report();
    } catch (const std::exception& error) {
        tell(reason(error));
        complete = false;
    }
    std::set_terminate(theirs);
    runtime.mutex_.unlock();
    if (complete || runtime.exit_status_ != 0) return;
    std::fflush(nullptr);
    std::_Exit(kExitNoResult);  // this late, nothing else can change the exit code
}

void Runtime::judge_exit(int status) {
    Runtime& runtime = get();
    runtime.exit_status_ = status;
    if (status != 0 || !runtime.unseen_failure_ || runtime.process_ != getpid()) return;
    runtime.exit_changed_ = true;
    // The C library allows exit within exit: it continues with the remaining handlers and uses the later status.
    std::exit(kExitFailedLaunch);
}

__attribute__((destructor)) static void at_exit() {
    Runtime::report_at_exit();
}

// ---- the API boundary

Error& last_error() {
    thread_local Error error = kSuccess;
    return error;
}

int remember(Error error) {
    if (error != kSuccess) last_error() = error;
    return error;
}

int out_of_memory() {
    static std::atomic<bool> told = false;
    if (!told.exchange(true)) tell(kOutOfMemory);
    return remember(kMemoryAllocation);
}

int guarded_call(const std::function<void(Runtime&)>& body) try {
    Runtime& runtime = Runtime::get();
    const std::lock_guard lock(runtime.mutex());
    runtime.flush_printed();
    if (runtime.sticky() != kSuccess) return remember(runtime.sticky());
    try {
        body(runtime);
        return kSuccess;
    } catch (const CudaError& error) {
        if (!error.text.empty()) runtime.say(error.text);
        return remember(error.code);
    } catch (const InputError& error) {
        runtime.say(error.what());
        return remember(kInvalidValue);
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception& error) {
        runtime.say(fmt::format("internal error: {}; please report this with the program", error.what()));
        return remember(kUnknown);
    }
} catch (const std::bad_alloc&) {  // also of the messages
    return out_of_memory();
}

int not_supported(const char* function) {
    return guarded([function](Runtime&) {
        throw CudaError{kNotSupported, fmt::format("the program calls {}, which the replacement runtime does not have; it answers "
                                                   "cudaErrorNotSupported",
                                                   function)};
    });
}

}  // namespace mergelane::cudart
