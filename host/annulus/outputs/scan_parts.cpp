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

std::vector<std::string> inputs_in(const nlohmann::json& config) {
  std::vector<std::string> inputs;
  if (!config.is_object() || !config.contains("inputs") || !config["inputs"].is_array()) return inputs;
  for (const nlohmann::json& input : config["inputs"]) {
    if (input.is_string()) inputs.push_back(input.get<std::string>());
  }
  return inputs;
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
  return PartOfScan{*part, inputs_in(config), working_directory};
}

std::string text_of(const MergedParts& merged, const std::string& config_json,
                    const std::filesystem::path& working_directory) {
  const std::vector<std::string> inputs = inputs_in(nlohmann::json::parse(config_json, nullptr, false));
  nlohmann::ordered_json scans = nlohmann::ordered_json::array();
  const PartOfScan* last = nullptr;
  for (const PartOfScan& part : merged.parts) {
    const bool same = last != nullptr && last->part.count == part.part.count && last->inputs == part.inputs &&
                      last->working_directory == part.working_directory;
    if (!same) {
      nlohmann::ordered_json scan{{"count", part.part.count}, {"numbers", nlohmann::ordered_json::array()}};
      if (part.inputs != inputs || part.working_directory != working_directory) {
        scan["inputs"] = part.inputs;
        scan["working_directory"] = part.working_directory.string();
      }
      scans.push_back(std::move(scan));
    }
    scans.back()["numbers"].push_back(part.part.number);
    last = &part;
  }
  const nlohmann::ordered_json json{
      {"frames", merged.frames}, {"finished", merged.finished}, {"scans", std::move(scans)}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::optional<MergedParts> merged_parts(const std::vector<std::pair<std::string, std::string>>& options,
                                        const std::string& config_json,
                                        const std::filesystem::path& working_directory,
                                        std::uint64_t frames) {
  const auto option =
      std::ranges::find(options, kMergedPartsOption, &std::pair<std::string, std::string>::first);
  if (option == options.end()) return std::nullopt;
  try {
    const nlohmann::json json = nlohmann::json::parse(option->second);
    MergedParts merged{{}, json.at("frames").get<std::uint64_t>(), json.at("finished").get<bool>()};
    if (merged.frames != frames) return std::nullopt;
    for (const nlohmann::json& scan : json.at("scans")) {
      PartOfScan part{{1, scan.at("count").get<std::uint64_t>()}, {}, working_directory};
      if (scan.contains("inputs")) {
        part.inputs = inputs_in(scan);
        part.working_directory = scan.at("working_directory").get<std::string>();
      } else {
        part.inputs = inputs_in(nlohmann::json::parse(config_json, nullptr, false));
      }
      for (const nlohmann::json& number : scan.at("numbers")) {
        part.part.number = number.get<std::uint64_t>();
        if (part.part.number == 0 || part.part.number > part.part.count || part.part.count > kMostParts)
          return std::nullopt;
        merged.parts.push_back(part);
      }
    }
    return merged;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;  // somebody else's text
  }
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

std::vector<PartOfScan> PartsThere::all() const {
  std::vector<PartOfScan> all;
  for (const Scan& scan : scans_) {
    for (const std::uint64_t number : scan.numbers) {
      all.push_back(scan.first);
      all.back().part.number = number;
    }
  }
  return all;
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
