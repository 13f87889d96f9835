// SHA-256 of data that comes in pieces: the identity of a plan.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

namespace annulus {

class Sha256 {
 public:
  Sha256();
  ~Sha256();

  void add(std::span<const std::byte> bytes);

  // The value's bytes as they lie in memory (little endian on every machine this builds for).
  template <typename T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void add_value(T value) { add(std::as_bytes(std::span(&value, 1))); }

  // Length first, so that two arrays never run into each other.
  template <typename Array>
  void add_array(const Array& values) {
    add_value(static_cast<unsigned long long>(values.size()));
    add(std::as_bytes(std::span(values.data(), values.size())));
  }

  // Lower-case hexadecimal; call once.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace annulus
