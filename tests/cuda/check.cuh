// SPDX-License-Identifier: MIT
// What the test programs share: stop with the place when something is wrong.
#pragma once

#include <cstdio>
#include <cstdlib>

#define CHECK(condition)                                                        \
    do {                                                                        \
        if (!(condition)) {                                                     \
            std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            std::exit(1);                                                       \
        }                                                                       \
    } while (0)
#define OK(call)                                                                                                          \
    do {                                                                                                                  \
        const cudaError_t error = (call);                                                                                 \
        if (error != cudaSuccess) {                                                                                       \
            std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, cudaGetErrorName(error), cudaGetErrorString(error));       \
            std::exit(1);                                                                                                 \
        }                                                                                                                 \
    } while (0)
