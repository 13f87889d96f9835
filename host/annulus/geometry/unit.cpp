#include <annulus/geometry/unit.hpp>

#include <array>
#include <numbers>

namespace annulus {
namespace {

struct Facts {
  Unit unit;
  std::string_view name;
  RadialQuantity quantity;
  double scale;
  std::string_view nexus_units;
  std::string_view nexus_name;
  std::string_view label;
};

// In the order of the enumeration, which is the order users see in messages.
constexpr std::array<Facts, 6> kUnits{{
    {Unit::kRadiusM, "r_m", RadialQuantity::kRadius, 1.0, "m", "r", "r (m)"},
    {Unit::kRadiusMm, "r_mm", RadialQuantity::kRadius, 1000.0, "mm", "r", "r (mm)"},
    {Unit::kTwoThetaDeg, "2th_deg", RadialQuantity::kTwoTheta, 180.0 / std::numbers::pi, "deg", "2theta",
     "2θ (°)"},
    {Unit::kTwoThetaRad, "2th_rad", RadialQuantity::kTwoTheta, 1.0, "rad", "2theta", "2θ (rad)"},
    {Unit::kQPerNm, "q_nm^-1", RadialQuantity::kQ, 1.0, "1/nm", "q", "q (1/nm)"},
    {Unit::kQPerA, "q_A^-1", RadialQuantity::kQ, 0.1, "1/angstrom", "q", "q (1/Å)"},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kUnits.size(); ++i) {
    if (static_cast<std::size_t>(kUnits[i].unit) != i) return false;
  }
  return true;
}
static_assert(in_order(), "facts_of indexes kUnits by the value of the enumeration");

const Facts& facts_of(Unit unit) { return kUnits[static_cast<std::size_t>(unit)]; }

}  // namespace

std::string_view name_of(Unit unit) { return facts_of(unit).name; }

std::optional<Unit> unit_from_name(std::string_view name) {
  for (const Facts& facts : kUnits) {
    if (facts.name == name) return facts.unit;
  }
  return std::nullopt;
}

std::string known_units() {
  std::string names;
  for (const Facts& facts : kUnits) {
    if (!names.empty()) names += ", ";
    names += facts.name;
  }
  return names;
}

RadialQuantity quantity_of(Unit unit) { return facts_of(unit).quantity; }
double scale_of(Unit unit) { return facts_of(unit).scale; }
std::string_view nexus_units(Unit unit) { return facts_of(unit).nexus_units; }
std::string_view nexus_name(Unit unit) { return facts_of(unit).nexus_name; }
std::string_view axis_label(Unit unit) { return facts_of(unit).label; }

}  // namespace annulus
