#include <annulus/core/large_vector.hpp>

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>

namespace annulus {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kCacheLine = 64;

constexpr std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

// From the system and not from malloc, which would keep what is freed.
void* map_aligned(std::size_t size) {
  const std::size_t reserved = size + kHugePage;
  void* const memory = ::mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::size_t before = round_up(begin, kHugePage) - begin, after = kHugePage - before;
  std::byte* const aligned = static_cast<std::byte*>(memory) + before;
  if (before > 0) ::munmap(memory, before);
  if (after > 0) ::munmap(aligned + size, after);
  // A wish: a system that does not grant it gives small pages. So is the rest that fills no huge page.
  ::madvise(aligned, size / kHugePage * kHugePage, MADV_HUGEPAGE);
  return aligned;
}

}  // namespace

void* allocate_large(std::size_t bytes) {
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) throw std::bad_alloc();
  if (bytes >= kHugePage) return map_aligned(round_up(bytes, kPage));
  void* const memory = std::aligned_alloc(kCacheLine, round_up(bytes + 1, kCacheLine));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void free_large(void* memory, std::size_t bytes) {
  if (bytes >= kHugePage) {
    ::munmap(memory, round_up(bytes, kPage));
  } else {
    std::free(memory);
  }
}

}  // namespace annulus
