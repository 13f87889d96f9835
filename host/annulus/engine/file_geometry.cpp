#include <annulus/core/error.hpp>
#include <annulus/engine/file_geometry.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>
#include <vector>

namespace annulus {
namespace {

constexpr std::string_view kGenericDetector = "Detector";  // in PONI files
constexpr double kPixelTolerance = 0.01;
constexpr double kLevel = 0.01;  // degrees that a motor may show at rest

// "Dectris EIGER2 CdTe 9M" -> "dectriseiger2cdte9m"
std::string letters_and_digits(std::string_view text) {
  std::string result;
  for (const unsigned char c : text) {
    if (std::isalnum(c) != 0) result += static_cast<char>(std::tolower(c));
  }
  return result;
}

// By its shape and pixels; the description tells apart detectors that share them.
Detector find_by_shape(const DetectorPlace& place, Shape shape) {
  const std::string description = letters_and_digits(place.detector);
  const Detector* found = nullptr;
  const std::vector<const Detector*> alike = detectors_like(shape, *place.pixel_y, *place.pixel_x);
  for (const Detector* const detector : alike) {
    if (!detector->name.starts_with("Eiger")) continue;
    if (found == nullptr || description.find(letters_and_digits(detector->name)) != std::string::npos)
      found = detector;
  }
  Detector detector;
  if (found != nullptr) detector = *found;
  if (found == nullptr) {
    // Unknown to us, or read out in part: its pixels are where the file says.
    detector.name = kGenericDetector;
    detector.shape = shape;
    detector.dectris = true;
  }
  detector.pixel1 = *place.pixel_y;
  detector.pixel2 = *place.pixel_x;
  return detector;
}

}  // namespace

std::vector<const Detector*> detectors_like(Shape shape, double pixel1, double pixel2) {
  const auto same = [](double a, double b) { return std::abs(a - b) <= kPixelTolerance * b; };
  std::vector<const Detector*> alike;
  for (const Detector& detector : detector_catalogue()) {
    if (detector.shape == shape && same(pixel1, detector.pixel1) && same(pixel2, detector.pixel2))
      alike.push_back(&detector);
  }
  return alike;
}

std::string adopt_marks(Geometry& geometry, const SourceInfo& frames) {
  Detector& detector = geometry.detector;
  if (detector.name != kGenericDetector || detector.dectris || is_float(frames.type)) return {};
  const auto alike = detectors_like(frames.shape, detector.pixel1, detector.pixel2);
  const auto marks = [](const Detector* each) { return each->dectris; };
  if (alike.empty() || !std::ranges::all_of(alike, marks)) return {};
  detector.dectris = true;
  std::vector<std::string_view> names;
  for (const Detector* const each : alike) names.emplace_back(each->name);
  return fmt::format("{}", fmt::join(names, " or "));
}

Geometry geometry_of_file(const SourceInfo& info, const std::string& url) {
  const DetectorPlace place = info.place.value_or(DetectorPlace{});
  std::vector<std::string_view> missing;
  if (!place.distance) missing.push_back("distance");
  if (!place.beam_x || !place.beam_y) missing.push_back("beam centre");
  if (!place.pixel_x || !place.pixel_y) missing.push_back("pixel size");
  if (!missing.empty()) {
    throw Error(ErrorKind::kUsage, "`poni`",
                info.place ? fmt::format("the geometry is missing, and {} does not say all of it: no {}", url,
                                         fmt::join(missing, ", "))
                           : fmt::format("the geometry is missing, and {} does not state it", url),
                "give the PONI file of your calibration with -p");
  }
  if (!(std::abs(place.two_theta) <= kLevel)) {
    throw Error(
        ErrorKind::kUsage, "`poni`",
        std::isnan(place.two_theta)
            ? fmt::format("by how much the detector is turned cannot be read from {}", url)
            : fmt::format("{} says that the detector is turned by {:g} degrees", url, place.two_theta),
        "a turned detector needs a PONI file: give that of your calibration with -p");
  }
  Geometry geometry;
  geometry.source = url;
  geometry.distance = *place.distance;
  geometry.poni1 = *place.beam_y * *place.pixel_y;
  geometry.poni2 = *place.beam_x * *place.pixel_x;
  geometry.wavelength = info.wavelength;
  geometry.detector = find_by_shape(place, info.shape);
  return geometry;
}

std::string describe_file_geometry(const Geometry& geometry) {
  const Detector& detector = geometry.detector;
  std::string text =
      fmt::format("{}, {:g} m, beam at x {:.2f}, y {:.2f} pixels", detector.name, geometry.distance,
                  geometry.poni2 / detector.pixel2, geometry.poni1 / detector.pixel1);
  if (geometry.wavelength) text += fmt::format(", {:g} m", *geometry.wavelength);
  return text;
}

}  // namespace annulus
