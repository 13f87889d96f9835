#include <annulus/core/error.hpp>
#include <annulus/correlation/exact_drain.hpp>

#include <fmt/format.h>

#include <atomic>
#include <bit>
#include <cmath>

namespace annulus {
namespace {

// Added to a number below 2^51, it leaves its integer in the last bits, rounded to nearest: one addition that
// all processors do for several lanes, which a conversion to 64 bits is not.
constexpr double kShift = 6755399441055744.0;  // 1.5 x 2^52

// Whether all are near enough to an integer; none that is no number is.
template <bool weighted>
bool add_rounded(std::span<const double> values, double factor, double largest_error, std::int64_t weight,
                 std::int64_t* integers) {
  std::int64_t far = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i] * factor;
    const double shifted = value + kShift;
    const std::int64_t integer = std::bit_cast<std::int64_t>(shifted) - std::bit_cast<std::int64_t>(kShift);
    far |= std::abs(value - (shifted - kShift)) <= largest_error ? 0 : 1;
    integers[i] += weighted ? weight * integer : integer;
  }
  return far == 0;
}

}  // namespace

void drain_rounded(FrequencySums<double>& sums, const PolarShape& shape, double largest_error,
                   std::int64_t weight, LargeVector<std::int64_t>& integers) {
  std::atomic<bool> near = true;
  const double factor = 1.0 / static_cast<double>(shape.angles);
  sums.drain([&](std::size_t first, std::span<const double> values) {
    const auto add = weight == 1 ? add_rounded<false> : add_rounded<true>;
    if (!add(values, factor, largest_error, weight, integers.data() + first)) near = false;
  });
  if (!near) {
    throw Error(
        ErrorKind::kBackend, "FFTW or BLAS",
        fmt::format(
            "a sum is further than {} from an integer: their rounding errors are larger than they can be",
            largest_error),
        "the libraries are broken, or computed with less than double precision: install those of the system");
  }
}

}  // namespace annulus
