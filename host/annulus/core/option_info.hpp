// One line of a table of options. Every part of the library that has options has such a table, and the
// configuration joins them.
#pragma once

#include <concepts>
#include <type_traits>

namespace annulus {

// How an option is called, everywhere: in JSON, in messages (`max_count`), in Python; the program makes its
// flag of the key. The help may name other options as messages do.
struct OptionInfo {
  const char* key;
  const char* group;
  const char* help;
};

// The options themselves, const or not: what a table takes.
template <typename T, typename Options>
concept OptionsOf = std::same_as<std::remove_const_t<T>, Options>;

}  // namespace annulus
