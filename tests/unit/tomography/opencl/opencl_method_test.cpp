// Back-projection on an OpenCL device, by kernels that look at every index they use, beside the direct way.
#include <annulus/tomography/opencl_method.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <thread>

#include "message_of.hpp"
#include "phantom.hpp"

namespace annulus {
namespace {

using opencl::ItemLanes;
using opencl::ProjectorSettings;
using ::testing::AllOf;
using ::testing::HasSubstr;

class OpenClMethodTest : public ::testing::Test {
 protected:
  void SetUp() override { setenv("ANNULUS_OPENCL_CHECK_BOUNDS", "1", 1); }
};

FbpOptions by(FbpWay way, Filter filter = Filter::kRamp,
              Interpolation interpolation = Interpolation::kLinear) {
  FbpOptions options;
  options.way = way;
  options.filter = filter;
  options.interpolation = interpolation;
  return options;
}

Tomogram empty_tomogram(std::size_t size, std::size_t bins) {
  Tomogram tomogram(size, bins);
  std::ranges::fill(tomogram.values, std::numeric_limits<float>::quiet_NaN());  // all of it must be written
  return tomogram;
}

Tomogram reconstruct_as(const ProjectorSettings& settings, const ScanGeometry& scan, const Sinogram& sinogram,
                        const FbpOptions& options) {
  const std::size_t size = checked_size(scan, options.size);
  Tomogram tomogram = empty_tomogram(size, sinogram.bins);
  make_opencl_method(scan, options, size, settings)->reconstruct(sinogram.view(), tomogram.view(), {});
  return tomogram;
}

void expect_same_bytes(const Tomogram& found, const Tomogram& expected) {
  ASSERT_EQ(found.values.size(), expected.values.size());
  for (std::size_t i = 0; i < found.values.size(); ++i) {
    ASSERT_EQ(std::memcmp(&found.values[i], &expected.values[i], sizeof(float)), 0)
        << "bin " << i % found.bins << " of pixel " << i / found.bins << " of " << found.size << " x "
        << found.size << ": " << found.values[i] << ", directly " << expected.values[i];
  }
}

std::vector<double> uneven_angles(std::size_t count, std::uint64_t seed) {
  Noise noise(seed);
  std::vector<double> angles(count);
  for (double& angle : angles) angle = 20 * noise() - 10;
  return angles;
}

// Of both signs and many magnitudes.
Sinogram rough_sinogram(const ScanGeometry& scan, std::size_t bins, std::uint64_t seed) {
  Sinogram sinogram(scan.angles.size(), scan.positions, bins);
  Noise noise(seed);
  for (float& value : sinogram.values)
    value = static_cast<float>((noise() - 0.4) * std::exp(20 * noise() - 10));
  return sinogram;
}

TEST_F(OpenClMethodTest, GivesTheBytesOfTheDirectWay) {
  struct Case {
    std::size_t angles, positions;
    double axis;
    std::size_t size, bins;
  };
  const std::vector<Case> cases = {{2, 2, 0.5, 0, 1},         // the least there is
                                   {7, 16, 8, 0, 64},         // a tile of the CPU, a group of lanes
                                   {9, 15, 6.3, 17, 65},      // one pixel and one bin more than those
                                   {37, 61, 28.7, 0, 70},     // odd
                                   {23, 40, 19.5, 64, 3},     // a field of view that is wider than the scan
                                   {31, 50, 0, 33, 130},      // an axis at the edge
                                   {12, 129, 77.77, 48, 21},  // and a narrow one
                                   {128, 14, 7, 0, 2},        // angles come by 64
                                   {129, 19, 9.2, 0, 5}};
  std::uint64_t seed = 0;
  for (const Case& each : cases) {
    const ScanGeometry scan{uneven_angles(each.angles, ++seed), each.positions, each.axis};
    const Sinogram sinogram = rough_sinogram(scan, each.bins, seed);
    for (const Filter filter : {Filter::kRamp, Filter::kHann, Filter::kSheppLogan, Filter::kNone}) {
      for (const Interpolation interpolation : {Interpolation::kLinear, Interpolation::kBandLimited}) {
        if (interpolation == Interpolation::kBandLimited && filter == Filter::kSheppLogan) continue;
        SCOPED_TRACE(::testing::Message()
                     << each.positions << " positions, " << name_of(filter)
                     << (interpolation == Interpolation::kLinear ? "" : ", band-limited"));
        FbpOptions here = by(FbpWay::kDirect, filter, interpolation);
        FbpOptions there = by(FbpWay::kOpenCl, filter, interpolation);
        here.size = there.size = each.size;
        expect_same_bytes(reconstruct(scan, sinogram, there), reconstruct(scan, sinogram, here));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(OpenClMethodTest, GivesTheSameBytesAsOtherDevicesDivideTheWork) {
  const ScanGeometry scan{uneven_angles(70, 11), 41, 17.2};
  const Sinogram sinogram = rough_sinogram(scan, 150, 12);
  for (const Interpolation interpolation : {Interpolation::kLinear, Interpolation::kBandLimited}) {
    const Tomogram expected = reconstruct(scan, sinogram, by(FbpWay::kDirect, Filter::kRamp, interpolation));
    const FbpOptions options = by(FbpWay::kOpenCl, Filter::kRamp, interpolation);
    for (const ItemLanes lanes : {ItemLanes{4, 1}, ItemLanes{8, 4}, ItemLanes{16, 1}, ItemLanes{16, 4}}) {
      // Bands of one row, of some rows and all at once; memory of the device alone, and too little for many
      // bins.
      for (const std::uint64_t memory : {std::uint64_t{0}, std::uint64_t{2} << 20U}) {
        if (memory > 0 && lanes.count() > 32) continue;
        for (const std::uint64_t table : {std::uint64_t{1}, std::uint64_t{200000}, std::uint64_t{1} << 30U}) {
          SCOPED_TRACE(::testing::Message() << lanes.width << " x " << lanes.vectors << ", memory " << memory
                                            << ", table " << table);
          ProjectorSettings settings;
          settings.check_bounds = true;
          settings.unified = false;
          settings.lanes = lanes;
          settings.memory = memory;
          settings.table_bytes = table;
          Tomogram found = reconstruct_as(settings, scan, sinogram, options);
          expect_same_bytes(found, expected);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_F(OpenClMethodTest, KeepsTheSmallestNumbers) {
  const ScanGeometry scan{uneven_angles(20, 21), 30, 14.4};
  Sinogram sinogram = rough_sinogram(scan, 40, 22);
  Noise noise(23);
  for (float& value : sinogram.values) value = static_cast<float>(value * std::exp2(-128 - 15 * noise()));
  const Tomogram expected = reconstruct(scan, sinogram, by(FbpWay::kDirect));
  const auto tiny = [](float value) { return std::fpclassify(value) == FP_SUBNORMAL; };
  EXPECT_GT(std::ranges::count_if(sinogram.values, tiny), 100);
  EXPECT_GT(std::ranges::count_if(expected.values, tiny), 10);
  expect_same_bytes(reconstruct(scan, sinogram, by(FbpWay::kOpenCl)), expected);
}

TEST_F(OpenClMethodTest, CarriesWhatOverflowsAsTheDirectWayDoes) {
  const ScanGeometry scan{uneven_angles(20, 25), 30, 14.4};
  Sinogram sinogram = rough_sinogram(scan, 5, 26);
  for (float& value : sinogram.values) value = std::copysign(3e38F, value);
  const Tomogram expected = reconstruct(scan, sinogram, by(FbpWay::kDirect, Filter::kNone));
  EXPECT_GT(std::ranges::count_if(expected.values, [](float value) { return std::isinf(value); }), 10);
  const Tomogram found = reconstruct(scan, sinogram, by(FbpWay::kOpenCl, Filter::kNone));
  for (std::size_t i = 0; i < found.values.size(); ++i) {
    if (std::isnan(expected.values[i])) {
      ASSERT_TRUE(std::isnan(found.values[i])) << i;  // which one is not defined
    } else {
      ASSERT_EQ(found.values[i], expected.values[i]) << i;
    }
  }
}

TEST_F(OpenClMethodTest, SharesBinsAmongDevices) {
  const ScanGeometry scan{uneven_angles(21, 31), 33, 16};
  const Sinogram sinogram = rough_sinogram(scan, 1000, 32);
  FbpOptions two = by(FbpWay::kOpenCl);
  two.device = "0,0";
  expect_same_bytes(reconstruct(scan, sinogram, two), reconstruct(scan, sinogram, by(FbpWay::kDirect)));
}

TEST_F(OpenClMethodTest, ServesThreadsAtTheSameTime) {
  const ScanGeometry scan{uneven_angles(21, 35), 33, 15.1};
  const Sinogram sinogram = rough_sinogram(scan, 200, 36);
  const Tomogram expected = reconstruct(scan, sinogram, by(FbpWay::kDirect));
  const FilteredBackProjection reconstruction(scan, by(FbpWay::kOpenCl));
  std::vector<Tomogram> found(3, empty_tomogram(33, 200));
  {
    std::vector<std::jthread> threads;
    for (Tomogram& each : found)
      threads.emplace_back([&] { reconstruction.reconstruct(sinogram.view(), each.view()); });
  }
  for (const Tomogram& each : found) expect_same_bytes(each, expected);
}

TEST_F(OpenClMethodTest, ABlockOfBinsIsAsInTheWholeAndLeavesTheOthersAlone) {
  const ScanGeometry scan{uneven_angles(20, 41), 40, 19.5};
  const Sinogram sinogram = rough_sinogram(scan, 150, 42);
  const Tomogram expected = reconstruct(scan, sinogram, by(FbpWay::kDirect));
  const FilteredBackProjection reconstruction(scan, by(FbpWay::kOpenCl));
  EXPECT_EQ(reconstruction.way(), FbpWay::kOpenCl);
  EXPECT_EQ(name_of(reconstruction.way()), "opencl");
  Tomogram found = empty_tomogram(40, 150);
  reconstruction.reconstruct(sinogram.view().bins_from(30, 71), found.view().bins_from(30, 71));
  for (std::size_t i = 0; i < found.values.size(); ++i) {
    const bool inside = i % 150 >= 30 && i % 150 < 101;
    ASSERT_EQ(std::isnan(found.values[i]), !inside) << i;
    if (!inside) continue;
    ASSERT_EQ(found.values[i], expected.values[i]) << i;
  }
}

TEST_F(OpenClMethodTest, CountsBuffersInMemoryOfTheHost) {
  const ScanGeometry scan{uneven_angles(20, 41), 40, 19.5};
  ProjectorSettings settings;
  settings.unified = true;
  const std::size_t shared = make_opencl_method(scan, by(FbpWay::kOpenCl), 40, settings)->scratch_bytes();
  EXPECT_GT(shared, 20 * (40 + 44) * 64 * sizeof(float));  // sinogram and filtered projections of 64 bins
  EXPECT_LT(shared, 2 * 20 * (40 + 44) * 64 * sizeof(float) + 40 * 40 * (20 * 12 + 64 * 4));
  settings.unified = false;
  EXPECT_EQ(make_opencl_method(scan, by(FbpWay::kOpenCl), 40, settings)->scratch_bytes(), 0);
}

TEST_F(OpenClMethodTest, RefusesOtherArithmetic) {
  const ScanGeometry scan{uneven_angles(10, 51), 20, 9.5};
  const auto refused = [&](const std::string& preamble, const std::string& build_options) {
    ProjectorSettings settings;
    settings.preamble = preamble;
    settings.build_options = build_options;
    return message_of(ErrorKind::kBackend,
                      [&] { make_opencl_method(scan, by(FbpWay::kOpenCl), 20, settings); });
  };
  EXPECT_THAT(refused("#define fma(a, b, c) ((a) * (b) + (c))\n", ""),
              AllOf(HasSubstr("OpenCL device 0:0"), HasSubstr("it does not compute as the CPU does"),
                    HasSubstr("rounded once"), HasSubstr("take the direct way")));
  EXPECT_THAT(refused("", "-cl-denorms-are-zero"), HasSubstr("it does not compute as the CPU does"));
}

TEST_F(OpenClMethodTest, RefusesWhatADeviceHasNoRoomFor) {
  const ScanGeometry scan{uneven_angles(200, 61), 200, 99};
  FbpOptions options = by(FbpWay::kOpenCl);
  options.device_memory = 1;
  EXPECT_THAT(
      message_of(ErrorKind::kBackend, [&] { FilteredBackProjection(scan, options); }),
      AllOf(HasSubstr("OpenCL device 0:0"), HasSubstr("it has 1048576"), HasSubstr("`device_memory`")));
}

TEST_F(OpenClMethodTest, RefusesOptionsThatAreNotMeant) {
  const ScanGeometry scan{uneven_angles(10, 71), 20, 9.5};
  const auto refused = [&](ErrorKind kind, FbpWay way, const std::string& device, std::uint64_t memory) {
    FbpOptions options = by(way);
    options.device = device;
    options.device_memory = memory;
    return message_of(kind, [&] { FilteredBackProjection(scan, options); });
  };
  EXPECT_THAT(refused(ErrorKind::kUsage, FbpWay::kDirect, "0:0", 0),
              HasSubstr("`device`: it means nothing to the direct way"));
  EXPECT_THAT(refused(ErrorKind::kUsage, FbpWay::kDirect, "0", 5),
              HasSubstr("`device_memory`: it means nothing to the direct way"));
  EXPECT_THAT(refused(ErrorKind::kUsage, FbpWay::kOpenCl, "0", std::uint64_t{1} << 60U),
              HasSubstr("`device_memory`"));
  EXPECT_THAT(refused(ErrorKind::kBackend, FbpWay::kOpenCl, "no such thing", 0),
              HasSubstr("there is no OpenCL device 'no such thing'"));
}

}  // namespace
}  // namespace annulus
