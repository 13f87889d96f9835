// A powder experiment that never took place: detector frames with rings, background, counting noise, gaps and
// dead pixels. The sample expands and turns into another phase while the scan goes on, or it is a phantom of
// discs that is scanned by a pencil beam and turned.
#pragma once

#include <tools/simulate/calibrant.hpp>
#include <tools/simulate/phantom_pattern.hpp>
#include <tools/simulate/simulated_scan.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace annulus {

struct SimulationOptions : BeamlineOptions {  // a phantom has as many frames as points were measured
  Calibrant calibrant = Calibrant::kGold;     // the sample at the start
  std::optional<Calibrant> product = Calibrant::kCeO2;  // what it has become at the end; none: nothing grows
  std::optional<PhantomOptions> phantom;                // instead of calibrant, product and expansion

  double expansion = 0.015;          // relative growth of the lattices, linear from first to last frame
  double beam_variation = 0.03;      // relative loss of intensity between two top-ups of the source
  double background = 30;            // counts a pixel at its highest
  double ring_counts = 2000;         // counts a pixel at the top of the brightest ring
  std::optional<double> ring_width;  // degrees of 2theta, full width at half maximum; none: three pixels
};

// The detector and where it stands. Throws kUsage for options that make no sense, kGeometry for a detector
// that is not known.
Geometry simulated_geometry(const SimulationOptions& options);

// A frame depends on the options and its number only: the same pixels on any machine with IEEE arithmetic,
// whatever thread asks. (With rotations, sine and cosine of the machine's library enter: where their last bit
// differs, a rare pixel may differ by a count.)
class PowderScan : public SimulatedScan {
 public:
  explicit PowderScan(SimulationOptions options);

  const SimulationOptions& options() const { return options_; }
  const BeamlineOptions& beamline() const override { return options_; }
  const Geometry& geometry() const override { return geometry_; }
  std::string title() const override;
  const PhantomPattern* phantom() const override { return phantom_.get(); }
  Image<std::int32_t> frame(std::uint64_t i) const override;
  std::string truth() const override { return phantom_ ? "phantom" : ""; }
  void write_truth(const std::filesystem::path& path) const override;

  // What an ideal integration, corrected for solid angle and polarisation, finds at an angle (radian).
  double expected_pattern(double two_theta, std::uint64_t frame) const;

 private:
  void locate_pixels();
  void set_patterns(const PatternSettings& pattern);

  SimulationOptions options_;
  Geometry geometry_;
  std::shared_ptr<const FramePatterns> patterns_;  // never changes: copies of a scan share it
  std::shared_ptr<const PhantomPattern> phantom_;  // the same, if it is one
  // Place in the pattern's table, in units of 2^-kPositionBits nodes, and what the pixel sees of it: solid
  // angle times polarisation, or a mark.
  static constexpr int kPositionBits = 12;
  std::vector<std::uint32_t> position_;
  std::vector<float> gain_;
};

}  // namespace annulus
