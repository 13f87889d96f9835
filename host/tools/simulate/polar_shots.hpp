// Snapshots of particles as polar images, without a detector: rings by angles, as a correlation takes them.
#pragma once

#include <tools/simulate/frame_runner.hpp>
#include <tools/simulate/fxs.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace annulus {

// A value is the photons of a point of the Ewald sphere. An image depends on the options and its number only.
class PolarShots {
 public:
  // Up to this q without a range of its own, in nm^-1.
  static constexpr double kDefaultQ = 3;

  explicit PolarShots(FxsOptions options);  // throws kUsage

  const FxsSample& sample() const { return sample_; }
  std::uint64_t images() const { return sample_.options().frames; }
  double photons_per_intensity() const { return photons_per_intensity_; }

  // [q][phi]. May be called from several threads at once.
  std::vector<float> image(std::uint64_t i) const;

 private:
  FxsSample sample_;
  ParticleIntensity intensity_;
  double photons_per_intensity_ = 0;
};

struct PolarOutput {
  std::filesystem::path folder;  // made if it is not there
  std::string prefix = "scan";
  bool overwrite = false;
  unsigned threads = 0;  // 0: all of the machine; the files do not depend on it
  FrameRunner::Report progress;
};

struct PolarFiles {
  std::filesystem::path images;  // <prefix>.npy: float32 [image][q][phi]
  std::filesystem::path truth;   // <prefix>_fxs.nxs: write_fxs_truth()
};

// Throws kOutput with the file's name, before anything is written if a file is there and overwrite is false.
// Each appears under its name when it is complete.
PolarFiles write_polar(const PolarShots& shots, const PolarOutput& output);

}  // namespace annulus
