#include "argument_window.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace annulus_sim {

ArgumentWindow::ArgumentWindow(int memory_file, const Buffer& buffer) : buffer_(buffer) {
  void* place = mmap(nullptr, reserved(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) {
    throw std::runtime_error(
        fmt::format("cannot reserve address space for an argument: {}", std::strerror(errno)));
  }
  start_ = static_cast<char*>(place);
  if (buffer.size == 0) return;
  if (mmap(start_ + kGuard, buffer.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory_file,
           static_cast<off_t>(buffer.base)) == MAP_FAILED) {
    const int reason = errno;
    munmap(start_, reserved());
    throw std::runtime_error(
        fmt::format("cannot map a buffer of {} bytes: {}", buffer.size, std::strerror(reason)));
  }
}

ArgumentWindow::~ArgumentWindow() { munmap(start_, reserved()); }

bool ArgumentWindow::covers(const void* place) const {
  const char* byte = static_cast<const char*>(place);
  return byte >= start_ && byte < start_ + reserved();
}

uint64_t ArgumentWindow::address_of(const void* place) const {
  return buffer_.base + static_cast<uint64_t>(static_cast<const char*>(place) - (start_ + kGuard));
}

}  // namespace annulus_sim
