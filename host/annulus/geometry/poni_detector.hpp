// The detector that a PONI file describes.
#pragma once

#include <annulus/geometry/detector.hpp>
#include <annulus/geometry/poni_text.hpp>

namespace annulus {

Detector detector_from(const PoniText& poni);

}  // namespace annulus
