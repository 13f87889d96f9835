// The direct method on OpenCL devices: the same chains of fused multiply-adds, the same bytes.
#pragma once

#include <annulus/tomography/fbp_method.hpp>
#include <annulus/tomography/projector.hpp>

namespace annulus {

// With settings that no option has.
std::unique_ptr<const FbpMethod> make_opencl_method(const ScanGeometry& scan, const FbpOptions& options,
                                                    std::size_t size,
                                                    const opencl::ProjectorSettings& settings);

}  // namespace annulus
