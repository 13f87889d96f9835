#include <annulus/sources/header_text.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace annulus {
namespace {

constexpr std::string_view kBlank(" \t\r\n\v\f\0", 7);

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string_view without_plus(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  return text;
}

}  // namespace

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

std::size_t find_ignoring_case(std::string_view text, std::string_view needle) {
  const auto found = std::ranges::search(text, needle, {}, lower, lower);
  if (found.empty() && !needle.empty()) return std::string_view::npos;
  return static_cast<std::size_t>(found.begin() - text.begin());
}

std::string_view take_line(std::string_view& text) {
  const auto end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  text = without_plus(trim(text));
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_real(std::string_view text) {
  text = without_plus(trim(text));
  double value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<double> leading_real(std::string_view text) {
  text = without_plus(trim(text));
  double value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{} || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::string_view> find_value(const HeaderPairs& pairs, std::string_view key) {
  for (auto pair = pairs.rbegin(); pair != pairs.rend(); ++pair) {
    if (equal_ignoring_case(pair->first, key)) return pair->second;
  }
  return std::nullopt;
}

std::string printable(std::string_view text, std::size_t limit) {
  std::string result(text.substr(0, limit));
  for (char& c : result) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  return result;
}

}  // namespace annulus
