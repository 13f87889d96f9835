// Images on their way into a block.
#pragma once

#include <annulus/core/large_vector.hpp>
#include <annulus/correlation/polar_image.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace annulus {

// Some images as they are handed in: values [image][q][phi], and masks of the same shape, or one mask
// [q][phi] for all of them, or none where all values are valid. In a mask, 0 is masked and all else is valid.
class ImageBatch {
 public:
  // Throws kInput if the sizes do not go together.
  ImageBatch(const PolarShape& shape, std::span<const std::int16_t> values,
             std::span<const std::uint8_t> valid);

  std::size_t size() const { return size_; }
  std::span<const std::int16_t> values(std::size_t image) const;
  std::span<const std::uint8_t> valid(std::size_t image) const;  // empty if all are

 private:
  std::size_t per_image_, size_;
  std::span<const std::int16_t> values_;
  std::span<const std::uint8_t> valid_;
};

class ImageStage {
 public:
  ImageStage(const PolarShape& shape, std::size_t block) : shape_(shape), images_(shape.values() * block) {}

  static std::size_t bytes(const PolarShape& shape, std::size_t block) {
    return shape.values() * block * sizeof(std::int16_t);
  }

  std::size_t size() const { return size_; }
  bool full() const { return size_ * shape_.values() == images_.size(); }
  std::span<const std::int16_t> images() const { return std::span(images_).first(size_ * shape_.values()); }

  // The image, 0 where masked, as the next one; it counts after keep(). Not if full().
  std::span<const std::int16_t> put(std::span<const std::int16_t> values,
                                    std::span<const std::uint8_t> valid);
  void keep() { ++size_; }
  void clear() { size_ = 0; }

 private:
  PolarShape shape_;
  std::size_t size_ = 0;
  LargeVector<std::int16_t> images_;
};

// The sum of squares. Exact: a ring has at most 2^16 values.
std::uint64_t energy_of(std::span<const std::int16_t> ring);

}  // namespace annulus
