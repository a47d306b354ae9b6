// SPDX-License-Identifier: MIT
#include "workload/cuda/program_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/error.hpp"
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

void read_dynamic(const std::vector<ElfSection>& all, const ElfSection& dynamic, ProgramFacts& facts) {
    if (dynamic.link >= all.size()) return;
    for (std::uint64_t at = 0; at + kDynamicEntry <= dynamic.content.size(); at += kDynamicEntry) {
        const std::uint64_t tag = value_at<std::uint64_t>(dynamic.content, at);
        if (tag == kNeeded && facts.needed.size() < kMostNeeded)
            facts.needed.emplace_back(text_at(all[dynamic.link].content, value_at<std::uint64_t>(dynamic.content, at + 8)).substr(0, 255));
        if (tag == kRpath) facts.rpath = true;
    }
}

void read_device_code(Bytes section, ProgramFacts& facts) {
    for (const Bytes container : find_containers(section)) {
        try {
            bool ptx = false;
            for (const FatbinEntry& entry : fatbin_entries(container, "")) {
                ptx = ptx || entry.kind == FatbinEntry::Kind::ptx;
                if (entry.kind == FatbinEntry::Kind::machine_code &&
                    std::find(facts.sms.begin(), facts.sms.end(), entry.sm) == facts.sms.end())
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
        if (section.name == ".nv_fatbin" || section.name == "__nv_relfatbin") read_device_code(section.content, facts);
    }
    return facts;
}

std::string why_not(const ProgramFacts& facts, const std::string& name) {
    if (!facts.elf || facts.containers == 0) return {};  // a script, or a program whose libraries use CUDA
    const auto runtime =
        std::find_if(facts.needed.begin(), facts.needed.end(), [](const std::string& n) { return n.starts_with(kRuntime); });
    if (runtime == facts.needed.end())
        return fmt::format(
            "'{}' is linked statically to the CUDA runtime, which cannot be replaced; link it again with nvcc -cudart shared", name);
    if (*runtime != "libcudart.so.13")
        return fmt::format("'{}' asks for {}, but the replacement is libcudart.so.13; compile it with CUDA 13 and -cudart shared", name,
                           *runtime);
    if (facts.with_ptx == 0) {
        const std::uint32_t sm = facts.sms.empty() ? 75 : *std::min_element(facts.sms.begin(), facts.sms.end());
        return fmt::format(
            "'{}' carries machine code but no PTX, which is what Mergelane executes; compile it with nvcc -arch=sm_{} (without "
            "-code or -gencode), which embeds PTX",
            name, sm);
    }
    if (facts.rpath)
        return fmt::format(
            "'{}' has an RPATH, which hides the replacement runtime; link it without -rpath, or with -Xlinker --enable-new-dtags", name);
    return {};
}

}  // namespace mergelane::cuda
