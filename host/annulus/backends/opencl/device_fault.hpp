// What a device or its driver throws, as errors that say which device it was.
#pragma once

#include <annulus/backends/opencl/device_memory.hpp>
#include <annulus/backends/opencl/devices.hpp>
#include <annulus/core/error.hpp>

#include <string>

namespace annulus::opencl {

Error device_fault(const Device& device, const std::string& what, const std::string& cure);

// Does the work; a fault of OpenCL in it comes out as kBackend with the device's name.
template <typename Work>
auto on_device(const Device& device, Work&& work) {
  try {
    return work();
  } catch (const OutOfDeviceMemory& error) {
    throw device_fault(device, std::string("out of memory: ") + error.what(),
                       "close other programs that use it, raise `device_memory` if that is given, or choose "
                       "another device");
  } catch (const cl::Error& error) {
    throw device_fault(device, describe(error),
                       "see whether other programs can use it, or choose another: see `describe_backends()`");
  }
}

}  // namespace annulus::opencl
