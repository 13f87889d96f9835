#include <annulus/plan/rank_clip.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace annulus {
namespace {

__extension__ using Wide = unsigned __int128;

Wide weight_of(std::span<const RankedPixel> pixels) {
  Wide sum = 0;
  for (const RankedPixel& pixel : pixels) sum += pixel.weight;
  return sum;
}

// Few enough to be sorted.
constexpr std::size_t kFew = 64;

double value_among_few(std::vector<RankedPixel> pixels, Wide wanted) {
  std::ranges::sort(pixels, {}, &RankedPixel::value);
  Wide sum = 0;
  for (const RankedPixel& pixel : pixels) {
    sum += pixel.weight;
    if (sum >= wanted) return pixel.value;
  }
  return pixels.back().value;
}

// Between two values of a sample, about where the wanted rank is.
std::pair<double, double> guess(std::span<const RankedPixel> pixels, double part) {
  constexpr std::size_t kSample = 48, kCaution = 5;
  std::array<double, kSample> sample;
  for (std::size_t i = 0; i < kSample; ++i) sample[i] = pixels[i * pixels.size() / kSample].value;
  std::ranges::sort(sample);
  const auto middle = static_cast<std::size_t>(part * (kSample - 1));
  return {sample[middle - std::min(middle, kCaution)], sample[std::min(middle + kCaution, kSample - 1)]};
}

// The least value for which all pixels up to it have a weight of `wanted`, which is at least 1 and not more
// than all have. Each round keeps what lies between two values, and mostly that is where the value is.
double value_at(std::span<const RankedPixel> all, Wide wanted, Wide total) {
  std::vector<RankedPixel> rest;
  for (std::span<const RankedPixel> pixels = all;;) {
    if (pixels.size() <= kFew) return value_among_few({pixels.begin(), pixels.end()}, wanted);
    const auto [low, high] = guess(pixels, static_cast<double>(wanted) / static_cast<double>(total));
    std::vector<RankedPixel> between(pixels.size());
    std::size_t count = 0;
    Wide below = 0, inside = 0;
    for (const RankedPixel& pixel : pixels) {  // without branches, which nobody could predict
      const bool is_below = pixel.value < low;
      const bool is_inside = !is_below && pixel.value <= high;
      below += is_below ? pixel.weight : 0;
      inside += is_inside ? pixel.weight : 0;
      between[count] = pixel;
      count += is_inside ? 1 : 0;
    }
    const bool is_between = below < wanted && wanted <= below + inside;
    if (is_between && low == high) return low;
    if (!is_between || count == pixels.size()) return value_among_few({pixels.begin(), pixels.end()}, wanted);
    between.resize(count);
    wanted -= below;
    total = inside;
    rest = std::move(between);
    pixels = rest;
  }
}

}  // namespace

std::uint64_t quantile_number(double part) {
  return static_cast<std::uint64_t>(std::llround(std::ldexp(part, kQuantileBits)));
}

RankWindow rank_window(const Clip& clip, std::span<const RankedPixel> pixels) {
  const Wide total = weight_of(pixels);
  const auto at = [&](double part) {
    // The least weight w with w x 2^kQuantileBits >= number x total.
    const Wide one = Wide{1} << kQuantileBits;
    const Wide wanted = (Wide{quantile_number(part)} * total + one - 1) >> kQuantileBits;
    return value_at(pixels, std::max<Wide>(wanted, 1), total);
  };
  if (clip.method == ClipMethod::kMedian) {
    const double middle = at(0.5);
    return {middle, middle};
  }
  return {at(clip.quantiles->low), at(clip.quantiles->high)};
}

}  // namespace annulus
