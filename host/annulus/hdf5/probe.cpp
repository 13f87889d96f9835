#include <annulus/core/error.hpp>
#include <annulus/hdf5/probe.hpp>

#include <fcntl.h>
#include <hdf5.h>
#include <malloc.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

namespace annulus {
namespace {

constexpr std::size_t kLongestMessage = 64 << 10;
constexpr std::size_t kLongestPath = 4096;
constexpr int kMostDeadlyFiles = 16;  // that one file may lead to; each takes a probe
constexpr const char* kCure =
    "the file is damaged, or made to do harm: copy it again. If only its storage is slow, try once more";

// A file as it is now.
struct FileState {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  std::int64_t seconds = 0, nanoseconds = 0;

  bool operator==(const FileState&) const = default;
};

std::optional<FileState> state_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return FileState{status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec,
                   status.st_mtim.tv_nsec};
}

// Files and what became of them, as long as they do not change.
class Remembered {
 public:
  void add(const std::string& key, const std::optional<FileState>& state, std::string what) {
    const std::lock_guard lock(mutex_);
    if (state) files_.insert_or_assign(key, std::pair{*state, std::move(what)});
  }

  std::optional<std::string> find(const std::string& key, const std::string& path) const {
    const std::lock_guard lock(mutex_);
    const auto found = files_.find(key);
    if (found == files_.end() || state_of(path) != found->second.first) return std::nullopt;
    return found->second.second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::pair<FileState, std::string>> files_;
};

// Never destroyed: threads may open files until the process ends.
Remembered& deadly_files() {
  static auto* files = new Remembered;
  return *files;
}

// Between a probe and its server: the file that is being opened, and the error that the probe ended with.
struct Shared {
  char opening[kLongestPath];
  char error[kLongestMessage / 2];
};
Shared* shared = nullptr;
bool in_probe = false;

template <std::size_t Size>
void put(char (&to)[Size], std::string_view text) {
  const std::size_t size = std::min(text.size(), Size - 1);
  std::memcpy(to, text.data(), size);
  to[size] = '\0';
}

constexpr char kFieldEnd = '\x1f';  // within an error

std::string joined_by(char end, const ProbeRequest& request) {
  std::string message;
  for (const std::string& field : request) message += field + end;
  return message;
}

std::string joined(const ProbeRequest& request) { return joined_by('\0', request); }

ProbeRequest divided(std::string_view message, char by = '\0') {
  ProbeRequest request;
  while (!message.empty()) {
    const std::size_t end = std::min(message.find(by), message.size());
    request.emplace_back(message.substr(0, end));
    message.remove_prefix(std::min(end + 1, message.size()));
  }
  return request;
}

[[noreturn]] void throw_again(const std::string& error) {
  ProbeRequest fields = divided(error, kFieldEnd);
  fields.resize(4);
  throw Error(static_cast<ErrorKind>(std::atoi(fields[0].c_str())), fields[1], fields[2], fields[3]);
}

// Empty if the other side is gone.
std::string receive(int socket) {
  std::string message(kLongestMessage, '\0');
  ssize_t size = 0;
  do size = ::recv(socket, message.data(), message.size(), 0);
  while (size < 0 && errno == EINTR);
  message.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return message;
}

bool send_to(int socket, const std::string& message) {
  ssize_t size = 0;
  do size = ::send(socket, message.data(), message.size(), MSG_NOSIGNAL);
  while (size < 0 && errno == EINTR);
  return size >= 0;
}

// The other end of the socket is the server's standard input, and nothing else of this process is passed on:
// HDF5 opens files such that a program inherits them, with their locks.
pid_t start(const std::vector<std::string>& command, int socket) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, socket, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  // Signals of the terminal are for this process, which then may still have files to open.
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  // Whoever started this program may ignore signals without which no probe ends in time, or is seen to end.
  sigset_t usual;
  sigemptyset(&usual);
  for (const int signal : {SIGCHLD, SIGALRM, SIGPROF}) sigaddset(&usual, signal);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  pid_t pid = -1;
  const int fault = ::posix_spawn(&pid, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (fault != 0) errno = fault;
  return fault == 0 ? pid : -1;
}

// The server as it is seen from here.
class Prober {
 public:
  void set_command(std::vector<std::string> command) {
    const std::lock_guard lock(mutex_);
    if (socket_ >= 0) end();
    command_ = std::move(command);
  }

  bool is_wanted() const {
    const std::lock_guard lock(mutex_);
    return !command_.empty();
  }

  // What became of a probe, and the file that it had opened last; none if there is no server.
  std::optional<ProbeRequest> ask(const ProbeRequest& request) {
    const std::lock_guard lock(mutex_);
    // A server that somebody ended is replaced.
    for (int attempt = 0; attempt < 2; ++attempt) {
      if (socket_ < 0 && !begin()) return std::nullopt;
      std::string answer;
      if (send_to(socket_, joined(request))) answer = receive(socket_);
      if (!answer.empty()) return divided(answer);
      end();
    }
    return std::nullopt;
  }

