// The pattern of a sample that expands and turns into another phase while the scan goes on.
#pragma once

#include <tools/simulate/frame_patterns.hpp>
#include <tools/simulate/powder_rings.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace annulus {

class PowderPattern : public FramePatterns {
 public:
  struct Settings {
    PatternSettings pattern;
    Calibrant calibrant = Calibrant::kGold;
    std::optional<Calibrant> product;
    double expansion = 0;
    double beam_variation = 0;
    std::uint64_t frames = 1;
    std::uint64_t seed = 0;
  };

  explicit PowderPattern(const Settings& settings);

  double expected(double x, std::uint64_t frame) const override;
  std::vector<float> table(std::uint64_t frame) const override;

 private:
  struct Moment;  // what is different from frame to frame
  Moment moment(std::uint64_t frame) const;

  Settings settings_;
  NodeGrid grid_;
  PowderRings sample_;
  std::optional<PowderRings> product_;
};

}  // namespace annulus
