// Work that is done once (plans, maps) on several threads. Where no thread can be made, the calling one does
// it.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <thread>

namespace annulus {

// 0 means as many as the machine has, or as share_machine() said.
unsigned resolve_threads(unsigned requested);

// From now on this process has so many cores of the machine: others that belong to the same job have the
// rest. 0: all of them.
void share_machine(unsigned cores);

// Calls body(begin, end) for contiguous parts that cover [0, count), each on a thread of its own.
// The parts depend on `count` and `threads` only. The first exception is thrown again here.
void parallel_ranges(std::size_t count, unsigned threads,
                     const std::function<void(std::size_t begin, std::size_t end)>& body);

// One task beside what the calling thread does.
class SideTask {
 public:
  // With one thread, and where no other can be made, finish() does it. `work` has to live until then.
  SideTask(unsigned threads, std::function<void()> work);
  SideTask(const SideTask&) = delete;
  SideTask& operator=(const SideTask&) = delete;

  // Waits for the end; throws what the task threw.
  void finish();

 private:
  std::function<void()> work_;
  std::exception_ptr failure_;
  std::jthread thread_;  // last: uses all of the above
};

}  // namespace annulus
