#include <annulus/core/error.hpp>
#include <annulus/correlation/correlation_sums.hpp>

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace annulus {
namespace {

void check_sizes(const CorrelationSums& sums) {
  if (sums.signal.size() != sums.shape.correlations() || sums.mask.size() != sums.shape.correlations()) {
    throw Error(
        ErrorKind::kInput, "correlation sums",
        fmt::format("{} and {} values are not those of {} rings x {} angles, {}", sums.signal.size(),
                    sums.mask.size(), sums.shape.rings, sums.shape.angles, sums.shape.correlations()));
  }
}

bool fit(const LargeVector<std::int64_t>& sums, const LargeVector<std::int64_t>& others) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (__builtin_add_overflow(sums[i], others[i], &sum)) return false;
  }
  return true;
}

template <typename Signal, typename Value>
LargeVector<Value> divide(const LargeVector<Signal>& signal, const LargeVector<std::int64_t>& mask,
                          int scale) {
  LargeVector<Value> values(signal.size());
  // Multiplying with a power of two rounds nothing.
  const double factor = std::ldexp(1.0, -2 * scale);
  for (std::size_t i = 0; i < signal.size(); ++i) {
    values[i] =
        mask[i] == 0
            ? std::numeric_limits<Value>::quiet_NaN()
            : static_cast<Value>(static_cast<double>(signal[i]) / static_cast<double>(mask[i]) * factor);
  }
  return values;
}

}  // namespace

CorrelationSums::CorrelationSums(PolarShape of_images, int of_scale) : shape(of_images), scale(of_scale) {
  shape.check();
  signal.assign(shape.correlations(), 0);
  mask.assign(shape.correlations(), 0);
}

void CorrelationSums::add(const CorrelationSums& others) {
  if (others.shape != shape || others.scale != scale) {
    throw Error(
        ErrorKind::kInput, "correlation sums",
        fmt::format(
            "sums of {} rings x {} angles with `scale` {} cannot be added to those of {} x {} with {}",
            others.shape.rings, others.shape.angles, others.scale, shape.rings, shape.angles, scale),
        "correlate all images with the same rings, angles and scale");
  }
  check_sizes(*this);
  check_sizes(others);
  std::uint64_t all_images = 0;
  if (__builtin_add_overflow(images, others.images, &all_images) || !fit(signal, others.signal) ||
      !fit(mask, others.mask)) {
    throw Error(ErrorKind::kInput, "correlation sums", "together they leave 64 bits",
                "correlate with a smaller `scale`, or keep them apart");
  }
  images = all_images;
  for (std::size_t i = 0; i < signal.size(); ++i) signal[i] += others.signal[i];
  for (std::size_t i = 0; i < mask.size(); ++i) mask[i] += others.mask[i];
}

LargeVector<double> CorrelationSums::normalized() const {
  check_sizes(*this);
  return divide<std::int64_t, double>(signal, mask, scale);
}

LargeVector<float> PreviewSums::normalized() const { return divide<float, float>(signal, mask, scale); }

}  // namespace annulus
