// Snapshots of particles: shots, detector frames, polar images, and what is expected of them.
#include <annulus/core/error.hpp>
#include <annulus/core/sha256.hpp>
#include <annulus/geometry/projection.hpp>

#include <gtest/gtest.h>
#include <tools/simulate/fxs_scan.hpp>
#include <tools/simulate/orientation_average.hpp>
#include <tools/simulate/polar_shots.hpp>
#include <tools/simulate/portable_math.hpp>
#include <tools/simulate/scan_writer.hpp>

#include <cmath>
#include <complex>
#include <fstream>
#include <iterator>
#include <numeric>

#include "scratch_folder.hpp"

namespace annulus {
namespace {

namespace fs = std::filesystem;
using testing::ScratchFolder;

FxsOptions small_shots() {
  FxsOptions options;
  options.detector = "Eiger500k";
  options.particle = "random";
  options.frames = 6;
  options.photons = 3e5;
  options.rings = 6;
  options.angles = 16;
  return options;
}

FxsOptions small_polar() {
  FxsOptions options;
  options.rings = 8;
  options.angles = 24;
  options.frames = 400;
  options.q_range = {0.2, 2.2};
  return options;
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

double intensity_of(const Particle& particle, double x, double y, double z) {
  std::complex<double> sum = 0;
  for (const Gaussian& blob : particle) {
    const double square = x * x + y * y + z * z;
    sum += blob.weight * std::exp(-0.5 * blob.width * blob.width * square) *
           std::polar(1.0, x * blob.x + y * blob.y + z * blob.z);
  }
  return std::norm(sum);
}

TEST(SphericalBessel, AreThoseOfTheStandardLibrary) {
  for (const double x : {0.0, 1e-9, 1e-3, 0.3, 1.0, 3.14159265358979, 4.5, 6.2831853, 17.3, 100.0, 299.9}) {
    const std::vector<double> found = spherical_bessel(120, x);
    const unsigned highest = x < 1 ? 20 : 120;  // beyond, the library's are no numbers
    for (unsigned l = 0; l <= highest; ++l)
      EXPECT_NEAR(found[l], std::sph_bessel(l, x), 3e-14) << "l = " << l << ", x = " << x;
  }
}

TEST(SphericalBessel, NearZeroIsItsLimit) {
  for (const double x : {1e-300, 1e-200, 1e-149, 1e-100, 1e-20}) {
    const std::vector<double> found = spherical_bessel(4, x);
    EXPECT_EQ(found[0], 1) << x;
    for (std::size_t l = 1; l <= 4; ++l) EXPECT_NEAR(found[l], 0, x) << x;
  }
}

TEST(OrientationAverage, HasTheSquareOfTheMeanAsItsLowestOrder) {
  const Particle particle = particle_from_name("helix", 1);
  const std::vector<double> q = {0, 0.3, 1.1, 2.7};
  const OrientationAverage average(particle, q, 1);
  std::size_t pair = 0;
  for (std::size_t a = 0; a < q.size(); ++a) {
    for (std::size_t b = a; b < q.size(); ++b, ++pair) {
      const double expected =
          4 * portable::kPi * mean_intensity(particle, q[a]) * mean_intensity(particle, q[b]);
      EXPECT_NEAR(average.legendre()[pair * average.orders().size()], expected, 1e-12 * expected);
    }
  }
}

TEST(OrientationAverage, OfASphereDoesNotDependOnTheAngle) {
  const OrientationAverage average({{0, 0, 0, 0.7, 2}}, {0.5, 1.5}, 1);
  const std::vector<double> c2 = average.correlation(10, 0.1);
  const auto square = [](double q) { return 4 * std::exp(-0.49 * q * q); };
  for (std::size_t d = 0; d < 10; ++d) {
    EXPECT_NEAR(c2[d], square(0.5) * square(0.5), 1e-13);
    EXPECT_NEAR(c2[10 + d], square(0.5) * square(1.5), 1e-13);
    EXPECT_NEAR(c2[20 + d], square(1.5) * square(1.5), 1e-13);
  }
}

TEST(Orientation, IsUniform) {
  constexpr int kDraws = 40000;
  double squares[4] = {};
  double cosine = 0, cosine_square = 0, cross = 0;
  for (int i = 0; i < kDraws; ++i) {
    CounterRandom random(CounterRandom::key(5, static_cast<std::uint64_t>(i)), 0);
    const Orientation o = random_orientation(random);
    EXPECT_NEAR(o.w * o.w + o.x * o.x + o.y * o.y + o.z * o.z, 1, 1e-12);
    squares[0] += o.w * o.w;
    squares[1] += o.x * o.x;
    squares[2] += o.y * o.y;
    squares[3] += o.z * o.z;
    const Particle turned_axes = turned({{0, 0, 1, 1, 1}, {1, 0, 0, 1, 1}}, o);
    cosine += turned_axes[0].z;
    cosine_square += turned_axes[0].z * turned_axes[0].z;
    cross += turned_axes[0].x * turned_axes[1].y;
    // A rotation keeps lengths and right angles.
    EXPECT_NEAR(turned_axes[0].x * turned_axes[1].x + turned_axes[0].y * turned_axes[1].y +
                    turned_axes[0].z * turned_axes[1].z,
                0, 1e-12);
  }
  const double error = 4 / std::sqrt(kDraws);  // four standard deviations of numbers below 1
  for (const double square : squares) EXPECT_NEAR(square / kDraws, 0.25, 0.25 * error);
  EXPECT_NEAR(cosine / kDraws, 0, error / std::sqrt(3));
  EXPECT_NEAR(cosine_square / kDraws, 1 / 3.0, 0.3 * error);
  EXPECT_NEAR(cross / kDraws, 0, error / 3);
}

TEST(ParticleIntensity, IsTheSquareOfTheAmplitude) {
  ScatteringVectors vectors;
  vectors.resize(1000);
  CounterRandom random(1, 2);
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    vectors.x[i] = 8 * random.uniform() - 4;
    vectors.y[i] = 8 * random.uniform() - 4;
    vectors.z[i] = random.uniform() - 1;
  }
  const Particle particle = particle_from_name("random", 3);
  const ParticleIntensity intensity(particle, vectors, 2);
  const Orientation orientation = random_orientation(random);
  std::vector<double> found(vectors.size(), 1.0);
  intensity.add(orientation, found);
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    const double expected =
        intensity_of(turned(particle, orientation), vectors.x[i], vectors.y[i], vectors.z[i]);
    EXPECT_NEAR(found[i], 1 + expected, 1e-6 * (1 + expected)) << i;
  }
}

TEST(FxsScan, SeesTheEwaldSphereThroughTheGeometry) {
  FxsOptions options = small_shots();
  options.noiseless = true;
  options.photons = 1e9;  // so that rounding to integers matters little
  options.count_cutoff = 2000000000;
  options.particles = 2;
  options.distance = 0.05;  // a strong curvature
  options.particle = "dimer";
  options.beam_variation = 0.5;
  const FxsScan scan(options);
  const Geometry& geometry = scan.geometry();
  const double wave_number = 2 * portable::kPi / (*geometry.wavelength * 1e9);
  for (const std::uint64_t shot : {0u, 3u}) {
    const Image<std::int32_t> image = scan.frame(shot);
    for (std::uint32_t row = 3; row < image.shape.rows; row += 37) {
      for (std::uint32_t col = 5; col < image.shape.cols; col += 41) {
        if (image.at(row, col) < 0) continue;
        const double p1 = (row + 0.5) * geometry.detector.pixel1 - geometry.poni1;
        const double p2 = (col + 0.5) * geometry.detector.pixel2 - geometry.poni2;
        const double length = std::sqrt(p1 * p1 + p2 * p2 + geometry.distance * geometry.distance);
        double sum = 0;
        for (const Orientation& orientation : scan.sample().orientations(shot)) {
          sum += intensity_of(turned(scan.sample().particle(), orientation), wave_number * p2 / length,
                              wave_number * p1 / length, wave_number * (geometry.distance / length - 1));
        }
        const double two_theta = std::acos(geometry.distance / length);
        const double chi = std::atan2(p1, p2);
        const double polarization = 0.5 * (1 + std::pow(std::cos(two_theta), 2) -
                                           0.99 * std::cos(2 * chi) * std::pow(std::sin(two_theta), 2));
        const double expected = sum * scan.photons_per_intensity() * scan.sample().beam(shot) * polarization *
                                std::pow(std::cos(two_theta), 3);
        EXPECT_NEAR(image.at(row, col), expected, 0.5 + 1e-5 * expected) << row << ", " << col;
      }
    }
  }
}

TEST(FxsScan, HasThePhotonsThatWereAskedForOnAverage) {
  FxsOptions options = small_shots();
  options.frames = 60;
  options.particle = "tetrahedron";
  const FxsScan scan(options);
  double sum = 0, squares = 0;
  for (std::uint64_t i = 0; i < options.frames; ++i) {
    double total = 0;
    for (const std::int32_t pixel : scan.frame(i).pixels) total += std::max(pixel, 0);
    sum += total;
    squares += total * total;
  }
  const auto frames = static_cast<double>(options.frames);
  const double error = std::sqrt((squares / frames - sum * sum / frames / frames) / frames);
  EXPECT_NEAR(sum / frames, options.photons, 4 * error);
  EXPECT_LT(error, 0.1 * options.photons);
}

TEST(FxsScan, BlankShotsHaveNoPhotonsAndGapsStayMarked) {
  FxsOptions options = small_shots();
  options.detector = "Eiger1M";
  options.frames = 1000;
  options.blank = 0.3;
  const FxsScan scan(options);
  std::uint64_t blanks = 0;
  std::optional<std::uint64_t> first;
  for (std::uint64_t i = 0; i < options.frames; ++i) {
    if (scan.sample().beam(i) != 0) continue;
    ++blanks;
    if (!first) first = i;
  }
  EXPECT_NEAR(static_cast<double>(blanks), 300, 60);  // four standard deviations
  bool gaps = false;
  for (const std::int32_t pixel : scan.frame(*first).pixels) {
    EXPECT_LE(pixel, 0);
    gaps = gaps || pixel == kGapMark;
  }
  EXPECT_TRUE(gaps);
}

TEST(FxsScan, BeamStaysWithinItsVariation) {
  FxsOptions options = small_polar();
  options.beam_variation = 0.4;
  const PolarShots shots(options);
  double least = 9, most = 0;
  for (std::uint64_t i = 0; i < options.frames; ++i) {
    least = std::min(least, shots.sample().beam(i));
    most = std::max(most, shots.sample().beam(i));
  }
  EXPECT_GE(least, 0.6);
  EXPECT_LE(most, 1.4);
  EXPECT_LT(least, 0.63);
  EXPECT_GT(most, 1.37);
}

// Computed once and kept: shots must not change from machine to machine, and from version to version only on
// purpose.
TEST(FxsScan, HasTheBytesItHasOnEveryMachine) {
  const FxsScan scan(small_shots());
  Sha256 sum;
  sum.add_array(scan.frame(0).pixels);
  sum.add_array(scan.frame(5).pixels);
  EXPECT_EQ(sum.finish(), "fa5ef6be7d072eb1f56addf44ecd9a529ea23f792645526f670680463a278b04");
  Sha256 polar;
  polar.add_array(PolarShots(small_polar()).image(7));
  EXPECT_EQ(polar.finish(), "b5586b2a775d025d4d6e6ab3beb2ec365499c5485854d93c02a7d1c9724a85c0");
}

TEST(FxsScan, DependsOnTheSeedAndNotOnThreads) {
  FxsOptions options = small_shots();
  options.threads = 1;
  const FxsScan one(options);
  options.threads = 3;
  const FxsScan three(options);
  EXPECT_EQ(one.frame(2).pixels, three.frame(2).pixels);
  EXPECT_NE(one.frame(2).pixels, one.frame(3).pixels);
  options.seed = 2;
  EXPECT_NE(FxsScan(options).frame(2).pixels, one.frame(2).pixels);
  EXPECT_THROW(one.frame(6), Error);
}

TEST(FxsScan, FilesDoNotDependOnThreads) {
  const ScratchFolder scratch;
  for (const unsigned threads : {1u, 3u}) {
    FxsOptions options = small_shots();
    options.threads = threads;
    ScanOutput output;
    output.folder = scratch.path() / std::to_string(threads);
    output.format = ScanFormat::kEiger;
    output.threads = threads;
    write_scan(FxsScan(options), output);
    options = small_polar();
    options.threads = threads;
    write_polar(PolarShots(options), {output.folder, "polar", false, threads, {}});
  }
  for (const char* name :
       {"scan.poni", "scan_master.h5", "scan_data_000001.h5", "scan_fxs.nxs", "polar.npy", "polar_fxs.nxs"}) {
    const std::string one = text_of(scratch.path() / "1" / name);
    EXPECT_FALSE(one.empty()) << name;
    EXPECT_TRUE(one == text_of(scratch.path() / "3" / name)) << name;
  }
}

TEST(PolarShots, DoNotReplaceFilesUnlessTold) {
  const ScratchFolder scratch;
  FxsOptions options = small_polar();
  options.frames = 3;
  const PolarShots shots(options);
  for (const char* name : {"scan.npy", "scan_fxs.nxs"}) {
    const fs::path folder = scratch.path() / (std::string(name) + "_folder");
    fs::create_directories(folder);
    std::ofstream(folder / name) << "precious";
    try {
      write_polar(shots, {folder, "scan", false, 1, {}});
      ADD_FAILURE() << name << " was replaced";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kOutput);
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
    }
    EXPECT_EQ(text_of(folder / name), "precious");
    write_polar(shots, {folder, "scan", true, 1, {}});
    EXPECT_NE(text_of(folder / name), "precious");
  }
}

