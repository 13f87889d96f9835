#include <annulus/sources/csv_line.hpp>
#include <annulus/sources/header_text.hpp>

#include <algorithm>
#include <charconv>
#include <limits>

namespace annulus {
namespace {

constexpr char kQuote = '"';

bool is_blank(char c) { return c == ' ' || c == '\t'; }

}  // namespace

char find_delimiter(std::string_view line) {
  for (const char delimiter : {'\t', ';', ','}) {
    bool quoted = false;
    for (const char c : line) {
      if (c == kQuote) quoted = !quoted;
      if (!quoted && c == delimiter) return delimiter;
    }
  }
  return kBlanks;
}

std::optional<std::vector<std::string>> split_fields(std::string_view line, char delimiter) {
  const auto ends_field = [delimiter](char c) { return delimiter == kBlanks ? is_blank(c) : c == delimiter; };
  std::vector<std::string> fields;
  if (delimiter == kBlanks) line = trim(line);
  while (true) {
    while (!line.empty() && is_blank(line.front()) && !(delimiter == '\t' && line.front() == '\t'))
      line.remove_prefix(1);
    std::string field;
    if (!line.empty() && line.front() == kQuote) {
      line.remove_prefix(1);
      while (true) {
        const auto end = line.find(kQuote);
        if (end == std::string_view::npos) return std::nullopt;
        field += line.substr(0, end);
        line.remove_prefix(end + 1);
        if (line.empty() || line.front() != kQuote) break;
        field += kQuote;
        line.remove_prefix(1);
      }
    }
    const auto end = static_cast<std::size_t>(std::ranges::find_if(line, ends_field) - line.begin());
    field += trim(line.substr(0, end));
    fields.push_back(std::move(field));
    if (end == line.size()) return fields;
    line.remove_prefix(end + 1);
  }
}

std::optional<double> parse_value(std::string_view field) {
  field = trim(field);
  if (field.empty() || equal_ignoring_case(field, "nan")) return std::numeric_limits<double>::quiet_NaN();
  if (field.size() > 1 && field[0] == '+' && field[1] != '-') field.remove_prefix(1);
  double value = 0;
  const auto [end, fault] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (fault != std::errc{} || end != field.data() + field.size()) return std::nullopt;
  return value;
}

NameAndUnit split_unit(const std::string& field) {
  for (const auto& [open, close] : {std::pair{'[', ']'}, std::pair{'(', ')'}}) {
    const auto begin = field.rfind(open);
    if (begin == std::string::npos || begin == 0 || !field.ends_with(close)) continue;
    return {std::string(trim(field.substr(0, begin))),
            std::string(trim(field.substr(begin + 1, field.size() - begin - 2)))};
  }
  return {field, {}};
}

}  // namespace annulus
