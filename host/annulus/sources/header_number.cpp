#include <annulus/sources/header_number.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace annulus {
namespace {

constexpr std::pair<std::string_view, std::string_view> kLists[] = {{"motor_mne", "motor_pos"},
                                                                    {"counter_mne", "counter_pos"}};
constexpr std::size_t kMostKeysNamed = 40;

std::vector<std::string_view> words_of(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  std::vector<std::string_view> words;
  while (true) {
    const auto begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return words;
    const auto end = std::min(text.find_first_of(kBlanks, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
}

// What stands behind a number is its unit if it is one word.
std::string unit_in(std::string_view rest) {
  const auto words = words_of(rest);
  if (words.size() != 1) return {};
  std::string_view unit = words.front();
  if (unit.ends_with('.')) unit.remove_suffix(1);
  const bool is_word = !unit.empty() && unit.find_first_of("0123456789(),;=") == std::string_view::npos;
  return is_word ? std::string(unit) : std::string();
}

HeaderNumber parse_number(std::string_view text) {
  HeaderNumber number{std::numeric_limits<double>::quiet_NaN(), {}, std::string(text)};
  text = trim(text);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  number.is_missing = text.empty() || equal_ignoring_case(text, "nan") || equal_ignoring_case(text, "(nil)");
  double value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{} || !std::isfinite(value)) return number;
  const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  // "12.3deg" and "0.1 s" are numbers; the date 2026-11-18 and the version 1.2.3 are not.
  if (!rest.empty() && std::string_view(" \t%").find(rest.front()) == std::string_view::npos &&
      !std::isalpha(static_cast<unsigned char>(rest.front())))
    return number;
  number.value = value;
  number.unit = unit_in(rest);
  return number;
}

}  // namespace

std::optional<HeaderNumber> find_header_number(const HeaderPairs& header, std::string_view key) {
  if (const auto text = find_value(header, key)) return parse_number(*text);
  for (const auto& [names_key, values_key] : kLists) {
    const auto names = words_of(find_value(header, names_key).value_or(""));
    const auto found = std::ranges::find(names, key);
    if (found == names.end()) continue;
    const auto values = words_of(find_value(header, values_key).value_or(""));
    const auto place = static_cast<std::size_t>(found - names.begin());
    return parse_number(place < values.size() ? values[place] : std::string_view());
  }
  return std::nullopt;
}

std::string header_keys(const HeaderPairs& header) {
  std::vector<std::string> keys;
  for (const auto& [key, text] : header) {
    if (!std::isnan(parse_number(text).value)) keys.push_back(printable(key));
  }
  for (const auto& [names_key, values_key] : kLists) {
    for (const std::string_view name : words_of(find_value(header, names_key).value_or("")))
      keys.push_back(printable(name));
  }
  if (keys.empty()) return "it has no numbers";
  const std::size_t left = keys.size() - std::min(keys.size(), kMostKeysNamed);
  keys.resize(keys.size() - left);
  return fmt::format("there are: {}{}", fmt::join(keys, ", "),
                     left > 0 ? fmt::format(" and {} more", left) : "");
}

}  // namespace annulus
