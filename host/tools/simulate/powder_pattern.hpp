// The pattern of the simulated sample without noise, frame by frame.
#pragma once

#include <tools/simulate/calibrant.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace annulus {

// Everything is a function of x = sin(theta), which a pixel has without trigonometry and in which a ring of
// spacing d lies at lambda / 2d.
class PowderPattern {
 public:
  struct Settings {
    Calibrant calibrant = Calibrant::kGold;
    std::optional<Calibrant> product;
    double wavelength = 1;  // angstrom
    double x_low = 0;       // range that the detector sees
    double x_high = 0;
    double ring_width = 0;  // FWHM in 2theta, radian
    double background = 0;
    double ring_counts = 0;
    double expansion = 0;
    double beam_variation = 0;
    std::uint64_t frames = 1;
    std::uint64_t seed = 0;
  };

  PowderPattern() = default;
  explicit PowderPattern(const Settings& settings);

  double expected(double x, std::uint64_t frame) const;

  // The same at nodes x_low + i * node_distance(), to be interpolated: last node at or above x_high.
  std::vector<float> table(std::uint64_t frame) const;
  double node_distance() const { return node_distance_; }

 private:
  struct Ring {
    double x = 0;       // of the unstretched lattice
    double counts = 0;  // at its top
    bool product = false;
  };
  struct Moment;  // what is different from frame to frame
  struct Profile;

  std::vector<Ring> rings_of(Calibrant calibrant, bool product) const;
  Moment moment(std::uint64_t frame) const;
  Profile profile(const Ring& ring, const Moment& moment) const;
  double background(double x) const;

  Settings settings_;
  std::vector<Ring> rings_;
  double node_distance_ = 1;
  std::size_t nodes_ = 0;
};

}  // namespace annulus
