#include "journal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace annulus_sim {
namespace {

// One write a line, so that lines of several processes do not mix.
void write_whole(int file, const std::string& line) {
  if (write(file, line.data(), line.size()) < 0) return;  // nowhere left to complain
}

}  // namespace

Journal::Journal(const std::string& file) {
  if (file.empty()) return;
  file_ = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file_ < 0)
    throw std::runtime_error(fmt::format("{}: cannot write the log: {}", file, std::strerror(errno)));
}

void Journal::write_line(const std::string& who, const std::string& text) const {
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
  write_whole(file_, fmt::format("{:.6f} {}: {}\n", passed.count(), who, text));
}

void Journal::write_error(const std::string& who, const std::string& text) const {
  if (file_ >= 0) write_line(who, "error: " + text);
  write_whole(STDERR_FILENO, fmt::format("emulated card{}: {}\n", who == kCard ? "" : ", " + who, text));
}

}  // namespace annulus_sim
