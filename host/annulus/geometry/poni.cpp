#include <annulus/core/read_file.hpp>
#include <annulus/core/text.hpp>
#include <annulus/geometry/geometry.hpp>
#include <annulus/geometry/poni_text.hpp>

#include <fmt/core.h>

#include <cmath>
#include <numbers>

namespace annulus {
namespace {

void check_version(const PoniText& poni) {
  const std::optional<double> version = poni.number("poni_version");
  if (version && !(*version >= 1 && *version <= 3)) {
    throw poni.error(*poni.find("poni_version"),
                     fmt::format("version {} is not supported, only 1, 2, 2.1 and 3 are", *version));
  }
  const PoniEntry* parallax = poni.find("parallax");
  if (parallax == nullptr) return;
  const std::string value = lower_case(parallax->value);
  if (value != "false" && value != "none" && !value.empty()) {
    throw poni.error(*parallax, "the correction of parallax is not supported", "calibrate without it");
  }
}

std::optional<double> wavelength_from(const PoniText& poni) {
  const PoniEntry* entry = poni.find("wavelength");
  if (entry != nullptr && lower_case(entry->value) == "none") return std::nullopt;
  const std::optional<double> wavelength = poni.positive_number("wavelength");
  // Wider than any radiation that diffracts, and still narrow enough to notice other units.
  if (wavelength && (*wavelength > 1e-6 || *wavelength < 1e-15)) {
    throw poni.error(*entry, fmt::format("{} m is no wavelength that diffracts", *wavelength),
                     "PONI files have metres: 1 Å is 1e-10");
  }
  return wavelength;
}

double rotation_from(const PoniText& poni, const std::string& key) {
  const double rotation = poni.number(key).value_or(0);
  if (std::abs(rotation) > 2 * std::numbers::pi) {
    throw poni.error(*poni.find(key), fmt::format("{} is more than a full turn", rotation),
                     "PONI files have radians");
  }
  return rotation;
}

double required(const PoniText& poni, std::optional<double> value, const char* key) {
  if (!value) throw poni.error(fmt::format("{} is missing", key), "is it a whole PONI file?");
  return *value;
}

}  // namespace

Geometry parse_poni(std::string_view text, const std::string& name) {
  const PoniText poni(text, name);
  check_version(poni);
  Geometry geometry;
  geometry.source = name;
  const char* distance = poni.find("distance") == nullptr ? "dist" : "distance";
  geometry.distance = required(poni, poni.positive_number(distance), "Distance");
  geometry.poni1 = required(poni, poni.number("poni1"), "Poni1");
  geometry.poni2 = required(poni, poni.number("poni2"), "Poni2");
  geometry.rot1 = rotation_from(poni, "rot1");
  geometry.rot2 = rotation_from(poni, "rot2");
  geometry.rot3 = rotation_from(poni, "rot3");
  geometry.wavelength = wavelength_from(poni);
  geometry.detector = detector_from(poni);
  return geometry;
}

Geometry read_poni(const std::filesystem::path& path) {
  return parse_poni(read_text_file(path, ErrorKind::kGeometry), path.string());
}

}  // namespace annulus
