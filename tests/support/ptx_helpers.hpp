// SPDX-License-Identifier: MIT
// PTX kernels in tests: a module from text or file, arrays in device memory, a launch in one line.
#pragma once

#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "workload/ptx/ptx.hpp"

namespace mergelane::ptx {

inline std::string test_data(const std::string& name) {
    const std::string path = std::string(MERGELANE_SOURCE_DIR) + "/tests/data/ptx/" + name;
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read " + path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

class TestDevice {
public:
    explicit TestDevice(const std::string& text, const std::string& name = "test.ptx") : module(parse_module(text, name)) {}

    template <class T>
    Addr put(const std::vector<T>& values) {
        const Addr at = memory.allocate(values.size() * sizeof(T));
        memory.write(at, values.data(), values.size() * sizeof(T));
        return at;
    }
    template <class T>
    Addr zeros(std::size_t count) {
        return memory.allocate(count * sizeof(T));
    }
    template <class T>
    std::vector<T> get(Addr from, std::size_t count) const {
        std::vector<T> values(count);
        memory.read(from, values.data(), count * sizeof(T));
        return values;
    }
    template <class... Args>
    std::unique_ptr<KernelSource> run(const std::string& kernel, Dim3 grid, Dim3 block, const Args&... args) {
        const std::vector<std::byte> params = module->pack(kernel, {Argument{&args, sizeof(args)}...});
        return execute(*module, kernel, {grid, block, dynamic_shared}, params, memory, options, record);
    }

    std::shared_ptr<const Module> module;
    DeviceMemory memory;
    ExecOptions options;
    std::uint32_t dynamic_shared = 0;
    bool record = false;
};

}  // namespace mergelane::ptx
