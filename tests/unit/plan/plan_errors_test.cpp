// Every option that cannot be honoured is refused with a message that says where and what to do.
#include <annulus/core/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "plan_fixtures.hpp"
#include "sanitized.hpp"

namespace annulus::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Request {
  Shape shape{20, 20};
  Geometry geometry = small_geometry(shape);
  IntegrationOptions options;
  PixelMaps maps;
  FrameProperties frames{"frame.cbf", Shape{20, 20}};
};

std::string message_of(const Request& request, ErrorKind kind) {
  try {
    build_plan(request.geometry, request.options, request.maps, request.frames);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    return error.what();
  }
  return "no error";
}

TEST(PlanErrors, ZeroBins) {
  Request request;
  request.options.bins = 0;
  EXPECT_THAT(message_of(request, ErrorKind::kPlan), AllOf(HasSubstr("`npt`"), HasSubstr("0 bins")));
}

TEST(PlanErrors, QWithoutWavelength) {
  Request request;
  request.geometry.wavelength.reset();
  request.options.unit = Unit::kQPerA;
  EXPECT_THAT(message_of(request, ErrorKind::kGeometry), AllOf(HasSubstr("wavelength"), HasSubstr("q_A^-1")));
}

TEST(PlanErrors, FrameOfAnotherShapeThanTheDetector) {
  Request request;
  request.geometry.detector.shape = Shape{30, 20};
  EXPECT_THAT(message_of(request, ErrorKind::kInput),
              AllOf(HasSubstr("frame.cbf"), HasSubstr("20 x 20"), HasSubstr("30 x 20")));
}

TEST(PlanErrors, MapsOfAnotherShape) {
  Request request;
  request.maps.mask = Mask{{10, 20}, std::vector<std::uint8_t>(200)};
  EXPECT_THAT(message_of(request, ErrorKind::kInput), AllOf(HasSubstr("mask"), HasSubstr("10 x 20")));
  request.maps.mask.reset();
  request.maps.dark = Image<double>{{20, 21}, std::vector<double>(420)};
  EXPECT_THAT(message_of(request, ErrorKind::kInput), AllOf(HasSubstr("dark"), HasSubstr("20 x 21")));
  request.maps.dark.reset();
  request.maps.flat = Image<double>{{1, 400}, std::vector<double>(400)};
  EXPECT_THAT(message_of(request, ErrorKind::kInput), HasSubstr("flat"));
}

TEST(PlanErrors, EverythingMasked) {
  Request request;
  request.maps.mask = Mask{request.shape, std::vector<std::uint8_t>(400, 1)};
  EXPECT_THAT(message_of(request, ErrorKind::kPlan), HasSubstr("every pixel is masked"));
}

TEST(PlanErrors, RangesThatMissTheDetectorOrAreEmpty) {
  Request request;
  request.options.radial_range = Range{100, 120};
  EXPECT_THAT(message_of(request, ErrorKind::kPlan), HasSubstr("no pixel"));
  request.options.radial_range = Range{3, 2};
  EXPECT_THAT(message_of(request, ErrorKind::kPlan), HasSubstr("`radial_range`"));
  request.options.radial_range = Range{0, std::numeric_limits<double>::infinity()};
  EXPECT_THAT(message_of(request, ErrorKind::kPlan), HasSubstr("`radial_range`"));
}

TEST(PlanErrors, PolarizationOutOfBounds) {
  Request request;
  request.options.polarization = 1.5;
  EXPECT_THAT(message_of(request, ErrorKind::kPlan), HasSubstr("`polarization`"));
}

// Most of the detector is in one bin; the other has a few pixels of a corner, for which 9 bits are too
// coarse.
TEST(PlanErrors, SharesThatBecomeTooCoarseNameTheBinAndTheLimit) {
  Request request;
  request.shape = request.frames.shape = Shape{2100, 2100};
  request.geometry = small_geometry(request.shape);
  request.frames.type = PixelType::kU32;
  request.options.bins = 2;
  request.options.unit = Unit::kRadiusMm;
  request.options.radial_range = Range{0, 2 * 148.4};
  EXPECT_THAT(message_of(request, ErrorKind::kPlan),
              AllOf(HasSubstr("bin 0"), HasSubstr("4409997"), HasSubstr("4294967294"), HasSubstr("8 bits"),
                    HasSubstr("bin 1"), HasSubstr("`max_count`")));
  for (const auto& change : {+[](IntegrationOptions& options) { options.max_count = 1000000; },
                             +[](IntegrationOptions& options) { options.splitting = Splitting::kNo; }}) {
    Request other = request;
    change(other.options);
    EXPECT_EQ(message_of(other, ErrorKind::kPlan), "no error");
  }
}

