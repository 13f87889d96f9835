#include <annulus/xrd_ct/tomo_options.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "message_of.hpp"

namespace annulus {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;

TomoOptions by_columns() {
  TomoOptions options;
  options.grid.slow = "rot";
  options.grid.fast = "x";
  return options;
}

TEST(TomoOptions, ContradictionsAreRefusedByTheNameOfTheOption) {
  EXPECT_NO_THROW(check_options(by_columns()));
  const auto refusal = [](auto change) {
    TomoOptions options = by_columns();
    change(options);
    return message_of(ErrorKind::kUsage, [&] { check_options(options); });
  };
  EXPECT_THAT(refusal([](TomoOptions& o) { o.grid.fast = ""; }), HasSubstr("`translation`"));
  EXPECT_THAT(refusal([](TomoOptions& o) { o.grid.fast = "rot"; }), HasSubstr("both are column rot"));
  EXPECT_THAT(refusal([](TomoOptions& o) { o.grid.slow = o.grid.fast = ""; }), HasSubstr("`angle_range`"));
  EXPECT_THAT(refusal([](TomoOptions& o) { o.angle_range = 180; }), HasSubstr("`angle_range`"));
  EXPECT_THAT(refusal([](TomoOptions& o) { o.air_use = AirUse::kScale; }), HasSubstr("`air`"));
  EXPECT_THAT(refusal([](TomoOptions& o) { o.memory = 0; }), HasSubstr("`memory`"));
  EXPECT_THAT(refusal([](TomoOptions& o) {
                o.method = TomoMethod::kSirt;
                o.way = FbpWay::kDirect;
              }),
              HasSubstr("`way`: SIRT"));
  EXPECT_THAT(refusal([](TomoOptions& o) {
                o.method = TomoMethod::kSirt;
                o.filter = Filter::kRamp;
              }),
              HasSubstr("`filter`: SIRT"));
  EXPECT_THAT(refusal([](TomoOptions& o) { o.iterations = 300; }), HasSubstr("`iterations`"));
  EXPECT_THAT(refusal([](TomoOptions& o) { o.tolerance = 1e-4; }), HasSubstr("`tolerance`"));
  EXPECT_THAT(refusal([](TomoOptions& o) { o.air_use = AirUse::kSubtract; }), HasSubstr("`air_use`"));
  EXPECT_THAT(refusal([](TomoOptions& o) { o.threads = 1025; }), HasSubstr("`threads`"));
  EXPECT_THAT(refusal([](TomoOptions& o) {
                o.grid.slow = o.grid.fast = "";
                o.angle_range = -3601;
              }),
              HasSubstr("`angle_range`"));
}

TEST(TomoOptions, TextsSayWhatShapesTheResultAndNothingElse) {
  TomoOptions options = by_columns();
  options.windows = {{"Au", {2.5, 2.75}, std::pair(Range{2, 2.25}, Range{3, 3.5})}, {"b", {1, 2}}};
  options.centre = 0.25;
  const auto texts = as_text(options);
  EXPECT_THAT(texts, Contains(Pair("window", "Au=2.5:2.75,2:2.25,3:3.5 b=1:2")));
  EXPECT_THAT(texts, Contains(Pair("centre", "0.25")));
  TomoOptions other = options;
  other.memory = 1;
  other.threads = 3;
  other.overwrite = true;
  EXPECT_EQ(as_text(other), texts);
}

TEST(TomoReport, FactsHaveNoTimesAndNoBlocks) {
  TomoReport report, other;
  other.seconds.reading = 1;
  other.blocks = 3;
  EXPECT_EQ(facts_of(report), facts_of(other));
  EXPECT_FALSE(facts_of(report).contains("centre_uncertainty"));
}

}  // namespace
}  // namespace annulus
