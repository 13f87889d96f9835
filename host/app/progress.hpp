// Tells how far a scan is: a bar that is redrawn on a terminal, now and then a line in a log.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace annulus::app {

class Progress {
 public:
  // what: the verb before the numbers, for example "integrating". quiet: nothing is printed.
  Progress(std::string what, bool quiet);

  // expected: 0 if nobody knows.
  void update(std::uint64_t done, std::uint64_t bad, std::uint64_t expected);

  // Ends the bar's line, so that what follows starts on a new one.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  bool quiet_;
  bool terminal_;
  bool drawn_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
};

}  // namespace annulus::app