TEST(FxsOptions, ThatMakeNoSenseAreRefusedWithACure) {
  const auto refused = [](auto change) {
    FxsOptions options = small_polar();
    change(options);
    try {
      PolarShots{options};
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage) << error.what();
      EXPECT_FALSE(error.cure().empty()) << error.what();
      return true;
    }
    return false;
  };
  EXPECT_FALSE(refused([](FxsOptions&) {}));
  EXPECT_TRUE(refused([](FxsOptions& o) { o.particle = "cube"; }));
  EXPECT_TRUE(refused([](FxsOptions& o) { o.particle = "empty"; }));
  EXPECT_TRUE(refused([](FxsOptions& o) { o.gaussians = Particle(40, Gaussian{0, 0, 0, 1, 1}); }));
  EXPECT_TRUE(refused([](FxsOptions& o) { o.gaussians = {{std::nan(""), 0, 0, 1, 1}}; }));
  EXPECT_TRUE(refused([](FxsOptions& o) { o.gaussians = {{0, 0, 0, -1, 1}}; }));
  EXPECT_TRUE(refused([](FxsOptions& o) { o.particles = 0; }));
  EXPECT_TRUE(refused([](FxsOptions& o) { o.photons = 0; }));
  EXPECT_TRUE(refused([](FxsOptions& o) { o.photons = std::nan(""); }));
  EXPECT_TRUE(refused([](FxsOptions& o) { o.blank = 1.1; }));
  EXPECT_TRUE(refused([](FxsOptions& o) { o.beam_variation = -0.1; }));
  EXPECT_TRUE(refused([](FxsOptions& o) { o.rings = 0; }));
  EXPECT_TRUE(refused([](FxsOptions& o) { o.rings = 2000, o.angles = 100000; }));
  EXPECT_TRUE(refused([](FxsOptions& o) { o.angles = 1; }));
  EXPECT_TRUE(refused([](FxsOptions& o) { o.frames = 0; }));
  EXPECT_TRUE(refused([](FxsOptions& o) { o.q_range = {2, 1}; }));
  EXPECT_TRUE(refused([](FxsOptions& o) { o.q_range = {1, 1}; }));
  EXPECT_TRUE(refused([](FxsOptions& o) { o.q_range = {-1, 1}; }));
  EXPECT_TRUE(refused([](FxsOptions& o) { o.q_range = {0, 100}; }));  // beyond backscattering
  EXPECT_TRUE(refused([](FxsOptions& o) { o.energy_kev = 0; }));
  // Of a particle so wide that nothing reaches the rings.
  EXPECT_TRUE(refused([](FxsOptions& o) {
    o.particle = "empty";
    o.gaussians = {{0, 0, 0, 1000, 1}};
  }));
}

TEST(Gaussian, IsReadFromTextOrRefused) {
  const Gaussian four = gaussian_from_text("1.5,-2,3e-1,0.6");
  EXPECT_EQ(four.x, 1.5);
  EXPECT_EQ(four.y, -2);
  EXPECT_EQ(four.z, 0.3);
  EXPECT_EQ(four.width, 0.6);
  EXPECT_EQ(four.weight, 1);
  EXPECT_EQ(gaussian_from_text("0,0,0,1,-2.5").weight, -2.5);
  for (const char* text :
       {"", "1", "1,2,3", "1,2,3,4,5,6", "1,2,3,4,", ",1,2,3,4", "a,2,3,4", "1, 2,3,4", "1;2;3;4"})
    EXPECT_THROW(gaussian_from_text(text), Error) << text;
}

TEST(OrientationAverage, RefusesAParticleThatTakesTooManyOrders) {
  EXPECT_THROW(OrientationAverage({{0, 0, 0, 1, 1}, {200, 0, 0, 1, 1}}, {2}, 1), Error);
  EXPECT_NO_THROW(OrientationAverage({{0, 0, 0, 1, 1}, {149, 0, 0, 1, 1}}, {2}, 1));
}

}  // namespace
}  // namespace annulus
