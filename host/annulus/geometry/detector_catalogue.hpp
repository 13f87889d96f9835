// The table behind find_detector: only this room uses it.
#pragma once

#include <annulus/geometry/detector.hpp>

#include <vector>

namespace annulus {

// One way to read a detector out: the size of its pixels and the shape of its images.
struct Readout {
  double pixel1 = 0;
  double pixel2 = 0;
  Shape shape;
};

struct CatalogueEntry {
  Detector detector;              // in the readout it has unless a PONI file says otherwise
  std::vector<Readout> readouts;  // all of them; one for detectors that do not bin. A size may be there twice
};

const std::vector<CatalogueEntry>& catalogue_entries();

}  // namespace annulus
