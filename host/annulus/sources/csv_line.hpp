// One line of a table in text, taken apart.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace annulus {

inline constexpr char kBlanks = ' ';  // any number of blanks and tabs between two fields

// What divides the fields of a line: a tab, else a semicolon, else a comma, else blanks; not within quotes.
char find_delimiter(std::string_view line);

// Without blanks around them and without quotes; "" within quotes is one quote. None if quotes do not end.
std::optional<std::vector<std::string>> split_fields(std::string_view line, char delimiter);

// NaN for a missing value: nothing, or nan. None if it is no number.
std::optional<double> parse_value(std::string_view field);

// "x [mm]" and "x (mm)" have a unit.
struct NameAndUnit {
  std::string name;
  std::string unit;
};
NameAndUnit split_unit(const std::string& field);

}  // namespace annulus
