// Preloaded into the host program by scripts/emulate: what is said when XRT ends it.
//
// XRT's emulation driver knows no error for a card whose process died or did not start. Within a load it
// calls exit(1); in its handler of SIGCHLD it sends SIGTERM to the whole process group first. The program
// never hears of it, so all that can be done is to say what happened and to leave with the right code. An
// output file is as readable as after a kill. A real card's driver does nothing of the kind: this is no part
// of the library.
//
// The driver also handles the program's own crashes, and ends it in the same way. They are no loss of the
// card, so they end the program as they do anywhere else.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr int kExitCode = 6;  // as of all backends that fail: docs/command_line.md

struct Words {
  // In a handler nothing may be allocated.
  const std::string text =
      std::string(program_invocation_short_name) +
      ": error: card 0: the card is lost: its process died or did not start, and XRT then ends "
      "the program (what was written stays; run again, with --append to go on with it)\n";
};

const Words& words() {
  static const Words made;
  return made;
}

std::atomic<bool> said = false;
std::atomic<pid_t> program = 0;  // that has the card; 0: nobody loaded one yet
thread_local bool starts_card = false;
struct sigaction handler_of_xrt;

bool is_of_driver(const void* address) {
  Dl_info place{};
  return dladdr(address, &place) != 0 && place.dli_fname != nullptr &&
         std::strstr(place.dli_fname, "libxrt_swemu") != nullptr;
}

// Does only what a signal handler may.
[[noreturn]] void say_and_leave() {
  if (!said.exchange(true)) {
    const std::string& text = words().text;
    // On a terminal, below the line that shows the progress.
    [[maybe_unused]] ssize_t written = isatty(STDERR_FILENO) != 0 ? write(STDERR_FILENO, "\n", 1) : 0;
    written = write(STDERR_FILENO, text.data(), text.size());
  }
  _exit(kExitCode);
}

// Before XRT's own, which would end the program without a word of ours.
void on_end_of_child(int number, siginfo_t* info, void* context) {
  if (info->si_code == CLD_KILLED || info->si_code == CLD_DUMPED) say_and_leave();
  handler_of_xrt.sa_sigaction(number, info, context);
}

void leave_crashes_alone() {
  for (const int number : {SIGSEGV, SIGFPE, SIGABRT}) {
    struct sigaction now = {};
    sigaction(number, nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) != 0 && is_of_driver(reinterpret_cast<const void*>(now.sa_sigaction)))
      signal(number, SIG_DFL);
  }
}

// XRT sets its handlers and then forks the card's process.
void before_fork() {
  struct sigaction now = {};
  sigaction(SIGCHLD, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) == 0) return;
  starts_card = now.sa_sigaction == on_end_of_child;
  if (starts_card || !is_of_driver(reinterpret_cast<const void*>(now.sa_sigaction))) return;
  starts_card = true;
  words();
  program = getpid();
  handler_of_xrt = now;
  now.sa_sigaction = on_end_of_child;
  sigaction(SIGCHLD, &now, nullptr);
  leave_crashes_alone();
}

// The card is a program of its own, and may be built with a sanitizer that wants to be loaded first.
void in_child() {
  if (starts_card) unsetenv("LD_PRELOAD");
}

__attribute__((constructor)) void prepare() { pthread_atfork(before_fork, nullptr, in_child); }

}  // namespace

extern "C" [[noreturn]] void exit(int code) {
  if (program != 0 && is_of_driver(__builtin_return_address(0))) {
    // XRT's fork that could not become the card's process. XRT may not wait for it yet and would then wait
    // for five minutes; a process that was killed is noticed at any time.
    if (getpid() != program) raise(SIGKILL);
    say_and_leave();
  }
  using Exit = void (*)(int);
  reinterpret_cast<Exit>(dlsym(RTLD_NEXT, "exit"))(code);
  __builtin_unreachable();
}
