// Geometries and detectors as JSON: what `annulus info` prints.
#pragma once

#include <annulus/geometry/geometry.hpp>

#include <nlohmann/json.hpp>

namespace annulus {

// {"name", "aliases", "shape": [rows, columns], "pixel1", "pixel2", "masked_pixels", "mask_sha256"}: the sum
// is that of the gap mask's bytes in row order.
nlohmann::json describe(const Detector& detector);

// {"format": "PONI", "distance", "poni1", "poni2", "rot1", "rot2", "rot3", "wavelength" (null if absent),
//  "detector": as above, without aliases}.
nlohmann::json describe(const Geometry& geometry);

// A list of the catalogue's detectors.
nlohmann::json describe_detectors();

}  // namespace annulus
