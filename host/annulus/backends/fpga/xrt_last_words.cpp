#include <annulus/backends/fpga/xrt_last_words.hpp>

#include <pthread.h>
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
pid_t program = 0;                // that has the card, and not a process it starts
struct sigaction handler_of_xrt;

// Does only what a signal handler may.
void say_and_leave() {
  if (!armed.exchange(false)) return;
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, current.text, current.size);
  _exit(current.exit_code);
}

void on_exit_of_process() {
  if (!loads) return;
  // XRT's fork that could not become the card's process. XRT may not wait for it yet and would then wait for
  // five minutes; a process that was killed is noticed at any time.
  if (getpid() != program) raise(SIGKILL);
  say_and_leave();
}

// Before XRT's own, which would end the program without a word of ours.
void on_end_of_child(int number, siginfo_t* info, void* context) {
  if (info->si_code == CLD_KILLED || info->si_code == CLD_DUMPED) say_and_leave();
  if ((handler_of_xrt.sa_flags & SA_SIGINFO) != 0) handler_of_xrt.sa_sigaction(number, info, context);
}

// XRT sets its handler and then forks the card's process.
void before_fork() {
  if (!loads) return;
  struct sigaction now = {};
  sigaction(SIGCHLD, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) == 0 || now.sa_sigaction == on_end_of_child) return;
  handler_of_xrt = now;
  now.sa_sigaction = on_end_of_child;
  sigaction(SIGCHLD, &now, nullptr);
}

}  // namespace

LastWords::LastWords(std::string text, int exit_code) : text_(std::move(text)), exit_code_(exit_code) {
  static const bool registered =
      std::atexit(on_exit_of_process) == 0 && pthread_atfork(before_fork, nullptr, nullptr) == 0;
  static_cast<void>(registered);
  program = getpid();
  current = {text_.data(), text_.size(), exit_code_};
  armed = true;
}

LastWords::~LastWords() { armed = false; }

void LastWords::during_load(const std::function<void()>& load) {
  struct Mark {
    Mark() { loads = true; }
    ~Mark() { loads = false; }
  };
  const Mark mark;
  load();
}

}  // namespace annulus
