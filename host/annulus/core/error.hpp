// The one error type of the library: what went wrong, where, and what to do about it.
#pragma once

#include <stdexcept>
#include <string>

namespace annulus {

// The kind of an error decides the exit code of the command line (docs/command_line.md).
enum class ErrorKind {
  kUsage,       // an option that makes no sense, alone or with another
  kInput,       // a frame, mask, dark or flat that is missing, corrupt or of another shape
  kGeometry,    // a PONI file or detector that cannot be used
  kPlan,        // bins, ranges or limits for which no exact plan exists
  kOutput,      // the result cannot be written
  kBackend,     // a device or backend that is absent or failed
  kInterrupted  // the user or the system asked to stop
};

class Error : public std::runtime_error {
 public:
  // where: the file, option or device. what: the fault. cure: what the user can do, or empty.
  Error(ErrorKind kind, std::string where, std::string what, std::string cure = {});

  ErrorKind kind() const { return kind_; }
  const std::string& where() const { return where_; }
  const std::string& fault() const { return fault_; }
  const std::string& cure() const { return cure_; }

 private:
  ErrorKind kind_;
  std::string where_;
  std::string fault_;
  std::string cure_;
};

}  // namespace annulus
