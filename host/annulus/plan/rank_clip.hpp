// Medians and quantiles of the pixels in a bin: one definition for every backend.
//
// A pixel is ordered by its value x = s / n (spread_table.hpp), as the nearest double. Its rank is the sum of
// weight x n over all pixels of the bin that are not above it. What lies between two quantiles, ends
// included, is summed like any pixels. So pixels of equal value are treated alike, and no order of pixels has
// a say.
#pragma once

#include <annulus/plan/recipe.hpp>

#include <cstdint>
#include <span>

namespace annulus {

// Quantiles are multiples of 2^-kQuantileBits.
constexpr int kQuantileBits = 30;

struct RankedPixel {
  double value;          // x
  std::uint64_t weight;  // weight x n
};

// The values of a bin that count are low <= x <= high.
struct RankWindow {
  double low;
  double high;
};

// Of the pixels of a bin, of which there is at least one.
RankWindow rank_window(const Clip& clip, std::span<const RankedPixel> pixels);

// A part of the weights, as the integer that backends compute with.
std::uint64_t quantile_number(double part);

}  // namespace annulus
