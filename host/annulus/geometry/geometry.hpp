// Where each pixel looks: a detector in space, as a PONI file describes it.
#pragma once

#include <annulus/geometry/detector.hpp>

#include <optional>
#include <string>

namespace annulus {

struct Geometry {
  double distance = 0;  // metre, sample to PONI
  double poni1 = 0;     // metre, along the slow dimension
  double poni2 = 0;     // metre, along the fast dimension
  double rot1 = 0;      // radian
  double rot2 = 0;
  double rot3 = 0;
  std::optional<double> wavelength;  // metre
  Detector detector;
  std::string source = "PONI";  // the file, for messages

  bool operator==(const Geometry&) const = default;
};

}  // namespace annulus
