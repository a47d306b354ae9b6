// SPDX-License-Identifier: MIT
// Runs a kernel in every way of mergelane/cta_cluster.cuh and compares each result with the original's, bit for bit.
#pragma once

#include <cstring>
#include <utility>
#include <vector>

#include <mergelane/cta_cluster.cuh>

#include "check.cuh"

template <class T>
class DeviceArray {
public:
    explicit DeviceArray(std::size_t size) : size_(size) { OK(cudaMalloc(&at_, size * sizeof(T))); }
    explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
        OK(cudaMemcpy(at_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice));
    }
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;
    ~DeviceArray() { OK(cudaFree(at_)); }

    T* at() const { return at_; }
    void fill(int byte) { OK(cudaMemset(at_, byte, size_ * sizeof(T))); }
    std::vector<T> values() const {
        std::vector<T> values(size_);
        OK(cudaMemcpy(values.data(), at_, size_ * sizeof(T), cudaMemcpyDeviceToHost));
        return values;
    }

private:
    T* at_ = nullptr;
    std::size_t size_;
};

inline unsigned random_number() {
    static unsigned state = 1;
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

/// Small numbers with a fraction, so that sums in another order would differ.
inline std::vector<float> random_floats(std::size_t size) {
    std::vector<float> values(size);
    for (float& value : values) value = static_cast<float>(random_number() % 2001) / 7.0f - 100.0f;
    return values;
}

inline std::vector<unsigned> shuffled(unsigned size) {
    std::vector<unsigned> table(size);
    for (unsigned n = 0; n < size; ++n) {
        const unsigned other = random_number() % (n + 1);
        table[n] = table[other];
        table[other] = n;
    }
    return table;
}

struct Launch {
    dim3 grid, block;
    std::size_t shared = 0;
};

/// `original()`, `redirected(order, sms)` and `agents(agents)` launch; `kernel` is what the last of them launches. `T` is what they write,
/// after `out` was filled with the byte `before`.
template <class T, class Kernel, class Original, class Redirected, class WithAgents>
void compare(const char* name, const Launch& launch, DeviceArray<T>& out, int before, Kernel* kernel, Original&& original,
             Redirected&& redirected, WithAgents&& with_agents) {
    const DeviceArray<unsigned> table(shuffled(launch.grid.x * launch.grid.y * launch.grid.z));
    const std::vector<mergelane::Order> orders = {mergelane::Order::rows(),   mergelane::Order::columns(),
                                                  mergelane::Order::tiles(2), mergelane::Order::tiles(3),
                                                  mergelane::Order::bands(2), mergelane::Order::table(table.at())};
    mergelane::AgentState state;
    OK(state.create());
    out.fill(before);
    original();
    OK(cudaGetLastError());
    const std::vector<T> expected = out.values();
    int versions = 0;
    const auto check = [&] {
        OK(cudaGetLastError());
        CHECK(std::memcmp(out.values().data(), expected.data(), expected.size() * sizeof(T)) == 0);
        out.fill(before);
        ++versions;
    };
    out.fill(before);
    for (const mergelane::Order& order : orders) {
        for (const unsigned sms : {1u, state.clusters()}) {
            redirected(order, sms);
            check();
        }
        // All that fit by a counter, and by slot; and throttled.
        using Id = mergelane::AgentId;
        for (const auto& [active, id] :
             {std::pair(0u, Id::counter), std::pair(0u, Id::slot), std::pair(1u, Id::counter), std::pair(2u, Id::slot)}) {
            mergelane::AgentOptions options;
            options.active = active;
            options.id = id;
            mergelane::Agents agents;
            OK(state.plan(agents, kernel, launch.block, launch.shared, launch.grid, order, options));
            with_agents(agents);
            check();
        }
    }
    std::printf("%s: %d versions equal the original\n", name, versions);
}

/// For kernels that are one object: body(block, grid) is what a CTA does.
template <class Body>
__global__ void original_of(Body body) {
    body(blockIdx, gridDim);
}
template <class Body>
__global__ void redirected_of(mergelane::Order order, unsigned sms, Body body) {
    body(sms == 1 ? mergelane::swizzle(order) : mergelane::redirect(order, sms), gridDim);
}
template <class Body>
__global__ void agents_of(mergelane::Agents agents, Body body) {
    for (const dim3 block : agents) body(block, agents.grid());
}
template <class T, class Body>
void compare(const char* name, const Launch& launch, DeviceArray<T>& out, int before, const Body& body) {
    compare(
        name, launch, out, before, agents_of<Body>, [&] { original_of<<<launch.grid, launch.block, launch.shared>>>(body); },
        [&](mergelane::Order order, unsigned sms) { redirected_of<<<launch.grid, launch.block, launch.shared>>>(order, sms, body); },
        [&](mergelane::Agents agents) { agents_of<<<agents.ctas(), launch.block, launch.shared>>>(agents, body); });
}
