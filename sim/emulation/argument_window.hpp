// One buffer of the card's memory as one kernel argument sees it: the buffer's pages, and on both sides so
// much forbidden address space that any 32-bit index of 64-byte elements lands in it. A wrong access is thus
// caught at the page and known by the argument it went through, even where another buffer lies next in the
// card's memory.
#pragma once

#include <cstdint>

#include "device_memory.hpp"

namespace annulus_sim {

class ArgumentWindow {
 public:
  // A buffer of size 0 has no pages: no access is allowed.
  ArgumentWindow(int memory_file, const Buffer& buffer);
  ~ArgumentWindow();
  ArgumentWindow(const ArgumentWindow&) = delete;
  ArgumentWindow& operator=(const ArgumentWindow&) = delete;

  const Buffer& buffer() const { return buffer_; }
  void* at(uint64_t address) const { return start_ + kGuard + (address - buffer_.base); }
  bool covers(const void* place) const;
  uint64_t address_of(const void* place) const;

 private:
  static constexpr uint64_t kGuard = uint64_t{256} << 30;

  uint64_t reserved() const { return kGuard + buffer_.size + kGuard; }

  Buffer buffer_;
  char* start_ = nullptr;
};

}  // namespace annulus_sim
