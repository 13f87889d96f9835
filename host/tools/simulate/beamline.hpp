// Source and detector of a simulated experiment, whatever the sample.
#pragma once

#include <annulus/geometry/geometry.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace annulus {

struct BeamlineOptions {
  std::string detector = "Pilatus2M";  // any of the catalogue with a shape
  std::uint64_t frames = 100;
  std::uint64_t seed = 1;

  std::optional<double>
      distance;  // metre; none: the farthest corner is seen under an angle of the kind's own
  double energy_kev = 18;
  std::optional<double> wavelength;  // metre, instead of the energy
  double rot1 = 0;                   // radian
  double rot2 = 0;
  double rot3 = 0;
  double beam_offset1 = 0.0117;   // metre, PONI from the detector's middle along the slow dimension
  double beam_offset2 = -0.0064;  // along the fast one

  std::optional<double> polarization = 0.99;  // factor in [-1, 1]; none: no effect of polarisation
  std::uint32_t defects = 40;                 // dead pixels, for detectors that mark them
  std::int64_t count_cutoff = 1048500;        // higher counts read count_cutoff + 1: overloaded

  unsigned threads = 0;  // for the setup; 0: all of the machine. Frames do not depend on it
};

inline constexpr double kHcKevAngstrom = 12.398419843320026;  // energy of a photon times its wavelength

// Marks of pixels that do not count, in the files of Pilatus detectors; Eiger files have the same numbers as
// unsigned 32 bit.
inline constexpr std::int32_t kGapMark = -1;
inline constexpr std::int32_t kDefectMark = -2;

// Throws kUsage if the value of an option is not between two others.
void require_within(const char* option, double value, double low, double high);

// In metres.
double wavelength_of(const BeamlineOptions& options);

// The detector and where it stands; without a distance, so that the farthest corner is seen under the angle
// of this tangent. Throws kUsage for options that make no sense, kGeometry for a detector that is not known.
Geometry beamline_geometry(const BeamlineOptions& options, double tangent_of_widest_angle);

// What each pixel sees: solid angle times polarisation, or one of the marks.
std::vector<float> pixel_gains(const Geometry& geometry, const BeamlineOptions& options);

}  // namespace annulus
