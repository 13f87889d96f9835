#include "progress.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace annulus::app {
namespace {

constexpr double kRedrawSeconds = 0.1;
constexpr double kLogSeconds = 5;
constexpr int kBarWidth = 30;

std::string duration_text(double seconds) {
  const auto whole = std::lround(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  return fmt::format("{}:{:02d} min", whole / 60, whole % 60);
}

// A terminal that is lost is no reason to lose a run.
void draw(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

Progress::Progress(std::string what, bool quiet)
    : what_(std::move(what)), quiet_(quiet), terminal_(isatty(STDERR_FILENO) != 0) {}

void Progress::update(std::uint64_t done, std::uint64_t bad, std::uint64_t expected) {
  if (quiet_) return;
  const auto now = Clock::now();
  const double since_last = std::chrono::duration<double>(now - last_).count();
  if (since_last < (terminal_ ? kRedrawSeconds : kLogSeconds) && !(terminal_ && done == expected)) return;
  last_ = now;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const double rate = elapsed > 0 ? static_cast<double>(done) / elapsed : 0;
  const double share =
      expected > 0 ? std::min(1.0, static_cast<double>(done) / static_cast<double>(expected)) : 0;
  const double left = rate > 0 && expected > done ? static_cast<double>(expected - done) / rate : 0;
  const std::string faults = bad > 0 ? fmt::format(", {} bad", bad) : "";
  // Nobody knows how many frames a folder will have.
  const std::string numbers = expected == 0 ? fmt::format("{} frames{}, {:.1f} frames/s", done, faults, rate)
                                            : fmt::format("{} of {} frames{}, {:.1f} frames/s, {} left", done,
                                                          expected, faults, rate, duration_text(left));
  if (terminal_) {
    const int filled = static_cast<int>(share * kBarWidth);
    draw(fmt::format("\r{} [{:#<{}}{:.<{}}] {}\033[K", what_, "", filled, "", kBarWidth - filled, numbers));
    drawn_ = true;
  } else {
    draw(fmt::format("{}: {}\n", what_, numbers));
  }
}

void Progress::finish() {
  if (drawn_) draw("\n");
  drawn_ = false;
}

}  // namespace annulus::app
