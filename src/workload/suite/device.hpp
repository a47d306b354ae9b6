// SPDX-License-Identifier: MIT
// What a benchmark's host program needs from a GPU: memory and kernel launches. The implementation decides what a launch does: execute
// functionally, record for the timing model, or only note the dimensions.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/kernel.hpp"

namespace mergelane::suite {

/// Device memory that holds `size` values of type T.
template <class T>
struct DeviceArray {
    Addr address = 0;
    std::size_t size = 0;
};

struct KernelCall {
    std::string_view module;  ///< "rodinia/hotspot": the PTX is kernels/rodinia/hotspot.ptx
    std::string_view kernel;  ///< entry of that module
    Dim3 grid;
    Dim3 block;
    std::uint32_t dynamic_shared = 0;
    std::vector<std::byte> params;  ///< laid out as the entry's parameter list
};

/// Arguments, each at its natural alignment, laid out as kernel parameters.
class ParamPacker {
public:
    template <class T>
    void add(const T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        const std::size_t at = (bytes_.size() + alignof(T) - 1) / alignof(T) * alignof(T);
        bytes_.resize(at + sizeof value);
        std::memcpy(bytes_.data() + at, &value, sizeof value);
    }
    template <class T>
    void add(const DeviceArray<T>& array) {
        add(array.address);
    }
    std::vector<std::byte> take() { return std::move(bytes_); }

private:
    std::vector<std::byte> bytes_;
};

class Device {
public:
    virtual ~Device() = default;
    virtual Addr allocate_bytes(std::uint64_t bytes) = 0;
    virtual void write_bytes(Addr to, const void* from, std::uint64_t bytes) = 0;
    virtual void read_bytes(Addr from, void* to, std::uint64_t bytes) = 0;
    virtual void fill_bytes(Addr to, int value, std::uint64_t bytes) = 0;
    virtual void launch_kernel(const KernelCall& call) = 0;

    template <class T>
    DeviceArray<T> alloc(std::size_t size) {
        return {allocate_bytes(size * sizeof(T)), size};
    }
    template <class T>
    DeviceArray<T> upload(const std::vector<T>& values) {
        const auto array = alloc<T>(values.size());
        upload(array, values);
        return array;
    }
    template <class T>
    void upload(const DeviceArray<T>& to, const std::vector<T>& values) {
        write_bytes(to.address, values.data(), values.size() * sizeof(T));
    }
    template <class T>
    DeviceArray<T> zeros(std::size_t size) {
        const auto array = alloc<T>(size);
        fill(array, 0);
        return array;
    }
    /// Sets every byte to `value`.
    template <class T>
    void fill(const DeviceArray<T>& array, int value) {
        fill_bytes(array.address, value, array.size * sizeof(T));
    }
    template <class T>
    std::vector<T> download(const DeviceArray<T>& array) {
        std::vector<T> values(array.size);
        read_bytes(array.address, values.data(), values.size() * sizeof(T));
        return values;
    }
    /// Launches a kernel. Upload before the call, not inside: the evaluation order of arguments is unspecified, and addresses would depend
    /// on the compiler. Argument types must match the kernel's parameters exactly; arrays stand for pointers.
    template <class... Arguments>
    void launch(std::string_view module, std::string_view kernel, Dim3 grid, Dim3 block, const Arguments&... arguments) {
        ParamPacker packer;
        (packer.add(arguments), ...);
        launch_kernel({module, kernel, grid, block, 0, packer.take()});
    }
};

}  // namespace mergelane::suite
