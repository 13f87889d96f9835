#include <gtest/gtest.h>
#include <tools/simulate/calibrant.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>

namespace annulus {
namespace {

struct Line {
  double spacing = 0;
  std::uint32_t multiplicity = 0;
  double intensity = 0;  // 0 where the file has none
};

// pyFAI's calibrant files: "d # (h k l) multiplicity [intensity]".
std::vector<Line> read_calibrant_file(const std::string& name) {
  const char* folder = std::getenv("ANNULUS_SHARED_DATA");
  std::ifstream file(std::filesystem::path(folder != nullptr ? folder : ANNULUS_SHARED_DATA_DIR) / "pyfai" /
                     name);
  std::vector<Line> lines;
  for (std::string text; std::getline(file, text);) {
    if (text.empty() || text[0] == '#') continue;
    Line line;
    std::istringstream(text) >> line.spacing;
    const std::size_t after = text.find(')');
    if (after != std::string::npos)
      std::istringstream(text.substr(after + 1)) >> line.multiplicity >> line.intensity;
    lines.push_back(line);
  }
  return lines;
}

struct Case {
  Calibrant calibrant;
  const char* file;
};

// A test's name must not have the pointer in it.
void PrintTo(const Case& parameter, std::ostream* out) { *out << parameter.file; }

class CalibrantFile : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    lines_ = read_calibrant_file(GetParam().file);
    if (lines_.empty())
      GTEST_SKIP() << "no " << GetParam().file << ": set ANNULUS_SHARED_DATA to the data folder";
    std::erase_if(lines_, [](const Line& line) { return line.spacing < 0.4; });
  }
  std::vector<Line> lines_;
};

TEST_P(CalibrantFile, HasTheSpacingsAndMultiplicitiesThatAreComputed) {
  const std::vector<Reflection> computed = reflections(GetParam().calibrant, lines_.back().spacing - 1e-6);
  ASSERT_EQ(computed.size(), lines_.size());
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    EXPECT_NEAR(computed[i].spacing, lines_[i].spacing, 6e-9);
    EXPECT_EQ(computed[i].multiplicity, lines_[i].multiplicity) << lines_[i].spacing;
  }
}

// The file's intensities are those of a laboratory diffractometer with copper radiation.
TEST_P(CalibrantFile, HasIntensitiesLikeTheComputedStrengths) {
  const std::vector<Reflection> computed = reflections(GetParam().calibrant, 1.1);
  constexpr double kCopper = 1.5406;
  std::vector<double> ratios;
  for (std::size_t i = 0; ratios.size() < 4; ++i) {
    ASSERT_LT(i, computed.size());
    if (lines_[i].intensity <= 10) continue;  // 10 stands for anything weak
    const double theta = std::asin(kCopper / (2 * computed[i].spacing));
    const double polarised = 1 + std::pow(std::cos(2 * theta), 2);
    const double lorentz = 1 / (std::pow(std::sin(theta), 2) * std::cos(theta));
    ratios.push_back(computed[i].strength * polarised * lorentz / lines_[i].intensity);
  }
  const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
  EXPECT_LT(*high / *low, 1.5);
}

INSTANTIATE_TEST_SUITE_P(PyFai, CalibrantFile,
                         ::testing::Values(Case{Calibrant::kGold, "Au.D"},
                                           Case{Calibrant::kLaB6, "LaB6_SRM660c.D"},
                                           Case{Calibrant::kCeO2, "CeO2.D"},
                                           Case{Calibrant::kSilicon, "Si_SRM640e.D"},
                                           Case{Calibrant::kAlumina, "alpha_Al2O3_SRM676a_2015.D"}),
                         [](const auto& info) { return std::string(name_of(info.param.calibrant)); });

TEST(Calibrant, NamesAreFoundIgnoringCase) {
  EXPECT_EQ(calibrant_from_name("lab6"), Calibrant::kLaB6);
  EXPECT_EQ(calibrant_from_name("Al2O3"), Calibrant::kAlumina);
  EXPECT_EQ(calibrant_from_name("unobtainium"), std::nullopt);
  EXPECT_EQ(calibrant_from_name(""), std::nullopt);
  EXPECT_EQ(known_calibrants(), "Au, LaB6, CeO2, Si, Al2O3");
}

TEST(Calibrant, SpacingsEndAtTheLimitHoweverSmallTheRequest) {
  for (const double request : {0.0, -1.0, 1e-9}) {
    const std::vector<Reflection> all = reflections(Calibrant::kGold, request);
    ASSERT_FALSE(all.empty());
    EXPECT_GE(all.back().spacing, kSmallestSpacing);
  }
}

}  // namespace
}  // namespace annulus
