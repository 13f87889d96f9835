// A powder experiment that never took place: detector frames with rings, background, counting noise, gaps and
// dead pixels. The sample expands and turns into another phase while the scan goes on, or it is a phantom of
// discs that is scanned by a pencil beam and turned.
#pragma once

#include <annulus/core/image.hpp>
#include <annulus/geometry/geometry.hpp>

#include <tools/simulate/calibrant.hpp>
#include <tools/simulate/phantom_pattern.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace annulus {

struct SimulationOptions {
  std::string detector = "Pilatus2M";  // any of the catalogue with a shape
  std::uint64_t frames = 100;          // a phantom has as many as points were measured
  std::uint64_t seed = 1;

  std::optional<double> distance;  // metre; none: the farthest corner is seen under 44 degrees
  double energy_kev = 18;
  std::optional<double> wavelength;  // metre, instead of the energy
  double rot1 = 0;                   // radian
  double rot2 = 0;
  double rot3 = 0;
  double beam_offset1 = 0.0117;   // metre, PONI from the detector's middle along the slow dimension
  double beam_offset2 = -0.0064;  // along the fast one

  Calibrant calibrant = Calibrant::kGold;               // the sample at the start
  std::optional<Calibrant> product = Calibrant::kCeO2;  // what it has become at the end; none: nothing grows
  std::optional<PhantomOptions> phantom;                // instead of calibrant, product and expansion

  double expansion = 0.015;          // relative growth of the lattices, linear from first to last frame
  double beam_variation = 0.03;      // relative loss of intensity between two top-ups of the source
  double background = 30;            // counts a pixel at its highest
  double ring_counts = 2000;         // counts a pixel at the top of the brightest ring
  std::optional<double> ring_width;  // degrees of 2theta, full width at half maximum; none: three pixels
  std::optional<double> polarization = 0.99;  // factor in [-1, 1]; none: no effect of polarisation
  std::uint32_t defects = 40;                 // dead pixels, for detectors that mark them
  std::int64_t count_cutoff = 1048500;        // higher counts read count_cutoff + 1: overloaded

  unsigned threads = 0;  // for the setup; 0: all of the machine. Frames do not depend on it
};

// The detector and where it stands. Throws kUsage for options that make no sense, kGeometry for a detector
// that is not known.
Geometry simulated_geometry(const SimulationOptions& options);

// A frame depends on the options and its number only: the same pixels on any machine with IEEE arithmetic,
// whatever thread asks. (With rotations, sine and cosine of the machine's library enter: where their last bit
// differs, a rare pixel may differ by a count.)
class PowderScan {
 public:
  // In the files of Pilatus detectors; Eiger files have the same numbers as unsigned 32 bit.
  static constexpr std::int32_t kGap = -1;
  static constexpr std::int32_t kDefect = -2;

  explicit PowderScan(SimulationOptions options);

  const SimulationOptions& options() const { return options_; }
  const Geometry& geometry() const { return geometry_; }
  Shape shape() const { return geometry_.detector.shape; }
  std::uint64_t frames() const { return options_.frames; }

  // The sample and how it was scanned, if it is a phantom; otherwise nullptr.
  const PhantomPattern* phantom() const { return phantom_.get(); }

  // i < frames(). May be called from several threads at once.
  Image<std::int32_t> frame(std::uint64_t i) const;

  // What an ideal integration, corrected for solid angle and polarisation, finds at an angle (radian).
  double expected_pattern(double two_theta, std::uint64_t frame) const;

 private:
  void locate_pixels();
  void set_patterns(const PatternSettings& pattern);
  void mark_defects();

  SimulationOptions options_;
  Geometry geometry_;
  std::shared_ptr<const FramePatterns> patterns_;  // never changes: copies of a scan share it
  std::shared_ptr<const PhantomPattern> phantom_;  // the same, if it is one
  // Place in the pattern's table, in units of 2^-kPositionBits nodes, and what the pixel sees of it: solid
  // angle times polarisation, or kGap or kDefect.
  static constexpr int kPositionBits = 12;
  std::vector<std::uint32_t> position_;
  std::vector<float> gain_;
};

}  // namespace annulus
