// A kernel, and the largest work-group that it may have on its device.
#pragma once

#include <annulus/backends/opencl/api.hpp>

#include <algorithm>
#include <cstddef>

namespace annulus::opencl {

struct BoundKernel {
  BoundKernel() = default;
  BoundKernel(const cl::Program& program, const char* name, const cl::Device& device);
  std::size_t group(std::size_t wanted) const { return std::min(wanted, most_items); }

  cl::Kernel kernel;
  std::size_t most_items = 1;  // of a work-group
};

}  // namespace annulus::opencl
