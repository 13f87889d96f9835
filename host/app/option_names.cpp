#include "option_names.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace annulus::app {
namespace {

// What shows or does the same as a function of the library, or is called otherwise here.
constexpr auto kCommands = std::to_array<std::pair<std::string_view, std::string_view>>(
    {{"describe_backends()", "'annulus devices'"},
     {"describe_detectors()", "'annulus info --detectors'"},
     {"fill_missing()", "'annulus tomo'"},
     {"axis", "--centre"},
     {"to_json()", "'annulus integrate --dump-config'"}});

// Filled while commands are added, before anything runs.
std::map<std::string, std::string, std::less<>>& known_names() {
  static std::map<std::string, std::string, std::less<>> names;
  return names;
}

std::optional<std::string> our_word(std::string_view name) {
  for (const auto& [function, command] : kCommands) {
    if (function == name) return std::string(command);
  }
  return name_of_option(name);
}

}  // namespace

std::string flag_of(std::string_view key) {
  std::string name(key);
  std::ranges::replace(name, '_', '-');
  return "--" + name;
}

void know_name(const std::string& key, const std::string& name) { known_names()[key] = name; }

std::optional<std::string> name_of_option(std::string_view key) {
  const auto found = known_names().find(key);
  if (found == known_names().end()) return std::nullopt;
  return found->second;
}

std::string in_our_words(std::string_view text) {
  std::string result;
  while (true) {
    const std::size_t begin = text.find('`');
    const std::size_t end = begin == std::string_view::npos ? begin : text.find('`', begin + 1);
    if (end == std::string_view::npos) break;
    result += text.substr(0, begin);
    if (const auto word = our_word(text.substr(begin + 1, end - begin - 1))) {
      result += *word;
      text.remove_prefix(end + 1);
    } else {
      // The second backtick may begin a name.
      result += text.substr(begin, end - begin);
      text.remove_prefix(end);
    }
  }
  return result += text;
}

}  // namespace annulus::app
