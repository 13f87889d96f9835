// What the frames' own file says of the detector: the geometry, for runs without a PONI file, and which
// detector it is.
#pragma once

#include <annulus/geometry/geometry.hpp>
#include <annulus/sources/frame_source.hpp>

#include <string>
#include <vector>

namespace annulus {

// The detectors of the catalogue with images of this shape and pixels of this size, within 1 %.
std::vector<const Detector*> detectors_like(Shape shape, double pixel1, double pixel2);

// A PONI file with a generic detector does not say how that marks invalid pixels. Where all detectors with
// the frames' shape and the file's pixels mark them alike, so does this one. Their gaps are not taken: images
// whose gaps were filled are integrated in this way. Returns the names of these detectors, or nothing. Images
// of floats were processed: their negative values may be measurements.
std::string adopt_marks(Geometry& geometry, const SourceInfo& frames);

// Distance, beam centre and pixels of the file at `url`; no tilts, which such files do not know. The detector
// is that of the catalogue if it has the frames' shape. Throws kUsage with what the file does not say.
Geometry geometry_of_file(const SourceInfo& info, const std::string& url);

// "Eiger4M, 0.25 m, beam at x 1030.50, y 1100.20 pixels, 1.0332e-10 m"
std::string describe_file_geometry(const Geometry& geometry);

}  // namespace annulus
