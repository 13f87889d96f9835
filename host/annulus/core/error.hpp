// The one error type of the library: what went wrong, where, and what to do about it.
//
// The library knows no command line. A message names an option by its key, and a function that tells more by
// its name, both in backticks: "give the limit for all frames with `max_count`", "`describe_backends()` lists
// them". Whoever shows the message may put its own names there: the program prints --max-count and
// 'annulus devices'.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>

namespace annulus {

// What to do about an error depends on its kind: a program chooses its exit code by it.
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
  // where: the file, the option (its key in backticks) or the device. what: the fault. cure: what the user
  // can do, or empty.
  Error(ErrorKind kind, std::string where, std::string what, std::string cure = {});

  ErrorKind kind() const { return kind_; }
  const std::string& where() const { return where_; }
  const std::string& fault() const { return fault_; }
  const std::string& cure() const { return cure_; }

  // The key of the option that is at fault, the first one if there are several; none if it is something else.
  std::optional<std::string> option() const;

 private:
  ErrorKind kind_;
  std::string where_;
  std::string fault_;
  std::string cure_;
};

}  // namespace annulus
