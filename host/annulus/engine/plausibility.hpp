// What of a run can hardly be meant: a PONI file of another detector, an inverted mask, a range in another
// unit. Nothing is refused here. Each text says what is implausible and why; the user judges.
#pragma once

#include <annulus/geometry/geometry.hpp>
#include <annulus/plan/integration_options.hpp>
#include <annulus/sources/frame_source.hpp>

#include <string>
#include <vector>

namespace annulus {

// maps: those of the user, without what the frames' file adds to them.
std::vector<std::string> implausible(const Geometry& geometry, const SourceInfo& frames,
                                     const IntegrationOptions& options, const PixelMaps& maps);

}  // namespace annulus
