// The kernels (kernels/*.cl, which are part of this program), compiled for a device.
#pragma once

#include <annulus/backends/opencl/devices.hpp>

#include <string>

namespace annulus::opencl {

// All kernels, one after the other.
const std::string& kernel_source();

// Takes what an earlier run compiled from the same source for the same device, or compiles. Throws kBackend
// with the compiler's words.
cl::Program build_program(const cl::Context& context, const Device& device, const std::string& source,
                          const std::string& options);

}  // namespace annulus::opencl
