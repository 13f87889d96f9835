// The connection to the driver in the host program: one call, one answer, over and over.
#pragma once

#include <google/protobuf/message_lite.h>

#include <optional>
#include <string>

namespace annulus_sim {

// As in the driver.
enum class CallNumber : uint32_t {
  kClose = 1,
  kLoad = 3,
  kAllocate = 4,
  kFree = 5,
  kUpload = 6,
  kDownload = 7,
  kWriteRegisters = 9,
  kReadRegisters = 11,
  kSetEnvironment = 20,
  kSetUpInstance = 28,
  kWriteRegister = 51,
  kReadRegister = 52,
};

struct Call {
  CallNumber number;
  std::string body;
};

class DriverLink {
 public:
  // Connects to the socket on which the driver that started this process listens.
  DriverLink();
  ~DriverLink();
  DriverLink(const DriverLink&) = delete;
  DriverLink& operator=(const DriverLink&) = delete;

  std::optional<Call> next();  // nothing: the host program is gone
  void answer(const google::protobuf::MessageLite& message);
  int socket() const { return socket_; }

 private:
  bool receive(std::string& bytes);

  int socket_ = -1;
};

}  // namespace annulus_sim
