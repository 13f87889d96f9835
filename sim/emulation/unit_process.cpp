#include "unit_process.hpp"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>

namespace annulus_sim {
namespace {

// Bits of the control register, at offset 0.
constexpr uint32_t kStart = 1;
constexpr uint32_t kDone = 2;
constexpr uint32_t kIdle = 4;

}  // namespace

UnitProcess::UnitProcess(const CardDesign& design, const ComputeUnit& unit, const std::string& library,
                         int memory_file, int inherited_socket, const Journal& journal)
    : unit_(unit), journal_(journal), registers_(kRegisterBytes) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw std::runtime_error(fmt::format("{}: no socket: {}", unit.name, std::strerror(errno)));
  }
  const pid_t card = getpid();
  process_ = fork();
  if (process_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != card) _exit(1);
    close(inherited_socket);
    close(ends[0]);
    work_as_unit(design, unit, library, memory_file, ends[1], journal);
  }
  close(ends[1]);
  socket_ = ends[0];
  if (process_ < 0) {
    close(socket_);
    throw std::runtime_error(fmt::format("{}: cannot start a process: {}", unit.name, std::strerror(errno)));
  }
}

UnitProcess::~UnitProcess() {
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  close(socket_);
}

void UnitProcess::await_ready() {
  std::string text(4096, '\0');
  const ssize_t got = recv(socket_, text.data(), text.size(), 0);
  if (got > 0 && text[0] == kReady) return;
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  throw std::runtime_error(fmt::format("{}: the kernels in the xclbin cannot be loaded: {}", unit_.name,
                                       text.empty() ? "the process ended" : text.substr(1)));
}

UnitProcess::State UnitProcess::state() {
  if (state_ == State::kLost) return state_;
  char word = 0;
  const ssize_t got = recv(socket_, &word, 1, MSG_DONTWAIT);
  if (got == 1 && word == kRunDone) {
    journal_.note(unit_.name, "done");
    state_ = State::kIdle;
    done_ = true;
  } else if (got == 0) {
    state_ = State::kLost;
    siginfo_t end{};
    waitid(P_PID, static_cast<id_t>(process_), &end, WEXITED | WNOWAIT);  // the destructor reaps it
    if (end.si_code != CLD_EXITED)
      journal_.error(unit_.name, "killed by signal {}", strsignal(end.si_status));
  }
  return state_;
}

bool UnitProcess::has_register(uint64_t address, size_t size) const {
  return address >= unit_.base && address - unit_.base <= kRegisterBytes &&
         size <= kRegisterBytes - (address - unit_.base);
}

bool UnitProcess::write_registers(uint64_t address, const std::string& bytes) {
  std::memcpy(registers_.data() + (address - unit_.base), bytes.data(), bytes.size());
  const bool starts = address == unit_.base && !bytes.empty() && (bytes[0] & kStart) != 0;
  if (starts && state() == State::kBusy) {
    journal_.error(unit_.name, "started while it runs; the start is ignored, as on a card");
    return false;
  }
  return starts;
}

std::string UnitProcess::read_registers(uint64_t address, size_t size) {
  uint32_t control = kStart;
  if (state() == State::kIdle) {
    // A card clears done when it is read. Here it stays until the next start: after a load XRT keeps the
    // thread that polled for the runs before, and it must not take the news from the new one.
    control = kIdle | (done_ ? kDone : 0);
  }
  std::memcpy(registers_.data(), &control, sizeof(control));
  return {registers_.data() + (address - unit_.base), size};
}

uint64_t UnitProcess::value_of(const Argument& argument) const {
  uint64_t value = 0;
  std::memcpy(&value, registers_.data() + argument.offset, register_bytes_of(argument));
  return value;
}

void UnitProcess::start(const RunRequest& request) {
  state_ = State::kBusy;
  done_ = false;
  send(socket_, &request, sizeof(request), MSG_NOSIGNAL);  // state() finds out if nobody is there
}

}  // namespace annulus_sim
