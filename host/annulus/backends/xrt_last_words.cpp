#include <annulus/backends/xrt_last_words.hpp>

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <utility>

namespace annulus {
namespace {

struct Words {
  const char* text;
  std::size_t size;
  int exit_code;
};

Words current;                    // valid while `armed`
std::atomic<bool> armed = false;  // somebody has a card open
thread_local bool loads = false;  // this thread is in a load
struct sigaction handler_of_xrt;

// Does only what a signal handler may.
void say_and_leave() {
  if (!armed.exchange(false)) return;
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, current.text, current.size);
  _exit(current.exit_code);
}

void on_exit_of_program() {
  if (loads) say_and_leave();
}

// Before XRT's own, which would end the program without a word of ours.
void on_end_of_child(int number, siginfo_t* info, void* context) {
  if (info->si_code == CLD_KILLED || info->si_code == CLD_DUMPED) say_and_leave();
  if ((handler_of_xrt.sa_flags & SA_SIGINFO) != 0) handler_of_xrt.sa_sigaction(number, info, context);
}

// XRT sets its handler when it starts the card's process.
void take_over_handler() {
  struct sigaction now = {};
  sigaction(SIGCHLD, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) == 0 || now.sa_sigaction == on_end_of_child) return;
  handler_of_xrt = now;
  now.sa_sigaction = on_end_of_child;
  sigaction(SIGCHLD, &now, nullptr);
}

}  // namespace

LastWords::LastWords(std::string text, int exit_code) : text_(std::move(text)), exit_code_(exit_code) {
  static const int registered = std::atexit(on_exit_of_program);
  static_cast<void>(registered);
  current = {text_.data(), text_.size(), exit_code_};
  armed = true;
}

LastWords::~LastWords() { armed = false; }

void LastWords::during_load(const std::function<void()>& load) {
  // Until its handler is taken over, XRT ends the program by SIGTERM to all of its group, and then exit.
  struct Mark {
    Mark() {
      sigset_t term;
      sigemptyset(&term);
      sigaddset(&term, SIGTERM);
      pthread_sigmask(SIG_BLOCK, &term, &blocked_before_);
      loads = true;
    }
    ~Mark() {
      take_over_handler();
      loads = false;
      pthread_sigmask(SIG_SETMASK, &blocked_before_, nullptr);
    }
    sigset_t blocked_before_;
  };
  const Mark mark;
  load();
}

}  // namespace annulus
