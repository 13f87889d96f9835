#include <annulus/scan/grid_image.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace annulus {
namespace {

constexpr std::size_t kLongestName = 200;

bool is_name(const std::string& text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !text.empty() && text.size() <= kLongestName && std::ranges::all_of(text, fits);
}

std::string fault_of_axis(const std::vector<double>& positions, const char* which) {
  if (positions.empty()) return fmt::format("it has no {}", which);
  if (!std::ranges::all_of(positions, [](double at) { return std::isfinite(at); }))
    return fmt::format("a position of its {} is not a number", which);
  if (std::ranges::adjacent_find(positions, std::greater_equal<>()) != positions.end())
    return fmt::format("the positions of its {} do not ascend", which);
  return {};
}

}  // namespace

std::string fault_of(const GridImage& image) {
  if (!is_name(image.name)) return "its name is not made of letters, digits and underscores";
  std::string fault = fault_of_axis(image.rows.positions, "rows");
  if (fault.empty()) fault = fault_of_axis(image.columns.positions, "columns");
  const std::size_t rows = image.rows.positions.size(), columns = image.columns.positions.size();
  if (fault.empty() && image.values.size() != rows * columns)
    fault = fmt::format("it has {} values in {} x {} cells", image.values.size(), rows, columns);
  return fault;
}

}  // namespace annulus
