// The patterns of a phantom that is scanned and turned.
#pragma once

#include <tools/simulate/frame_patterns.hpp>
#include <tools/simulate/phantom_scan.hpp>
#include <tools/simulate/powder_rings.hpp>

#include <cstdint>
#include <vector>

namespace annulus {

// A frame's pattern is its monitor times (background + the sum over phases of the beam's path in the phase
// times the pattern of a millimetre of the solid).
class PhantomPattern : public FramePatterns {
 public:
  struct Settings {
    PatternSettings pattern;
    PhantomOptions phantom;
    double energy_kev = 0;
    double beam_variation = 0;
    std::uint64_t seed = 0;
  };

  explicit PhantomPattern(const Settings& settings);  // throws kUsage

  const Phantom& phantom() const { return phantom_; }
  const PhantomOptions& options() const { return settings_.phantom; }
  const std::vector<ScanPoint>& points() const { return points_; }         // one a frame
  const std::vector<double>& attenuation() const { return attenuation_; }  // empty without absorption

  double monitor(std::uint64_t frame) const;  // what the beam had, 1 at its highest
  Phantom::Paths paths(std::uint64_t frame) const;

  // At x = sin(theta), per millimetre of the solid phase and for a monitor of 1.
  double pure(std::size_t phase, double x) const;
  double background(double x) const { return background_at(x, settings_.pattern); }
  const PatternSettings& pattern() const { return settings_.pattern; }

  double expected(double x, std::uint64_t frame) const override;
  std::vector<float> table(std::uint64_t frame) const override;

 private:
  Settings settings_;
  Phantom phantom_;
  std::vector<ScanPoint> points_;
  std::vector<double> attenuation_;  // of each phase, per millimetre
  NodeGrid grid_;
  std::vector<PowderRings> rings_;  // of each phase
  double per_millimetre_ = 1;       // share of the rings' full counts
  std::vector<double> background_table_;
  std::vector<std::vector<double>> pure_tables_;  // of each phase, at the nodes
};

}  // namespace annulus
