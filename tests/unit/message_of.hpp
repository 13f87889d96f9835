// What the error says that `act` throws; a failure if it throws none of this kind.
#pragma once

#include <annulus/core/error.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace annulus {

inline std::string message_of(ErrorKind kind, const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

}  // namespace annulus
