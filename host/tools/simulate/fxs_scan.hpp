// Snapshots of particles as detector frames.
#pragma once

#include <tools/simulate/fxs.hpp>
#include <tools/simulate/simulated_scan.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace annulus {

// A frame depends on the options and its number only, as those of PowderScan do. It holds photons as counts;
// without noise, the nearest integers to their mean.
class FxsScan : public SimulatedScan {
 public:
  explicit FxsScan(FxsOptions options);  // throws kUsage, kGeometry

  const FxsSample& sample() const { return *sample_; }
  // Photons of a pixel that sees all, for an |A|^2 of 1.
  double photons_per_intensity() const { return photons_per_intensity_; }

  const BeamlineOptions& beamline() const override { return sample_->options(); }
  const Geometry& geometry() const override { return geometry_; }
  std::string title() const override;
  Image<std::int32_t> frame(std::uint64_t i) const override;
  std::string truth() const override { return "fxs"; }
  void write_truth(const std::filesystem::path& path) const override;

 private:
  Geometry geometry_;
  std::shared_ptr<const FxsSample> sample_;
  std::vector<float> gain_;  // of pixels, or a mark
  std::shared_ptr<const ParticleIntensity> intensity_;
  double photons_per_intensity_ = 0;
};

}  // namespace annulus
