// Splitting a range of indices over threads, for work that is done once (plans, maps).
#pragma once

#include <cstddef>
#include <functional>

namespace annulus {

// 0 means as many as the machine has.
unsigned resolve_threads(unsigned requested);

// Calls body(begin, end) for contiguous parts that cover [0, count), each on a thread of its own.
// The parts depend on `count` and `threads` only. The first exception is thrown again here.
void parallel_ranges(std::size_t count, unsigned threads,
                     const std::function<void(std::size_t begin, std::size_t end)>& body);

}  // namespace annulus
