#include <annulus/plan/rank_clip.hpp>

#include <algorithm>
#include <cmath>

namespace annulus {
namespace {

__extension__ using Wide = unsigned __int128;

Wide weight_of(std::span<const RankedPixel> pixels) {
  Wide sum = 0;
  for (const RankedPixel& pixel : pixels) sum += pixel.weight;
  return sum;
}

double middle_of(double a, double b, double c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

// The least value for which all pixels up to it have a weight of `wanted`, at least 1. Halves are looked at
// like quicksort does, but only the one that has the value.
double value_at(std::span<RankedPixel> pixels, Wide wanted) {
  while (true) {
    const double pivot =
        middle_of(pixels.front().value, pixels[pixels.size() / 2].value, pixels.back().value);
    const auto first = std::partition(pixels.begin(), pixels.end(),
                                      [pivot](const RankedPixel& pixel) { return pixel.value < pivot; });
    const auto below = pixels.first(static_cast<std::size_t>(first - pixels.begin()));
    const Wide weight_below = weight_of(below);
    if (weight_below >= wanted) {
      pixels = below;
      continue;
    }
    const auto end = std::partition(first, pixels.end(),
                                    [pivot](const RankedPixel& pixel) { return pixel.value == pivot; });
    const Wide weight = weight_below + weight_of({first, end});
    if (weight >= wanted || end == pixels.end()) return pivot;
    wanted -= weight;
    pixels = {end, pixels.end()};
  }
}

}  // namespace

std::uint64_t quantile_number(double part) {
  return static_cast<std::uint64_t>(std::llround(std::ldexp(part, kQuantileBits)));
}

RankWindow rank_window(const Clip& clip, std::span<RankedPixel> pixels) {
  const Wide total = weight_of(pixels);
  const auto at = [&](double part) {
    // The least weight w with w x 2^kQuantileBits >= number x total.
    const Wide one = Wide{1} << kQuantileBits;
    const Wide wanted = (Wide{quantile_number(part)} * total + one - 1) >> kQuantileBits;
    return value_at(pixels, std::max<Wide>(wanted, 1));
  };
  if (clip.method == ClipMethod::kMedian) {
    const double middle = at(0.5);
    return {middle, middle};
  }
  return {at(clip.quantiles->low), at(clip.quantiles->high)};
}

}  // namespace annulus
