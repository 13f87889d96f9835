// The frames of a dataset with any number of dimensions: the last two are an image, those before them the
// grid of the scan, whose frames are numbered in the order in which the file has them.
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace annulus {

using GridPoint = std::vector<hsize_t>;

// Where a number leads in a box of such sides, the last of which runs fastest; and back. The first side is
// not needed for either: a number beyond the box continues there.
inline GridPoint point_of(std::uint64_t number, const GridPoint& sides) {
  GridPoint point(sides.size());
  for (std::size_t d = sides.size(); d-- > 1;) {
    point[d] = number % sides[d];
    number /= sides[d];
  }
  if (!point.empty()) point[0] = number;
  return point;
}

inline std::uint64_t number_of(const GridPoint& point, const GridPoint& sides) {
  std::uint64_t number = 0;
  for (std::size_t d = 0; d < sides.size(); ++d) number = number * sides[d] + point[d];
  return number;
}

// A grid of frames and the part of it that one chunk holds. No dimension: a single image.
struct FrameGrid {
  GridPoint sides;
  GridPoint chunk;  // as many; none has 0. Empty unless the dataset is chunked

  GridPoint point(std::uint64_t frame) const { return point_of(frame, sides); }

  // Chunks are counted along the grid as if each held all pixels of its frames.
  std::uint64_t chunk_of(std::uint64_t frame) const {
    GridPoint at = point(frame);
    for (std::size_t d = 0; d < at.size(); ++d) at[d] /= chunk[d];
    return number_of(at, chunks());
  }
  std::uint64_t within_chunk(std::uint64_t frame) const {
    GridPoint at = point(frame);
    for (std::size_t d = 0; d < at.size(); ++d) at[d] %= chunk[d];
    return number_of(at, chunk);
  }
  GridPoint start_of_chunk(std::uint64_t number) const {
    GridPoint at = point_of(number, chunks());
    for (std::size_t d = 0; d < at.size(); ++d) at[d] *= chunk[d];
    return at;
  }
  std::uint64_t frames_in_chunk() const {
    std::uint64_t frames = 1;
    for (const hsize_t side : chunk) frames *= side;
    return frames;
  }

 private:
  GridPoint chunks() const {
    GridPoint count = sides;
    for (std::size_t d = 0; d < count.size(); ++d) count[d] = (sides[d] + chunk[d] - 1) / chunk[d];
    return count;
  }
};

}  // namespace annulus
