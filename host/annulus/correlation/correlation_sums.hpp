// The sums of a correlation over snapshots, as integers and as what they mean.
//
//   signal(q, q', d) = sum over images and phi of J(q, phi) J(q', phi + d)     phi + d modulo a full turn
//   mask  (q, q', d) = the same of the masks: how many products of valid values the signal has
//   C2    (q, q', d) = signal / mask / 2^(2 scale), NaN where the mask term is 0
//
// Arrays are [q][q' >= q][d]. The other half follows: C(q', q, d) = C(q, q', -d). Integers make the sums the
// same whatever the order, the blocks, the threads or the machines that they come from.
#pragma once

#include <annulus/core/large_vector.hpp>
#include <annulus/correlation/polar_image.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace annulus {

struct CorrelationSums {
  PolarShape shape;
  int scale = 0;
  std::uint64_t images = 0;
  LargeVector<std::int64_t> signal, mask;  // [q][q' >= q][d]

  CorrelationSums() = default;
  CorrelationSums(PolarShape shape, int scale);  // of no image; throws kUsage for the shape

  // Throws kInput, and changes nothing, if the others have another shape or scale, arrays of another size, or
  // if a sum would leave 64 bits.
  void add(const CorrelationSums& others);

  // C2, with one division per value; and those from the place `first` on.
  LargeVector<double> normalized() const;
  void normalize(std::size_t first, std::span<double> c2) const;
};

// Of float sums, a preview: see FastCorrelator.
struct PreviewSums {
  PolarShape shape;
  int scale = 0;
  std::uint64_t images = 0;
  LargeVector<float> signal;
  LargeVector<std::int64_t> mask;

  LargeVector<float> normalized() const;
  void normalize(std::size_t first, std::span<double> c2) const;  // the same values
};

// The value at (q, other, d) of an array [q][q' >= q][d], for q and other in either order.
template <typename T>
T correlation_at(const PolarShape& shape, std::span<const T> values, std::size_t q, std::size_t other,
                 std::size_t d) {
  if (q <= other) return values[shape.pair(q, other) * shape.angles + d];
  return values[shape.pair(other, q) * shape.angles + (shape.angles - d) % shape.angles];
}

// All of an array [q][q' >= q][d], as [q][q'][d].
template <typename T>
LargeVector<T> expand_correlation(const PolarShape& shape, std::span<const T> values) {
  LargeVector<T> all(shape.rings * shape.rings * shape.angles);
  T* next = all.data();
  for (std::size_t q = 0; q < shape.rings; ++q) {
    for (std::size_t other = 0; other < shape.rings; ++other) {
      for (std::size_t d = 0; d < shape.angles; ++d) *next++ = correlation_at(shape, values, q, other, d);
    }
  }
  return all;
}

}  // namespace annulus
