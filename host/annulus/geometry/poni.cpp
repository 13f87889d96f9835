#include <annulus/core/text_file.hpp>
#include <annulus/geometry/in_quotes.hpp>
#include <annulus/geometry/poni.hpp>
#include <annulus/geometry/poni_detector.hpp>
#include <annulus/geometry/poni_text.hpp>

#include <fmt/format.h>

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
  return poni.positive_number("wavelength");
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
  geometry.rot1 = poni.number("rot1").value_or(0);
  geometry.rot2 = poni.number("rot2").value_or(0);
  geometry.rot3 = poni.number("rot3").value_or(0);
  geometry.wavelength = wavelength_from(poni);
  geometry.detector = detector_from(poni);
  return geometry;
}

Geometry read_poni(const std::filesystem::path& path) {
  return parse_poni(read_text_file(path, ErrorKind::kGeometry), path.string());
}

}  // namespace annulus
