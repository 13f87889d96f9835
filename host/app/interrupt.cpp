#include "interrupt.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <thread>

namespace annulus::app {
namespace {

// What a handler may touch. A stop cannot be requested from there: that takes locks.
std::atomic<int> wake_up = -1;
static_assert(std::atomic<int>::is_always_lock_free, "it is read in a signal handler");

void ring() {
  const std::uint64_t one = 1;
  const int saved = errno;
  [[maybe_unused]] const ssize_t done = ::write(wake_up, &one, sizeof one);
  errno = saved;
}

void on_signal(int signal) {
  std::signal(signal, SIG_DFL);
  ring();
}

// Waits for the handler in a thread of its own, which may take locks.
class Interrupts {
 public:
  Interrupts() {
    wake_up = ::eventfd(0, EFD_CLOEXEC);
    if (wake_up < 0) return;  // then signals end the program as they always do
    waiting_ = std::jthread([this] {
      std::uint64_t rung = 0;
      while (::read(wake_up, &rung, sizeof rung) < 0 && errno == EINTR) {
      }
      stop_.request_stop();
    });
    std::signal(SIGINT, on_signal);
    std::signal(SIGTERM, on_signal);
    // Under nohup it is ignored, and stays so.
    if (std::signal(SIGHUP, SIG_IGN) != SIG_IGN) std::signal(SIGHUP, on_signal);
  }

  ~Interrupts() {
    if (wake_up < 0) return;
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
    if (std::signal(SIGHUP, SIG_IGN) != SIG_IGN) std::signal(SIGHUP, SIG_DFL);
    ring();
  }

  std::stop_token token() const { return stop_.get_token(); }

 private:
  std::stop_source stop_;
  std::jthread waiting_;  // last: it uses the above
};

}  // namespace

std::stop_token catch_interrupts() {
  static const Interrupts interrupts;
  return interrupts.token();
}

}  // namespace annulus::app
