// The mask term of a correlation: how many products of valid values its sums have.
//
// Images whose mask is the same share one correlation of it, so a mask that never changes costs one in all.
// Masks that change are kept until they are many and then correlated like images, all that were used equally
// often at once.
#pragma once

#include <annulus/core/large_vector.hpp>
#include <annulus/correlation/frequency_sums.hpp>
#include <annulus/correlation/polar_image.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace annulus {

class MaskTerm {
 public:
  static constexpr std::size_t kMasks = 256;

  explicit MaskTerm(const PolarShape& shape) : shape_(shape) {}

  static std::size_t bytes(const PolarShape& shape) { return kMasks * shape.values(); }

  // One image with this mask; an empty one masks nothing. Not if full().
  void count(std::span<const std::uint8_t> valid);
  bool full() const { return masks_.size() == kMasks; }
  // Whether add_to() needs no Fourier transform.
  bool trivial() const { return masks_.empty(); }

  // Adds what was counted to the mask term [q][q' >= q][d], and begins anew. `work` must be empty, and may be
  // null if trivial().
  void add_to(LargeVector<std::int64_t>& mask, FrequencySums<double>* work);

 private:
  struct Mask {
    std::size_t hash;
    std::int64_t images;
    std::vector<std::uint8_t> valid;  // 1 or 0
  };

  PolarShape shape_;
  std::int64_t unmasked_ = 0;
  std::size_t last_ = 0;  // the one that was counted last
  std::vector<Mask> masks_;
};

}  // namespace annulus
