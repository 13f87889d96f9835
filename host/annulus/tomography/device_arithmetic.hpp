// Whether a device computes as the CPU does.
#pragma once

#include <annulus/backends/opencl/device_memory.hpp>
#include <annulus/backends/opencl/devices.hpp>

#include <memory>

namespace annulus::opencl {

// Runs try_arithmetic (kernels/arithmetic.cl) on numbers that tell: products that cancel, places of pixels,
// numbers so small that some devices take them for 0. Throws kBackend if a single bit is not as on the host:
// the driver's word for it is not enough where the promise is equal bytes.
void check_arithmetic(const Device& device, const cl::Program& program, const cl::CommandQueue& queue,
                      const std::shared_ptr<DeviceMemory>& memory);

}  // namespace annulus::opencl
