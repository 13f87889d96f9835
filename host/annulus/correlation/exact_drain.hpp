// From sums of double precision that are integers but for rounding errors to integers.
#pragma once

#include <annulus/correlation/frequency_sums.hpp>

#include <cstdint>

namespace annulus {

// Adds `weight` times the sums, rounded to integers, to those at [q][q' >= q][d]. Nothing is left in `sums`.
// Throws kBackend if one of them is further from an integer than largest_error, which is below 0.5: then FFTW
// or BLAS computes less precisely than any of its kind.
void drain_rounded(FrequencySums<double>& sums, const PolarShape& shape, double largest_error,
                   std::int64_t weight, LargeVector<std::int64_t>& integers);

}  // namespace annulus
