#include <annulus/core/error.hpp>
#include <annulus/core/read_file.hpp>
#include <annulus/core/text.hpp>
#include <annulus/maps/window.hpp>
#include <annulus/sources/csv_line.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>

namespace annulus {
namespace {

constexpr std::size_t kLongestName = 50;
constexpr std::size_t kMostWindows = 1000;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr const char* kForms =
    "write [NAME=]FROM:TO, or with a background [NAME=]FROM:TO,LEFT_FROM:LEFT_TO,RIGHT_FROM:RIGHT_TO";

bool is_name(const std::string& name) {
  return !name.empty() && name.size() <= kLongestName && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// What is wrong with a range; empty: nothing.
std::string fault_of(Range range) {
  if (!std::isfinite(range.low) || !std::isfinite(range.high)) return "is no range";
  if (range.low == range.high) return "has no extent";
  if (range.low > range.high) return "ends before it begins";
  return {};
}

// Empty for a window that can be; whether it has bins is another matter.
std::string fault_of(const Window& window) {
  if (!is_name(window.name))
    return fmt::format("has the name {}: a name is made of letters, digits and underscores, at most {}",
                       in_quotes(window.name), kLongestName);
  const auto wrong = [](const char* part, Range range, const std::string& fault) {
    return fmt::format("{} from {} to {} {}", part, range.low, range.high, fault);
  };
  if (const std::string fault = fault_of(window.range); !fault.empty())
    return wrong("the peak", window.range, fault);
  if (!window.sides) return {};
  const auto& [left, right] = *window.sides;
  if (const std::string fault = fault_of(left); !fault.empty()) return wrong("the left side", left, fault);
  if (const std::string fault = fault_of(right); !fault.empty()) return wrong("the right side", right, fault);
  if (left.high > window.range.low || right.low < window.range.high)
    return "the peak is not between its two sides";
  return {};
}

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(by);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// The words of one table, and where each column is.
class WindowTable {
 public:
  explicit WindowTable(const std::filesystem::path& path) : path_(path.string()) {
    const std::string text = read_text_file(path, ErrorKind::kInput);
    std::string_view lines = text;
    if (lines.starts_with(kByteOrderMark)) lines.remove_prefix(kByteOrderMark.size());
    std::size_t number = 0;
    for (const std::string_view line : split(lines, '\n')) take_line(++number, line);
    if (windows_.empty()) refuse("has no line with a window", "a line has a name and a range");
  }

  std::vector<Window> windows() && { return std::move(windows_); }

 private:
  static constexpr std::array<const char*, 7> kColumns = {"name",    "from",       "to",      "left_from",
                                                          "left_to", "right_from", "right_to"};
  static constexpr std::size_t kNeeded = 3;
  static constexpr std::size_t kNowhere = ~std::size_t{0};

  [[noreturn]] void refuse(const std::string& what, const std::string& cure) const {
    throw Error(ErrorKind::kInput, path_, what, cure);
  }
  [[noreturn]] void refuse_line(std::size_t number, const std::string& what) const {
    refuse(fmt::format("line {}: {}", number, what),
           "the first line names the columns: name,from,to and for backgrounds "
           "left_from,left_to,right_from,right_to");
  }

  void take_line(std::size_t number, std::string_view line) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (line.empty() || line.front() == '#') return;
    const bool first = delimiter_ == '\0';
    if (first) delimiter_ = find_delimiter(line);
    const auto fields = split_fields(line, delimiter_);
    if (!fields) refuse_line(number, "a quote does not end");
    if (first) {
      take_names(number, *fields);
    } else {
      take_window(number, *fields);
    }
  }

  void take_names(std::size_t number, const std::vector<std::string>& fields) {
    for (std::size_t column = 0; column < kColumns.size(); ++column) {
      const auto found = std::ranges::find(fields, kColumns[column]);
      place_[column] = found == fields.end() ? kNowhere : static_cast<std::size_t>(found - fields.begin());
      if (column < kNeeded && place_[column] == kNowhere)
        refuse_line(number, fmt::format("there is no column {}", kColumns[column]));
    }
    for (const std::string& field : fields) {
      if (std::ranges::find(kColumns, field) == kColumns.end())
        refuse_line(number, fmt::format("{} is no column of a table of windows", in_quotes(field)));
      if (std::ranges::count(fields, field) > 1)
        refuse_line(number, fmt::format("there are two columns {}", field));
    }
    fields_ = fields.size();
  }

  // None where it is empty.
  std::optional<double> value(std::size_t number, const std::vector<std::string>& fields,
                              std::size_t column) const {
    if (place_[column] == kNowhere || fields[place_[column]].empty()) return std::nullopt;
    const auto parsed = parse_value(fields[place_[column]]);
    if (!parsed || std::isnan(*parsed))
      refuse_line(number, fmt::format("{} is no number", in_quotes(fields[place_[column]])));
    return parsed;
  }

  void take_window(std::size_t number, const std::vector<std::string>& fields) {
    if (fields.size() != fields_)
      refuse_line(number, fmt::format("it has {} fields, the first line has {}", fields.size(), fields_));
    Window window;
    window.name = fields[place_[0]];
    std::array<std::optional<double>, kColumns.size()> numbers;
    for (std::size_t column = 1; column < kColumns.size(); ++column)
      numbers[column] = value(number, fields, column);
    if (!numbers[1] || !numbers[2]) refuse_line(number, "the range has no beginning or no end");
    window.range = {*numbers[1], *numbers[2]};
    const auto given = std::count_if(numbers.begin() + kNeeded, numbers.end(),
                                     [](const auto& side) { return side.has_value(); });
    if (given == 4) {
      window.sides = {{*numbers[3], *numbers[4]}, {*numbers[5], *numbers[6]}};
    } else if (given > 0) {
      refuse_line(number, "a background needs all four ends of its side windows");
    }
    if (const std::string fault = fault_of(window); !fault.empty()) refuse_line(number, fault);
    windows_.push_back(std::move(window));
  }

  std::string path_;
  char delimiter_ = '\0';
  std::array<std::size_t, kColumns.size()> place_{};
  std::size_t fields_ = 0;
  std::vector<Window> windows_;
};

BinRange bins_in(Range range, const Axis& radial) {
  const std::vector<double>& centres = radial.centres;
  const auto first = std::ranges::lower_bound(centres, range.low);
  const auto end = std::ranges::upper_bound(centres, range.high);
  return {static_cast<std::size_t>(first - centres.begin()),
          std::max(static_cast<std::size_t>(end - centres.begin()),
                   static_cast<std::size_t>(first - centres.begin()))};
}

}  // namespace

Window parse_window(const std::string& text, std::size_t number) {
  const auto refuse_text = [&](const std::string& what) {
    throw Error(ErrorKind::kUsage, "`window`", fmt::format("{} {}", in_quotes(text), what), kForms);
  };
  Window window;
  std::string_view ranges = text;
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) {
    window.name = fmt::format("window{}", number);
  } else {
    window.name = text.substr(0, equals);
    ranges.remove_prefix(equals + 1);
  }
  std::vector<Range> found;
  for (const std::string_view part : split(ranges, ',')) {
    const auto ends = split(part, ':');
    const auto low = parse_value(ends.front());
    const auto high = parse_value(ends.back());
    if (ends.size() != 2 || !low || !high) refuse_text("is no window");
    found.push_back({*low, *high});
  }
  if (found.size() != 1 && found.size() != 3) refuse_text("has not one range or three");
  window.range = found[0];
  if (found.size() == 3) window.sides = {found[1], found[2]};
  if (const std::string fault = fault_of(window); !fault.empty()) refuse_text("is no window: " + fault);
  return window;
}

