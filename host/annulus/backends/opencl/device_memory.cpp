#include <annulus/backends/opencl/device_memory.hpp>

#include <fmt/core.h>

#include <algorithm>

namespace annulus::opencl {
namespace {

constexpr std::uint64_t kSmallestBuffer = 256;

}  // namespace

DeviceBuffer::~DeviceBuffer() {
  if (memory_) memory_->used_ -= bytes_;
}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(buffer_, other.buffer_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

DeviceMemory::DeviceMemory(cl::Context context, const cl::Device& device, std::uint64_t limit)
    : context_(std::move(context)),
      limit_(device.getInfo<CL_DEVICE_GLOBAL_MEM_SIZE>()),
      largest_(device.getInfo<CL_DEVICE_MAX_MEM_ALLOC_SIZE>()) {
  if (limit != 0) limit_ = std::min(limit_, limit);
}

std::uint64_t DeviceMemory::bytes_for(std::uint64_t bytes) { return std::max(bytes, kSmallestBuffer); }

DeviceBuffer DeviceMemory::allocate(std::uint64_t bytes, cl_mem_flags flags) {
  bytes = bytes_for(bytes);
  if (bytes > largest_) {
    throw OutOfDeviceMemory(
        fmt::format("a buffer of {} bytes is more than the {} that the device allows", bytes, largest_));
  }
  const std::uint64_t before = used_.fetch_add(bytes);
  if (before + bytes > limit_) {
    used_ -= bytes;
    throw OutOfDeviceMemory(fmt::format("{} bytes beside {} are more than its {}", bytes, before, limit_));
  }
  try {
    return {shared_from_this(), cl::Buffer(context_, flags, bytes), bytes};
  } catch (const cl::Error& error) {
    used_ -= bytes;
    if (!is_out_of_memory(error)) throw;
    throw OutOfDeviceMemory(fmt::format("{} bytes: {}", bytes, describe(error)));
  }
}

}  // namespace annulus::opencl
