#include <annulus/core/error.hpp>
#include <annulus/plan/validity.hpp>

#include <gtest/gtest.h>

#include <limits>

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

TEST(Validity, UsersDummyIsComparedByValueWhateverTheType) {
  IntegrationOptions options;
  options.dummy = -2;
  options.delta_dummy = 3;
  for (const PixelType type :
       {PixelType::kI8, PixelType::kU8, PixelType::kI16, PixelType::kU16, PixelType::kI32, PixelType::kU32}) {
    const Validity validity = validity_of(type, true, options);
    EXPECT_FALSE(validity.accepts(0)) << name_of(type);
    EXPECT_FALSE(validity.accepts(1)) << name_of(type);
    EXPECT_TRUE(validity.accepts(2)) << name_of(type);
  }
  const Validity u16 = validity_of(PixelType::kU16, true, options);
  EXPECT_TRUE(u16.accepts(65534)) << "-2 is not that value";
  EXPECT_FALSE(u16.accepts(65535)) << "which is never a count";
  options.delta_dummy = 1.5;
  EXPECT_TRUE(validity_of(PixelType::kU32, true, options).accepts(0)) << "nothing unsigned is near -2";
}

TEST(Validity, TheTopValueOfAnUnsignedTypeIsNeverACount) {
  for (const bool dectris : {false, true}) {
    EXPECT_FALSE(validity_of(PixelType::kU8, dectris).accepts(255));
    EXPECT_FALSE(validity_of(PixelType::kU16, dectris).accepts(65535));
    EXPECT_FALSE(validity_of(PixelType::kU32, dectris).accepts(4294967295));
  }
  EXPECT_TRUE(validity_of(PixelType::kU8, false).accepts(254));
  EXPECT_TRUE(validity_of(PixelType::kU16, false).accepts(65534));
  EXPECT_TRUE(validity_of(PixelType::kU32, false).accepts(4294967294));
  EXPECT_TRUE(validity_of(PixelType::kI8, false).accepts(127));
  EXPECT_TRUE(validity_of(PixelType::kI16, false).accepts(32767));
  IntegrationOptions options;
  options.max_count = 65535;
  EXPECT_FALSE(validity_of(PixelType::kU16, false, options).accepts(65535)) << "not even if allowed";
  EXPECT_TRUE(validity_of(PixelType::kI32, false, options).accepts(65535));
}

TEST(Validity, ValuesThatAreJudgedOnTheHostHaveTheSameLimit) {
  EXPECT_EQ(largest_value({}, PixelType::kU16), 65534);
  EXPECT_EQ(largest_value(1000, PixelType::kU16), 1000);
  EXPECT_EQ(largest_value({}, PixelType::kU64), std::numeric_limits<std::uint64_t>::max() - 1);
  EXPECT_EQ(largest_value((std::int64_t{1} << 53) + 1, PixelType::kI64), (std::int64_t{1} << 53) + 1);
  EXPECT_EQ(largest_value(1000, PixelType::kU64), 1000);
  EXPECT_EQ(largest_value({}, PixelType::kF32), std::nullopt);
  EXPECT_EQ(largest_value(1000, PixelType::kF32), 1000);
}

TEST(Validity, SaturationComesFromTheUserThenTheFileThenTheType) {
  IntegrationOptions options;
  EXPECT_EQ(validity_of(PixelType::kI32, true, options, 1048500).max_count, 1048500);
  options.max_count = 500;
  EXPECT_EQ(validity_of(PixelType::kI32, true, options, 1048500).max_count, 500);
  EXPECT_EQ(validity_of(PixelType::kU16, true).max_count, 65534);
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

TEST(Validity, ADummyIsTheValueThatThePixelsHoldWhichMeanIt) {
  IntegrationOptions options;
  options.dummy = 0.1;
  EXPECT_EQ(effective_dummy(options, {}, PixelType::kF32)->value, 0.1f);
  EXPECT_EQ(effective_dummy(options, {}, PixelType::kF64)->value, 0.1);
  options.dummy = 1e300;  // which no float32 is near
  EXPECT_EQ(effective_dummy(options, {}, PixelType::kF32)->value, 1e300);
  options.dummy = static_cast<double>(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(effective_dummy(options, {}, PixelType::kI64)->value, std::numeric_limits<std::int64_t>::max());
  Detector dectris;
  dectris.dectris = true;
  EXPECT_EQ(effective_dummy({}, dectris, PixelType::kU64)->value,
            std::numeric_limits<std::uint64_t>::max() - 1);
}

}  // namespace
}  // namespace annulus
