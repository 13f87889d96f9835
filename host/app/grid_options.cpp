#include "grid_options.hpp"

#include <annulus/core/error.hpp>
#include <annulus/core/text.hpp>

#include "comma_list.hpp"

namespace annulus::app {
namespace {

constexpr const char* kHeading = "Scan";

void add_axis(Command& command, const std::string& key, const std::string& help, std::string* column,
              AxisRule& rule) {
  command.add(key, column, help).group(kHeading);
  const Option step =
      command
          .add(key + "_step", &rule.step,
               "Width of a position, for a motor that was moving while frames were taken (default: the "
               "motor stopped, and its positions are found)")
          .group(kHeading);
  command
      .add(key + "_tolerance", &rule.tolerance,
           "Values that differ by no more are the same position (default: found from the values)")
      .group(kHeading)
      .excludes(step);
}

Zigzag zigzag_from(const std::string& name) {
  if (name == "none") return Zigzag::kNone;
  if (name == "odd") return Zigzag::kOddReversed;
  if (name == "even") return Zigzag::kEvenReversed;
  throw Error(ErrorKind::kUsage, "`zigzag`", in_quotes(name) + " is no order of lines",
              "choose none, odd or even");
}

}  // namespace

GridOptions GridArguments::grid() const {
  GridOptions grid = options;
  if (shape.empty()) return grid;
  if (shape.size() != 2 || shape[0] == 0 || shape[1] == 0)
    throw Error(ErrorKind::kUsage, "`shape`", "it is not two numbers above 0",
                "give lines and points per line, for example 181,180");
  grid.shape = GridOptions::GridShape{shape[0], shape[1]};
  return grid;
}

void add_grid_options(Command& command, GridArguments& arguments, const std::string& slow,
                      const std::string& slow_help, const std::string& fast, const std::string& fast_help) {
  GridOptions& options = arguments.options;
  add_axis(command, slow, slow_help, &options.slow, options.slow_rule);
  add_axis(command, fast, fast_help, &options.fast, options.fast_rule);
  options.slow_tolerance = slow + "_tolerance";
  options.fast_tolerance = fast + "_tolerance";
  add_comma_list(command, "shape", arguments.shape,
                 "Lines and points per line, LINES,POINTS, of a scan without such columns (default: the "
                 "shape that the output has)")
      .group(kHeading);
  command
      .add_text(
          "zigzag", [&options](const std::string& name) { options.zigzag = zigzag_from(name); },
          "With --shape: lines that run backwards: none, odd (the second, the fourth, ...) or even (the "
          "first, the third, ...)",
          "none")
      .group(kHeading);
}

}  // namespace annulus::app
