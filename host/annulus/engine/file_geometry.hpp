// The geometry as a detector's own file states it, for runs without a PONI file.
#pragma once

#include <annulus/geometry/geometry.hpp>
#include <annulus/sources/frame_source.hpp>

#include <string>

namespace annulus {

// Distance, beam centre and pixels of the file at `url`; no tilts, which such files do not know. The detector
// is that of the catalogue if it has the frames' shape. Throws kUsage with what the file does not say.
Geometry geometry_of_file(const SourceInfo& info, const std::string& url);

// "Eiger4M, 0.25 m, beam at x 1030.50, y 1100.20 pixels, 1.0332e-10 m"
std::string describe_file_geometry(const Geometry& geometry);

}  // namespace annulus
