// The inner loops of tomography, once for each instruction set. All give the same bytes: every sum is one
// chain of fused multiply-adds in an order that depends neither on the width of vectors nor on threads.
//
// A lane is a bin: 64 of them stand together, wherever a value of a projection or of a pixel is.
#pragma once

#include <annulus/core/instruction_set.hpp>
#include <annulus/tomography/sinogram.hpp>

#include <cstddef>

namespace annulus {

inline constexpr std::size_t kBinLanes = 64;

// Of gridding kernels: points of a projection around a pixel, and of a spectrum's grid around a frequency.
inline constexpr std::size_t kBandTaps = 8;
inline constexpr std::size_t kGridTaps = 8;

// Bins whose spectra stand together, as complex numbers.
inline constexpr std::size_t kSpectrumLanes = 16;

// A convolution along the translation: the value at the position p is the sum of taps[p - q] x the input at
// q.
struct FilterTask {
  const float* in;  // [positions][kBinLanes]
  std::size_t positions;
  std::ptrdiff_t first;  // the position of the first value to compute
  std::size_t count;
  float* out;  // [count][out_step][kBinLanes], the first of out_step
  std::size_t out_step;
  const float* taps;  // taps[d] for every distance d that occurs, of either sign
  bool odd_taps;      // besides taps[0] only those of odd distance are not 0
};

// A rectangle of pixels and the projections that are smeared back over it.
struct TileTask {
  const float* projections;  // [angles][count][kBinLanes]
  std::size_t angles, count;
  const double *cosines, *sines;
  // For each angle 1 / max(|cos|, |sin|): a pixel takes of the two values beside it by Joseph's rule. None:
  // by linear interpolation.
  const float* heights;
  // A table of a GriddingKernel of kBandTaps: projections are interpolated by it. None: by linear
  // interpolation.
  const float* kernel;
  double origin;  // axis - the position of a projection's first value: where the centre of the tomogram lies
  // From the centre of the tomogram.
  std::ptrdiff_t left, top;
  std::size_t columns, rows;
  const Circle::Span* spans;  // of each row: the columns that are in the circle
  float* sums;                // [rows][columns][kBinLanes], are added to
};

// The transpose of it, by Joseph's rule: pixels of a row of the tomogram are added to one projection.
struct RowTask {
  const float* pixels;     // of the row, [end][kBinLanes]
  std::size_t begin, end;  // those that are in the circle
  double start, step;      // where the pixel 0 lies, and from a pixel to the next
  float height;            // of the angle
  float* projection;       // [count][kBinLanes], is added to
};

// Values on a straight line through the origin of a spectrum, spread over its grid: that of a real image, of
// which one half is stored, [y][size / 2 + 1][kSpectrumLanes][2]. Frequencies that are stored on both sides
// get both parts.
struct SpreadTask {
  const float* values;  // [count][kSpectrumLanes][2], the first of them at the origin
  std::size_t count;
  double x_step, y_step;  // points of the grid from a value to the next; x_step >= 0
  const float* kernel;    // a table of a GriddingKernel of kGridTaps
  std::size_t size;       // of the grid, even and at least 2 kGridTaps
  float* grid;            // is added to
};

struct LaneLoops {
  void (*filter)(const FilterTask&);
  void (*back_project)(const TileTask&);
  void (*project_row)(const RowTask&);
  void (*spread)(const SpreadTask&);
};

// Of a set that is not of this machine or has no fused multiply-add, the generic ones.
const LaneLoops& lane_loops(InstructionSet set);

}  // namespace annulus
