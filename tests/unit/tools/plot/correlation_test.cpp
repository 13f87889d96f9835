// Correlations: colours on both sides of zero, what photon noise may not do to them, what a picture refuses.
#include <annulus/core/error.hpp>
#include <annulus/fxs/correlation_reader.hpp>

#include <gmock/gmock.h>
#include <tools/plot/colour_map.hpp>
#include <tools/plot/plot.hpp>

#include <cmath>
#include <set>

#include "message_of.hpp"
#include "samples.hpp"

namespace annulus {
namespace {

using samples::Folder;
using ::testing::HasSubstr;

// Rings whose C2 falls by ten from one to the next, with two waves around each.
StoredCorrelation falling_rings(std::size_t rings = 6, std::size_t angles = 32) {
  StoredCorrelation correlation;
  correlation.file = "two_waves.nxs";
  correlation.finished = true;
  correlation.counted = 7;
  correlation.setup.shape = {rings, angles};
  correlation.setup.radial.name = "q";
  correlation.setup.radial.units = "1/nm";
  for (std::size_t ring = 0; ring <= rings; ++ring) {
    correlation.setup.radial.edges.push_back(static_cast<double>(ring));
    if (ring < rings) correlation.setup.radial.centres.push_back(static_cast<double>(ring) + 0.5);
  }
  for (std::size_t q = 0; q < rings; ++q) {
    for (std::size_t other = q; other < rings; ++other) {
      for (std::size_t d = 0; d < angles; ++d) {
        const double turn = 2 * M_PI * static_cast<double>(d) / static_cast<double>(angles);
        correlation.c2.push_back(std::pow(10.0, -static_cast<double>(q + other) / 2) * std::cos(2 * turn));
      }
    }
  }
  return correlation;
}

void add_coefficients(StoredCorrelation& correlation) {
  correlation.coefficients.orders = {0, 2, 4};
  for (std::size_t pair = 0; pair < correlation.setup.shape.pairs(); ++pair) {
    for (const double value : {0.0, 3.0, 0.5}) correlation.coefficients.values.push_back(value);
  }
}

std::set<std::string> colours_of(const StoredCorrelation& correlation, CorrelationView view,
                                 bool absolute = false) {
  const Folder folder;
  const auto picture = folder / "a.svg";
  plot_correlation(correlation, view, absolute, {}, picture);
  const std::string text = samples::read_file(picture);
  std::set<std::string> colours;
  for (std::size_t at = text.find("rgb("); at != std::string::npos; at = text.find("rgb(", at + 1))
    colours.insert(text.substr(at, text.find(')', at) - at));
  return colours;
}

std::string refusal(const StoredCorrelation& correlation, CorrelationView view, bool absolute,
                    const PlotOptions& options, ErrorKind kind = ErrorKind::kUsage) {
  const Folder folder;
  const auto picture = folder / "a.png";
  const std::string message =
      message_of(kind, [&] { plot_correlation(correlation, view, absolute, options, picture); });
  EXPECT_FALSE(std::filesystem::exists(picture));
  return message;
}

TEST(TwoSidedColour, IsWhiteInTheMiddleAndAsDarkOnBothSides) {
  const auto brightness = [](int level) {
    const Colour c = two_sided_colour(level);
    return 0.2126 * c.red + 0.7152 * c.green + 0.0722 * c.blue;
  };
  for (int level = 1; level < 128; ++level) {
    EXPECT_GT(brightness(level), brightness(level - 1)) << level;
    EXPECT_GT(brightness(255 - level), brightness(256 - level)) << level;
    EXPECT_NEAR(brightness(level), brightness(255 - level), 25) << level;
  }
  EXPECT_GT(brightness(127), 240);
}

TEST(Contrast, AroundZeroHasItInTheMiddle) {
  StackGrid grid;
  grid.values = {-0.5, 3, 40};
  const Contrast contrast = Contrast::around_zero(grid, PlotScale::kLinear, {-0.5, 3});
  EXPECT_EQ(contrast.position(0), 0.5);
  EXPECT_NEAR(contrast.position(-1.5), 1 - contrast.position(1.5), 1e-12);
  EXPECT_FALSE(contrast.values_below());
  EXPECT_TRUE(contrast.values_above());  // 40, which has no say
  EXPECT_EQ(contrast.level(40), 255);
  EXPECT_EQ(contrast.level(-40), 0);
  const Contrast root = Contrast::around_zero(grid, PlotScale::kSqrt, {-4, 4});
  EXPECT_NEAR(root.position(1), 0.75, 1e-12);
  EXPECT_NEAR(root.position(-1), 0.25, 1e-12);
  const Contrast nothing = Contrast::around_zero(grid, PlotScale::kLinear, {0, 0});
  EXPECT_EQ(nothing.position(0), 0.5);
}

TEST(PlotCorrelation, PhotonNoiseDoesNotTakeTheColours) {
  StoredCorrelation correlation = falling_rings();
  const std::size_t angles = correlation.setup.shape.angles;
  const auto without = colours_of(correlation, CorrelationView::kOnRing);
  EXPECT_GT(without.size(), 100u);  // all of the colour bar
  for (std::size_t ring = 0; ring < 6; ++ring) {
    double* const values = correlation.c2.data() + correlation.setup.shape.pair(ring, ring) * angles;
    values[0] *= 1000;
    values[1] *= 300;
    values[angles - 1] *= 300;
  }
  // The cells beside have the colours that they had; a drowned picture would be white but for them. Of the
  // colour bar alone there are all colours in both.
  EXPECT_EQ(colours_of(correlation, CorrelationView::kOnRing), without);
  const Folder folder;
  const auto noisy = folder / "noisy.png", shifted = folder / "shifted.png";
  plot_correlation(correlation, CorrelationView::kOnRing, false, {}, noisy);
  for (std::size_t ring = 0; ring < 6; ++ring)
    correlation.c2[correlation.setup.shape.pair(ring, ring) * angles] *= 50;
  plot_correlation(correlation, CorrelationView::kOnRing, false, {}, shifted);
  EXPECT_TRUE(samples::read_file(noisy) == samples::read_file(shifted));
}

TEST(PlotCorrelation, WeakRingsAreAsVisibleAsStrongOnes) {
  StoredCorrelation strong = falling_rings();
  const Folder folder;
  const auto one = folder / "one.png", other = folder / "other.png", absolute = folder / "absolute.png";
  plot_correlation(strong, CorrelationView::kOnRing, false, {}, one);
  for (double& value : strong.c2) value *= 1e-5;
  plot_correlation(strong, CorrelationView::kOnRing, false, {}, other);
  EXPECT_TRUE(samples::read_file(one) == samples::read_file(other));
  plot_correlation(strong, CorrelationView::kOnRing, true, {}, absolute);
  EXPECT_FALSE(samples::read_file(one) == samples::read_file(absolute));
}

TEST(PlotCorrelation, DrawsAllThatThereIsSideBySide) {
  StoredCorrelation correlation = falling_rings();
  const Folder folder;
  const auto width_of = [&](CorrelationView view) {
    const auto picture = folder / "a.png";
    plot_correlation(correlation, view, false, {}, picture);
    const std::string bytes = samples::read_file(picture);
    std::uint32_t width = 0;
    for (std::size_t i = 16; i < 20; ++i) width = width << 8 | static_cast<unsigned char>(bytes.at(i));
    return width;
  };
  const auto two = width_of(CorrelationView::kAll);
  add_coefficients(correlation);
  const auto three = width_of(CorrelationView::kAll);
  const auto one = width_of(CorrelationView::kAtZero);
  EXPECT_LT(one, two);
  EXPECT_LT(two, three);
}

TEST(PlotCorrelation, PreviewsAndUnfinishedOnesAreMarkedWhateverTheTitle) {
  StoredCorrelation correlation = falling_rings();
  PlotOptions options;
  options.title = "Lysozyme";
  const Folder folder;
  std::set<std::string> pictures;
  for (const auto& [preview, finished] : {std::pair{false, true}, {true, true}, {false, false}}) {
    correlation.preview = preview;
    correlation.finished = finished;
    const auto picture = folder / "a.svg";
    plot_correlation(correlation, CorrelationView::kOnRing, false, options, picture);
    pictures.insert(samples::read_file(picture));
  }
  EXPECT_EQ(pictures.size(), 3u);
}

TEST(PlotCorrelation, RefusesWhatItCannotDraw) {
  StoredCorrelation correlation = falling_rings();
  PlotOptions options;
  EXPECT_THAT(refusal(correlation, CorrelationView::kLegendre, false, options),
              HasSubstr("no Legendre coefficients"));
  options.scale = PlotScale::kLog;
  EXPECT_THAT(refusal(correlation, CorrelationView::kAll, false, options), HasSubstr("both sides of 0"));
  options.scale = PlotScale::kSqrt;
  add_coefficients(correlation);
  EXPECT_THAT(refusal(correlation, CorrelationView::kLegendre, false, options), HasSubstr("`scale`"));
  options.scale = PlotScale::kLinear;
  EXPECT_THAT(refusal(correlation, CorrelationView::kLegendre, true, options), HasSubstr("`absolute`"));
  options.radial_range = Range{7, 9};
  EXPECT_THAT(refusal(correlation, CorrelationView::kAll, false, options), HasSubstr("within 0.5 to 5.5"));
  options.radial_range = Range{3, 1};
  EXPECT_THAT(refusal(correlation, CorrelationView::kAll, false, options), HasSubstr("lower end first"));
  options.radial_range.reset();
  options.width = 150;
  EXPECT_THAT(refusal(correlation, CorrelationView::kAll, false, options), HasSubstr("`width`"));
  options.width.reset();
  for (double& value : correlation.coefficients.values) value = -1;
  EXPECT_THAT(refusal(correlation, CorrelationView::kLegendre, false, options, ErrorKind::kInput),
              HasSubstr("is positive"));
  for (double& value : correlation.c2) value = std::nan("");
  EXPECT_THAT(refusal(correlation, CorrelationView::kOnRing, false, options, ErrorKind::kInput),
              HasSubstr("no correlation has a value"));
}

TEST(PlotCorrelation, DrawsSmallAndStrangeOnes) {
  for (const auto& [rings, angles] : {std::pair<std::size_t, std::size_t>{1, 2}, {2, 3}, {1, 300}, {40, 9}}) {
    for (const bool subtract_mean : {true, false}) {
      for (const bool absolute : {true, false}) {
        StoredCorrelation correlation = falling_rings(rings, angles);
        correlation.setup.polar.subtract_mean = subtract_mean;
        correlation.setup.radial.units = subtract_mean ? "1/nm" : "";
        if (!subtract_mean) {
          for (double& value : correlation.c2) value = std::abs(value) + 10;
        }
        if (angles > 2) correlation.c2[2] = std::nan("");
        EXPECT_NO_THROW(colours_of(correlation, CorrelationView::kAll, absolute))
            << rings << " x " << angles << ", " << subtract_mean << absolute;
      }
    }
  }
}

}  // namespace
}  // namespace annulus
