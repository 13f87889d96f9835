#include <annulus/codecs/byte_offset.hpp>
#include <annulus/core/error.hpp>
#include <annulus/core/sha256.hpp>

#include <gtest/gtest.h>
#include <tools/simulate/powder.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <thread>

namespace annulus {
namespace {

constexpr double kDegree = std::numbers::pi / 180;

SimulationOptions small_scan() {
  SimulationOptions options;
  options.detector = "Pilatus100k";
  options.beam_offset1 = options.beam_offset2 = 0.002;
  options.frames = 5;
  return options;
}

ErrorKind kind_of(const SimulationOptions& options) {
  try {
    PowderScan{options};
  } catch (const Error& error) {
    EXPECT_FALSE(error.cure().empty()) << error.what();
    return error.kind();
  }
  ADD_FAILURE() << "no error";
  return ErrorKind::kInterrupted;
}

// Where a pixel's centre is seen, written down from the definitions and with trigonometry.
struct Sight {
  double two_theta;
  double chi;
  double normalization;  // solid angle and polarisation
};

Sight sight(const Geometry& geometry, double polarization, std::uint32_t row, std::uint32_t col) {
  const double p1 = (row + 0.5) * geometry.detector.pixel1 - geometry.poni1;
  const double p2 = (col + 0.5) * geometry.detector.pixel2 - geometry.poni2;
  const double p3 = geometry.distance;
  const double c1 = std::cos(geometry.rot1), s1 = std::sin(geometry.rot1);
  const double c2 = std::cos(geometry.rot2), s2 = std::sin(geometry.rot2);
  const double c3 = std::cos(geometry.rot3), s3 = std::sin(geometry.rot3);
  const double t1 = p1 * c2 * c3 + p2 * (c3 * s1 * s2 - c1 * s3) - p3 * (c1 * c3 * s2 + s1 * s3);
  const double t2 = p1 * c2 * s3 + p2 * (c1 * c3 + s1 * s2 * s3) - p3 * (-c3 * s1 + c1 * s2 * s3);
  const double t3 = p1 * s2 - p2 * c2 * s1 + p3 * c1 * c2;
  Sight sight;
  sight.two_theta = std::atan2(std::hypot(t1, t2), t3);
  sight.chi = std::atan2(t1, t2);
  const double cosine = std::cos(sight.two_theta);
  sight.normalization =
      std::pow(p3 / std::sqrt(p1 * p1 + p2 * p2 + p3 * p3), 3) * 0.5 *
      (1 + cosine * cosine - polarization * std::cos(2 * sight.chi) * (1 - cosine * cosine));
  return sight;
}

struct Histogram {
  static constexpr double kStep = 0.02;  // degrees of 2theta
  std::vector<double> signal = std::vector<double>(9000);
  std::vector<double> normalization = std::vector<double>(9000);

  double intensity(std::size_t bin) const { return signal[bin] / normalization[bin]; }

