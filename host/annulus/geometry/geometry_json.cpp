#include <annulus/core/sha256.hpp>
#include <annulus/geometry/geometry_json.hpp>

#include <algorithm>

namespace annulus {

using nlohmann::json;

json describe(const Detector& detector) {
  const Mask mask = detector.gap_mask();
  Sha256 sum;
  sum.add(std::as_bytes(std::span(mask.pixels)));
  return {{"name", detector.name},
          {"aliases", detector.aliases},
          {"shape", {detector.shape.rows, detector.shape.cols}},
          {"pixel1", detector.pixel1},
          {"pixel2", detector.pixel2},
          {"masked_pixels", std::count(mask.pixels.begin(), mask.pixels.end(), 1)},
          {"mask_sha256", sum.finish()}};
}

json describe(const Geometry& geometry) {
  json detector = describe(geometry.detector);
  detector.erase("aliases");
  json wavelength;
  if (geometry.wavelength) wavelength = *geometry.wavelength;
  return {{"format", "PONI"},
          {"distance", geometry.distance},
          {"poni1", geometry.poni1},
          {"poni2", geometry.poni2},
          {"rot1", geometry.rot1},
          {"rot2", geometry.rot2},
          {"rot3", geometry.rot3},
          {"wavelength", std::move(wavelength)},
          {"detector", std::move(detector)}};
}

json describe_detectors() {
  json list = json::array();
  for (const Detector& detector : detector_catalogue()) list.push_back(describe(detector));
  return list;
}

}  // namespace annulus
