// Powders whose lattice is known: where their rings are and how strong.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace annulus {

enum class Calibrant { kGold, kLaB6, kCeO2, kSilicon, kAlumina };

// "Au", "LaB6", "CeO2", "Si", "Al2O3"; looked up ignoring case.
std::string_view name_of(Calibrant calibrant);
std::optional<Calibrant> calibrant_from_name(std::string_view name);
std::string known_calibrants();  // for messages

// All lattice planes of one spacing together: they make one ring.
struct Reflection {
  double spacing = 0;              // d, in angstrom
  std::uint32_t multiplicity = 0;  // number of (h k l) with this spacing
  double strength = 0;             // sum of |F|^2 over them, electrons squared per cell
};

// Reflections with d >= smallest_spacing (angstrom, at least kSmallestSpacing), largest d first. Extinct ones
// are left out: the structure factor of the whole cell decides, so no list of reflection conditions is
// needed.
inline constexpr double kSmallestSpacing = 0.35;
std::vector<Reflection> reflections(Calibrant calibrant, double smallest_spacing);

}  // namespace annulus
