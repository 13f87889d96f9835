// Filtered back-projection or SIRT, whichever the options ask for.
#pragma once

#include <annulus/tomography/filtered_back_projection.hpp>
#include <annulus/tomography/sirt.hpp>
#include <annulus/xrd_ct/tomo_options.hpp>

#include <cstddef>
#include <memory>
#include <stop_token>
#include <vector>

namespace annulus {

class Reconstructor {
 public:
  // Throws kInput or kUsage for what cannot be.
  Reconstructor(const ScanGeometry& scan, const TomoOptions& options);

  std::size_t size() const;
  // What it will take. Of SIRT it is known before anything is set up.
  static BlockMemory memory(const ScanGeometry& scan, const TomoOptions& options);

  // Throws kInterrupted once a stop is requested.
  void reconstruct(const SinogramView& sinogram, const TomogramView& tomogram, const std::stop_token& stop);

  // What was done, and how far SIRT went.
  void describe(TomoReport& report) const;

 private:
  std::unique_ptr<FilteredBackProjection> fbp_;  // either of them
  std::unique_ptr<Sirt> sirt_;
  Filter filter_ = Filter::kRamp;
  Interpolation interpolation_ = Interpolation::kLinear;
  std::vector<SirtReport> reports_;
};

}  // namespace annulus
