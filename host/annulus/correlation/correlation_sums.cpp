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

// C2 as Value, in numbers that may be wider.
template <typename Value, typename Sums, typename Number>
void divide(const Sums& sums, std::size_t first, std::span<Number> values) {
  // Multiplying with a power of two rounds nothing.
  const double factor = std::ldexp(1.0, -2 * sums.scale);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto signal = static_cast<double>(sums.signal[first + i]);
    const std::int64_t mask = sums.mask[first + i];
    values[i] = mask == 0 ? std::numeric_limits<Value>::quiet_NaN()
                          : static_cast<Value>(signal / static_cast<double>(mask) * factor);
  }
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
  LargeVector<double> c2(signal.size());
  normalize(0, c2);
  return c2;
}

void CorrelationSums::normalize(std::size_t first, std::span<double> c2) const {
  divide<double>(*this, first, c2);
}

LargeVector<float> PreviewSums::normalized() const {
  LargeVector<float> c2(signal.size());
  divide<float>(*this, 0, std::span<float>(c2));
  return c2;
}

void PreviewSums::normalize(std::size_t first, std::span<double> c2) const {
  divide<float>(*this, first, c2);
}

}  // namespace annulus
