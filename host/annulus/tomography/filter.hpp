// The filters of filtered back-projection, with the conventions of scikit-image's iradon (0.26).
//
// The ramp filter is made in real space: h[0] = 1/2, h[d] = -2 / (pi d)^2 for odd d, 0 for other even d. So
// its mean is right, which it is not if it is sampled from |frequency|. Windows multiply its spectrum, of
// `length` values: that of an h which is periodic with `length`, at least twice what a projection measures.
//
//   ramp          1
//   shepp-logan   sin(pi f) / (pi f)                 f: cycles per step, from -1/2 to 1/2
//   cosine        cos(pi f)
//   hann          the even part of NumPy's hanning(length), which is not quite symmetric about f = 0
//   none          the projections as they are, the ramp left out too
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace annulus {

enum class Filter { kRamp, kSheppLogan, kCosine, kHann, kNone };

// "ramp", "shepp-logan", "cosine", "hann", "none"
std::string_view name_of(Filter filter);
std::optional<Filter> filter_from_name(std::string_view name);

// The power of two that iradon pads projections to, or more if values further apart than it foresees meet:
// `reach` steps and less.
std::size_t filter_length(std::size_t positions, std::size_t reach);

// The same for band-limited interpolation, which iradon does not have: no more than values `reach` steps
// apart need.
std::size_t band_length(std::size_t reach);

// The least even number, not below `least`, that Fourier transforms take in small steps: of the factors 2, 3
// and 5.
std::size_t smooth_size(std::size_t least);

// The spectrum, frequency j / length for j <= length / 2: the filter is even, so the rest follows.
std::vector<double> filter_spectrum(Filter filter, std::size_t length);

// The same filter in real space: h[d] for d <= reach, reach < length / 2.
std::vector<double> filter_taps(Filter filter, std::size_t length, std::size_t reach);

// cos(2 pi i / length), the same on all machines: of two versions of the C library, or for processors with
// and without fused multiply-add, doubles of sin and cos may differ in the last bit.
std::vector<double> cosine_table(std::size_t length);

}  // namespace annulus
