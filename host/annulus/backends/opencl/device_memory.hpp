// A device's memory, with an account of what this program has of it.
#pragma once

#include <annulus/backends/opencl/api.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

namespace annulus::opencl {

// Less at a time may fit.
class OutOfDeviceMemory : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class DeviceMemory;

// Gives its bytes back when it goes.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(std::shared_ptr<DeviceMemory> memory, cl::Buffer buffer, std::uint64_t bytes)
      : memory_(std::move(memory)), buffer_(std::move(buffer)), bytes_(bytes) {}
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&& other) noexcept { *this = std::move(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;

  const cl::Buffer& get() const { return buffer_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<DeviceMemory> memory_;
  cl::Buffer buffer_;
  std::uint64_t bytes_ = 0;
};

class DeviceMemory : public std::enable_shared_from_this<DeviceMemory> {
 public:
  // `limit` in bytes; 0: all that the device has.
  DeviceMemory(cl::Context context, const cl::Device& device, std::uint64_t limit);

  // What a buffer for so many bytes takes: none is smaller than the widest access.
  static std::uint64_t bytes_for(std::uint64_t bytes);

  // Throws OutOfDeviceMemory.
  DeviceBuffer allocate(std::uint64_t bytes, cl_mem_flags flags);

  std::uint64_t limit() const { return limit_; }
  std::uint64_t left() const { return limit_ - used_; }
  std::uint64_t largest_buffer() const { return largest_; }

 private:
  friend class DeviceBuffer;
  cl::Context context_;
  std::uint64_t limit_;
  std::uint64_t largest_;
  std::atomic<std::uint64_t> used_ = 0;
};

}  // namespace annulus::opencl
