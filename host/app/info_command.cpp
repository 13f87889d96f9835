#include <annulus/engine/config.hpp>
#include <annulus/engine/inputs.hpp>
#include <annulus/fxs/correlation_reader.hpp>
#include <annulus/geometry/geometry.hpp>
#include <annulus/geometry/geometry_json.hpp>
#include <annulus/outputs/image_file.hpp>
#include <annulus/outputs/output_json.hpp>
#include <annulus/outputs/reader.hpp>
#include <annulus/sources/source_json.hpp>
#include <annulus/xrd_ct/volume_reader.hpp>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <memory>

#include "commands.hpp"
#include "exit_code.hpp"
#include "json_text.hpp"
#include "option_binder.hpp"
#include "print.hpp"

namespace annulus::app {
namespace {

struct InfoCommand {
  IntegrateConfig config;  // for its inputs and the description of raw files
  bool detectors = false;
  bool json = false;
};

// A text that speaks of a distance before anything binary comes: every PONI file does.
bool looks_like_poni(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string head(4096, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  if (head.find('\0') != std::string::npos) return false;
  std::transform(head.begin(), head.end(), head.begin(), [](unsigned char c) { return std::tolower(c); });
  return head.starts_with("distance:") || head.find("\ndistance:") != std::string::npos;
}

nlohmann::json describe_url(const std::string& url, const OpenOptions& open) {
  if (looks_like_poni(url)) return describe(read_poni(url));
  if (is_annulus_output(url)) return describe_output(url);
  switch (derived_file(url)) {
    case DerivedFile::kImages:
      return describe_images(url);
    case DerivedFile::kVolume:
      return VolumeFile(url).describe();
    case DerivedFile::kCorrelation:
      return describe_correlation(url);
    case DerivedFile::kNone:
      break;
  }
  return describe_source(*open_source(url, open), url);
}

void print_text(const nlohmann::json& object, int indent) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_object()) {
      print("{:{}}{}:\n", "", indent, on_one_line(key));
      print_text(value, indent + 2);
    } else {
      const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
      print("{:{}}{}: {}\n", "", indent, on_one_line(key), value.is_null() ? "not given" : text);
    }
  }
}

int list_detectors(bool json) {
  const nlohmann::json list = describe_detectors();
  if (json) {
    print("{}\n", list.dump(2));
    return kSuccess;
  }
  for (const nlohmann::json& detector : list) {
    print("{:<24} {:>5} x {:<5} pixels of {:g} x {:g} um, {} masked\n", detector["name"].get<std::string>(),
          detector["shape"][0].get<unsigned>(), detector["shape"][1].get<unsigned>(),
          detector["pixel1"].get<double>() * 1e6, detector["pixel2"].get<double>() * 1e6,
          detector["masked_pixels"].get<std::uint64_t>());
  }
  return kSuccess;
}

int info(const InfoCommand& command) {
  if (command.detectors) return list_detectors(command.json);
  const std::vector<std::string> urls = expand_inputs(command.config.inputs);
  nlohmann::json list = nlohmann::json::array();
  for (const std::string& url : urls) {
    if (!can_print()) break;
    nlohmann::json description = describe_url(url, open_options(command.config));
    if (!command.json) {
      print("{}\n", on_one_line(url));
      print_text(description, 2);
    }
    list.push_back(std::move(description));
  }
  // One file gives one object: easier for those who ask about one.
  if (command.json) print("{}\n", as_text(list.size() == 1 ? list.front() : list));
  return kSuccess;
}

}  // namespace

void add_info(CommandLine& program) {
  Command command = program.add_command("info", "Describe frames, PONI files, outputs, and known detectors");
  const auto state = std::make_shared<InfoCommand>();
  bind_options(command, state->config, is_of_inputs);
  command.add("detectors", &state->detectors, "List the detectors that PONI files may name");
  command.add("json", &state->json, "Print JSON");
  command.set_action([state] { return info(*state); });
}

}  // namespace annulus::app
