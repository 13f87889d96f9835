#include <annulus/backends/opencl/bound_kernel.hpp>

namespace annulus::opencl {

// What a device takes and what a kernel takes on it may differ: one that needs many registers takes less.
BoundKernel::BoundKernel(const cl::Program& program, const char* name, const cl::Device& device)
    : kernel(program, name),
      most_items(std::min(device.getInfo<CL_DEVICE_MAX_WORK_GROUP_SIZE>(),
                          kernel.getWorkGroupInfo<CL_KERNEL_WORK_GROUP_SIZE>(device))) {
  most_items =
      std::max<std::size_t>(std::min(most_items, device.getInfo<CL_DEVICE_MAX_WORK_ITEM_SIZES>().front()), 1);
}

}  // namespace annulus::opencl
