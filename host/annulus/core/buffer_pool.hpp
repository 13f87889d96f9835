// Memory for frames that is used again and again. Megabytes that are fresh from the system cost a page fault
// for every few kilobytes and are set to zero first, which takes as long as reading a file into them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace annulus {

// For any number of threads. A pool holds on to memory only as long as it has been in use at the same time:
// what is in use and what is idle never add up to more than the most that was in use since free_idle().
class BufferPool {
 public:
  BufferPool();

  // Smaller ones are left to the ordinary allocator, and not counted.
  static constexpr std::size_t kSmallest = std::size_t{32} << 10;

  // What a buffer for `size` bytes takes when it is fresh, and at most: one that is used again may be larger,
  // but not by much.
  static std::size_t capacity_for(std::size_t size);
  static std::size_t most_for(std::size_t size);

  // Not initialised. Goes back with its last copy, whether the pool is still there or not. Throws
  // std::bad_alloc.
  std::shared_ptr<std::byte[]> take(std::size_t size);

  // Gives idle memory back to the system, and begins anew to find out how much is in use at once.
  void free_idle();

  struct Statistics {
    std::size_t in_use = 0;  // bytes
    std::size_t idle = 0;
    std::size_t most_in_use = 0;
    std::uint64_t fresh = 0;   // buffers that came from the system
    std::uint64_t reused = 0;  // and from the pool
  };
  Statistics statistics() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// The pool of the whole process, from which files are read.
BufferPool& frame_memory();

}  // namespace annulus
