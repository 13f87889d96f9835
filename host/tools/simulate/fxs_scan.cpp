#include <annulus/core/error.hpp>
#include <annulus/core/parallel.hpp>
#include <annulus/geometry/projection.hpp>

#include <fmt/core.h>
#include <tools/simulate/fxs_scan.hpp>
#include <tools/simulate/orientation_average.hpp>
#include <tools/simulate/portable_math.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace annulus {
namespace {

constexpr double kTangentOfWidestAngle = 0.087488663525924;  // 5 degrees

// Of each pixel's centre.
ScatteringVectors vectors_of(const Geometry& geometry, unsigned threads) {
  const Shape shape = geometry.detector.shape;
  const Projection projection(geometry);
  const double wave_number = 2 * portable::kPi / (*geometry.wavelength * 1e9);
  ScatteringVectors vectors;
  vectors.resize(shape.size());
  parallel_ranges(shape.rows, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const double p1 = projection.centre1(static_cast<std::uint32_t>(row));
      for (std::uint32_t col = 0; col < shape.cols; ++col) {
        const Projection::Point point = projection.locate(p1, projection.centre2(col));
        const double radius_square = point.t1 * point.t1 + point.t2 * point.t2;
        const double length = std::sqrt(radius_square + point.t3 * point.t3);
        if (length == 0) continue;
        // Forward, t3 / length - 1 would cancel.
        const double short_of_beam =
            point.t3 > 0 ? radius_square / (length * (length + point.t3)) : 1 - point.t3 / length;
        const std::size_t pixel = row * shape.cols + col;
        vectors.x[pixel] = wave_number * point.t2 / length;
        vectors.y[pixel] = wave_number * point.t1 / length;
        vectors.z[pixel] = -wave_number * short_of_beam;
      }
    }
  });
  return vectors;
}

// Up to the largest q of which the detector sees the whole ring; if it sees none, up to the largest of all.
QRange whole_rings(const ScatteringVectors& vectors, Shape shape) {
  double inner = vectors.length(0);
  double lowest = inner;
  double highest = inner;
  for (std::size_t row = 0; row < shape.rows; ++row) {
    for (std::size_t col = 0; col < shape.cols; ++col) {
      const double q = vectors.length(row * shape.cols + col);
      lowest = std::min(lowest, q);
      highest = std::max(highest, q);
      if (row == 0 || col == 0 || row + 1 == shape.rows || col + 1 == shape.cols) inner = std::min(inner, q);
    }
  }
  return {0, inner > lowest ? inner : highest};
}

// The mean over orientations of the intensity that all pixels see, of one particle.
double mean_of_all_pixels(const Particle& particle, const ScatteringVectors& vectors,
                          const std::vector<float>& gain) {
  double highest = 0;
  for (std::size_t i = 0; i < gain.size(); ++i) highest = std::max(highest, vectors.length(i));
  constexpr std::size_t kNodes = 20000;  // linear interpolation is then right to 1e-4 of a speckle
  std::vector<double> table(kNodes + 2);
  const double step = highest > 0 ? highest / kNodes : 1;
  for (std::size_t node = 0; node < table.size(); ++node)
    table[node] = mean_intensity(particle, static_cast<double>(node) * step);
  double sum = 0;
  for (std::size_t i = 0; i < gain.size(); ++i) {
    if (gain[i] < 0) continue;
    const double place = vectors.length(i) / step;
    const auto node = static_cast<std::size_t>(place);
    const double fraction = place - static_cast<double>(node);
    sum += static_cast<double>(gain[i]) * (table[node] + (table[node + 1] - table[node]) * fraction);
  }
  return sum;
}

}  // namespace

FxsScan::FxsScan(FxsOptions options) : geometry_(beamline_geometry(options, kTangentOfWidestAngle)) {
  const unsigned threads = options.threads;
  ScatteringVectors vectors = vectors_of(geometry_, threads);
  const QRange range = whole_rings(vectors, geometry_.detector.shape);
  sample_ = std::make_shared<FxsSample>(std::move(options), range);
  gain_ = pixel_gains(geometry_, sample_->options());
  const double mean = mean_of_all_pixels(sample_->particle(), vectors, gain_);
  if (!(mean > 0)) {
    throw Error(ErrorKind::kUsage, "`particle`", "it scatters nothing onto the detector",
                "take a smaller particle or a longer distance");
  }
  photons_per_intensity_ =
      sample_->options().photons / (mean * static_cast<double>(sample_->options().particles));
  intensity_ = std::make_shared<ParticleIntensity>(sample_->particle(), std::move(vectors), threads);
}

std::string FxsScan::title() const {
  return fmt::format("simulated snapshots of particles, seed {}", beamline().seed);
}

Image<std::int32_t> FxsScan::frame(std::uint64_t i) const {
  check_frame(i);
  const std::vector<double> intensities = sample_->shot(i, *intensity_);
  const double overloaded = static_cast<double>(beamline().count_cutoff + 1);
  Image<std::int32_t> image{shape(), std::vector<std::int32_t>(gain_.size())};
  for (std::size_t pixel = 0; pixel < gain_.size(); ++pixel) {
    const float gain = gain_[pixel];
    if (gain < 0) {
      image.pixels[pixel] = static_cast<std::int32_t>(gain);
      continue;
    }
    const double mean = intensities[pixel] * photons_per_intensity_ * static_cast<double>(gain);
    const double count = std::floor(sample_->count(mean, i, pixel) + 0.5);
    image.pixels[pixel] = static_cast<std::int32_t>(std::min(count, overloaded));
  }
  return image;
}

void FxsScan::write_truth(const std::filesystem::path& path) const {
  write_fxs_truth(path, *sample_, photons_per_intensity_);
}

}  // namespace annulus
