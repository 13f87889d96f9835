#include <annulus/backends/opencl/device_fault.hpp>

#include <fmt/core.h>

namespace annulus::opencl {

Error device_fault(const Device& device, const std::string& what, const std::string& cure) {
  return Error(ErrorKind::kBackend, fmt::format("OpenCL device {}", device.name), what, cure);
}

}  // namespace annulus::opencl
