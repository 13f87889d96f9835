#include <annulus/core/error.hpp>
#include <annulus/engine/config.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace annulus {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Config, JsonGoesThereAndBackUnchanged) {
  IntegrateConfig config;
  config.inputs = {"a.cbf", "b.cbf"};
  config.poni = "x.poni";
  config.integration.bins = 321;
  config.integration.unit = Unit::kQPerA;
  config.integration.splitting = Splitting::kFull;
  config.recipe.error_model = ErrorModel::kPoisson;
  config.integration.radial_range = Range{0.5, 7.25};
  config.integration.azimuth_range = Range{170, -170};
  config.integration.azimuth_bins = 36;
  config.integration.chi_discontinuity = 0;
  config.integration.polarization = 0.99;
  config.integration.dummy = -1;
  config.integration.max_count = 12345678901;
  config.no_solid_angle = true;
  config.raw_shape = {3, 4};
  config.format = OutputFormat::kXy;
  IntegrateConfig copy;
  apply_json(to_json(config).dump(), "test", copy);
  EXPECT_EQ(to_json(copy), to_json(config));
  EXPECT_EQ(copy.integration.unit, Unit::kQPerA);
  EXPECT_EQ(copy.integration.azimuth_range, config.integration.azimuth_range);
  EXPECT_EQ(copy.integration.max_count, 12345678901);
  EXPECT_EQ(copy.integration.azimuth_bins, 36u);
  EXPECT_EQ(copy.integration.chi_discontinuity, 0u);
}

TEST(Config, JsonSetsOnlyWhatItNames) {
  IntegrateConfig config;
  config.integration.bins = 7;
  apply_json(R"({"unit": "q_nm^-1"})", "test", config);
  EXPECT_EQ(config.integration.bins, 7u);
  EXPECT_EQ(config.integration.unit, Unit::kQPerNm);
}

struct BadJson {
  const char* text;
  const char* in_message;
};

class BadConfigs : public ::testing::TestWithParam<BadJson> {};

TEST_P(BadConfigs, AreRefusedWithFileAndKey) {
  IntegrateConfig config;
  try {
    apply_json(GetParam().text, "my.json", config);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("my.json"), HasSubstr(GetParam().in_message)));
  }
}

INSTANTIATE_TEST_SUITE_P(Config, BadConfigs,
                         ::testing::Values(BadJson{"{", "not valid JSON"}, BadJson{"[1]", "object"},
                                           BadJson{R"({"ntp": 3})", "ntp"}, BadJson{R"({"npt": "3"})", "npt"},
                                           BadJson{R"({"npt": -3})", "npt"},
                                           BadJson{R"({"npt": 4294967296})", "npt"},
                                           BadJson{R"({"npt": 2.5})", "npt"},
                                           BadJson{R"({"npt_azim": -1})", "npt_azim"},
                                           BadJson{R"({"chi_discontinuity": "pi"})", "chi_discontinuity"},
                                           BadJson{R"({"unit": "parsec"})", "q_A^-1"},
                                           BadJson{R"({"radial_range": [1]})", "radial_range"},
                                           BadJson{R"({"keep_going": 1})", "keep_going"},
                                           BadJson{R"({"inputs": "a"})", "inputs"}));

TEST(Config, EveryOptionHasItsTextExceptTheInputs) {
  IntegrateConfig config;
  config.inputs = {"a"};
  const auto options = as_text(config);
  EXPECT_EQ(options.size() + 1, to_json(config).size());
  EXPECT_THAT(options, ::testing::Contains(::testing::Pair("unit", "2th_deg")));
  EXPECT_THAT(options, ::testing::Contains(::testing::Pair("polarization", "null")));
}

TEST(Config, ContradictionsAreUsageErrors) {
  IntegrateConfig config;
  EXPECT_THROW(check(config), Error);
  config.inputs = {"a.cbf"};
  EXPECT_NO_THROW(check(config)) << "a file may state its geometry itself";
  config.poni = "a.poni";
  EXPECT_NO_THROW(check(config));
  config.follow_timeout = 5;
  EXPECT_THROW(check(config), Error) << "without `follow`";
  EXPECT_FALSE(open_options(config).follow);
  config.follow = true;
  EXPECT_NO_THROW(check(config));
  EXPECT_EQ(open_options(config).follow, 5);
  config.follow_timeout = 0;
  EXPECT_THROW(check(config), Error);
  config.follow_timeout = 5;
  config.integration.azimuth_bins = 36;
  EXPECT_NO_THROW(check(config));
  config.format = OutputFormat::kXy;
  EXPECT_THROW(check(config), Error);
  config.format = OutputFormat::kNexus;
  config.overwrite = config.append = true;
  EXPECT_THROW(check(config), Error);
  config.raw_shape = {5};
  EXPECT_THROW(open_options(config), Error);
  config.raw_shape = {5, 6};
  EXPECT_EQ(open_options(config).raw_shape, (Shape{5, 6}));
  config.raw_type = "complex";
  EXPECT_THROW(open_options(config), Error);
}

TEST(Config, TheNameOfTheOutputSaysItsFormat) {
  const auto format = [](const std::string& output, OutputFormat asked) {
    IntegrateConfig config;
    config.output = output;
    config.format = asked;
    return output_format(config);
  };
  for (const char* name : {"", "a", "a.nxs", "a.h5", "a.HDF5", "a.hdf", "x.xy/a", "a.nx"})
    EXPECT_EQ(format(name, OutputFormat::kAuto), OutputFormat::kNexus) << name;
  for (const char* name : {"a.xy", "a.dat", "b/a.XYE"})
    EXPECT_EQ(format(name, OutputFormat::kAuto), OutputFormat::kXy) << name;
  for (const char* name : {"a.txt", "a.png", "sample_0.5mm"}) {
    EXPECT_THROW(format(name, OutputFormat::kAuto), Error) << name;
    EXPECT_EQ(format(name, OutputFormat::kXy), OutputFormat::kXy) << name;
    EXPECT_EQ(format(name, OutputFormat::kNexus), OutputFormat::kNexus) << name;
  }
  EXPECT_THROW(format("a.xy", OutputFormat::kNexus), Error);
  EXPECT_THROW(format("a.h5", OutputFormat::kXy), Error);
}

}  // namespace
}  // namespace annulus
