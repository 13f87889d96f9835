// Correlations of a group of images by Fourier transforms.
//
// For each frequency k of the angle, G(k, q, q') = sum over images of conj(F(q)) F(q') is a Hermitian
// product, and the inverse transform of G over k is the correlation. Real images need half of the
// frequencies, and Hermitian products half of the pairs.
//
// Spectra of a block of images lie as [k][image][q], products as [k][q][q'] of which only q' >= q is used.
#pragma once

#include <annulus/core/large_vector.hpp>
#include <annulus/correlation/polar_image.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace annulus {

// Real is float or double.
template <typename Real>
class FrequencySums {
 public:
  // block: images that are multiplied at once, 0 for as many as are fast. threads: 0 for all.
  FrequencySums(PolarShape shape, std::size_t block, unsigned threads);
  ~FrequencySums();
  FrequencySums(const FrequencySums&) = delete;
  FrequencySums& operator=(const FrequencySums&) = delete;

  // Images per block. Throws kUsage for a shape or a block that is too large.
  static std::size_t block_of(const PolarShape& shape, std::size_t requested);
  static std::size_t bytes(const PolarShape& shape, std::size_t block, unsigned threads);

  std::size_t block() const { return block_; }
  bool empty() const { return empty_; }

  // Images [image][q][phi], at most block() of them.
  void add(std::span<const std::int16_t> images);

  // Calls take(first, values) for all of [q][q' >= q][d], from several threads, each place once: `values`
  // begin at the place `first`, and are `angles` times the sums. Nothing is left afterwards.
  void drain(const std::function<void(std::size_t first, std::span<const Real> values)>& take);

 private:
  struct Complex {
    Real re, im;
  };
  struct Plans;

  void transform(std::span<const std::int16_t> images, std::size_t begin, std::size_t end);
  void multiply(std::size_t images, std::size_t begin, std::size_t end);

  PolarShape shape_;
  std::size_t block_;
  unsigned threads_;
  bool empty_ = true;
  LargeVector<Complex> spectra_;   // [k][image][q]
  LargeVector<Complex> products_;  // [k][q][q']
  std::unique_ptr<Plans> plans_;
};

extern template class FrequencySums<float>;
extern template class FrequencySums<double>;

}  // namespace annulus