  // The angle of the highest bin within a degree, or 0 where nothing was seen.
  double peak_near(double two_theta) const {
    std::size_t best = 0;
    const auto centre = static_cast<std::size_t>(two_theta / kStep);
    for (std::size_t bin = centre - 25; bin < centre + 25; ++bin) {
      if (normalization[bin] > 0 && (best == 0 || intensity(bin) > intensity(best))) best = bin;
    }
    return best == 0 ? 0 : (static_cast<double>(best) + 0.5) * kStep;
  }
};

Histogram integrate(const PowderScan& scan, const Image<std::int32_t>& image) {
  Histogram histogram;
  for (std::uint32_t row = 0; row < image.shape.rows; ++row) {
    for (std::uint32_t col = 0; col < image.shape.cols; ++col) {
      if (image.at(row, col) < 0) continue;
      const Sight seen = sight(scan.geometry(), *scan.options().polarization, row, col);
      const auto bin = static_cast<std::size_t>(seen.two_theta / kDegree / Histogram::kStep);
      histogram.signal[bin] += image.at(row, col);
      histogram.normalization[bin] += seen.normalization;
    }
  }
  return histogram;
}

// Bragg's law, with spacings of cubic lattices.
double ring(const PowderScan& scan, double a, int squares) {
  return 2 * std::asin(*scan.geometry().wavelength * 1e10 / (2 * a / std::sqrt(squares))) / kDegree;
}

TEST(PowderScan, GivesTheSamePixelsForTheSameSeed) {
  const PowderScan a(small_scan());
  const PowderScan b(small_scan());
  EXPECT_EQ(a.frame(3).pixels, b.frame(3).pixels);
  EXPECT_EQ(a.frame(3).pixels, a.frame(3).pixels);
}

TEST(PowderScan, GivesOtherPixelsForAnotherSeedOrFrame) {
  SimulationOptions options = small_scan();
  const PowderScan first(options);
  options.seed = 2;
  const PowderScan second(options);
  EXPECT_NE(first.frame(0).pixels, second.frame(0).pixels);
  EXPECT_NE(first.frame(0).pixels, first.frame(1).pixels);
}

TEST(PowderScan, DoesNotDependOnThreads) {
  SimulationOptions options = small_scan();
  options.threads = 1;
  const PowderScan one(options);
  options.threads = 4;
  const PowderScan four(options);
  std::vector<Image<std::int32_t>> images(options.frames);
  {
    std::vector<std::jthread> workers;
    for (std::uint64_t i = 0; i < options.frames; ++i)
      workers.emplace_back([&, i] { images[i] = four.frame(i); });
  }
  for (std::uint64_t i = 0; i < options.frames; ++i) EXPECT_EQ(images[i].pixels, one.frame(i).pixels) << i;
}

// Computed once and kept: scans must not change from machine to machine, and from version to version only on
// purpose (last in 0.2, when pixels got their exact places).
TEST(PowderScan, HasTheBytesItHasOnEveryMachine) {
  Sha256 sum;
  const PowderScan scan(small_scan());
  sum.add_array(scan.frame(0).pixels);
  sum.add_array(scan.frame(3).pixels);
  EXPECT_EQ(sum.finish(), "5080c9cca4a9d6477a7518cb9f9d85d1bb79f21154e2b82fc4549f44cd1e7351");
}

TEST(PowderScan, MarksGapsAndDefectsAndNothingElse) {
  SimulationOptions options;
  options.detector = "Pilatus300k";
  options.defects = 17;
  const PowderScan scan(options);
  const Image<std::int32_t> image = scan.frame(0);
  ASSERT_EQ(image.shape, (Shape{619, 487}));
  std::size_t gaps = 0;
  std::size_t defects = 0;
  for (std::uint32_t row = 0; row < image.shape.rows; ++row) {
    // Three modules of 195 rows with 17 between.
    const bool gap = row % 212 >= 195;
    for (std::uint32_t col = 0; col < image.shape.cols; ++col) {
      ASSERT_EQ(image.at(row, col) == -1, gap) << row << ", " << col;
      ASSERT_GE(image.at(row, col), -2);
      gaps += image.at(row, col) == -1;
      defects += image.at(row, col) == -2;
    }
  }
  EXPECT_EQ(gaps, 2u * 17 * 487);
  EXPECT_EQ(defects, 17u);
}

TEST(PowderScan, DoesNotMarkPixelsOfDetectorsThatHaveNoMarks) {
  SimulationOptions options;
  options.detector = "Perkin";
  const PowderScan scan(options);
  ASSERT_FALSE(scan.geometry().detector.dectris);
  const Image<std::int32_t> image = scan.frame(0);
  EXPECT_GE(*std::min_element(image.pixels.begin(), image.pixels.end()), 0);
}

TEST(PowderScan, HasRingsWhereBraggsLawPutsThem) {
  SimulationOptions options;
  options.detector = "Pilatus1M";
  const PowderScan scan(options);
  const Histogram start = integrate(scan, scan.frame(0));
  for (const int squares : {3, 4, 8, 11, 12}) {  // gold: (111), (200), (220), (311), (222)
    EXPECT_NEAR(start.peak_near(ring(scan, 4.0782, squares)), ring(scan, 4.0782, squares), 0.03) << squares;
  }
  const Histogram end = integrate(scan, scan.frame(options.frames - 1));
  const double stretched = 5.411651 * (1 + options.expansion);  // ceria by then
  for (const int squares : {3, 4, 8, 11}) {
    EXPECT_NEAR(end.peak_near(ring(scan, stretched, squares)), ring(scan, stretched, squares), 0.03)
        << squares;
  }
}

class PowderGeometry : public ::testing::TestWithParam<std::array<double, 3>> {};

TEST_P(PowderGeometry, IntegratesBackToTheExpectedPatternInEverySector) {
  SimulationOptions options;
  options.detector = "Pilatus1M";
  options.ring_width = 0.4;
  options.calibrant = Calibrant::kLaB6;
  options.rot1 = GetParam()[0];
  options.rot2 = GetParam()[1];
  options.rot3 = GetParam()[2];
  options.polarization = 0.9;
  const PowderScan scan(options);
  const std::uint64_t frame = 55;  // both phases
  const Image<std::int32_t> image = scan.frame(frame);
  constexpr int kSectors = 8;
  constexpr int kBins = 60;
  constexpr double kBinWidth = 1.5;  // degrees
  struct Cell {
    double got = 0, expected = 0;
  };
  std::vector<Cell> cells(kSectors * kBins);
  for (std::uint32_t row = 0; row < image.shape.rows; ++row) {
    for (std::uint32_t col = 0; col < image.shape.cols; ++col) {
      if (image.at(row, col) < 0) continue;
      const Sight seen = sight(scan.geometry(), 0.9, row, col);
      const auto sector =
          std::min(static_cast<int>((seen.chi / kDegree + 180) / 360 * kSectors), kSectors - 1);
      const auto bin = static_cast<int>(seen.two_theta / kDegree / kBinWidth);
      ASSERT_LT(bin, kBins);
      Cell& cell = cells[sector * kBins + bin];
      cell.got += image.at(row, col);
      cell.expected += scan.expected_pattern(seen.two_theta, frame) * seen.normalization;
    }
  }
  double chi_square = 0;
  int used = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].expected < 1000) continue;
    const double difference = (cells[i].got - cells[i].expected) / std::sqrt(cells[i].expected);
    EXPECT_LT(std::fabs(difference), 5) << "sector " << i / kBins << ", bin " << i % kBins;
    chi_square += difference * difference;
    ++used;
  }
  ASSERT_GT(used, 100);
  EXPECT_LT(chi_square, used + 4 * std::sqrt(2.0 * used));
  EXPECT_GT(chi_square, used - 4 * std::sqrt(2.0 * used));
}

