// How a phantom is scanned: a pencil beam steps across it, then the phantom turns.
#pragma once

#include <tools/simulate/phantom.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace annulus {

struct PhantomOptions {
  std::string name = "discs";  // see discs_of_phantom()
  std::vector<Disc> discs;     // on top of the named ones, in halves of the field of view
  std::uint32_t voxels = 64;   // along each side of the field of view
  double voxel_size = 0.001;   // millimetre

  std::optional<std::uint32_t> positions;  // of the beam; none: as many as voxels
  std::optional<double> step;              // millimetre between them; none: a voxel
  std::uint32_t angles = 100;
  double angle_range = 180;  // degrees; the last angle is one step short of it
  bool zigzag = false;       // every second line runs backwards
  double jitter = 0;         // each position is off by up to this part of a step
  double missing = 0;        // share of the points that were not measured
  double axis_offset = 0;    // millimetre: the translation at which the beam meets the axis of rotation

  bool absorption = false;  // of the incoming beam
};

// Where one frame was taken. The beam's offset from the axis is translation - axis_offset.
struct ScanPoint {
  double translation = 0;  // millimetre
  double angle = 0;        // degree
  double time = 0;         // second
};

inline constexpr double kFrameSeconds = 0.01;  // from frame to frame

Phantom phantom_of(const PhantomOptions& options, std::uint64_t seed);

// In the order of time: translation fast, angle slow. A missing point leaves a gap in time. Throws kUsage for
// options that make no sense.
std::vector<ScanPoint> scan_points(const PhantomOptions& options, std::uint64_t seed);

// Of the solid, per millimetre, at a photon energy. Throws kUsage for an energy that is not in the table.
double attenuation_of(Calibrant calibrant, double energy_kev);

}  // namespace annulus
