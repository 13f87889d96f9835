// A sample of discs of powder, cut through by a pencil beam.
//
// Coordinates are in millimetres from the axis of rotation. At the angle a, the beam of offset s from the
// axis goes through the points (x, y) with x cos(a) - y sin(a) = s, towards growing x sin(a) + y cos(a).
#pragma once

#include <tools/simulate/calibrant.hpp>
#include <tools/simulate/portable_math.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace annulus {

struct Disc {
  std::optional<Calibrant> phase;  // none: a hole
  double x = 0;
  double y = 0;
  double radius = 0;
  double density = 0;  // share of the volume that the phase fills, above 0 and up to 1; 0 for a hole
};

// Discs of a phantom by its name, in halves of the field of view. "random" depends on the seed, "empty" has
// none. Throws kUsage with the names that there are.
std::vector<Disc> discs_of_phantom(std::string_view name, std::uint64_t seed);
std::string known_phantoms();

// "Au,0.1,-0.2,0.3" or "Au,0.1,-0.2,0.3,0.5": phase or "hole", x, y, radius, and density (1 if not given).
// Throws kUsage.
Disc disc_from_text(const std::string& text);

class Phantom {
 public:
  // Discs in halves of the field of view, which is `field` millimetres wide. Where discs overlap, the later
  // one is there. Throws kUsage for a phantom without powder, and for a disc that leaves the field at some
  // angle.
  Phantom(const std::vector<Disc>& discs, double field);

  const std::vector<Disc>& discs() const { return discs_; }               // millimetres
  const std::vector<Calibrant>& phases() const { return phases_; }        // in the order of the discs
  std::size_t phase_of(std::size_t disc) const { return places_[disc]; }  // of a disc that is no hole

  // A part of a beam within one disc, in millimetres along the beam.
  struct Stretch {
    double begin = 0;
    double end = 0;
    std::size_t disc = 0;
  };
  // In the order in which the beam meets them; holes are left out.
  std::vector<Stretch> stretches(double offset, portable::SinCos angle) const;

  // What a beam scatters: for each phase the integral of density times transmission, in millimetres.
  struct Paths {
    std::vector<double> scattering;  // of each phase
    double transmission = 1;         // of the whole sample
  };
  // attenuation: of each solid phase, per millimetre; empty: the beam is not absorbed.
  Paths paths(double offset, portable::SinCos angle, const std::vector<double>& attenuation) const;

  // The share of the area, and the mean density, of each phase in each voxel: [phase][y][x], y and x growing.
  // Exact along x; along y the middle of each of kRowsPerVoxel strips stands for it.
  struct Maps {
    std::vector<double> fraction;
    std::vector<double> density;
  };
  static constexpr int kRowsPerVoxel = 256;
  Maps maps(std::uint32_t voxels, double voxel_size, unsigned threads) const;

 private:
  std::vector<Disc> discs_;
  std::vector<Calibrant> phases_;
  std::vector<std::size_t> places_;  // of a disc's phase in phases_
};

}  // namespace annulus
