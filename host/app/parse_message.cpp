#include "parse_message.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

namespace annulus::app {
namespace {

// As CLI11 names the types of options.
std::string kind_of(const CLI::Option& option) {
  const bool several = option.get_expected_min() > 1;
  const std::string type = option.get_type_name();
  const std::string noun = type.starts_with("UINT")  ? "whole number from 0"
                           : type.starts_with("INT") ? "whole number"
                                                     : "number";
  return several ? fmt::format("{} {}s", option.get_expected_min(), noun) : "a " + noun;
}

}  // namespace

std::string parse_message(const CLI::ParseError& error, const CLI::App& command) {
  // "Could not convert: --npt = -5"
  constexpr std::string_view kHead = "Could not convert: ";
  constexpr std::string_view kBetween = " = ";
  const std::string text = error.what();
  const std::size_t between = text.find(kBetween);
  if (!text.starts_with(kHead) || between == std::string::npos) return text;
  const std::string name = text.substr(kHead.size(), between - kHead.size());
  const std::string value = text.substr(between + kBetween.size());
  const CLI::Option* const option = command.get_option_no_throw(name);
  if (option == nullptr) return text;
  const bool several = option->get_expected_min() > 1;
  return fmt::format("{}: '{}' {} not {}", name, value, several ? "are" : "is", kind_of(*option));
}

CLI::Validator above_zero() {
  const auto fault = [](const std::string& text) {
    double number = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool good = code == std::errc() && end == text.data() + text.size() && number > 0;
    return good ? std::string() : fmt::format("'{}' is not a number above 0", text);
  };
  return CLI::Validator([fault](std::string& text) { return fault(text); }, "");
}

}  // namespace annulus::app
