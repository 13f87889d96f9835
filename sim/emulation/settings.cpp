#include "settings.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <map>
#include <stdexcept>

#include "text.hpp"

namespace annulus_sim {
namespace {

using Reader = std::function<void(const nlohmann::json&)>;

void read_object(const nlohmann::json& object, const std::string& where,
                 const std::map<std::string, Reader>& keys) {
  if (!object.is_object()) throw std::runtime_error(fmt::format("{} must be an object {{...}}", where));
  for (const auto& [key, value] : object.items()) {
    const auto reader = keys.find(key);
    if (reader == keys.end()) {
      std::string known;
      for (const auto& [name, unused] : keys) known += (known.empty() ? "" : ", ") + name;
      throw std::runtime_error(fmt::format("{} has no '{}'; there are {}", where, key, known));
    }
    reader->second(value);
  }
}

Reader milliseconds(double& target) {
  return [&target](const nlohmann::json& value) {
    if (!value.is_number() || value.get<double>() < 0) {
      throw std::runtime_error(fmt::format("a time is {}; it must be a number of 0 or more", value.dump()));
    }
    target = value;
  };
}

Reader ordinal(uint64_t& target) {
  return [&target](const nlohmann::json& value) {
    if (!value.is_number_unsigned()) {
      throw std::runtime_error(
          fmt::format("a fault is {}; it must be 0 (never) or the n-th run or load", value.dump()));
    }
    target = value;
  };
}

Reader yes_or_no(bool& target) {
  return [&target](const nlohmann::json& value) {
    if (!value.is_boolean())
      throw std::runtime_error(fmt::format("every_time is {}, not true or false", value.dump()));
    target = value;
  };
}

}  // namespace

Settings read_settings(const std::string& text_or_file) {
  Settings settings;
  if (trim(text_or_file).empty()) return settings;
  const bool is_text = trim(text_or_file).starts_with('{');
  Settings::Times& times = settings.times;
  Settings::Faults& faults = settings.faults;
  try {
    const nlohmann::json json = nlohmann::json::parse(is_text ? text_or_file : read_text(text_or_file));
    read_object(json, "settings",
                {{"times",
                  [&](const nlohmann::json& object) {
                    read_object(object, "times",
                                {{"upload_ms", milliseconds(times.upload_ms)},
                                 {"upload_ms_per_mib", milliseconds(times.upload_ms_per_mib)},
                                 {"download_ms", milliseconds(times.download_ms)},
                                 {"download_ms_per_mib", milliseconds(times.download_ms_per_mib)},
                                 {"launch_ms", milliseconds(times.launch_ms)},
                                 {"frame_ms", milliseconds(times.frame_ms)}});
                  }},
                 {"faults", [&](const nlohmann::json& object) {
                    read_object(object, "faults",
                                {{"die_in_run", ordinal(faults.die_in_run)},
                                 {"hang_in_run", ordinal(faults.hang_in_run)},
                                 {"stale_in_run", ordinal(faults.stale_in_run)},
                                 {"zero_in_run", ordinal(faults.zero_in_run)},
                                 {"garbage_in_run", ordinal(faults.garbage_in_run)},
                                 {"flip_in_run", ordinal(faults.flip_in_run)},
                                 {"swap_in_run", ordinal(faults.swap_in_run)},
                                 {"die_on_load", ordinal(faults.die_on_load)},
                                 {"every_time", yes_or_no(faults.every_time)}});
                  }}});
  } catch (const std::exception& error) {
    throw std::runtime_error(fmt::format("settings of the emulated card: {}", error.what()));
  }
  return settings;
}

}  // namespace annulus_sim