INSTANTIATE_TEST_SUITE_P(Tilts, PowderGeometry,
                         ::testing::Values(std::array{0.0, 0.0, 0.0}, std::array{0.3, -0.2, 0.5}));

TEST(PowderScan, OverloadedPixelsReadJustAboveTheCutoff) {
  SimulationOptions options = small_scan();
  options.ring_counts = 1e8;
  options.count_cutoff = 5000;
  const Image<std::int32_t> image = PowderScan(options).frame(0);
  EXPECT_EQ(*std::max_element(image.pixels.begin(), image.pixels.end()), 5001);
  EXPECT_GT(std::count(image.pixels.begin(), image.pixels.end(), 5001), 1000);
}

TEST(PowderScan, CompressesAsRealFramesDo) {
  const PowderScan scan(SimulationOptions{});
  ASSERT_EQ(scan.shape(), (Shape{1679, 1475}));
  for (const std::uint64_t i : {0, 60, 99}) {
    const Image<std::int32_t> image = scan.frame(i);
    const std::vector<std::byte> bytes = encode_byte_offset(image.pixels);
    const double per_pixel = static_cast<double>(bytes.size()) / static_cast<double>(image.pixels.size());
    EXPECT_GT(per_pixel, 1.0);
    EXPECT_LT(per_pixel, 1.1);
    // Some differences inside the rings need the 16-bit escape, apart from the edges of modules.
    std::size_t escapes = 0;
    for (std::size_t p = 1; p < image.pixels.size(); ++p) {
      if (image.pixels[p] < 0 || image.pixels[p - 1] < 0) continue;
      escapes += std::abs(image.pixels[p] - image.pixels[p - 1]) > 127;
    }
    EXPECT_GT(escapes, 500u) << i;
  }
}