// Few and large bins: hardly a pixel is shared, and what a bin gets is right to far less than its noise.
TEST(Plan, MillionsOfPixelsInAFewBinsOfTheLargestCountsAreSummed) {
  Request request;
  request.shape = request.frames.shape = Shape{2167, 2070};
  request.geometry = small_geometry(request.shape);
  struct Few {
    PixelType type;
    std::uint32_t bins;
    Splitting splitting;
  };
  for (const Few few :
       {Few{PixelType::kI32, 1, Splitting::kBoundingBox}, Few{PixelType::kU32, 2, Splitting::kNo},
        Few{PixelType::kU32, 2, Splitting::kBoundingBox}, Few{PixelType::kU32, 16, Splitting::kBoundingBox},
        Few{PixelType::kU32, 16, Splitting::kFull}}) {
    if (kSanitized && few.splitting != Splitting::kFull) continue;
    request.frames.type = few.type;
    request.options.bins = few.bins;
    request.options.splitting = few.splitting;
    request.options.max_count.reset();
    const Plan plan = build_plan(request.geometry, request.options, {}, request.frames);
    EXPECT_LT(plan.weight_bits, 12);
    const std::int64_t fullest = *std::ranges::max_element(plan.totals.count);
    EXPECT_LE(fullest, std::numeric_limits<std::int64_t>::max() / plan.validity.max_count);
    EXPECT_EQ(std::accumulate(plan.totals.count.begin(), plan.totals.count.end(), std::int64_t{0}),
              static_cast<std::int64_t>(request.shape.size()) << plan.weight_bits);
    // The same bins with all bits.
    request.options.max_count = 1000;
    const Plan fine = build_plan(request.geometry, request.options, {}, request.frames);
    EXPECT_EQ(fine.weight_bits, 23);
    for (std::uint32_t bin = 0; bin < few.bins; ++bin) {
      const double coarse_count = std::ldexp(static_cast<double>(plan.totals.count[bin]), -plan.weight_bits);
      const double fine_count = std::ldexp(static_cast<double>(fine.totals.count[bin]), -fine.weight_bits);
      EXPECT_NEAR(coarse_count, fine_count, fine_count / 4096) << few.bins << ", bin " << bin;
    }
  }
}

// At grazing incidence the solid angle falls by orders of magnitude from the PONI outwards. The bins that
// hold most pixels are those with the smallest values.
TEST(Plan, AFlatAtGrazingIncidenceKeepsItsPrecision) {
  Request request;
  request.shape = request.frames.shape = Shape{1043, 981};
  request.geometry = small_geometry(request.shape);
  request.geometry.detector.pixel1 = request.geometry.detector.pixel2 = 172e-6;
  request.geometry.poni1 = 0.09;
  request.geometry.poni2 = 0.08;
  request.frames.max_count = 1000000;
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> efficiency(0.5, 1.7);
  request.maps.flat = Image<double>{request.shape, std::vector<double>(request.shape.size())};
  for (double& value : request.maps.flat->pixels) value = efficiency(random);
  for (const double distance : {0.01, 0.005}) {
    for (const std::uint32_t bins : {100u, 1000u, 3000u}) {
      request.geometry.distance = distance;
      request.options.bins = bins;
      EXPECT_EQ(message_of(request, ErrorKind::kPlan), "no error") << distance << ", " << bins;
    }
  }
}

TEST(Plan, PixelsWithoutAFlatOrADarkContributeToNothing) {
  Request request;
  request.maps.flat = Image<double>{request.shape, std::vector<double>(400, 1.0)};
  request.maps.dark = Image<double>{request.shape, std::vector<double>(400, 0.0)};
  request.maps.flat->pixels[7] = 0;
  request.maps.flat->pixels[8] = std::numeric_limits<double>::quiet_NaN();
  request.maps.dark->pixels[9] = std::numeric_limits<double>::infinity();
  const Plan plan = build_plan(request.geometry, request.options, request.maps, request.frames);
  for (const std::size_t pixel : {7, 8, 9}) EXPECT_EQ(plan.matrix.first[pixel], plan.matrix.first[pixel + 1]);
  EXPECT_EQ(pixels_in_use(plan), 397u);
}

TEST(PlanErrors, MoreEntriesThanAPlanMayHold) {
  Request request;
  request.shape = Shape{60, 60};
  request.geometry = small_geometry(request.shape);
  request.frames.shape = request.shape;
  request.options.bins = 4;
  request.options.azimuth_bins = 1u << 22;
  for (const Splitting splitting : {Splitting::kBoundingBox, Splitting::kFull}) {
    request.options.splitting = splitting;
    EXPECT_THAT(message_of(request, ErrorKind::kPlan),
                AllOf(HasSubstr("`npt`, `npt_azim`: "), HasSubstr("4 x 4194304 = 16777216 bins"),
                      HasSubstr("more than the 67108864"), HasSubstr("ask for fewer bins")));
  }
  request.options.splitting = Splitting::kNo;
  EXPECT_EQ(message_of(request, ErrorKind::kPlan), "no error");

  request.options = {};
  request.options.bins = 1u << 20;
  request.shape = request.frames.shape = Shape{256, 256};
  request.geometry = small_geometry(request.shape);
  for (const Splitting splitting : {Splitting::kBoundingBox, Splitting::kFull}) {
    request.options.splitting = splitting;
    EXPECT_THAT(message_of(request, ErrorKind::kPlan),
                AllOf(HasSubstr("`npt`: "), HasSubstr("1048576 bins")));
  }
}

TEST(PlanErrors, EntriesOfPixelsOutsideTheRangesDoNotCount) {
  // As above, but only a sector of the detector is asked for.
  Request request;
  request.shape = request.frames.shape = Shape{256, 256};
  request.geometry = small_geometry(request.shape);
  request.options.bins = 1u << 20;
  request.options.azimuth_range = Range{10, 12};
  EXPECT_EQ(message_of(request, ErrorKind::kPlan), "no error");
}

}  // namespace
}  // namespace annulus::testing
