#include "driver_link.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "driver_calls.pb.h"

namespace annulus_sim {
namespace {

constexpr size_t kCallHeaderBytes = 14;
constexpr std::chrono::seconds kPatience{60};

// The driver derives the same name from the same two variables.
std::string socket_path() {
  const char* user = std::getenv("USER");
  if (user == nullptr) return "/tmp/xcl_sock";
  const char* name = std::getenv("EMULATION_SOCKETID");
  return fmt::format("/tmp/{}/{}", user, name == nullptr ? "xcl_sock" : name);
}

}  // namespace

DriverLink::DriverLink() {
  const std::string path = socket_path();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path))
    throw std::runtime_error(fmt::format("{}: too long for a socket", path));
  std::memcpy(address.sun_path, path.data(), path.size());
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  const pid_t driver = getppid();
  do {  // the driver starts to listen only after it has started this process
    socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return;
    close(socket_);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  } while (getppid() == driver && std::chrono::steady_clock::now() < deadline);
  throw std::runtime_error(
      fmt::format("no XRT driver listens on {}; this program is started by XRT, see scripts/emulate", path));
}

DriverLink::~DriverLink() { close(socket_); }

bool DriverLink::receive(std::string& bytes) {
  for (size_t have = 0; have < bytes.size();) {
    const ssize_t got = recv(socket_, bytes.data() + have, bytes.size() - have, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    have += static_cast<size_t>(got);
  }
  return true;
}

std::optional<Call> DriverLink::next() {
  std::string bytes(kCallHeaderBytes, '\0');
  if (!receive(bytes)) return std::nullopt;
  wire::CallHeader header;
  if (!header.ParseFromString(bytes))
    throw std::runtime_error("the driver speaks another protocol: no call header");
  Call call{static_cast<CallNumber>(header.call()), std::string(header.size(), '\0')};
  if (!receive(call.body)) return std::nullopt;
  return call;
}

void DriverLink::answer(const google::protobuf::MessageLite& message) {
  wire::AnswerHeader header;
  header.set_size(message.ByteSizeLong());
  const std::string bytes = header.SerializeAsString() + message.SerializeAsString();
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;  // the host program is gone, which next() will say
    sent += static_cast<size_t>(count);
  }
}

}  // namespace annulus_sim
