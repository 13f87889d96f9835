#include <annulus/geometry/unit.hpp>
#include <annulus/plan/axis.hpp>

#include <fmt/core.h>

namespace annulus {

std::string_view name_of(AxisKind kind) { return kind == AxisKind::kRadial ? "radial" : "azimuthal"; }

std::string label_of(const Axis& axis) {
  if (axis.kind == AxisKind::kAzimuth) return "Azimuth χ (°)";
  for (const Unit unit : {Unit::kRadiusM, Unit::kRadiusMm, Unit::kTwoThetaDeg, Unit::kTwoThetaRad,
                          Unit::kQPerNm, Unit::kQPerA}) {
    if (nexus_name(unit) == axis.name && nexus_units(unit) == axis.units) {
      return std::string(axis_label(unit));
    }
  }
  return fmt::format("{} ({})", axis.name, axis.units);  // a unit of another program, in its own words
}

}  // namespace annulus
