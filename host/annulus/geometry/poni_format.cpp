#include <annulus/core/error.hpp>
#include <annulus/geometry/detector_catalogue.hpp>
#include <annulus/geometry/geometry.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>

namespace annulus {
namespace {

void check_number(const char* key, double value, bool positive) {
  if (std::isfinite(value) && (!positive || value > 0)) return;
  throw Error(ErrorKind::kGeometry, "PONI", fmt::format("{} is {}, which no PONI file may hold", key, value));
}

void check_numbers(const Geometry& geometry) {
  check_number("Distance", geometry.distance, true);
  check_number("Poni1", geometry.poni1, false);
  check_number("Poni2", geometry.poni2, false);
  check_number("Rot1", geometry.rot1, false);
  check_number("Rot2", geometry.rot2, false);
  check_number("Rot3", geometry.rot3, false);
  if (geometry.wavelength) check_number("Wavelength", *geometry.wavelength, true);
  check_number("pixel1", geometry.detector.pixel1, true);
  check_number("pixel2", geometry.detector.pixel2, true);
}

std::string shape_setting(const char* key, Shape shape) {
  return fmt::format(", \"{}\": [{}, {}]", key, shape.rows, shape.cols);
}

struct Description {
  std::string name;
  std::string shapes;  // settings of Detector_config beside the pixels
};

// Detectors without gaps whose settings or shape differ between releases of pyFAI: their name says less than
// their pixels.
constexpr std::array<std::string_view, 4> kDisputed = {"ADSC_Q4", "Apex2", "Basler", "FReLoN"};

// The detector by its name in the catalogue, or nothing if the name and the pixel sizes do not lead back to
// it.
std::optional<Description> describe_by_name(const Detector& detector) {
  if (std::find(kDisputed.begin(), kDisputed.end(), detector.name) != kDisputed.end()) return std::nullopt;
  for (const Detector& known : detector_catalogue()) {
    if (known.name != detector.name) continue;
    Detector expected;
    try {
      expected = with_pixel_sizes(known, detector.pixel1, detector.pixel2);
    } catch (const Error&) {
      return std::nullopt;
    }
    Description description{detector.name, {}};
    if (detector.round != known.round || detector.grid.gap != known.grid.gap ||
        detector.grid.middle != known.grid.middle) {
      return std::nullopt;
    }
    const bool modular = known.grid.module.size() > 0;
    if (!modular && (detector.grid != known.grid || detector.shape != expected.shape)) return std::nullopt;
    if (detector.shape != expected.shape) description.shapes += shape_setting("max_shape", detector.shape);
    if (detector.grid != known.grid) description.shapes += shape_setting("module_size", detector.grid.module);
    return description;
  }
  return std::nullopt;
}

Description description_of(const Detector& detector) {
  if (std::optional<Description> named = describe_by_name(detector)) return *named;
  if (detector.grid != ModuleGrid{} || detector.round) {
    throw Error(ErrorKind::kGeometry, detector.name,
                "its gaps differ from the catalogue's: no PONI file can hold them");
  }
  Description generic{"Detector", {}};
  if (detector.shape.size() > 0) generic.shapes = shape_setting("max_shape", detector.shape);
  return generic;
}

}  // namespace

std::string format_poni(const Geometry& geometry, PoniVersion version) {
  const bool oriented = version == PoniVersion::k2_1;
  check_numbers(geometry);
  const Description detector = description_of(geometry.detector);
  std::string text = fmt::format(
      "# Written by Annulus. Lengths in metres, angles in radians; 1 is the slow axis, 2 the fast axis.\n"
      "poni_version: {}\n"
      "Detector: {}\n"
      "Detector_config: {{\"pixel1\": {}, \"pixel2\": {}{}{}}}\n"
      "Distance: {}\n"
      "Poni1: {}\n"
      "Poni2: {}\n"
      "Rot1: {}\n"
      "Rot2: {}\n"
      "Rot3: {}\n",
      oriented ? "2.1" : "2", detector.name, geometry.detector.pixel1, geometry.detector.pixel2,
      detector.shapes, oriented ? ", \"orientation\": 3" : "", geometry.distance, geometry.poni1,
      geometry.poni2, geometry.rot1, geometry.rot2, geometry.rot3);
  if (geometry.wavelength) text += fmt::format("Wavelength: {}\n", *geometry.wavelength);
  return text;
}

void write_poni(const std::filesystem::path& path, const Geometry& geometry) {
  const std::string text = format_poni(geometry);
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file)
    throw Error(ErrorKind::kOutput, path.string(),
                fmt::format("cannot be written: {}", std::strerror(errno)));
}

}  // namespace annulus
