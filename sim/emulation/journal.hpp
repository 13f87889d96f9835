// What the card did, one line an event: seconds since it was opened, who, what. Errors go to standard error
// too.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <string>

namespace annulus_sim {

class Journal {
 public:
  static constexpr char kCard[] = "card";  // who, where it is not one compute unit

  explicit Journal(const std::string& file);  // appends; no file: errors only

  template <typename... T>
  void note(const std::string& who, fmt::format_string<T...> text, T&&... values) const {
    if (file_ >= 0) write_line(who, fmt::format(text, std::forward<T>(values)...));
  }
  template <typename... T>
  void error(const std::string& who, fmt::format_string<T...> text, T&&... values) const {
    write_error(who, fmt::format(text, std::forward<T>(values)...));
  }

 private:
  void write_line(const std::string& who, const std::string& text) const;
  void write_error(const std::string& who, const std::string& text) const;

  int file_ = -1;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace annulus_sim
