#include <annulus/core/parallel.hpp>

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace annulus {
namespace {

std::atomic<unsigned> cores_for_us = 0;

}  // namespace

void share_machine(unsigned cores) { cores_for_us = cores; }

unsigned resolve_threads(unsigned requested) {
  if (requested > 0) return requested;
  if (const unsigned cores = cores_for_us; cores > 0) return cores;
  // Batch systems and containers give a process a part of the machine, of which the library of GCC 12 knows
  // nothing.
  cpu_set_t own;
  if (sched_getaffinity(0, sizeof own, &own) == 0) return static_cast<unsigned>(std::max(1, CPU_COUNT(&own)));
  return std::max(1u, std::thread::hardware_concurrency());
}

void parallel_ranges(std::size_t count, unsigned threads,
                     const std::function<void(std::size_t begin, std::size_t end)>& body) {
  const std::size_t parts =
      std::clamp<std::size_t>(resolve_threads(threads), 1, std::max<std::size_t>(count, 1));
  std::vector<std::exception_ptr> failures(parts);
  const auto run = [&](std::size_t part) {
    try {
      body(count * part / parts, count * (part + 1) / parts);
    } catch (...) {
      failures[part] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> workers;
    std::size_t started = 1;
    try {
      for (; started < parts; ++started) workers.emplace_back(run, started);
    } catch (const std::system_error&) {
      // No more threads can be made.
    }
    run(0);
    for (std::size_t part = started; part < parts; ++part) run(part);
  }
  for (const auto& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

SideTask::SideTask(unsigned threads, std::function<void()> work) : work_(std::move(work)) {
  if (resolve_threads(threads) < 2) return;
  try {
    thread_ = std::jthread([this] {
      try {
        work_();
      } catch (...) {
        failure_ = std::current_exception();
      }
    });
  } catch (const std::system_error&) {
    // No thread can be made.
  }
}

void SideTask::finish() {
  if (!thread_.joinable()) return work_();
  thread_.join();
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace annulus
