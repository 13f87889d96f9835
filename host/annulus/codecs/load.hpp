// Reads a number from bytes that need not be aligned.
#pragma once

#include <cstddef>
#include <cstring>

namespace annulus {

template <typename T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

}  // namespace annulus
