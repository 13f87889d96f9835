#include "device_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace annulus_sim {

DeviceMemory::DeviceMemory(uint64_t size)
    : size_(size), file_(memfd_create("annulus_card_memory", MFD_CLOEXEC)) {
  void* place = MAP_FAILED;
  if (file_ >= 0 && ftruncate(file_, static_cast<off_t>(size)) == 0) {
    place = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  }
  if (place == MAP_FAILED) {
    throw std::runtime_error(
        fmt::format("cannot reserve {} bytes for the card's memory: {}", size, std::strerror(errno)));
  }
  memory_ = static_cast<char*>(place);
}

DeviceMemory::~DeviceMemory() {
  munmap(memory_, size_);
  close(file_);
}

void DeviceMemory::allocate(const Buffer& buffer) {
  if (buffer.base > size_ || buffer.size > size_ - buffer.base) {
    throw std::runtime_error(
        fmt::format("the driver placed a buffer at {:#x}, size {:#x}: outside the card's memory", buffer.base,
                    buffer.size));
  }
  buffers_[buffer.base] = buffer.size;
}

void DeviceMemory::free(uint64_t base) {
  const auto buffer = buffers_.find(base);
  if (buffer == buffers_.end()) return;
  // Gives the pages back to the system. That it can fail only costs memory.
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(base),
            static_cast<off_t>(buffer->second));
  buffers_.erase(buffer);
}

std::optional<Buffer> DeviceMemory::find(uint64_t address) const {
  auto buffer = buffers_.upper_bound(address);
  if (buffer == buffers_.begin()) return std::nullopt;
  --buffer;
  if (address - buffer->first >= buffer->second) return std::nullopt;
  return Buffer{buffer->first, buffer->second};
}

std::span<char> DeviceMemory::bytes(uint64_t address, uint64_t size) {
  const std::optional<Buffer> buffer = find(address);
  if (!buffer || size > buffer->base + buffer->size - address) return {};
  return {memory_ + address, size};
}

}  // namespace annulus_sim