 private:
  bool begin() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return false;
    pid_ = start(command_, ends[1]);
    ::close(ends[1]);
    socket_ = ends[0];
    if (pid_ < 0) end();
    return pid_ >= 0;
  }

  void end() {
    const int why = errno;
    ::close(std::exchange(socket_, -1));
    if (pid_ > 0) ::waitpid(std::exchange(pid_, -1), nullptr, 0);
    errno = why;
  }

  mutable std::mutex mutex_;
  std::vector<std::string> command_;
  int socket_ = -1;
  pid_t pid_ = -1;
};

Prober& prober() {
  static auto* prober = new Prober;
  return *prober;
}

// Of a probe that ended by itself: empty.
std::string why_it_died(int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
    return "opening it takes the HDF5 library longer than " + std::to_string(kProbeSeconds) + " s";
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF) {
    return "opening it takes the HDF5 library more than " + std::to_string(kProbeProcessorSeconds) +
           " s of processor time";
  }
  const std::string how = WIFSIGNALED(status) ? std::string(" (") + strsignal(WTERMSIG(status)) + ")" : "";
  return "the HDF5 library crashes when it opens this file" + how;
}

// From now on; for the file that is being opened.
void limit_time() {
  ::alarm(kProbeSeconds);
  itimerval processor{};
  processor.it_value.tv_sec = kProbeProcessorSeconds;
  ::setitimer(ITIMER_PROF, &processor, nullptr);
}

[[noreturn]] void be_a_probe(const std::function<void(const ProbeRequest&)>& open,
                             const ProbeRequest& request) {
  in_probe = true;
  limit_time();
  try {
    open(request);
  } catch (const Error& error) {
    put(shared->error, joined_by(kFieldEnd, {std::to_string(static_cast<int>(error.kind())), error.where(),
                                             error.fault(), error.cure()}));
  } catch (...) {
    // Whoever asked will see the same.
  }
  ::_exit(0);
}

}  // namespace

void set_probe_command(std::vector<std::string> command) { prober().set_command(std::move(command)); }

void note_opening(const std::string& path) {
  if (in_probe) {
    static std::set<std::string> opened;
    put(shared->opening, path);
    if (opened.insert(path).second) limit_time();
  }
  if (const auto reason = deadly_files().find(path, path))
    throw Error(ErrorKind::kInput, path, *reason, kCure);
}

void probe_hdf5(const std::string& path, const ProbeRequest& request) {
  static auto* survivors = new Remembered;
  if (!prober().is_wanted()) return;
  note_opening(path);
  const std::string key = joined(request);
  const auto state = state_of(path);
  if (survivors->find(key, path)) return;
  for (int files = 0; files < kMostDeadlyFiles; ++files) {
    const auto answer = prober().ask(request);
    if (!answer) {
      throw Error(
          ErrorKind::kInput, path,
          "the process that opens it first cannot be started: " + std::generic_category().message(errno),
          "the limit of processes may be too low, see ulimit -u");
    }
    const std::string& reason = answer->at(0);
    if (!answer->at(2).empty()) throw_again(answer->at(2));
    if (reason.empty()) return survivors->add(key, state, {});
    const std::string guilty = answer->at(1).empty() ? path : answer->at(1);
    deadly_files().add(guilty, state_of(guilty), reason);
    if (guilty == path) throw Error(ErrorKind::kInput, path, reason, kCure);
  }
  throw Error(ErrorKind::kInput, path, "it leads to many files that crash the HDF5 library", kCure);
}

int serve_probes(const std::function<void(const ProbeRequest&)>& open) {
  void* page = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return 1;
  shared = static_cast<Shared*>(page);
  // Memory that the library uses before it has written to it, or after it has given it back, is to be deadly
  // here rather than later, when it may hold something else.
  ::mallopt(M_PERTURB, 0xa5);
  H5set_free_list_limits(0, 0, 0, 0, 0, 0);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  for (std::string message = receive(0); !message.empty(); message = receive(0)) {
    *shared = {};
    const pid_t pid = ::fork();
    if (pid == 0) be_a_probe(open, divided(message));
    if (pid < 0) break;
    int status = 0;
    pid_t ended = -1;
    while ((ended = ::waitpid(pid, &status, 0)) < 0 && errno == EINTR) {
    }
    if (ended != pid) break;  // what became of it is not known, so nothing is promised
    const std::string reason = why_it_died(status), file = shared->opening;
    if (!reason.empty()) deadly_files().add(file, state_of(file), reason);
    if (!send_to(0, joined({reason, file, reason.empty() ? shared->error : ""}))) break;
  }
  return 0;
}

}  // namespace annulus
