#include <annulus/outputs/merged_header.hpp>
#include <annulus/version.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace annulus {
namespace {

using Json = nlohmann::ordered_json;

// The text that an option of the header has; empty if there is none.
std::string option_of(const OutputHeader& header, const std::string& key) {
  const auto found = std::ranges::find(header.options, key, &std::pair<std::string, std::string>::first);
  return found == header.options.end() ? "" : found->second;
}

}  // namespace

std::string with_options(const std::string& config_json,
                         const std::vector<std::pair<std::string, std::string>>& options) {
  Json json = Json::parse(config_json, nullptr, false);
  if (!json.is_object()) return config_json;
  for (const auto& [key, text] : options) {
    if (json.contains(key)) json[key] = text;
  }
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

RunDescription describe_merged(const MergedRows& rows, const std::filesystem::path& output) {
  const MergeInput& first = rows.inputs.front();
  RunDescription run;
  run.program_version = kVersion;
  run.options.emplace_back("part", "");
  // An output that was named after its input is still so.
  if (!option_of(first.header, "output").empty()) run.options.emplace_back("output", output.string());
  run.config_json = with_options(first.header.config_json, run.options);
  run.without_option = kMergedPartsOption;
  if (!rows.missing_parts.empty()) {
    run.options.emplace_back(kMergedPartsOption, text_of(MergedParts{rows.parts, rows.frames},
                                                         run.config_json, first.header.working_directory));
  }
  run.expected_frames = rows.frames;
  run.columns = first.header.columns;
  run.made_from = first.path;
  run.file_name = output.filename().string();
  run.numbered_by_place = true;
  return run;
}

}  // namespace annulus
