// SPDX-License-Identifier: MIT
// A library nobody wrote for a simulator: sort, scan and reduce of Thrust.
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>

#include <algorithm>

#include "check.cuh"

int main() {
    constexpr int n = 20000;
    thrust::host_vector<int> values(n);
    unsigned state = 1;
    for (int i = 0; i < n; ++i) {
        state = state * 1664525u + 1013904223u;
        values[i] = static_cast<int>(state >> 8) % 1000 - 300;
    }
    thrust::device_vector<int> device = values;
    thrust::sort(device.begin(), device.end());
    std::sort(values.begin(), values.end());
    const thrust::host_vector<int> sorted = device;
    CHECK(sorted == values);
    thrust::device_vector<long long> sums(n);
    thrust::inclusive_scan(device.begin(), device.end(), sums.begin(), thrust::plus<long long>());
    const thrust::host_vector<long long> scanned = sums;
    long long sum = 0;
    for (int i = 0; i < n; ++i) {
        sum += values[i];
        CHECK(scanned[i] == sum);
    }
    CHECK(thrust::reduce(device.begin(), device.end(), 0ll) == sum);
    std::printf("thrust_sort: sorted, scanned, reduced\n");
}
