// SPDX-License-Identifier: MIT
#include "modules.hpp"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>

#include "core/error.hpp"
#include "core/text.hpp"
#include "files/input_file.hpp"
#include "workload/cuda/cubin.hpp"
#include "workload/cuda/elf.hpp"
#include "workload/cuda/link_ptx.hpp"

namespace mergelane::cudart {

namespace {

constexpr Error kInvalidImage = static_cast<Error>(200);
constexpr Error kFileNotFound = static_cast<Error>(301);
constexpr std::size_t kContainerHead = 16;
constexpr const char* kModule = "the module that the program loads";

[[noreturn]] void only_machine_code() {
    throw CudaError{kNoKernelImageForDevice,
                    fmt::format("{} has machine code but no PTX, which is what Mergelane executes; load PTX (nvcc -ptx, nvrtcGetPTX) or a "
                                "fatbin that has PTX",
                                kModule)};
}

LoadedCode from_container(std::span<const std::byte> container) {
    LoadedCode code;
    std::optional<cuda::PtxImage> found = cuda::find_ptx(container, kModule);
    if (!found) only_machine_code();
    code.sm = found->sm;
    code.units.push_back(std::move(found->text));
    for (const auto& [kernel, registers] : cuda::registers_in_container(container, code.sm))
        code.remarks += fmt::format("// mergelane: registers {} {}\n", kernel, registers);
    return code;
}

/// The SM of ".target sm_75".
std::uint32_t target_of(std::string_view text) {
    const std::size_t at = text.find(".target");
    const std::size_t sm = at == std::string_view::npos ? at : text.find("sm_", at);
    return sm == std::string_view::npos ? 0 : static_cast<std::uint32_t>(std::atoi(std::string(text.substr(sm + 3, 4)).c_str()));
}

/// `most`: the bytes that are there, if that is known.
LoadedCode read_bytes(const void* image, std::size_t most) try {
    if (image == nullptr) throw CudaError{kInvalidValue, ""};
    const auto* bytes = static_cast<const std::byte*>(image);
    std::uint32_t magic = 0;
    if (most >= sizeof magic) std::memcpy(&magic, bytes, sizeof magic);
    if (magic == cuda::kWrapperMagic && most == SIZE_MAX) return read_image(static_cast<const cuda::FatbinWrapper*>(image)->data);
    if (magic == cuda::kContainerMagic) {
        const std::optional<std::uint64_t> size = cuda::container_bytes({bytes, std::min(most, kContainerHead)});
        if (!size || *size > most) throw CudaError{kInvalidImage, fmt::format("{} is damaged", kModule)};
        return from_container({bytes, static_cast<std::size_t>(*size)});
    }
    if (magic == 0x464C457F) only_machine_code();
    const auto* const text = static_cast<const char*>(image);
    LoadedCode code;
    code.units.emplace_back(text, most == SIZE_MAX ? std::strlen(text) : strnlen(text, most));
    if (code.units[0].find(".version") == std::string::npos)
        throw CudaError{kInvalidImage, fmt::format("{} is neither PTX nor a fatbin; load what nvcc -ptx or nvrtcGetPTX makes", kModule)};
    code.sm = target_of(code.units[0]);
    return code;
} catch (const InputError& error) {
    throw CudaError{kInvalidImage, error.what()};
}

}  // namespace

LoadedCode read_image(const void* image) {
    return read_bytes(image, SIZE_MAX);
}

LoadedCode read_image_file(const char* path) {
    if (path == nullptr) throw CudaError{kInvalidValue, ""};
    std::string content;
    try {
        content = read_input(path, ptx::kMostTextBytes);
    } catch (const InputError& error) {
        throw CudaError{kFileNotFound, error.what()};
    }
    return read_bytes(content.data(), content.size());
}

CodeImage* Runtime::load_module(const std::vector<std::string>& units, std::uint32_t sm, const std::string& remarks) {
    CodeImage& image = images_.emplace_back();
    image.name = fmt::format("{}.{}.ptx", program_, images_.size());
    try {
        const std::string text = (units.size() == 1 ? units[0] : cuda::link_ptx(units, image.name)) + "\n" + remarks;
        keep_ptx(image.name, text);
        std::shared_ptr<const ptx::Module> parsed = ptx::parse_module(text, image.name);
        memory_.bind(*parsed);
        image.sm = sm;
        image.module = std::move(parsed);
        fit_device();
    } catch (const InputError& error) {
        image.error = kInvalidPtx;
        throw CudaError{image.error, error.what()};
    }
    return &image;
}

void Runtime::unload_module(CodeImage* image) {
    for (const ptx::Variable& variable : image->module->variables()) {
        if (variable.space != ptx::StateSpace::global && variable.space != ptx::StateSpace::constant) continue;
        const Addr place = memory_.symbol(*image->module, variable.name);
        if (memory_.find(place).base == place) memory_.free(place);
    }
    remove_image(image);
    image->module.reset();
    image->error = kInvalidResourceHandle;
}

Kernel& Runtime::module_kernel(CodeImage* image, std::string_view name) {
    const ptx::Function* const function = module(*image).find_function(name);
    if (function == nullptr || !function->entry || !function->defined) throw CudaError{static_cast<Error>(500), ""};
    for (Kernel& known : kernels_) {
        if (known.image == image && known.name == name) return known;
    }
    Kernel& kernel = kernels_.emplace_back();
    kernel.image = image;
    kernel.name = name;
    kernel_of_[&kernel] = &kernel;
    return kernel;
}

}  // namespace mergelane::cudart
