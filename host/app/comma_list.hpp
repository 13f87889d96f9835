// Options that take several values in one argument, "1,2,4": the words after it may be inputs.
#pragma once

#include <annulus/core/error.hpp>
#include <annulus/core/instruction_set.hpp>
#include <annulus/engine/enum_names.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <concepts>
#include <string>
#include <string_view>
#include <vector>

namespace annulus::app {

template <std::unsigned_integral Number>
Number parse_item(const std::string& flag, std::string_view text, Number*) {
  Number number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault == std::errc() && end == text.data() + text.size() && number > 0) return number;
  throw Error(ErrorKind::kUsage, flag, fmt::format("'{}' is not a number above 0", text),
              "write numbers with commas between them, for example 1,2,4");
}

inline std::string parse_item(const std::string& flag, std::string_view text, std::string*) {
  if (!text.empty()) return std::string(text);
  throw Error(ErrorKind::kUsage, flag, "a name is empty", "write names with commas between them");
}

inline InstructionSet parse_item(const std::string& flag, std::string_view text, InstructionSet*) {
  if (const auto set = instruction_set_from_name(text)) return *set;
  throw Error(ErrorKind::kUsage, flag, fmt::format("'{}' is not known", text),
              "generic, avx2, avx512 or neon, with commas between them");
}

inline ErrorModel parse_item(const std::string& flag, std::string_view text, ErrorModel*) {
  if (const auto model = enum_from_name<ErrorModel>(text)) return *model;
  throw Error(ErrorKind::kUsage, flag,
              fmt::format("'{}' is not one of {}", text, enum_choices<ErrorModel>()));
}

template <typename Item>
CLI::Option* add_comma_list(CLI::App& command, const std::string& flag, std::vector<Item>& list,
                            const std::string& help) {
  const auto parse = [&list, flag](const std::string& argument) {
    list.clear();
    std::string_view rest = argument;
    for (bool more = true; more;) {
      const std::size_t length = std::min(rest.find(','), rest.size());
      list.push_back(parse_item(flag, rest.substr(0, length), static_cast<Item*>(nullptr)));
      more = length < rest.size();
      if (more) rest.remove_prefix(length + 1);
    }
  };
  return command.add_option_function<std::string>(flag, parse, help)->type_name("LIST");
}

}  // namespace annulus::app
