#include <annulus/core/error.hpp>
#include <annulus/plan/validity.hpp>

#include <gtest/gtest.h>

namespace annulus {
namespace {

Validity validity_of(PixelType type, bool dectris, const IntegrationOptions& options = {},
                     std::optional<std::int64_t> file_limit = {}) {
  Detector detector;
  detector.dectris = dectris;
  return make_validity(options, detector, {"test", Shape{1, 1}, type, file_limit});
}

TEST(Validity, DectrisFramesMarkInvalidPixelsWithTheValuesAroundMinusTwo) {
  const Validity i32 = validity_of(PixelType::kI32, true);
  for (const std::int64_t raw : {-3, -2, -1}) EXPECT_FALSE(i32.accepts(raw)) << raw;
  for (const std::int64_t raw : {-4, 0, 1, 2147483647}) EXPECT_TRUE(i32.accepts(raw)) << raw;

  const Validity u16 = validity_of(PixelType::kU16, true);
  for (const std::int64_t raw : {65533, 65534, 65535}) EXPECT_FALSE(u16.accepts(raw)) << raw;
  EXPECT_TRUE(u16.accepts(65532));

  const Validity u32 = validity_of(PixelType::kU32, true);
  for (const std::int64_t raw : {4294967293, 4294967294, 4294967295}) EXPECT_FALSE(u32.accepts(raw)) << raw;
  EXPECT_TRUE(u32.accepts(4294967292));
}

TEST(Validity, OtherDetectorsHaveNoDummyUnlessAsked) {
  EXPECT_TRUE(validity_of(PixelType::kI32, false).accepts(-2));
  IntegrationOptions options;
  options.dummy = -10;
  EXPECT_FALSE(validity_of(PixelType::kI32, false, options).accepts(-10));
  EXPECT_TRUE(validity_of(PixelType::kI32, false, options).accepts(-9));
  options.delta_dummy = 1.5;
  EXPECT_FALSE(validity_of(PixelType::kI32, false, options).accepts(-9));
  EXPECT_FALSE(validity_of(PixelType::kI32, false, options).accepts(-11));
  EXPECT_TRUE(validity_of(PixelType::kI32, false, options).accepts(-12));
}

TEST(Validity, UsersDummyReplacesTheDetectors) {
  IntegrationOptions options;
  options.dummy = 0;
  const Validity validity = validity_of(PixelType::kI32, true, options);
  EXPECT_FALSE(validity.accepts(0));
  EXPECT_TRUE(validity.accepts(-2));
}

TEST(Validity, SaturationComesFromTheUserThenTheFileThenTheType) {
  IntegrationOptions options;
  EXPECT_EQ(validity_of(PixelType::kI32, true, options, 1048500).max_count, 1048500);
  options.max_count = 500;
  EXPECT_EQ(validity_of(PixelType::kI32, true, options, 1048500).max_count, 500);
  EXPECT_EQ(validity_of(PixelType::kU16, true).max_count, 65535);
  const Validity validity = validity_of(PixelType::kI32, true, options);
  EXPECT_TRUE(validity.accepts(500));
  EXPECT_FALSE(validity.accepts(501));
  EXPECT_FALSE(validity.accepts(-501));  // as far from 0: the proof of no overflow needs both sides
}

TEST(Validity, FramesThatAreQuantisedRejectOnlyTheirMark) {
  const Validity validity = validity_of(PixelType::kF32, true);
  EXPECT_TRUE(validity.accepts(-2));
  EXPECT_TRUE(validity.accepts(kMaxQuantised));
  EXPECT_FALSE(validity.accepts(INT32_MAX));
}

TEST(Validity, RefusesLimitsThatMakeNoSense) {
  IntegrationOptions options;
  options.max_count = 0;
  EXPECT_THROW(validity_of(PixelType::kI32, true, options), Error);
  options.max_count.reset();
  options.delta_dummy = -1;
  EXPECT_THROW(validity_of(PixelType::kI32, true, options), Error);
}

}  // namespace
}  // namespace annulus
