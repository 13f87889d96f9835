// Exit codes of the program, documented in docs/command_line.md.
#pragma once

#include <annulus/core/error.hpp>

namespace annulus::app {

enum ExitCode : int {
  kSuccess = 0,
  kInternalError = 1,
  kUsageError = 2,
  kInputError = 3,
  kGeometryOrPlanError = 4,
  kOutputError = 5,
  kBackendError = 6,
  kSomeFramesBad = 7,
  kInterruptedBySignal = 130
};

inline ExitCode exit_code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
      return kUsageError;
    case ErrorKind::kInput:
      return kInputError;
    case ErrorKind::kGeometry:
    case ErrorKind::kPlan:
      return kGeometryOrPlanError;
    case ErrorKind::kOutput:
      return kOutputError;
    case ErrorKind::kBackend:
      return kBackendError;
    case ErrorKind::kInterrupted:
      break;
  }
  return kInterruptedBySignal;
}

}  // namespace annulus::app
