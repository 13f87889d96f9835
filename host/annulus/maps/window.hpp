// Windows: parts of a pattern, a peak for example, of which a map shows one value per cell.
#pragma once

#include <annulus/plan/axis.hpp>
#include <annulus/plan/integration_options.hpp>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace annulus {

struct Window {
  std::string name;  // letters, digits and underscores
  Range range;       // in the unit of the radial axis
  // The background goes on a straight line through the means of two side windows, and is subtracted.
  std::optional<std::pair<Range, Range>> sides = std::nullopt;
};

// "[NAME=]FROM:TO", or with side windows "[NAME=]FROM:TO,FROM:TO,FROM:TO": the peak first. Without a name it
// is "window" and `number`. Throws kUsage for `window`.
Window parse_window(const std::string& text, std::size_t number);

// A table in text, as `column` takes it: columns name, from, to, and for side windows left_from, left_to,
// right_from, right_to, which may be empty. Throws kInput that names the line.
std::vector<Window> read_windows(const std::filesystem::path& table);

// Both together; names are not to be given twice. Throws kUsage.
std::vector<Window> all_windows(const std::vector<std::string>& texts, const std::filesystem::path& table);

// The bins whose centres lie in the range, ends included.
struct WindowBins {
  BinRange peak;
  std::optional<std::pair<BinRange, BinRange>> sides = std::nullopt;
};

// Throws kUsage if a part has no bins, or if the peak does not lie between its side windows.
WindowBins bins_of(const Window& window, const Axis& radial);

}  // namespace annulus
