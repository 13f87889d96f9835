#include <fmt/core.h>
#include <tools/simulate/fxs.hpp>
#include <tools/simulate/hdf5_output.hpp>
#include <tools/simulate/orientation_average.hpp>
#include <tools/simulate/portable_math.hpp>

#include <numeric>
#include <string>
#include <vector>

namespace annulus {
namespace {

constexpr std::uint64_t kMostOrientations = 10'000'000;  // more would be gigabytes

struct Beam {
  std::vector<double> of_shots;
  double mean = 1;  // over shots with beam
  double mean_square = 1;
};

Beam beam_of(const FxsSample& sample) {
  Beam beam;
  double sum = 0;
  double squares = 0;
  double shots = 0;
  for (std::uint64_t shot = 0; shot < sample.options().frames; ++shot) {
    const double value = sample.beam(shot);
    beam.of_shots.push_back(value);
    sum += value;
    squares += value * value;
    if (value > 0) ++shots;
  }
  if (shots > 0) {
    beam.mean = sum / shots;
    beam.mean_square = squares / shots;
  }
  return beam;
}

// Of shots with beam, in photons.
class Expectation {
 public:
  Expectation(const FxsSample& sample, double photons_per_intensity, const Beam& beam)
      : average_(sample.particle(), sample.rings(), sample.options().threads) {
    const auto particles = static_cast<double>(sample.options().particles);
    rings_ = sample.rings().size();
    angles_ = sample.options().angles;
    const double alone = photons_per_intensity * photons_per_intensity * beam.mean_square * particles;
    c2 = average_.correlation(angles_, sample.wavelength());
    legendre = average_.legendre();
    for (double& value : c2) value *= alone;
    for (double& value : legendre) value *= alone;
    for (const double q : sample.rings())
      mean.push_back(photons_per_intensity * beam.mean * particles * mean_intensity(sample.particle(), q));
    // Different particles of a shot know nothing of each other: they add the product of their means.
    const double others = (particles - 1) / particles * beam.mean_square / (beam.mean * beam.mean);
    std::size_t pair = 0;
    for (std::size_t ring = 0; ring < rings_; ++ring) {
      for (std::size_t other = ring; other < rings_; ++other, ++pair) {
        const double product = others * mean[ring] * mean[other];
        for (std::size_t d = 0; d < angles_; ++d) c2[pair * angles_ + d] += product;
        legendre[pair * orders().size()] += 4 * portable::kPi * product;
      }
    }
    subtract_means();
  }

  const std::vector<std::size_t>& orders() const { return average_.orders(); }

  // C2(q, q, d) of an array [q][q' >= q][d].
  std::vector<double> on_ring(const std::vector<double>& values) const {
    std::vector<double> result;
    std::size_t pair = 0;
    for (std::size_t ring = 0; ring < rings_; pair += rings_ - ring, ++ring) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(pair * angles_);
      result.insert(result.end(), begin, begin + static_cast<std::ptrdiff_t>(angles_));
    }
    return result;
  }

  std::vector<double> mean;                    // of each ring
  std::vector<double> c2, c2_mean_subtracted;  // [q][q' >= q][d]
  std::vector<double> legendre;                // of c2, [q][q' >= q][order]

 private:
  // A ring's mean over all angles takes the mean over all d from the correlation.
  void subtract_means() {
    c2_mean_subtracted = c2;
    for (auto begin = c2_mean_subtracted.begin(); begin != c2_mean_subtracted.end();) {
      const auto end = begin + static_cast<std::ptrdiff_t>(angles_);
      const double level = std::accumulate(begin, end, 0.0) / static_cast<double>(angles_);
      for (; begin != end; ++begin) *begin -= level;
    }
  }