std::vector<Window> read_windows(const std::filesystem::path& table) { return WindowTable(table).windows(); }

std::vector<Window> all_windows(const std::vector<std::string>& texts, const std::filesystem::path& table) {
  std::vector<Window> windows;
  for (const std::string& text : texts) windows.push_back(parse_window(text, windows.size() + 1));
  if (!table.empty()) std::ranges::move(read_windows(table), std::back_inserter(windows));
  if (windows.size() > kMostWindows) {
    throw Error(ErrorKind::kUsage, "`window`", fmt::format("{} windows are too many", windows.size()),
                fmt::format("give at most {}", kMostWindows));
  }
  std::set<std::string> names;
  for (const Window& window : windows) {
    if (!names.insert(window.name).second)
      throw Error(ErrorKind::kUsage, "`window`", "two windows are called " + window.name,
                  "give each its own name");
  }
  return windows;
}

WindowBins bins_of(const Window& window, const Axis& radial) {
  const auto bins = [&](Range range, const char* part) {
    const BinRange found = bins_in(range, radial);
    if (found.size() == 0) {
      throw Error(ErrorKind::kUsage, "`window`",
                  fmt::format("{}: {} from {} to {} has no bin", window.name, part, range.low, range.high),
                  fmt::format("the patterns go from {:.6g} to {:.6g} {} in {} bins", radial.low(),
                              radial.high(), radial.units, radial.bins()));
    }
    return found;
  };
  WindowBins result;
  result.peak = bins(window.range, "the peak");
  if (!window.sides) return result;
  result.sides = {bins(window.sides->first, "the left side"), bins(window.sides->second, "the right side")};
  // A bin at a common end belongs to the peak alone.
  BinRange& left = result.sides->first;
  BinRange& right = result.sides->second;
  left.end = std::min(left.end, result.peak.first);
  right.first = std::max(right.first, result.peak.end);
  if (left.first >= left.end || right.first >= right.end) {
    throw Error(ErrorKind::kUsage, "`window`", window.name + ": a side has no bin that is not of the peak",
                "make the sides wider, or the bins narrower");
  }
  return result;
}

}  // namespace annulus
