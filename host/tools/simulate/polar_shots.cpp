#include <annulus/core/atomic_file.hpp>
#include <annulus/core/error.hpp>

#include <fmt/core.h>
#include <tools/simulate/orientation_average.hpp>
#include <tools/simulate/output_files.hpp>
#include <tools/simulate/polar_shots.hpp>
#include <tools/simulate/portable_math.hpp>

#include <bit>
#include <cmath>
#include <span>
#include <utility>

namespace annulus {
namespace {

// Points of the Ewald sphere at the middles of bins in azimuth, from -180 degrees on.
ScatteringVectors vectors_of(const FxsSample& sample) {
  const std::size_t angles = sample.options().angles;
  ScatteringVectors vectors;
  vectors.resize(sample.rings().size() * angles);
  std::size_t i = 0;
  for (const double q : sample.rings()) {
    const double along = q * sample.wavelength() / (4 * portable::kPi);
    const double across = std::sqrt(1 - along * along);
    for (std::size_t angle = 0; angle < angles; ++angle, ++i) {
      const portable::SinCos azimuth =
          portable::sin_cos_turns((static_cast<double>(angle) + 0.5) / static_cast<double>(angles) - 0.5);
      vectors.x[i] = q * across * azimuth.cos;
      vectors.y[i] = q * across * azimuth.sin;
      vectors.z[i] = -q * along;
    }
  }
  return vectors;
}

std::string npy_header(std::uint64_t images, std::size_t rings, std::size_t angles) {
  std::string text = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}, {}), }}",
                                 images, rings, angles);
  constexpr std::size_t kBefore = 10;
  constexpr std::size_t kAligned = 64;
  while ((kBefore + text.size() + 1) % kAligned != 0) text += ' ';
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

}  // namespace

PolarShots::PolarShots(FxsOptions options)
    : sample_(std::move(options), {0, kDefaultQ}),
      intensity_(sample_.particle(), vectors_of(sample_), sample_.options().threads) {
  double mean = 0;
  for (const double q : sample_.rings()) mean += mean_intensity(sample_.particle(), q);
  mean *= sample_.options().angles * static_cast<double>(sample_.options().particles);
  if (!(mean > 0)) {
    throw Error(ErrorKind::kUsage, "`particle`", "it scatters nothing into the rings",
                "take a smaller particle or a smaller q");
  }
  photons_per_intensity_ = sample_.options().photons / mean;
}

std::vector<float> PolarShots::image(std::uint64_t i) const {
  const std::vector<double> intensities = sample_.shot(i, intensity_);
  std::vector<float> values(intensities.size());
  for (std::size_t place = 0; place < values.size(); ++place) {
    values[place] = static_cast<float>(sample_.count(intensities[place] * photons_per_intensity_, i, place));
  }
  return values;
}

PolarFiles write_polar(const PolarShots& shots, const PolarOutput& output) {
  const PolarFiles files = {output.folder / (output.prefix + ".npy"),
                            output.folder / (output.prefix + "_fxs.nxs")};
  check_prefix(output.prefix);
  make_folder(output.folder);
  if (!output.overwrite) {
    for (const auto& path : {files.images, files.truth}) refuse_existing(path);
  }
  write_fxs_truth(files.truth, shots.sample(), shots.photons_per_intensity());
  static_assert(std::endian::native == std::endian::little, "the header says so");
  AtomicFile file(files.images);
  const std::string header =
      npy_header(shots.images(), shots.sample().rings().size(), shots.sample().options().angles);
  file.write(std::as_bytes(std::span(header)));
  FrameRunner(shots.images(), output.threads, output.progress).run(true, [&](std::uint64_t i) {
    return [&file, image = shots.image(i)] { file.write(std::as_bytes(std::span(image))); };
  });
  file.commit();
  return files;
}

}  // namespace annulus