  OrientationAverage average_;
  std::size_t rings_ = 0;
  std::size_t angles_ = 0;
};

void describe_correlation(hid_t entry, const FxsSample& sample, const Expectation& expected,
                          const Describer& describe) {
  const hsize_t rings = sample.rings().size();
  const hsize_t pairs = rings * (rings + 1) / 2;
  const hsize_t angles = sample.options().angles;
  std::vector<double> degrees;
  for (hsize_t d = 0; d < angles; ++d)
    degrees.push_back(360 * static_cast<double>(d) / static_cast<double>(angles));

  const Hdf5Handle all = describe.group(entry, "correlation", "NXcollection");
  describe.numbers(all.get(), "c2", expected.c2, nullptr, {pairs, angles});
  describe.numbers(all.get(), "c2_mean_subtracted", expected.c2_mean_subtracted, nullptr, {pairs, angles});

  const Hdf5Handle on_ring = describe.group(entry, "c2_on_ring", "NXdata");
  describe.attribute(on_ring.get(), "signal", "data");
  describe.attribute(on_ring.get(), "axes", std::vector<std::string>{"q", "angle"});
  describe.text(on_ring.get(), "title", "expected C2(q, q, angle), means of rings subtracted");
  describe.numbers(on_ring.get(), "q", sample.rings(), "1/nm");
  describe.numbers(on_ring.get(), "angle", degrees, "deg");
  describe.numbers(on_ring.get(), "data", expected.on_ring(expected.c2_mean_subtracted), nullptr,
                   {rings, angles});

  const Hdf5Handle mean = describe.group(entry, "mean", "NXdata");
  describe.attribute(mean.get(), "signal", "data");
  describe.attribute(mean.get(), "axes", std::vector<std::string>{"q"});
  describe.text(mean.get(), "title", "mean photons of a pixel or polar value");
  describe.numbers(mean.get(), "q", sample.rings(), "1/nm");
  describe.numbers(mean.get(), "data", expected.mean, nullptr);

  const Hdf5Handle legendre = describe.group(entry, "legendre", "NXcollection");
  std::vector<double> orders(expected.orders().begin(), expected.orders().end());
  describe.numbers(legendre.get(), "order", orders, nullptr);
  describe.numbers(legendre.get(), "data", expected.legendre, nullptr, {pairs, orders.size()});
}

void describe_shots(hid_t entry, const FxsSample& sample, const Beam& beam, const Describer& describe) {
  const Hdf5Handle shots = describe.group(entry, "shots", "NXcollection");
  describe.numbers(shots.get(), "beam", beam.of_shots, nullptr);
  const std::uint64_t frames = sample.options().frames;
  const std::uint64_t particles = sample.options().particles;
  if (frames * particles > kMostOrientations) return;
  std::vector<double> quaternions;
  for (std::uint64_t shot = 0; shot < frames; ++shot) {
    for (const Orientation& o : sample.orientations(shot))
      quaternions.insert(quaternions.end(), {o.w, o.x, o.y, o.z});
  }
  describe.numbers(shots.get(), "orientation", quaternions, nullptr, {frames, particles, 4});
}

void describe_particle(hid_t entry, const FxsSample& sample, double photons_per_intensity,
                       const Describer& describe) {
  std::vector<double> x, y, z, width, weight;
  for (const Gaussian& blob : sample.particle()) {
    x.push_back(blob.x);
    y.push_back(blob.y);
    z.push_back(blob.z);
    width.push_back(blob.width);
    weight.push_back(blob.weight);
  }
  const Hdf5Handle group = describe.group(entry, "particle", "NXcollection");
  describe.text(group.get(), "name", sample.options().particle);
  describe.numbers(group.get(), "x", x, "nm");
  describe.numbers(group.get(), "y", y, "nm");
  describe.numbers(group.get(), "z", z, "nm");
  describe.numbers(group.get(), "width", width, "nm");
  describe.numbers(group.get(), "weight", weight, nullptr);
  describe.number(group.get(), "photons_per_intensity", photons_per_intensity, "1");
  describe.number(group.get(), "wavelength", sample.wavelength(), "nm");
}

}  // namespace

void write_fxs_truth(const std::filesystem::path& path, const FxsSample& sample,
                     double photons_per_intensity) {
  const Beam beam = beam_of(sample);
  const Expectation expected(sample, photons_per_intensity, beam);
  const Hdf5Session session;
  PartialFile file(path);
  const Describer describe(file.path());
  {
    describe.attribute(file.get(), "NX_class", "NXroot");
    describe.attribute(file.get(), "default", "entry");
    const Hdf5Handle entry = describe.group(file.get(), "entry", "NXentry");
    describe.attribute(entry.get(), "default", "c2_on_ring");
    describe.text(entry.get(), "title",
                  fmt::format("snapshots of particles ({}), seed {}", sample.options().particle,
                              sample.options().seed));
    describe_correlation(entry.get(), sample, expected, describe);
    describe_shots(entry.get(), sample, beam, describe);
    describe_particle(entry.get(), sample, photons_per_intensity, describe);
  }
  file.close();
}

}  // namespace annulus
