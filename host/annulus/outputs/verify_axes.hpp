// Checks of what an output file holds once for all frames: axes, their edges, and the normalisation.
#pragma once

#include <annulus/outputs/hdf5.hpp>
#include <annulus/plan/plan.hpp>

#include <string>
#include <vector>

namespace annulus {

// `plan` has the axes, bits and totals that the file states. Gives one sentence a fault.
std::vector<std::string> verify_axes(hid_t file, const Plan& plan);

}  // namespace annulus
