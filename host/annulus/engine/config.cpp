#include <annulus/core/error.hpp>
#include <annulus/engine/columns.hpp>
#include <annulus/engine/config.hpp>
#include <annulus/engine/enum_names.hpp>
#include <annulus/engine/share.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <string_view>
#include <type_traits>
#include <utility>

namespace annulus {
namespace {

using Json = nlohmann::ordered_json;

constexpr unsigned kMostThreads = 1024;
constexpr std::uint64_t kMostMemory = std::uint64_t{1} << 20;  // MiB

template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <typename T>
Json encode(const T& value) {
  if constexpr (IsOptional<T>::value) {
    return value ? encode(*value) : Json(nullptr);
  } else if constexpr (std::is_same_v<T, Range>) {
    return Json::array({value.low, value.high});
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(name_of(value));
  } else {
    return value;
  }
}

[[noreturn]] void refuse(const std::string& name, const std::string& key, const std::string& what) {
  throw Error(ErrorKind::kUsage, name, fmt::format("\"{}\": {}", key, what),
              "`to_json()` prints a complete example");
}

template <typename T>
void decode(const Json& json, const std::string& name, const std::string& key, T& value) {
  if constexpr (IsOptional<T>::value) {
    if (json.is_null()) {
      value.reset();
    } else {
      typename T::value_type inner{};
      decode(json, name, key, inner);
      value = inner;
    }
  } else if constexpr (std::is_same_v<T, Range>) {
    if (!json.is_array() || json.size() != 2) refuse(name, key, "two numbers in brackets are expected");
    decode(json[0], name, key, value.low);
    decode(json[1], name, key, value.high);
  } else if constexpr (std::is_enum_v<T>) {
    const auto found = json.is_string() ? enum_from_name<T>(json.get<std::string>()) : std::nullopt;
    if (!found) refuse(name, key, fmt::format("one of {} is expected", enum_choices<T>()));
    value = *found;
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!json.is_boolean()) refuse(name, key, "true or false is expected");
    value = json.get<bool>();
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!json.is_string()) refuse(name, key, "a text is expected");
    value = json.get<std::string>();
  } else if constexpr (std::is_floating_point_v<T>) {
    if (!json.is_number()) refuse(name, key, "a number is expected");
    value = json.get<T>();
  } else if constexpr (std::is_integral_v<T>) {
    // Through the widest types, so that nothing wraps around.
    const bool fits = json.is_number_unsigned()
                          ? std::in_range<T>(json.get<std::uint64_t>())
                          : json.is_number_integer() && std::in_range<T>(json.get<std::int64_t>());
    if (!fits) refuse(name, key, "a whole number in range is expected");
    value = json.get<T>();
  } else {
    if (!json.is_array()) refuse(name, key, "a list is expected");
    value.clear();
    for (const Json& item : json) decode(item, name, key, value.emplace_back());
  }
}

}  // namespace

nlohmann::ordered_json to_json(const IntegrateConfig& config) {
  Json json = Json::object();
  for_each_option(config, [&](const OptionInfo& info, const auto& value) { json[info.key] = encode(value); });
  return json;
}

void apply_json(const std::string& text, const std::string& name, IntegrateConfig& config) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::kUsage, name, fmt::format("not valid JSON: {}", error.what()));
  }
  if (!json.is_object()) throw Error(ErrorKind::kUsage, name, "a JSON object { ... } is expected");
  std::string known;
  for_each_option(config, [&](const OptionInfo& info, auto& value) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", info.key);
    const auto found = json.find(info.key);
    if (found == json.end()) return;
    decode(*found, name, info.key, value);
    json.erase(found);
  });
  if (!json.empty()) refuse(name, json.begin().key(), fmt::format("no such option; there are: {}", known));
}

std::vector<std::pair<std::string, std::string>> as_text(const IntegrateConfig& config) {
  std::vector<std::pair<std::string, std::string>> options;
  for_each_option(config, [&](const OptionInfo& info, const auto& value) {
    // The inputs are in the output frame by frame.
    if (std::string_view(info.key) == "inputs") return;
    const Json json = encode(value);
    options.emplace_back(info.key, json.is_string() ? json.get<std::string>() : json.dump());
  });
  return options;
}

namespace {

constexpr std::array<std::string_view, 5> kNexusNames = {".nxs", ".nx", ".h5", ".hdf5", ".hdf"};
constexpr std::array<std::string_view, 3> kTextNames = {".xy", ".xye", ".dat"};

std::string extension_of(const std::string& output) {
  std::string extension = std::filesystem::path(output).extension().string();
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return std::tolower(c); });
  return extension;
}

template <std::size_t N>
bool is_among(const std::string& name, const std::array<std::string_view, N>& names) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

bool is_text_name(const std::string& output) { return is_among(extension_of(output), kTextNames); }

bool is_nexus_name(const std::string& output) {
  const std::string extension = extension_of(output);
  return extension.empty() || is_among(extension, kNexusNames);
}

