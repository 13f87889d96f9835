// SIRT, the simultaneous iterative reconstruction technique: for few angles, where filtered back-projection
// shows streaks.
//
// The tomogram is improved step by step until its projections are those that were measured:
//   x <- max(0, x + C A^T R (b - A x)),   x = 0 in the beginning
// A projects: a pixel gives to the two positions beside it, by linear interpolation, what a back-projection
// A^T would take from them; the two are exact transposes. R and C are the inverse sums of A's rows and
// columns. Pixels outside the circle are 0, and none is negative. Cells that are NaN take no part.
//
// Each bin goes its own way: what is reconstructed beside it, and how many threads do it, changes no byte.
#pragma once

#include <annulus/core/instruction_set.hpp>
#include <annulus/tomography/filtered_back_projection.hpp>
#include <annulus/tomography/sinogram.hpp>

#include <cstddef>
#include <memory>
#include <stop_token>
#include <vector>

namespace annulus {

struct SirtOptions {
  std::size_t size = 0;          // of the tomogram; 0: as many pixels as there are positions
  std::size_t iterations = 300;  // at most
  // A bin is done when an iteration lessens its misfit by less than this part of it.
  double tolerance = 1e-4;
  unsigned threads = 0;
  InstructionSet instruction_set = best_instruction_set();
};

struct SirtReport {
  std::size_t iterations = 0;
  double misfit = 0;  // |b - A x| / |b|, of what was returned
};

class Sirt {
 public:
  // Throws kInput or kUsage for what cannot be.
  Sirt(const ScanGeometry& scan, const SirtOptions& options);
  ~Sirt();

  std::size_t size() const;
  // What it will take, before anything is set up. Throws as the constructor does.
  static BlockMemory memory(const ScanGeometry& scan, const SirtOptions& options);

  // One report for each bin. Throws kInput if a cell is infinite, kInterrupted once a stop is requested,
  // which is looked for in every iteration.
  std::vector<SirtReport> reconstruct(const SinogramView& sinogram, const TomogramView& tomogram,
                                      const std::stop_token& stop = {}) const;

 private:
  struct Parts;
  std::unique_ptr<const Parts> parts_;
};

}  // namespace annulus
