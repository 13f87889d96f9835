#include <annulus/core/large_vector.hpp>

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace annulus {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kCacheLine = 64;

}  // namespace

void* allocate_large(std::size_t bytes) {
  const std::size_t unit = bytes >= kHugePage ? kHugePage : kCacheLine;
  const std::size_t size = (bytes / unit + 1) * unit;  // what is asked for at least, and never 0
  void* const memory = std::aligned_alloc(unit, size);
  if (memory == nullptr) throw std::bad_alloc();
  // A wish: a system that does not grant it gives small pages.
  if (unit == kHugePage) ::madvise(memory, bytes / unit * unit, MADV_HUGEPAGE);
  return memory;
}

void free_large(void* memory) { std::free(memory); }

}  // namespace annulus
