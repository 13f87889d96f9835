// A phantom as frames and files.
#include <annulus/core/error.hpp>
#include <annulus/core/sha256.hpp>

#include <gtest/gtest.h>
#include <tools/simulate/powder.hpp>
#include <tools/simulate/scan_columns.hpp>
#include <tools/simulate/scan_writer.hpp>

#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>

#include "scratch_folder.hpp"

namespace annulus {
namespace {

namespace fs = std::filesystem;
using testing::ScratchFolder;

SimulationOptions small_phantom() {
  SimulationOptions options;
  options.detector = "Pilatus100k";
  options.phantom.emplace();
  options.phantom->name = "inclusions";
  options.phantom->voxels = 6;
  options.phantom->angles = 4;
  options.phantom->zigzag = true;
  options.phantom->jitter = 0.3;
  options.phantom->missing = 0.2;
  return options;
}

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(PhantomScan, HasAFrameForEveryPointThatWasMeasured) {
  const PowderScan scan(small_phantom());
  ASSERT_NE(scan.phantom(), nullptr);
  EXPECT_EQ(scan.frames(), scan.phantom()->points().size());
  EXPECT_LT(scan.frames(), 24u);
  EXPECT_THROW(scan.frame(scan.frames()), Error);
  SimulationOptions without = small_phantom();
  without.phantom.reset();
  EXPECT_EQ(PowderScan(without).phantom(), nullptr);
}

TEST(PhantomScan, ExpectsTheMonitorTimesThePhasesOnTheWay) {
  const PowderScan scan(small_phantom());
  const PhantomPattern& sample = *scan.phantom();
  for (std::uint64_t frame = 0; frame < scan.frames(); ++frame) {
    const Phantom::Paths paths = sample.paths(frame);
    EXPECT_GT(sample.monitor(frame), 0.96);
    EXPECT_LE(sample.monitor(frame), 1);
    for (double two_theta = 0.1; two_theta < 0.7; two_theta += 0.0137) {
      const double x = std::sin(two_theta / 2);
      double sum = sample.background(x);
      for (std::size_t phase = 0; phase < 3; ++phase) sum += paths.scattering[phase] * sample.pure(phase, x);
      EXPECT_NEAR(scan.expected_pattern(two_theta, frame), sum * sample.monitor(frame), 1e-9);
    }
  }
}

// Pixels of a ring's neighbourhood together, in which counting noise is small.
TEST(PhantomScan, CountsWhatIsExpected) {
  SimulationOptions options = small_phantom();
  options.polarization.reset();
  const PowderScan scan(options);
  const Geometry& geometry = scan.geometry();
  double worst = 0;
  for (std::uint64_t frame = 0; frame < scan.frames(); frame += 5) {
    const Image<std::int32_t> image = scan.frame(frame);
    double counts = 0;
    double expected = 0;
    for (std::uint32_t row = 0; row < image.shape.rows; ++row) {
      for (std::uint32_t col = 0; col < image.shape.cols; ++col) {
        if (image.at(row, col) < 0) continue;
        const double p1 = (row + 0.5) * geometry.detector.pixel1 - geometry.poni1;
        const double p2 = (col + 0.5) * geometry.detector.pixel2 - geometry.poni2;
        const double radius = std::hypot(p1, p2);
        const double cosine = geometry.distance / std::hypot(radius, geometry.distance);
        counts += image.at(row, col);
        expected += scan.expected_pattern(std::atan2(radius, geometry.distance), frame) * std::pow(cosine, 3);
      }
    }
    worst = std::max(worst, std::fabs(counts - expected) / std::sqrt(expected));
  }
  EXPECT_LT(worst, 4.5);
}

TEST(PhantomScan, BrightestRingHasItsCountsAlongTheLongestDiameter) {
  SimulationOptions options = small_phantom();
  options.phantom->name = "empty";
  options.phantom->discs = {disc_from_text("Au,0,0,0.5,0.7"), disc_from_text("CeO2,0.8,0,0.1")};
  options.phantom->positions = 1;
  options.phantom->angles = 1;
  options.phantom->jitter = options.phantom->missing = 0;
  options.beam_variation = 0;
  options.background = 0;
  const PowderScan scan(options);
  double highest = 0;
  for (double two_theta = 0.05; two_theta < 0.76; two_theta += 1e-4)
    highest = std::max(highest, scan.expected_pattern(two_theta, 0));
  EXPECT_NEAR(highest, options.ring_counts, 0.01 * options.ring_counts);
}

TEST(PhantomScan, DependsOnTheSeedAndNotOnThreads) {
  SimulationOptions options = small_phantom();
  options.threads = 1;
  const PowderScan one(options);
  options.threads = 4;
  const PowderScan four(options);
  EXPECT_EQ(one.frame(7).pixels, four.frame(7).pixels);
  options.seed = 2;
  EXPECT_NE(PowderScan(options).frame(0).pixels, one.frame(0).pixels);
}

// Computed once and kept: scans must not change from machine to machine, and from version to version only on
// purpose.
TEST(PhantomScan, HasTheBytesItHasOnEveryMachine) {
  SimulationOptions options = small_phantom();
  options.phantom->absorption = true;
  const PowderScan scan(options);
  Sha256 sum;
  sum.add_array(scan.frame(2).pixels);
  sum.add_array(scan.frame(9).pixels);
  EXPECT_EQ(sum.finish(), "8b89c4f614e95666a4fccf2bef44088610ecc0b625e939542cb2c86431e71ff0");
}

TEST(PhantomScan, AbsorptionWeakensTheFrames) {
  SimulationOptions options = small_phantom();
  const PowderScan clear(options);
  options.phantom->absorption = true;
  const PowderScan absorbed(options);
  ASSERT_EQ(absorbed.phantom()->attenuation().size(), 3u);
  EXPECT_NEAR(absorbed.phantom()->attenuation()[2], 198.9, 0.1);  // gold at 18 keV
  bool weaker = false;
  for (std::uint64_t frame = 0; frame < clear.frames(); ++frame) {
    const double full = clear.expected_pattern(0.3, frame);
    EXPECT_LE(absorbed.expected_pattern(0.3, frame), full);
    weaker = weaker || absorbed.phantom()->paths(frame).transmission < 0.99;
  }
  EXPECT_TRUE(weaker);
  options.energy_kev = 200;
  EXPECT_THROW(PowderScan{options}, Error);
}

TEST(PhantomScan, FilesDoNotDependOnThreads) {
  const ScratchFolder scratch;
  SimulationOptions options = small_phantom();
  for (const ScanFormat format : {ScanFormat::kCbf, ScanFormat::kHdf5, ScanFormat::kEiger}) {
    std::vector<ScanFiles> written;
    for (const unsigned threads : {1u, 4u}) {
      options.threads = threads;
      ScanOutput output;
      output.folder = scratch.path() / name_of(format) / std::to_string(threads);
      output.format = format;
      output.threads = threads;
      written.push_back(write_scan(PowderScan(options), output));
    }
    ASSERT_EQ(written[0].frames.size(), written[1].frames.size());
    for (std::size_t i = 0; i < written[0].frames.size(); ++i)
      EXPECT_TRUE(bytes_of(written[0].frames[i]) == bytes_of(written[1].frames[i])) << written[0].frames[i];
    EXPECT_EQ(bytes_of(*written[0].columns), bytes_of(*written[1].columns));
    EXPECT_TRUE(bytes_of(*written[0].truth) == bytes_of(*written[1].truth));
  }
}

TEST(PhantomScan, ColumnsReadBackAsTheyWere) {
  const ScratchFolder scratch;
  const PowderScan scan(small_phantom());
  const fs::path path = scratch.path() / "scan.csv";
  write_columns(path, *scan.phantom());
  std::istringstream lines(bytes_of(path));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "frame,translation [mm],angle [deg],monitor,time [s]");
  std::uint64_t frame = 0;
  for (; std::getline(lines, line); ++frame) {
    std::istringstream values(line);
    double value[5];
    char comma = 0;
    values >> value[0] >> comma >> value[1] >> comma >> value[2] >> comma >> value[3] >> comma >> value[4];
    const ScanPoint& point = scan.phantom()->points()[frame];
    EXPECT_EQ(value[0], static_cast<double>(frame));
    EXPECT_EQ(value[1], point.translation);
    EXPECT_EQ(value[2], point.angle);
    EXPECT_EQ(value[3], scan.phantom()->monitor(frame));
    EXPECT_EQ(value[4], point.time);
  }
  EXPECT_EQ(frame, scan.frames());
}

TEST(PhantomScan, DoesNotReplaceItsFilesUnlessTold) {
  const ScratchFolder scratch;
  const PowderScan scan(small_phantom());
  for (const char* name : {"scan.csv", "scan_phantom.nxs"}) {
    ScanOutput output;
    output.folder = scratch.path() / (std::string(name) + "_folder");
    fs::create_directories(output.folder);
    std::ofstream(output.folder / name) << "precious";
    try {
      write_scan(scan, output);
      ADD_FAILURE() << name << " was replaced";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kOutput);
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
    }
    EXPECT_EQ(bytes_of(output.folder / name), "precious");
    EXPECT_FALSE(fs::exists(output.folder / "scan.poni"));
    output.overwrite = true;
    write_scan(scan, output);
    EXPECT_NE(bytes_of(output.folder / name), "precious");
  }
}

}  // namespace
}  // namespace annulus
