// The frames of a simulated scan, made on several threads.
#pragma once

#include <annulus/core/parallel.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace annulus {

// Runs the frames on threads, in order of their start; the first exception stops all and is thrown again.
class FrameRunner {
 public:
  // Called after each frame, by one thread at a time. What it throws stops the scan.
  using Report = std::function<void(std::uint64_t done, std::uint64_t total)>;

  FrameRunner(std::uint64_t frames, unsigned threads, Report report)
      : frames_(frames), threads_(threads), report_(std::move(report)) {}

  // compute(i) runs anywhere; the function it returns is called before the frame counts as done, in the order
  // of the frames if `ordered`.
  template <typename Compute>
  void run(bool ordered, const Compute& compute) {
    const auto work = [&] {
      try {
        for (std::uint64_t i = next_++; i < frames_ && !stopped_; i = next_++) {
          auto finish = compute(i);
          if (!ordered) finish();
          std::unique_lock lock(mutex_);
          if (ordered) {
            turn_.wait(lock, [&] { return done_ == i || stopped_; });
            if (stopped_) return;
            finish();
          }
          ++done_;
          if (report_) report_(done_, frames_);
          turn_.notify_all();
        }
      } catch (...) {
        stop(std::current_exception());
      }
    };
    const auto threads = std::min<std::uint64_t>(resolve_threads(threads_), frames_);
    {
      std::vector<std::jthread> workers;
      for (std::uint64_t t = 1; t < threads; ++t) workers.emplace_back(work);
      work();
    }
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void stop(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
    stopped_ = true;
    turn_.notify_all();
  }

  std::uint64_t frames_;
  unsigned threads_;
  Report report_;
  std::atomic<std::uint64_t> next_ = 0;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  std::condition_variable turn_;
  std::uint64_t done_ = 0;
  std::exception_ptr failure_;
};

}  // namespace annulus
