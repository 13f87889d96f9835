// Everything that the program prints for people goes through here. Names of files and datasets, and what
// files hold, may contain sequences that a terminal obeys: they are shown, not passed on.
#pragma once

#include <fmt/core.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace annulus::app {

// Control characters as "\x1b", bytes that are not UTF-8 as U+FFFD. Tabs and line ends stay: texts have
// lines.
std::string visible(std::string_view text);

// The same for what is one line whatever it says: a message, or a name.
std::string on_one_line(std::string_view text);

// To standard output. What cannot be written is told when the program ends, by main().
void put(std::string_view text);

// Whether all that was printed so far could be: where nobody reads it, there is no need to go on.
bool can_print();

// Prints what is left. Returns errno of the first failure since the program began, or 0.
int finish_printing();

// To standard error. Where that cannot be written, nobody can be told.
void put_error(std::string_view text);

template <typename... T>
void print(fmt::format_string<T...> format, T&&... arguments) {
  put(fmt::format(format, std::forward<T>(arguments)...));
}

template <typename... T>
void print_error(fmt::format_string<T...> format, T&&... arguments) {
  put_error(fmt::format(format, std::forward<T>(arguments)...));
}

}  // namespace annulus::app