TEST(PowderScan, RefusesAFrameBeyondTheEnd) {
  const PowderScan scan(small_scan());
  EXPECT_THROW(scan.frame(5), Error);
}

TEST(SimulatedGeometry, SeesRingsWithEveryDetectorOfTheCatalogue) {
  for (const Detector& detector : detector_catalogue()) {
    if (detector.shape.size() == 0) continue;
    SimulationOptions options;
    options.detector = detector.name;
    const Geometry geometry = simulated_geometry(options);
    EXPECT_EQ(geometry.detector.shape, detector.shape);
    double widest = 0;
    for (const std::uint32_t row : {0u, detector.shape.rows - 1}) {
      for (const std::uint32_t col : {0u, detector.shape.cols - 1}) {
        widest = std::max(widest, sight(geometry, 0, row, col).two_theta / kDegree);
      }
    }
    EXPECT_GT(widest, 40) << detector.name;
    EXPECT_LT(widest, 44.5) << detector.name;
  }
}

TEST(SimulatedGeometry, TakesDistanceAndWavelengthAsGiven) {
  SimulationOptions options;
  options.distance = 0.1234;
  options.energy_kev = 12.398419843320026;
  EXPECT_EQ(simulated_geometry(options).distance, 0.1234);
  EXPECT_NEAR(*simulated_geometry(options).wavelength, 1e-10, 1e-25);
  options.wavelength = 0.7e-10;
  EXPECT_EQ(*simulated_geometry(options).wavelength, 0.7e-10);
}

TEST(SimulatedGeometry, RefusesOptionsThatMakeNoSense) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto with = [](auto change) {
    SimulationOptions options = small_scan();
    change(options);
    return kind_of(options);
  };
  EXPECT_EQ(with([](auto& o) { o.frames = 0; }), ErrorKind::kUsage);
  EXPECT_EQ(with([](auto& o) { o.distance = 0; }), ErrorKind::kUsage);
  EXPECT_EQ(with([&](auto& o) { o.distance = nan; }), ErrorKind::kUsage);
  EXPECT_EQ(with([](auto& o) { o.energy_kev = -1; }), ErrorKind::kUsage);
  EXPECT_EQ(with([](auto& o) { o.wavelength = 0; }), ErrorKind::kUsage);
  EXPECT_EQ(with([&](auto& o) { o.rot2 = nan; }), ErrorKind::kUsage);
  EXPECT_EQ(with([](auto& o) { o.beam_offset1 = 1e9; }), ErrorKind::kUsage);
  EXPECT_EQ(with([](auto& o) { o.background = -1; }), ErrorKind::kUsage);
  EXPECT_EQ(with([](auto& o) { o.ring_counts = 1e30; }), ErrorKind::kUsage);
  EXPECT_EQ(with([](auto& o) { o.ring_width = 0; }), ErrorKind::kUsage);
  EXPECT_EQ(with([](auto& o) { o.polarization = 2; }), ErrorKind::kUsage);
  EXPECT_EQ(with([](auto& o) { o.count_cutoff = 0; }), ErrorKind::kUsage);
  EXPECT_EQ(with([](auto& o) { o.count_cutoff = 1LL << 40; }), ErrorKind::kUsage);
  EXPECT_EQ(with([](auto& o) { o.detector = "Pilatus9999"; }), ErrorKind::kGeometry);
}

TEST(SimulatedGeometry, ExtremeOptionsStillGiveFrames) {
  SimulationOptions options = small_scan();
  options.frames = 1;
  for (const double distance : {1e-4, 1e3}) {
    for (const double energy : {0.2, 1000.0}) {
      for (const double width : {0.001, 20.0}) {
        for (const double tilt : {0.0, 3.0}) {
          options.distance = distance;
          options.energy_kev = energy;
          options.ring_width = width;
          options.rot1 = tilt;
          const Image<std::int32_t> image = PowderScan(options).frame(0);
          EXPECT_GE(*std::min_element(image.pixels.begin(), image.pixels.end()), -2);
        }
      }
    }
  }
}

}  // namespace
}  // namespace annulus
