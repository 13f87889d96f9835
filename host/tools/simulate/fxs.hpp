// Fluctuation scattering that never took place: snapshots of identical particles, each turned at random, in a
// beam whose intensity changes from shot to shot.
#pragma once

#include <tools/simulate/beamline.hpp>
#include <tools/simulate/particle.hpp>
#include <tools/simulate/particle_intensity.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace annulus {

// First and last q, in nm^-1.
struct QRange {
  double low = 0;
  double high = 0;
};

struct FxsOptions : BeamlineOptions {
  FxsOptions();  // a detector and an energy for it, and the beam in the detector's middle

  std::string particle = "square";  // particle_from_name()
  Particle gaussians;               // and more of them
  std::uint64_t particles = 1;      // in each shot; their intensities add up
  double photons = 1e6;             // of a shot with a beam of 1, on average over orientations
  bool noiseless = false;           // else counts are Poisson variates
  double beam_variation = 0;        // the beam of a shot is between 1 - this and 1 + this
  double blank = 0;                 // share of the shots that met no beam

  // Rings and angles of the expected correlation, and of polar images.
  std::uint32_t rings = 50;
  std::uint32_t angles = 128;
  std::optional<QRange> q_range;
};

// Sample and shots. What they depend on are the options alone.
class FxsSample {
 public:
  // q_range: without one in the options. Throws kUsage for options that make no sense.
  FxsSample(FxsOptions options, QRange q_range);

  const FxsOptions& options() const { return options_; }
  const Particle& particle() const { return particle_; }
  double wavelength() const { return wavelength_; }            // nanometre
  const std::vector<double>& rings() const { return rings_; }  // q, nm^-1, the middles of equal steps

  double beam(std::uint64_t shot) const;  // 0 if it is blank
  std::vector<Orientation> orientations(std::uint64_t shot) const;

  // The intensity of a shot at every vector: of its particles, in units of one particle's |A|^2, times its
  // beam.
  std::vector<double> shot(std::uint64_t shot, const ParticleIntensity& intensity) const;

  // A count for a mean number of photons: a Poisson variate that belongs to the shot and the place, or the
  // mean.
  double count(double mean, std::uint64_t shot, std::uint64_t place) const;

 private:
  FxsOptions options_;
  Particle particle_;
  double wavelength_;
  std::vector<double> rings_;
};

// What is known of the shots: a NeXus file. /entry/correlation: the expected C2 of shots with beam, also with
// means of rings subtracted, and its Legendre coefficients; the default plot. /entry/shots: beam and
// orientations. /entry/particle: its Gaussians. photons_per_intensity: photons of a pixel, or of a polar
// value, for an |A|^2 of 1. Throws kOutput.
void write_fxs_truth(const std::filesystem::path& path, const FxsSample& sample,
                     double photons_per_intensity);

}  // namespace annulus
