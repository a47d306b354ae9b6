// SPDX-License-Identifier: MIT
#include "workload/cuda/ptx_images.hpp"

#include <fmt/format.h>

#include <optional>
#include <span>

#include "core/error.hpp"
#include "workload/cuda/elf.hpp"
#include "workload/cuda/fatbin.hpp"
#include "workload/cuda/link_ptx.hpp"

namespace mergelane::cuda {

namespace {

std::vector<std::string> texts_in(Bytes section, const std::string& name) {
    std::vector<std::string> texts;
    for (const Bytes container : find_containers(section)) {
        if (std::optional<PtxImage> image = find_ptx(container, name)) texts.push_back(std::move(image->text));
    }
    return texts;
}

}  // namespace

std::vector<NamedPtx> ptx_images(std::string content, const std::string& name) {
    const Bytes bytes = std::as_bytes(std::span(content));
    std::vector<std::string> texts;
    if (is_elf(bytes)) {
        for (const ElfSection& section : elf_sections(bytes)) {
            std::vector<std::string> found;
            if (section.name == ".nv_fatbin") found = texts_in(section.content, name);
            if (section.name == "__nv_relfatbin") {
                found = texts_in(section.content, name);
                if (!found.empty()) found = {link_ptx(found, name)};
            }
            std::move(found.begin(), found.end(), std::back_inserter(texts));
        }
    } else if (container_bytes(bytes)) {
        texts = texts_in(bytes, name);
    } else {
        return {{name, std::move(content)}};
    }
    if (texts.empty())
        throw InputError(
            fmt::format("{}: there is no PTX in it; compile it with nvcc -arch=sm_75 (without -code or -gencode), which embeds PTX", name));
    std::vector<NamedPtx> list;
    for (std::string& text : texts) list.push_back({fmt::format("{}.{}.ptx", name, list.size() + 1), std::move(text)});
    return list;
}

}  // namespace mergelane::cuda
