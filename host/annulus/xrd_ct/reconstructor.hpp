// Filtered back-projection or SIRT, whichever the options ask for.
#pragma once

#include <annulus/tomography/filtered_back_projection.hpp>
#include <annulus/tomography/sirt.hpp>
#include <annulus/xrd_ct/tomo_options.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace annulus {

class Reconstructor {
 public:
  // Throws kInput or kUsage for what cannot be.
  Reconstructor(const ScanGeometry& scan, const TomoOptions& options);

  std::size_t size() const;
  BlockMemory memory() const;

  // As many as keep all threads busy and take no minutes: a stop is looked for in between.
  std::size_t bins_at_once() const;
  void reconstruct(const SinogramView& sinogram, const TomogramView& tomogram);

  // What was done, and how far SIRT went.
  void describe(TomoReport& report) const;

 private:
  std::unique_ptr<FilteredBackProjection> fbp_;  // either of them
  std::unique_ptr<Sirt> sirt_;
  Filter filter_;
  Interpolation interpolation_;
  std::vector<SirtReport> reports_;
};

}  // namespace annulus
