// A way to compute a filtered back-projection.
#pragma once

#include <annulus/tomography/filtered_back_projection.hpp>

#include <memory>

namespace annulus {

class FbpMethod {
 public:
  virtual ~FbpMethod() = default;

  // Bytes that it takes while it reconstructs, beside sinogram and tomogram.
  virtual std::size_t scratch_bytes() const = 0;

  // Writes the pixels of the circle. Shapes and cells were checked.
  virtual void reconstruct(const SinogramView& sinogram, const TomogramView& tomogram) const = 0;
};

std::unique_ptr<const FbpMethod> make_direct_method(const ScanGeometry& scan, const FbpOptions& options,
                                                    std::size_t size);

}  // namespace annulus