OutputFormat output_format(const IntegrateConfig& config) {
  const std::string extension = extension_of(config.output);
  const bool text = is_among(extension, kTextNames), nexus = is_among(extension, kNexusNames);
  const std::string known =
      fmt::format("{} are text, {} are NeXus", fmt::join(kTextNames, " "), fmt::join(kNexusNames, " "));
  const auto refuse_name = [&](const std::string& what, const std::string& cure) {
    throw Error(ErrorKind::kUsage, "`output`", fmt::format("{}: {}", config.output, what), cure);
  };
  if (config.format == OutputFormat::kNexus && text) {
    refuse_name(fmt::format("{} is the name of a text file, and `format` is nexus", extension),
                fmt::format("choose another name: {}", known));
  }
  if (config.format == OutputFormat::kXy && nexus) {
    refuse_name(fmt::format("{} is the name of a NeXus file, and `format` is xy", extension),
                fmt::format("choose another name: {}", known));
  }
  if (config.format != OutputFormat::kAuto) return config.format;
  if (!text && !nexus && !extension.empty())
    refuse_name(fmt::format("{} does not say which format is meant", extension),
                fmt::format("{}; or give `format`", known));
  return text ? OutputFormat::kXy : OutputFormat::kNexus;
}

OpenOptions open_options(const IntegrateConfig& config) {
  OpenOptions open;
  open.verify_checksum = config.verify_checksum;
  open.raw_offset = config.raw_offset;
  open.allow_links = config.allow_links;
  open.most_unpacked = config.memory << 20;
  if (config.follow) open.follow = config.follow_timeout;
  if (!config.raw_shape.empty()) {
    if (config.raw_shape.size() != 2 || config.raw_shape[0] == 0 || config.raw_shape[1] == 0) {
      throw Error(ErrorKind::kUsage, "`raw_shape`", "rows and columns are expected",
                  "for example `raw_shape` 195 487");
    }
    open.raw_shape = Shape{config.raw_shape[0], config.raw_shape[1]};
  }
  const auto type = pixel_type_from_name(config.raw_type);
  if (!type) {
    throw Error(ErrorKind::kUsage, "`raw_type`", fmt::format("'{}' is not a pixel type", config.raw_type),
                "uint8, uint16, uint32, int8, int16, int32, int64, uint64, float32 or float64");
  }
  open.raw_type = *type;
  return open;
}

namespace {

void check_follow(const IntegrateConfig& config) {
  const IntegrateConfig unset;
  if (config.follow_timeout != unset.follow_timeout && !config.follow) {
    throw Error(ErrorKind::kUsage, "`follow_timeout`", "it means nothing without `follow`",
                "give `follow` too");
  }
  if (!(config.follow_timeout > 0) || config.follow_timeout > 86400) {
    throw Error(ErrorKind::kUsage, "`follow_timeout`",
                fmt::format("{} s is not sensible", config.follow_timeout),
                "give a number of seconds above 0, a day at most");
  }
}

void check_part(const IntegrateConfig& config) {
  if (config.part.empty()) return;
  parse_part(config.part);
  if (config.follow) {
    throw Error(ErrorKind::kUsage, "`part`",
                "it excludes `follow`: jobs do not see files come in the same order",
                "let one process follow the scan, or reduce parts of it when it is complete");
  }
  if (output_format(config) == OutputFormat::kXy) {
    throw Error(ErrorKind::kUsage, "`part`", "parts are put together from NeXus files, not from text",
                "name a NeXus file, for example .nxs");
  }
}

}  // namespace

void check(const IntegrateConfig& config) {
  check_options(config.backend, config.backend_options);
  check_follow(config);
  check_part(config);
  if (config.memory == 0 || config.memory > kMostMemory) {
    throw Error(ErrorKind::kUsage, "`memory`", fmt::format("{} MiB are not sensible", config.memory),
                fmt::format("give 1 to {}; a frame is always held, however large it is", kMostMemory));
  }
  if (config.inputs.empty()) {
    throw Error(ErrorKind::kUsage, "`inputs`", "no frames are named",
                "name files, folders or patterns, for example *.cbf");
  }
  if (config.backend_options.threads > kMostThreads || config.readers > kMostThreads || config.readers == 0) {
    throw Error(ErrorKind::kUsage, "`threads`, `readers`",
                fmt::format("{} and {} are not sensible", config.backend_options.threads, config.readers),
                fmt::format("at most {} each, and at least one reader", kMostThreads));
  }
  if (!std::isnormal(config.normalization_factor) || config.normalization_factor < 0) {
    throw Error(ErrorKind::kPlan, "`normalization_factor`",
                fmt::format("{} cannot divide", config.normalization_factor), "give a positive number");
  }
  parse_columns(config.columns, config.monitor);
  check(config.recipe);
  const bool text = output_format(config) == OutputFormat::kXy;
  if (text && extension_of(config.output) == ".xye" && !config.recipe.has_errors()) {
    throw Error(ErrorKind::kUsage, "`output`", ".xye holds errors, and this run makes none",
                "give an `error_model`, or call the output .xy");
  }
  if (text && config.integration.azimuth_bins) {
    throw Error(ErrorKind::kUsage, "`format`", "xy holds one column of intensities, no cake",
                "write NeXus, or leave `npt_azim` out");
  }
  if (config.outliers != Outliers::kNone && (text || !config.recipe.has_clip())) {
    throw Error(ErrorKind::kUsage, "`outliers`",
                text ? "text files hold no outliers" : "nothing is left out without a clip",
                text ? "write NeXus, or leave it out" : "give a `clip`, or leave it out");
  }
  if (config.overwrite && config.append) {
    throw Error(ErrorKind::kUsage, "`overwrite`", "it excludes `append`", "give one of them");
  }
}

}  // namespace annulus
