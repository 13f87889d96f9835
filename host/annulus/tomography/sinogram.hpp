// Sinograms and tomograms of many bins at once, and the scan that they belong to.
//
// A sinogram is [angle][position][bin], just as patterns arrive; a tomogram is [y][x][bin]. The geometry is
// the same for all bins, so they are reconstructed side by side, as lanes of vectors.
//
// Values are of single precision. Patterns are doubles, but a cell is a count of photons: with 1e10 of them,
// more than any scan has, its own noise is 1e-5 of it, and that of a float is 6e-8. Single precision halves
// the memory of arrays of many gigabytes and doubles the lanes of a vector. What is summed in many steps
// outside the back-projection (norms, means, moments) is summed in doubles.
#pragma once

#include <annulus/core/large_vector.hpp>

#include <cstddef>
#include <limits>
#include <vector>

namespace annulus {

// Where the cells of a sinogram were measured. At the angle a, the pixel (x, y) of a tomogram of `size`
// pixels in each direction lies at the position
//   t = (x - c) cos a - (y - c) sin a + axis,   c = size / 2, rounded down
// so x grows to the right and y downwards, and a sample turns counter-clockwise on a picture of it. That is
// scikit-image's convention, which knows no axis but positions / 2, rounded down.
struct ScanGeometry {
  std::vector<double> angles;  // radians: any, in any order, beyond a full turn too
  std::size_t positions = 0;   // of the translation, one step apart
  double axis = std::numeric_limits<double>::quiet_NaN();  // the position of the axis of rotation, in steps

  // Throws kInput unless there are at least two directions to look from, two positions and an axis among
  // them.
  void check() const;
};

// Some bins of a sinogram that lies elsewhere.
struct SinogramView {
  const float* values = nullptr;
  std::size_t angles = 0, positions = 0, bins = 0;
  std::size_t stride = 0;  // values from a position to the next: the bins of the whole sinogram

  const float* at(std::size_t angle, std::size_t position) const {
    return values + (angle * positions + position) * stride;
  }
  SinogramView bins_from(std::size_t first, std::size_t count) const;  // throws std::out_of_range
};

struct Sinogram {
  std::size_t angles = 0, positions = 0, bins = 0;
  LargeVector<float> values;

  Sinogram() = default;
  // All cells are 0. Throws kInput if a dimension is 0, or if they are more than memory can be addressed for.
  Sinogram(std::size_t angles, std::size_t positions, std::size_t bins);

  float* at(std::size_t angle, std::size_t position) {
    return values.data() + (angle * positions + position) * bins;
  }
  const float* at(std::size_t angle, std::size_t position) const {
    return values.data() + (angle * positions + position) * bins;
  }
  SinogramView view() const { return {values.data(), angles, positions, bins, bins}; }
};

// Some bins of a tomogram that lies elsewhere.
struct TomogramView {
  float* values = nullptr;
  std::size_t size = 0, bins = 0;  // size x size pixels
  std::size_t stride = 0;          // values from a pixel to the next: the bins of the whole tomogram

  float* at(std::size_t y, std::size_t x) const { return values + (y * size + x) * stride; }
  TomogramView bins_from(std::size_t first, std::size_t count) const;  // throws std::out_of_range
};

struct Tomogram {
  std::size_t size = 0, bins = 0;
  LargeVector<float> values;

  Tomogram() = default;
  Tomogram(std::size_t size, std::size_t bins);  // as that of Sinogram

  const float* at(std::size_t y, std::size_t x) const { return values.data() + (y * size + x) * bins; }
  TomogramView view() { return {values.data(), size, bins, bins}; }
};

// The pixels of a tomogram that are reconstructed: those no further from its centre (c, c) than c. Others are
// 0.
class Circle {
 public:
  explicit Circle(std::size_t size);
  // Of the row y: columns [begin, end).
  struct Span {
    std::size_t begin, end;
  };
  Span row(std::size_t y) const { return rows_[y]; }
  std::size_t size() const { return rows_.size(); }
  std::size_t radius() const { return rows_.size() / 2; }

 private:
  std::vector<Span> rows_;
};

// How many filtered values a projection has, and where they begin: enough for every pixel of the circle to
// lie between two of them. `first` is the position of the first one, and may be negative.
struct ProjectionRange {
  std::ptrdiff_t first;
  std::size_t count;
  ProjectionRange(double axis, std::size_t size, std::size_t margin = 1);
};

// The size of a tomogram, where 0 stands for as many pixels as there are positions. Throws kInput if
// scan.check() does or the scan is larger than any can be, kUsage for the size.
std::size_t checked_size(const ScanGeometry& scan, std::size_t size);

// Throws kInput if the sinogram is not of this scan, or the tomogram not of this sinogram and size.
void check_shapes(const ScanGeometry& scan, const SinogramView& sinogram, const TomogramView& tomogram,
                  std::size_t size);

// Throws kInput that names the first cell of these bins that is infinite, or missing (NaN) if that is not
// allowed.
enum class MissingCells { kRefused, kAllowed };
void check_finite(const SinogramView& sinogram, MissingCells missing = MissingCells::kRefused);

}  // namespace annulus
