#include "comma_list.hpp"

#include <annulus/core/error.hpp>
#include <annulus/engine/enum_names.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace annulus::app {
namespace {

// option: its key in backticks, for messages.
void parse_item(const std::string& option, std::string_view text, std::uint32_t& number) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault == std::errc() && end == text.data() + text.size() && number > 0) return;
  throw Error(ErrorKind::kUsage, option, fmt::format("'{}' is not a number above 0", text),
              "write numbers with commas between them, for example 1,2,4");
}

void parse_item(const std::string& option, std::string_view text, std::string& name) {
  if (text.empty())
    throw Error(ErrorKind::kUsage, option, "a name is empty", "write names with commas between them");
  name = text;
}

void parse_item(const std::string& option, std::string_view text, InstructionSet& set) {
  const auto found = instruction_set_from_name(text);
  if (!found) {
    throw Error(ErrorKind::kUsage, option, fmt::format("'{}' is not known", text),
                "generic, avx2, avx512 or neon, with commas between them");
  }
  set = *found;
}

void parse_item(const std::string& option, std::string_view text, ErrorModel& model) {
  const auto found = enum_from_name<ErrorModel>(text);
  if (!found) {
    throw Error(ErrorKind::kUsage, option,
                fmt::format("'{}' is not one of {}", text, enum_choices<ErrorModel>()));
  }
  model = *found;
}

template <typename Item>
Option add(Command& command, const std::string& key, std::vector<Item>& list, const std::string& help) {
  const auto parse = [&list, option = "`" + key + "`"](const std::string& argument) {
    list.clear();
    std::string_view rest = argument;
    for (bool more = true; more;) {
      const std::size_t length = std::min(rest.find(','), rest.size());
      parse_item(option, rest.substr(0, length), list.emplace_back());
      more = length < rest.size();
      if (more) rest.remove_prefix(length + 1);
    }
  };
  return command.add_text(key, parse, help, "", 0, "LIST");
}

}  // namespace

Option add_comma_list(Command& command, const std::string& key, std::vector<std::uint32_t>& list,
                      const std::string& help) {
  return add(command, key, list, help);
}

Option add_comma_list(Command& command, const std::string& key, std::vector<std::string>& list,
                      const std::string& help) {
  return add(command, key, list, help);
}

Option add_comma_list(Command& command, const std::string& key, std::vector<InstructionSet>& list,
                      const std::string& help) {
  return add(command, key, list, help);
}

Option add_comma_list(Command& command, const std::string& key, std::vector<ErrorModel>& list,
                      const std::string& help) {
  return add(command, key, list, help);
}

}  // namespace annulus::app
