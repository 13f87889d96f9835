// The pattern of one powder: rings with their profile, and what scatters beside the sample.
#pragma once

#include <tools/simulate/calibrant.hpp>

#include <cstddef>
#include <vector>

namespace annulus {

// What all patterns of a scan share; x = sin(theta).
struct PatternSettings {
  double wavelength = 1;  // angstrom
  double x_low = 0;       // range that the detector sees
  double x_high = 0;
  double ring_width = 0;   // FWHM in 2theta, radian
  double background = 0;   // counts a pixel at its highest
  double ring_counts = 0;  // counts a pixel at the top of the brightest ring of each powder
};

// Nodes at which patterns are tabulated: the last one is at or above x_high.
struct NodeGrid {
  double x_low = 0;
  double distance = 1;
  std::size_t nodes = 0;

  double x(std::size_t node) const { return x_low + static_cast<double>(node) * distance; }
};
NodeGrid node_grid(const PatternSettings& settings);

// Air and glass around the sample.
double background_at(double x, const PatternSettings& settings);

class PowderRings {
 public:
  // expansion: how far the lattice grows at most, relative; rings may come in by it.
  PowderRings(Calibrant calibrant, const PatternSettings& settings, double expansion);

  // Of a lattice that is stretched by a factor; share: of the full counts.
  double at(double x, double stretch, double share) const;

  // The same, added at all nodes.
  void add_to(std::vector<double>& sums, const NodeGrid& grid, double stretch, double share) const;

 private:
  struct Ring {
    double x = 0;       // of the unstretched lattice
    double counts = 0;  // at its top
  };
  struct Profile;
  Profile profile(const Ring& ring, double stretch, double share) const;

  double ring_width_ = 0;
  std::vector<Ring> rings_;
};

}  // namespace annulus
