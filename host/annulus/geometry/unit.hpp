// The radial units users know from pyFAI.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace annulus {

enum class Unit { kRadiusM, kRadiusMm, kTwoThetaDeg, kTwoThetaRad, kQPerNm, kQPerA };

// "r_m", "r_mm", "2th_deg", "2th_rad", "q_nm^-1", "q_A^-1".
std::string_view name_of(Unit unit);
std::optional<Unit> unit_from_name(std::string_view name);
std::string known_units();  // for messages

// Radius, angle and scattering vector are the three quantities; each is computed in its base unit
// (m, rad, 1/nm) and scaled at the end, so that a plan in degrees has the very bins of one in radians.
enum class RadialQuantity { kRadius, kTwoTheta, kQ };
RadialQuantity quantity_of(Unit unit);
double scale_of(Unit unit);  // value in `unit` = value in base unit * scale

// For the output file: "deg", "1/angstrom", ... and a label for axes of plots.
std::string_view nexus_units(Unit unit);
std::string_view nexus_name(Unit unit);  // "2theta", "q", "r"
std::string_view axis_label(Unit unit);

}  // namespace annulus
