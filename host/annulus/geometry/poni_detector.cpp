#include <annulus/core/text.hpp>
#include <annulus/geometry/poni_text.hpp>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace annulus {
namespace {

using nlohmann::json;

constexpr std::string_view kGeneric = "Detector";

// Far above any detector; keeps a slip of the pen from claiming the machine's memory.
constexpr std::uint64_t kMaxSide = 1 << 17;
constexpr std::uint64_t kMaxPixels = 1 << 28;

// Bounds the depth of its brackets too, which messages descend into.
constexpr std::size_t kLongestConfig = 4096;

// What Detector_config may say, whatever the version of the program that wrote it.
struct Config {
  std::optional<double> pixel1;
  std::optional<double> pixel2;
  std::optional<Shape> max_shape;
  std::optional<Shape> module_size;
};

bool is_generic(const std::string& name) { return lower_case(name) == lower_case(kGeneric); }

bool names_a_file(const std::string& name) {
  const std::string lower = lower_case(name);
  return lower == "nexusdetector" || lower.ends_with(".h5") || lower.ends_with(".hdf5") ||
         lower.ends_with(".nxs") || lower.find_first_of("/\\") != std::string::npos;
}

Error no_distortion(const PoniText& poni, const PoniEntry& entry, const std::string& file) {
  return poni.error(entry, fmt::format("the distortion in {} is not supported", in_quotes(file)),
                    "correct the images first, and calibrate them as undistorted");
}

double pixel_size(const PoniText& poni, const PoniEntry& entry, const std::string& key, const json& value) {
  const double size = value.is_number() ? value.get<double>() : 0;
  if (!std::isfinite(size) || !(size > 0)) {
    throw poni.error(entry,
                     fmt::format("{} is {}, not a positive number of metres", key, in_quotes(value.dump())));
  }
  return size;
}

Shape shape_from(const PoniText& poni, const PoniEntry& entry, const std::string& key, const json& value) {
  const bool two =
      value.is_array() && value.size() == 2 && value[0].is_number_unsigned() && value[1].is_number_unsigned();
  const std::uint64_t rows = two ? value[0].get<std::uint64_t>() : 0;
  const std::uint64_t cols = two ? value[1].get<std::uint64_t>() : 0;
  if (rows == 0 || cols == 0 || rows > kMaxSide || cols > kMaxSide || rows * cols > kMaxPixels) {
    throw poni.error(entry,
                     fmt::format("{} is {}, not a possible [rows, columns]", key, in_quotes(value.dump())));
  }
  return {static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(cols)};
}

void check_orientation(const PoniText& poni, const PoniEntry& entry, const json& value) {
  // 0 stands for the default, which is 3: origin at the bottom left, seen from the sample.
  if (value.is_number_integer() && (value == 0 || value == 3)) return;
  throw poni.error(entry, fmt::format("orientation {} is not supported, only 3 is", in_quotes(value.dump())),
                   "calibrate with orientation 3");
}

json json_of(const PoniText& poni, const PoniEntry& entry) {
  if (entry.value.size() > kLongestConfig)
    throw poni.error(entry, "it is far too long to describe a detector");
  try {
    return json::parse(entry.value);
  } catch (const json::exception&) {
    throw poni.error(entry, in_quotes(entry.value) + " is not JSON, or its numbers are out of range");
  }
}

Config config_from(const PoniText& poni, const PoniEntry& entry) {
  Config config;
  const json values = json_of(poni, entry);
  if (values.is_null()) return config;
  if (!values.is_object()) throw poni.error(entry, in_quotes(entry.value) + " is not a JSON object");
  for (const auto& [name, value] : values.items()) {
    const std::string key = lower_case(name);
    if (value.is_null() || key == "sensor") continue;  // the sensor's material does not move pixels
    if (key == "pixel1") {
      config.pixel1 = pixel_size(poni, entry, key, value);
    } else if (key == "pixel2") {
      config.pixel2 = pixel_size(poni, entry, key, value);
    } else if (key == "pixel") {
      config.pixel1 = config.pixel2 = pixel_size(poni, entry, key, value);
    } else if (key == "max_shape") {
      config.max_shape = shape_from(poni, entry, key, value);
    } else if (key == "module_size") {
      config.module_size = shape_from(poni, entry, key, value);
    } else if (key == "orientation") {
      check_orientation(poni, entry, value);
    } else if (key == "splinefile" || key == "x_offset_file" || key == "y_offset_file") {
      if (!value.is_string() || !value.get<std::string>().empty())
        throw no_distortion(poni, entry, value.is_string() ? value.get<std::string>() : value.dump());
    } else {
      throw poni.error(entry, fmt::format("{} is not a setting this program knows", in_quotes(name)),
                       "it may move pixels, so it cannot be ignored; remove it if it does not");
    }
  }
  return config;
}

Detector generic_detector(double pixel1, double pixel2, Shape shape) {
  Detector detector;
  detector.name = kGeneric;
  detector.pixel1 = pixel1;
  detector.pixel2 = pixel2;
  detector.shape = shape;
  return detector;
}

const Detector& known_detector(const PoniText& poni, const PoniEntry& entry) {
  if (names_a_file(entry.value)) {
    throw poni.error(entry,
                     fmt::format("{} is a detector file, which is not supported", in_quotes(entry.value)),
                     "only flat detectors known by name, or `Detector` with pixel sizes, can be used");
  }
  try {
    return find_detector(entry.value);
  } catch (const Error& error) {
    throw poni.error(entry, fmt::format("{}: {}", error.where(), error.fault()), error.cure());
  }
}

Detector resized(const PoniText& poni, const PoniEntry& entry, const Detector& detector, double pixel1,
                 double pixel2) {
  try {
    return with_pixel_sizes(detector, pixel1, pixel2);
  } catch (const Error& error) {
    throw poni.error(entry, fmt::format("{}: {}", error.where(), error.fault()), error.cure());
  }
}

// Version 1: PixelSize1 and PixelSize2, perhaps with a name.
Detector unversioned_detector(const PoniText& poni) {
  const PoniEntry* named = poni.find("detector");
  const bool generic = named == nullptr || is_generic(named->value);
  const std::optional<double> pixel1 = poni.positive_number("pixelsize1");
  const std::optional<double> pixel2 = poni.positive_number("pixelsize2");
  if (pixel1.has_value() != pixel2.has_value()) {
    throw poni.error(fmt::format("PixelSize{} is missing", pixel1 ? 2 : 1));
  }
  if (generic) {
    if (!pixel1) throw poni.error("neither Detector nor PixelSize1 and PixelSize2 say what the pixels are");
    return generic_detector(*pixel1, *pixel2, {});
  }
  const Detector& known = known_detector(poni, *named);
  if (!pixel1) return known;
  // Its taper sets the size of the pixels, so that those of the file stand alone, as in pyFAI.
  if (known.name == "FReLoN") return generic_detector(*pixel1, *pixel2, {});
  return resized(poni, *poni.find("pixelsize1"), known, *pixel1, *pixel2);
}

// Modular detectors may be given with fewer or other modules; the shape of others follows from their pixels.
void apply_shapes(const PoniText& poni, const PoniEntry& entry, const Config& config, Detector& detector) {
  const bool modular = detector.grid.module.size() > 0;
  if (config.module_size) {
    if (!modular) throw poni.error(entry, detector.name + " has no modules: module_size makes no sense");
    detector.grid.module = *config.module_size;
  }
  if (!config.max_shape || *config.max_shape == detector.shape) return;
  if (modular) {
    detector.shape = *config.max_shape;
    return;
  }
  throw poni.error(entry,
                   fmt::format("max_shape {} is not that of {}, {}", to_string(*config.max_shape),
                               detector.name, to_string(detector.shape)),
                   "if the shape is right, name the detector `Detector`");
}

// From version 2 on: Detector and Detector_config.
Detector versioned_detector(const PoniText& poni) {
  const PoniEntry* named = poni.find("detector");
  if (named == nullptr) throw poni.error("Detector is missing");
  const PoniEntry* entry = poni.find("detector_config");
  const Config config = entry == nullptr ? Config{} : config_from(poni, *entry);
  const PoniEntry& place = entry == nullptr ? *named : *entry;

  if (is_generic(named->value)) {
    if (!config.pixel1 || !config.pixel2) {
      throw poni.error(place, fmt::format("pixel{} is missing", config.pixel1 ? 2 : 1),
                       "Detector_config needs pixel1 and pixel2 in metres for a generic detector");
    }
    return generic_detector(*config.pixel1, *config.pixel2, config.max_shape.value_or(Shape{}));
  }
  Detector detector = known_detector(poni, *named);
  if (config.pixel1 || config.pixel2) {
    detector = resized(poni, place, detector, config.pixel1.value_or(detector.pixel1),
                       config.pixel2.value_or(detector.pixel2));
  }
  apply_shapes(poni, place, config, detector);
  return detector;
}

// A calibration of version 1 appended to one of version 2: the old configuration still counts, as in pyFAI,
// so that a pixel size in the new part may say another thing and be passed over in silence. Refuse it.
void check_appended(const PoniText& poni, const Detector& detector) {
  const PoniEntry* config = poni.find("detector_config");
  if (config == nullptr) return;
  const auto check = [&](const std::string& key, double used) {
    const PoniEntry* entry = poni.find(key);
    if (entry == nullptr || entry->line < config->line || poni.number(key) == used) return;
    throw poni.error(
        *entry,
        fmt::format("{} contradicts Detector_config on line {}", in_quotes(entry->value), config->line),
        "keep the last calibration only");
  };
  check("pixelsize1", detector.pixel1);
  check("pixelsize2", detector.pixel2);
}

void check_spline(const PoniText& poni) {
  const PoniEntry* spline = poni.find("splinefile");
  if (spline == nullptr || spline->value.empty() || lower_case(spline->value) == "none") return;
  const PoniEntry* config = poni.find("detector_config");
  const bool superseded = config != nullptr && config->line > spline->line;
  if (!superseded) throw no_distortion(poni, *spline, spline->value);
}

}  // namespace

Detector detector_from(const PoniText& poni) {
  // As in pyFAI, a configuration makes a file version 2 even where the version is not given.
  const double version = poni.number("poni_version").value_or(1);
  const bool versioned = version >= 2 || poni.find("detector_config") != nullptr;
  check_spline(poni);
  const Detector detector = versioned ? versioned_detector(poni) : unversioned_detector(poni);
  check_appended(poni, detector);
  return detector;
}

}  // namespace annulus
