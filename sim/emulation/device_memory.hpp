// The card's memory: one sparse anonymous file that the card and its compute units share, and the buffers
// that the host has allocated in it. Fresh memory reads as zero, which a real card does not promise.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

namespace annulus_sim {

struct Buffer {
  uint64_t base = 0;
  uint64_t size = 0;
};

class DeviceMemory {
 public:
  explicit DeviceMemory(uint64_t size);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  void allocate(const Buffer& buffer);
  void free(uint64_t base);
  std::optional<Buffer> find(uint64_t address) const;  // the buffer that holds the address

  // The bytes of the card's memory; empty unless all lie in one allocated buffer.
  std::span<char> bytes(uint64_t address, uint64_t size);
  int file() const { return file_; }

 private:
  uint64_t size_;
  int file_ = -1;
  char* memory_ = nullptr;
  std::map<uint64_t, uint64_t> buffers_;  // size by base
};

}  // namespace annulus_sim
