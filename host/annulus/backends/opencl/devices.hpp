// The OpenCL devices of this machine: what there is, and which of them a user means.
#pragma once

#include <annulus/backends/opencl/api.hpp>

#include <string>
#include <vector>

namespace annulus::opencl {

struct Device {
  cl::Device device;
  std::string name;  // for messages: "0:1 (its name)"
};

// `which` is a list with commas between. Each part is an index in the order of `annulus devices`,
// platform:device, a part of a name, or "all"; "/2" after it splits each device it means into two of equal
// size. Throws kBackend if there is no platform or no such device, naming those there are; kUsage if nothing
// is named.
std::vector<Device> select_devices(const std::string& which);

// A line for each device: "0:1 its name: ...".
struct DeviceDescription {
  std::string text;
  bool usable = false;
};
std::vector<DeviceDescription> describe_devices();

// All that decides what a program compiled or tuned for a device is good for.
std::string identity_of(const cl::Device& device);

}  // namespace annulus::opencl
