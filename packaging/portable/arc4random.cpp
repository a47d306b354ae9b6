// SPDX-License-Identifier: MIT
// Debian 12's libstdc++ calls arc4random, the one function that would need a C library (2.36) newer than that of Ubuntu 22.04 (2.35).
#include <sys/random.h>

#include <cstdlib>

extern "C" unsigned arc4random() noexcept {
    unsigned value = 0;
    if (getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value)) std::abort();
    return value;
}
