// SPDX-License-Identifier: MIT
#include "workload/cuda/program_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/error.hpp"
#include "workload/cuda/cubin.hpp"
#include "workload/cuda/elf.hpp"
#include "workload/cuda/fatbin.hpp"

namespace mergelane::cuda {

namespace {

constexpr std::uint64_t kDynamicEntry = 16;
constexpr std::uint32_t kDynamicSection = 6;
constexpr std::uint64_t kNeeded = 1;
constexpr std::uint64_t kRpath = 15;
constexpr std::size_t kMostNeeded = 1000;
constexpr std::string_view kRuntime = "libcudart.so.";
/// A message of the runtime, of every version: who contains it was linked with -cudart static.
constexpr std::string_view kRuntimeText = "CUDA driver version is insufficient for CUDA runtime version";
constexpr std::string_view kReplaced[] = {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"};

auto needed(const ProgramFacts& facts, std::string_view library) {
    return std::find_if(facts.needed.begin(), facts.needed.end(), [&](const std::string& name) { return name.starts_with(library); });
}

bool contains(Bytes section, std::string_view text) {
    return std::string_view(reinterpret_cast<const char*>(section.data()), section.size()).find(text) != std::string_view::npos;
}

void read_dynamic(const std::vector<ElfSection>& all, const ElfSection& dynamic, ProgramFacts& facts) {
    if (dynamic.link >= all.size()) return;
    for (std::uint64_t at = 0; at + kDynamicEntry <= dynamic.content.size(); at += kDynamicEntry) {
        const std::uint64_t tag = value_at<std::uint64_t>(dynamic.content, at);
        if (tag == kNeeded && facts.needed.size() < kMostNeeded)
            facts.needed.emplace_back(text_at(all[dynamic.link].content, value_at<std::uint64_t>(dynamic.content, at + 8)).substr(0, 255));
        if (tag == kRpath) facts.rpath = true;
    }
}

bool without_functions(const FatbinEntry& entry) {
    const std::string cubin = unpack(entry, "");
    return registers_in_cubin(std::as_bytes(std::span(cubin))).empty();
}

void read_device_code(Bytes section, ProgramFacts& facts) {
    for (const Bytes container : find_containers(section)) {
        try {
            bool ptx = false;
            for (const FatbinEntry& entry : fatbin_entries(container, "")) {
                ptx = ptx || entry.kind == FatbinEntry::Kind::ptx;
                if (entry.kind != FatbinEntry::Kind::machine_code ||
                    std::find(facts.sms.begin(), facts.sms.end(), entry.sm) != facts.sms.end())
                    continue;
                // nvcc links machine code without any function into programs that have no kernels.
                if (facts.sms.empty() && without_functions(entry)) continue;
                facts.sms.push_back(entry.sm);
            }
            ++facts.containers;
            facts.with_ptx += ptx;
        } catch (const InputError&) {
            // The runtime reports details when the program uses it.
        }
    }
}

}  // namespace

ProgramFacts inspect_program(Bytes file) {
    ProgramFacts facts;
    if (!is_elf(file)) return facts;
    facts.elf = true;
    const std::vector<ElfSection> all = elf_sections(file);
    for (const ElfSection& section : all) {
        if (section.type == kDynamicSection) read_dynamic(all, section, facts);
        if (section.name == ".rodata" && contains(section.content, kRuntimeText)) facts.static_runtime = true;
        if (section.name == ".nv_fatbin" || section.name == "__nv_relfatbin") read_device_code(section.content, facts);
    }
    return facts;
}

bool compiles_code(const ProgramFacts& facts) {
    return needed(facts, "libnvrtc.so.") != facts.needed.end();
}

std::string why_not(const ProgramFacts& facts, const std::string& name) {
    if (!facts.elf || facts.containers == 0) return {};  // a script, or a program whose libraries use CUDA
    // Modules that the program loads while it runs are checked then; nvcc gives such programs an empty container. They may open libcuda
    // with dlopen, and then need neither library.
    const bool own_code = facts.with_ptx != 0 || !facts.sms.empty();
    const bool loads_modules = needed(facts, "libcuda.so.") != facts.needed.end() || compiles_code(facts);
    const auto runtime = needed(facts, kRuntime);
    if (runtime == facts.needed.end() && (own_code || (facts.static_runtime && !loads_modules)))
        return fmt::format(
            "'{}' is linked statically to the CUDA runtime, which cannot be replaced; link it again with nvcc -cudart shared", name);
    if (runtime != facts.needed.end() && std::find(std::begin(kReplaced), std::end(kReplaced), *runtime) == std::end(kReplaced))
        return fmt::format(
            "'{}' asks for {}, but the replacement is libcudart.so.13 (also .12 and .11.0); compile it with CUDA 13 and "
            "-cudart shared",
            name, *runtime);
    if (facts.with_ptx == 0 && own_code && !loads_modules)
        return fmt::format(
            "'{}' carries machine code but no PTX, which is what Mergelane executes; compile it with nvcc -arch=sm_{} (without "
            "-code or -gencode), which embeds PTX",
            name, *std::min_element(facts.sms.begin(), facts.sms.end()));
    if (facts.rpath)
        return fmt::format(
            "'{}' has an RPATH, which hides the replacement runtime; link it without -rpath, or with -Xlinker --enable-new-dtags", name);
    return {};
}

}  // namespace mergelane::cuda
