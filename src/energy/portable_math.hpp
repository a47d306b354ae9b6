// SPDX-License-Identifier: MIT
// Logarithm and exponential from additions, multiplications and divisions in a fixed order: the same bits on every host and with every math
// library.
#pragma once

namespace mergelane {

/// Natural logarithm of a positive number.
double portable_log(double x);

/// e to the power of x, for |x| < 700.
double portable_exp(double x);

}  // namespace mergelane
