#include <annulus/core/error.hpp>
#include <annulus/core/text.hpp>
#include <annulus/outputs/scan_parts.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace annulus {
namespace {

// So that no place overflows.
constexpr std::uint64_t kMostParts = std::uint64_t{1} << 20;

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Part> part_in(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return std::nullopt;
  const auto number = whole_number(std::string_view(text).substr(0, slash));
  const auto count = whole_number(std::string_view(text).substr(slash + 1));
  if (!number || !count || *number == 0 || *number > *count || *count > kMostParts) return std::nullopt;
  return Part{*number, *count};
}

// The first input that is not the same, of two lists of which none begins with the other.
std::optional<std::size_t> first_difference(const std::vector<std::string>& one,
                                            const std::vector<std::string>& other) {
  const std::size_t both = std::min(one.size(), other.size());
  for (std::size_t i = 0; i < both; ++i) {
    if (one[i] != other[i]) return i;
  }
  return std::nullopt;
}

// "2 and 5 to 7"
std::string numbers_in_words(const std::vector<std::uint64_t>& ascending) {
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < ascending.size();) {
    std::size_t end = i + 1;
    while (end < ascending.size() && ascending[end] == ascending[end - 1] + 1) ++end;
    const bool long_run = end - i > 2;
    if (long_run) runs.push_back(fmt::format("{} to {}", ascending[i], ascending[end - 1]));
    for (std::size_t j = i; j < end && !long_run; ++j) runs.push_back(fmt::format("{}", ascending[j]));
    i = end;
  }
  const std::string last = runs.back();
  runs.pop_back();
  return runs.empty() ? last : fmt::format("{} and {}", fmt::join(runs, ", "), last);
}

}  // namespace

Part parse_part(const std::string& text) {
  if (const std::optional<Part> part = part_in(text)) return *part;
  throw Error(ErrorKind::kUsage, "`part`", fmt::format("{} is not a part", in_quotes(text)),
              "give it as K/N, the K-th of N parts, for example 3/16; parts count from 1");
}

std::string text_of(const Part& part) { return fmt::format("{}/{}", part.number, part.count); }

std::string names_of(const std::vector<Part>& parts) {
  std::string names;
  for (std::size_t i = 0; i < parts.size();) {
    std::vector<std::uint64_t> numbers{parts[i].number};
    std::size_t end = i + 1;
    for (; end < parts.size() && parts[end].count == parts[i].count && parts[end].number > numbers.back();
         ++end)
      numbers.push_back(parts[end].number);
    names += fmt::format("{}part{} {} of {}", i == 0 ? "" : "; ", numbers.size() == 1 ? "" : "s",
                         numbers_in_words(numbers), parts[i].count);
    i = end;
  }
  return names;
}

std::optional<PartOfScan> part_of_scan(const std::string& config_json,
                                       const std::filesystem::path& working_directory) {
  const nlohmann::json config = nlohmann::json::parse(config_json, nullptr, false);
  if (!config.is_object() || !config.contains("part") || !config["part"].is_string()) return std::nullopt;
  const std::optional<Part> part = part_in(config["part"].get<std::string>());
  if (!part) return std::nullopt;
  PartOfScan found{*part, {}, working_directory};
  if (!config.contains("inputs") || !config["inputs"].is_array()) return found;
  for (const nlohmann::json& input : config["inputs"]) {
    if (input.is_string()) found.inputs.push_back(input.get<std::string>());
  }
  return found;
}

std::string difference_of_scans(const PartOfScan& here, const PartOfScan& there) {
  if (here.part.count != there.part.count)
    return fmt::format("one is {}, the other {}", names_of({here.part}), names_of({there.part}));
  if (here.working_directory != there.working_directory) return {};
  const auto place = first_difference(here.inputs, there.inputs);
  if (!place) return {};
  return fmt::format("they are parts of different scans, input {} is {} in one and {} in the other",
                     *place + 1, here.inputs[*place], there.inputs[*place]);
}

void PartsThere::add(const PartOfScan& part) {
  const auto takes = [&](const Scan& scan) {
    return !scan.numbers.contains(part.part.number) && difference_of_scans(scan.first, part).empty();
  };
  auto scan = std::ranges::find_if(scans_, takes);
  if (scan == scans_.end()) scan = scans_.insert(scan, {part, {}});
  scan->numbers.insert(part.part.number);
}

std::vector<Part> PartsThere::missing() const {
  std::vector<Part> missing;
  for (const Scan& scan : scans_) {
    const std::uint64_t count = scan.first.part.count;
    for (std::uint64_t number = 1; number <= count; ++number) {
      if (!scan.numbers.contains(number)) missing.push_back({number, count});
    }
  }
  return missing;
}

}  // namespace annulus
