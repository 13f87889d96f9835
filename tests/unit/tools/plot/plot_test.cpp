#include <annulus/core/error.hpp>
#include <annulus/outputs/sink.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <tools/plot/canvas.hpp>
#include <tools/plot/colour_bar.hpp>
#include <tools/plot/plot.hpp>
#include <tools/plot/stack_grid.hpp>

#include <set>

#include "message_of.hpp"
#include "samples.hpp"

#if defined(__SANITIZE_ADDRESS__)
// Fontconfig keeps its tables until the end of the program and does not free them.
extern "C" const char* __lsan_default_suppressions() { return "leak:libfontconfig"; }
#endif

namespace annulus {
namespace {

using samples::Folder;
using ::testing::HasSubstr;

std::filesystem::path write_sample(const Folder& folder, std::uint64_t first, std::uint64_t frames) {
  const auto plan = samples::make_plan(30);
  const auto sink =
      open_nexus(folder / "a.nxs", samples::job_of(plan), samples::make_run(), IfExists::kOverwrite);
  sink->append(samples::make_frames(*plan, first, frames));
  sink->close();
  return folder / "a.nxs";
}

std::uint32_t big_endian(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

void expect_png(const std::filesystem::path& path, std::uint32_t width, std::uint32_t height) {
  const std::string bytes = samples::read_file(path);
  ASSERT_GT(bytes.size(), 2000u);
  EXPECT_EQ(bytes.substr(0, 8), "\x89PNG\r\n\x1a\n");
  EXPECT_EQ(big_endian(bytes, 16), width);
  EXPECT_EQ(big_endian(bytes, 20), height);
}

std::vector<std::string> labels_of(const std::vector<Tick>& ticks) {
  std::vector<std::string> labels;
  for (const Tick& tick : ticks) {
    if (!tick.label.empty()) labels.push_back(tick.label);
  }
  return labels;
}

TEST(Ticks, AreRoundNumbersWithOnlyTheDigitsTheyNeed) {
  using ::testing::ElementsAre;
  EXPECT_THAT(labels_of(linear_ticks(0, 10, 5)), ElementsAre("0", "2", "4", "6", "8", "10"));
  EXPECT_THAT(labels_of(linear_ticks(-0.1, 0.31, 4)), ElementsAre("-0.1", "0", "0.1", "0.2", "0.3"));
  EXPECT_THAT(labels_of(linear_ticks(0, 3e6, 3)), ElementsAre("0", "1×10⁶", "2×10⁶", "3×10⁶"));
  EXPECT_THAT(labels_of(linear_ticks(0, 2e-7, 2)), ElementsAre("0", "1×10⁻⁷", "2×10⁻⁷"));
  EXPECT_THAT(labels_of(decade_ticks(-4, 4)),
              ElementsAre("10⁻⁴", "10⁻³", "0.01", "0.1", "1", "10", "100", "1000", "10⁴"));
  EXPECT_THAT(labels_of(decade_ticks(1.2, 2.1)), ElementsAre("20", "50", "100"));
}

TEST(Ticks, AnAxisOfLogarithmsHasThreeLabelsAndTheyDoNotTouch) {
  using ::testing::ElementsAre;
  EXPECT_THAT(labels_of(log_ticks(std::log10(17.5), std::log10(25.4), 6)),
              ElementsAre("18", "19", "20", "21", "22", "23", "24", "25"));
  EXPECT_THAT(labels_of(log_ticks(std::log10(3), std::log10(900), 6)),
              ElementsAre("5", "10", "20", "50", "100", "200", "500"));
  EXPECT_THAT(labels_of(log_ticks(0, 3, 6)), ElementsAre("1", "10", "100", "1000"));
  for (int wanted = 5; wanted < 30; ++wanted) {
    for (double low = -3; low < 4; low += 0.17) {
      for (const double decades : {0.02, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.97, 1.0, 1.2, 1.7, 2.2, 2.9}) {
        std::vector<double> places;
        for (const Tick& tick : log_ticks(low, low + decades, wanted)) {
          if (tick.label.empty()) continue;
          places.push_back(tick.at);
          EXPECT_GE(tick.at, low - 1e-6);
          EXPECT_LE(tick.at, low + decades + 1e-6);
        }
        EXPECT_GE(places.size(), 3u) << low << ", " << decades << ", " << wanted;
        // Axes have 4.5 lines of text or more for every label they want; a label is less than a line high.
        for (std::size_t i = 1; i < places.size() && decades < 1; ++i) {
          EXPECT_GT((places[i] - places[i - 1]) / decades * wanted * 4.5, 1)
              << low << ", " << decades << ", " << wanted;
        }
      }
    }
  }
}

TEST(Ticks, AColourBarHasNumbersHoweverNarrowItsRange) {
  for (const double high : {1000.0, 30.0, 9.0, 4.4, 4.2, 4.01}) {
    StackGrid grid;
    for (int i = 0; i <= 1000; ++i) grid.values.push_back(4 + (high - 4) * i / 1000);
    const auto ticks = Contrast(grid, PlotScale::kLog).ticks(5);
    EXPECT_GE(labels_of(ticks).size(), 3u) << "from 4 to " << high;
    // The bar leaves out the lowest hundredth of the values and the highest two-hundredth.
    const double first = 4 + (high - 4) * 0.01, last = 4 + (high - 4) * 0.995;
    for (const Tick& tick : ticks) {
      if (tick.label.empty() || tick.at <= 0 || tick.at >= 1) continue;
      EXPECT_NEAR(tick.at, std::log(std::stod(tick.label) / first) / std::log(last / first), 0.01)
          << tick.label << " up to " << high;
    }
  }
}

TEST(Ticks, NoRangeHasNoTicks) {
  EXPECT_TRUE(linear_ticks(1, 1, 5).empty());
  EXPECT_TRUE(linear_ticks(0, std::numeric_limits<double>::infinity(), 5).empty());
  EXPECT_TRUE(linear_ticks(std::nan(""), 1, 5).empty());
  EXPECT_TRUE(decade_ticks(2, 2).empty());
  EXPECT_TRUE(linear_ticks(1e15, 1e15 + 1, 5).empty());
}

TEST(StackColour, GrowsBrighterWithTheLevel) {
  double before = -1;
  for (int level = 0; level < 256; ++level) {
    const Colour c = stack_colour(level);
    const double brightness = 0.2126 * c.red + 0.7152 * c.green + 0.0722 * c.blue;
    EXPECT_GE(brightness, before - 0.5) << level;
    before = brightness;
  }
}

StackGrid grid_of(std::vector<double> values) {
  StackGrid grid;
  grid.values = std::move(values);
  return grid;
}

TEST(Contrast, KnowsWhetherThereAreValuesBeyondItsEnds) {
  std::vector<double> values(1000, 5);
  for (std::size_t i = 0; i < 100; ++i) {  // more than the shares that are cut
    values[i] = 1;
    values[999 - i] = 9;
  }
  const auto beyond = [&](double value, PlotScale scale) {
    std::vector<double> changed = values;
    changed[500] = value;
    const Contrast contrast(grid_of(changed), scale);
    return std::pair(contrast.values_below(), contrast.values_above());
  };
  for (const PlotScale scale : {PlotScale::kLinear, PlotScale::kSqrt, PlotScale::kLog}) {
    EXPECT_EQ(beyond(5, scale), std::pair(false, false));
    EXPECT_EQ(beyond(std::nan(""), scale), std::pair(false, false));
    EXPECT_EQ(beyond(-1, scale), std::pair(true, false));
    EXPECT_EQ(beyond(9.1, scale), std::pair(false, true));
  }
}

TEST(ColourBar, IsAsHighAsThePanelAndPointedWhereThereAreValuesBeyond) {
  const Panel panel{50, 500, 40, 400, 0, 1, 0, 1};
  const auto bar_of = [&](double lowest, double highest) {
    std::vector<double> values(1000, 5);
    std::fill_n(values.begin(), 100, 1);
    values.front() = lowest;
    values.back() = highest;
    return ColourBar(panel, Contrast(grid_of(values), PlotScale::kLinear), 10);
  };
  for (const bool below : {false, true}) {
    for (const bool above : {false, true}) {
      const ColourBar bar = bar_of(below ? 0 : 1, above ? 6 : 5);
      EXPECT_EQ(bar.low_tip, 40);
      EXPECT_EQ(bar.high_tip, 400);
      EXPECT_EQ(bar.colours.bottom, below ? 50 : 40);
      EXPECT_EQ(bar.colours.top, above ? 390 : 400);
    }
  }
}

TEST(ColourBar, TakesMoreRoomOnlyForWideLabels) {
  EXPECT_EQ(colour_bar_room({{0, "0"}, {1, "1200"}}), 11);
  // The bar ends 2.7 lines right of the panel; then the widest label, and the words after 1.75 more.
  EXPECT_GT(colour_bar_room({{0, "0"}, {1, "1.2×10⁻⁶"}}), 2.7 + text_width("1.2×10⁻⁶") + 1.75 + 0.5);
}

TEST(Title, LosesTheEndThatSaysLess) {
  EXPECT_EQ(fitted("a short one", 20, Cut::kLeft), "a short one");
  const std::string path = "/data/2024/a_visit/a_sample/scan_00001.cbf";
  const std::string tail = fitted(path, 20, Cut::kLeft), head = fitted(path, 20, Cut::kRight);
  EXPECT_THAT(tail, ::testing::StartsWith("..."));
  EXPECT_THAT(tail, ::testing::EndsWith("scan_00001.cbf"));
  EXPECT_THAT(head, ::testing::StartsWith("/data/2024/"));
  EXPECT_THAT(head, ::testing::EndsWith("..."));
  EXPECT_LE(text_width(tail), 20);
  EXPECT_LE(text_width(head), 20);
}

TEST(StackGrid, EachCellIsTheMeanOfItsShare) {
  const Folder folder;
  const PatternFile file(write_sample(folder, 0, 20));
  const StackGrid whole = make_stack_grid(file, {0, 100}, 1000, 1000);
  ASSERT_EQ(whole.rows, 20u);
  ASSERT_EQ(whole.columns, 30u);
  EXPECT_EQ(whole.at(3, 7), samples::expected_intensity(3, 7));
  EXPECT_TRUE(std::isnan(whole.at(5, 7)));

  const StackGrid part = make_stack_grid(file, {3.4, 7.6}, 4, 2);  // bins 2 to 6
  ASSERT_EQ(part.rows, 4u);
  ASSERT_EQ(part.columns, 2u);
  EXPECT_EQ(part.x_edges, (std::vector<double>{3, 6, 8}));  // bins 2, 3, 4 and 5, 6
  double sum = 0;
  for (const std::uint64_t frame : {6, 7, 8, 9}) {  // frame 5 is bad
    sum += samples::expected_intensity(frame, 5) + samples::expected_intensity(frame, 6);
  }
  EXPECT_NEAR(part.at(1, 1), sum / 8, 1e-12);
}

TEST(StackGrid, QuantilesTakeNoNoticeOfNan) {
  std::vector<double> values{5, std::nan(""), 1, 4, 2, 3, std::nan("")};
  EXPECT_EQ(quantile(values, 0), 1);
  EXPECT_EQ(quantile(values, 0.5), 3);
  EXPECT_EQ(quantile(values, 1), 5);
  std::vector<double> none{std::nan("")};
  EXPECT_TRUE(std::isnan(quantile(none, 0.5)));
}

TEST(Plot, DrawsPatternsAndStacksOfTheSizeAskedFor) {
  const Folder folder;
  const PatternFile file(write_sample(folder, 0, 20));
  const StoredPatterns patterns = file.read(0, 20);
  PlotOptions options;
  options.width = 700;
  options.height = 400;
  std::set<std::string> pictures;
  for (const PlotScale scale : {PlotScale::kLinear, PlotScale::kSqrt, PlotScale::kLog}) {
    options.scale = scale;
    for (const std::vector<std::uint64_t>& frames : {std::vector<std::uint64_t>{}, {3}, {3, 6, 9}}) {
      options.frames = frames;
      plot_pattern(patterns, options, folder / "p.png");
      expect_png(folder / "p.png", 700, 400);
      pictures.insert(samples::read_file(folder / "p.png"));
    }
    plot_stack(file, options, folder / "s.png");
    expect_png(folder / "s.png", 700, 400);
    pictures.insert(samples::read_file(folder / "s.png"));
  }
  EXPECT_EQ(pictures.size(), 12u) << "some options make no difference";
}

TEST(Plot, DrawsSvg) {
  const Folder folder;
  const PatternFile file(write_sample(folder, 0, 20));
  plot_pattern(file.read(0, 20), {}, folder / "p.svg");
  plot_stack(file, {}, folder / "s.SVG");
  for (const char* name : {"p.svg", "s.SVG"}) {
    const std::string text = samples::read_file(folder / name);
    EXPECT_THAT(text.substr(0, 200), HasSubstr("<svg"));
    EXPECT_THAT(text.substr(text.size() - 60), HasSubstr("</svg>"));
  }
}

TEST(Plot, LeavesNothingButThePicture) {
  const Folder folder;
  const PatternFile file(write_sample(folder, 0, 20));
  plot_stack(file, {}, folder / "s.png");
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    names.insert(entry.path().filename().string());
  EXPECT_EQ(names, (std::set<std::string>{"a.nxs", "s.png"}));
}

TEST(Plot, SaysWhyThereIsNoPicture) {
  const Folder folder;
  const PatternFile file(write_sample(folder, 0, 20));
  const StoredPatterns patterns = file.read(0, 20);
  PlotOptions options;
  const auto draw = [&](ErrorKind kind, const std::string& name) {
    return message_of(kind, [&] { plot_pattern(patterns, options, folder / name); });
  };
  EXPECT_THAT(draw(ErrorKind::kUsage, "p.gif"), HasSubstr(".png or .svg"));
  EXPECT_THAT(draw(ErrorKind::kOutput, "no/p.png"), HasSubstr("no does not exist (create it"));
  options.frames = {20};
  EXPECT_THAT(draw(ErrorKind::kUsage, "p.png"), HasSubstr("there is no frame 20"));
  options.frames = {5};
  EXPECT_THAT(draw(ErrorKind::kInput, "p.png"), HasSubstr("frame 5 is bad: the file is truncated"));
  options.frames = {};
  options.radial_range = Range{500, 600};
  EXPECT_THAT(draw(ErrorKind::kInput, "p.png"), HasSubstr("no bin in the range"));
  EXPECT_THAT(message_of(ErrorKind::kUsage, [&] { plot_stack(file, options, folder / "s.png"); }),
              HasSubstr("no bin"));
  options = {};
  options.width = 3;
  EXPECT_THAT(draw(ErrorKind::kUsage, "p.png"), HasSubstr("3 x 640"));
  EXPECT_FALSE(std::filesystem::exists(folder / "p.png"));
}

TEST(Plot, ARangeGoesFromALowerToAHigherNumber) {
  const Folder folder;
  const PatternFile file(write_sample(folder, 0, 20));
  const double infinite = std::numeric_limits<double>::infinity();
  for (const Range range : {Range{5, 2}, Range{5, 5}, Range{std::nan(""), 5}, Range{2, infinite}}) {
    PlotOptions options;
    options.radial_range = range;
    const std::string fault = fmt::format("{} to {} is no range", range.low, range.high);
    EXPECT_THAT(
        message_of(ErrorKind::kUsage, [&] { plot_pattern(file.read(0, 20), options, folder / "p.png"); }),
        HasSubstr(fault));
    EXPECT_THAT(message_of(ErrorKind::kUsage, [&] { plot_stack(file, options, folder / "s.png"); }),
                HasSubstr(fault));
  }
}

TEST(Plot, AScanOfBadFramesIsAnError) {
  const Folder folder;
  const PatternFile file(write_sample(folder, 5, 1));
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { plot_pattern(file.read(0, 1), {}, folder / "p.png"); }),
              HasSubstr("is bad"));
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { plot_stack(file, {}, folder / "s.png"); }),
              HasSubstr("no bin"));
}

}  // namespace
}  // namespace annulus
