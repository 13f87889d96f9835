// A way to compute a filtered back-projection.
#pragma once

#include <annulus/tomography/filtered_back_projection.hpp>

#include <memory>
#include <stop_token>

namespace annulus {

class FbpMethod {
 public:
  virtual ~FbpMethod() = default;

  // Bytes that it takes while it reconstructs, beside sinogram and tomogram.
  virtual std::size_t scratch_bytes() const = 0;

  // Writes the pixels of the circle. Shapes and cells were checked. Once a stop is requested it may return
  // before all are written.
  virtual void reconstruct(const SinogramView& sinogram, const TomogramView& tomogram,
                           const std::stop_token& stop) const = 0;
};

std::unique_ptr<const FbpMethod> make_direct_method(const ScanGeometry& scan, const FbpOptions& options,
                                                    std::size_t size);

std::unique_ptr<const FbpMethod> make_fourier_method(const ScanGeometry& scan, const FbpOptions& options,
                                                     std::size_t size);

// The direct method on devices. Throws kBackend if this build has no OpenCL, and for a device that cannot do
// it.
std::unique_ptr<const FbpMethod> make_opencl_method(const ScanGeometry& scan, const FbpOptions& options,
                                                    std::size_t size);

// Margin of the range of a projection that is interpolated by a gridding kernel.
inline constexpr std::size_t kBandMargin = 3;

// The largest distance of a value in the range from a measured one.
std::size_t reach_of(const ProjectionRange& range, std::size_t positions);

}  // namespace annulus
