// What a detector of the catalogue may deliver beside what its PONI file makes one expect.
#pragma once

#include <annulus/geometry/detector.hpp>

namespace annulus {

// Whether the detector, with pixels of this size, also delivers images of `shape`: for some detectors
// releases of pyFAI disagree, or the files that are written do not follow from their size.
bool also_delivers(const Detector& detector, Shape shape);

}  // namespace annulus
