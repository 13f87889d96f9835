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

// A convolution along the translation: the value at the position p is the sum of taps[p - q] x the input at
// q.
struct FilterTask {
  const float* in;  // [positions][kBinLanes]
  std::size_t positions;
  std::ptrdiff_t first;  // the position of the first value to compute
  std::size_t count;
  float* out;         // [count][kBinLanes]
  const float* taps;  // taps[d] for every distance d that occurs, of either sign
  bool odd_taps;      // besides taps[0] only those of odd distance are not 0
};

// A rectangle of pixels and the projections that are smeared back over it.
struct TileTask {
  const float* projections;  // [angles][count][kBinLanes]
  std::size_t angles, count;
  const double *cosines, *sines;
  double origin;  // axis - the position of a projection's first value: where the centre of the tomogram lies
  // From the centre of the tomogram.
  std::ptrdiff_t left, top;
  std::size_t columns, rows;
  const Circle::Span* spans;  // of each row: the columns that are in the circle
  float* sums;                // [rows][columns][kBinLanes], are added to
};

// The transpose of it: pixels of a row of the tomogram are added to one projection.
struct RowTask {
  const float* pixels;     // of the row, [end][kBinLanes]
  std::size_t begin, end;  // those that are in the circle
  double start, step;      // where the pixel 0 lies, and from a pixel to the next
  float* projection;       // [count][kBinLanes], is added to
};

struct LaneLoops {
  void (*filter)(const FilterTask&);
  void (*back_project)(const TileTask&);
  void (*project_row)(const RowTask&);
};

// Of a set that is not of this machine or has no fused multiply-add, the generic ones.
const LaneLoops& lane_loops(InstructionSet set);

}  // namespace annulus
