// What is in a picture, as far as an SVG or the comparison of two pictures tells.
#include <annulus/outputs/sink.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <tools/plot/plot.hpp>

#include <algorithm>

#include "samples.hpp"

namespace annulus {
namespace {

using samples::Folder;

struct ScanShape {
  std::uint32_t azimuthal = 0;  // 0: patterns, no cakes
  double factor = 1;            // of the intensities
};

std::filesystem::path write_scan(const std::filesystem::path& path, std::uint64_t frames,
                                 const ScanShape& shape = {}) {
  constexpr std::uint32_t kRadial = 30;
  const auto plan =
      shape.azimuthal > 0 ? samples::make_cake(shape.azimuthal, kRadial) : samples::make_plan(kRadial);
  auto scan = samples::make_frames(*plan, 0, frames);
  for (ReducedFrame& frame : scan) {
    for (double& value : frame.pattern.intensity) value *= shape.factor;
  }
  const auto sink = open_nexus(path, samples::job_of(plan), samples::make_run(), IfExists::kOverwrite);
  sink->append(scan);
  sink->close();
  return path;
}

std::string pattern_picture(const PatternFile& file, const PlotOptions& options,
                            const std::filesystem::path& picture) {
  plot_pattern(file.read(0, file.frames()), options, picture);
  return samples::read_file(picture);
}

std::string stack_picture(const PatternFile& file, const PlotOptions& options,
                          const std::filesystem::path& picture) {
  plot_stack(file, options, picture);
  return samples::read_file(picture);
}

std::string cake_picture(const PatternFile& file, const PlotOptions& options,
                         const std::filesystem::path& picture) {
  plot_cake(file, options, picture);
  return samples::read_file(picture);
}

// Where the rightmost letter begins or, if it is turned, has its foot.
double rightmost_letter(const std::string& svg) {
  const std::string letter = "<use xlink:href=\"#glyph", place = " x=\"";
  double rightmost = -1;
  for (std::size_t at = svg.find(letter); at != std::string::npos; at = svg.find(letter, at + 1))
    rightmost = std::max(rightmost, std::stod(svg.substr(svg.find(place, at) + place.size(), 24)));
  return rightmost;
}

std::size_t count_of(const std::string& words, const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++count;
  return count;
}

TEST(Picture, TheColourBarsLabelIsInItHoweverWideTheNumbers) {
  const Folder folder;
  for (const double factor : {1.0, 1.3e-9, 1.3e12}) {
    const PatternFile scan(write_scan(folder / "scan.nxs", 20, {0, factor}));
    const PatternFile cakes(write_scan(folder / "cakes.nxs", 4, {8, factor}));
    for (const std::uint32_t width : {400u, 1000u}) {
      PlotOptions options;
      options.width = width;
      options.height = width * 16 / 25;
      // The tails of the letters take about a quarter of a line of text.
      const double line = std::max(9.0, width / 68.0);
      for (const std::string& svg :
           {stack_picture(scan, options, folder / "s.svg"), cake_picture(cakes, options, folder / "c.svg")}) {
        EXPECT_GT(rightmost_letter(svg), 0.5 * width);
        EXPECT_LT(rightmost_letter(svg), width - 0.25 * line) << factor;
      }
    }
  }
}

TEST(Picture, IsTitledByTheFileAndWhatIsDrawn) {
  const Folder folder;
  const PatternFile scan(write_scan(folder / "run42.nxs", 20));  // frames 5 and 16 are bad
  const PatternFile single(write_scan(folder / "single.nxs", 1));
  const PatternFile cakes(write_scan(folder / "cakes.nxs", 4, {8, 1}));
  const auto expect_title = [&](auto draw, const PatternFile& file, PlotOptions options,
                                const std::string& title) {
    const std::string drawn = draw(file, options, folder / "p.png");
    options.title = title;
    EXPECT_TRUE(drawn == draw(file, options, folder / "p.png")) << "the title is not '" << title << "'";
    options.title.back() = '~';
    EXPECT_FALSE(drawn == draw(file, options, folder / "p.png")) << "a picture without title";
  };
  const auto frames = [](std::vector<std::uint64_t> rows) {
    PlotOptions options;
    options.frames = std::move(rows);
    return options;
  };
  expect_title(pattern_picture, scan, {}, "run42.nxs: mean of 18 frames");
  expect_title(pattern_picture, scan, frames({3, 6}), "run42.nxs: 2 frames");
  expect_title(pattern_picture, scan, frames({3}), "/data/scan_3.cbf");
  expect_title(pattern_picture, scan, frames({4}), "/data/scan_4.cbf, frame 1");
  expect_title(stack_picture, scan, {}, "run42.nxs: 20 frames");
  expect_title(stack_picture, single, {}, "single.nxs: 1 frame");
  expect_title(cake_picture, cakes, {}, "cakes.nxs: mean of 4 frames");
  expect_title(cake_picture, cakes, frames({1}), "/data/scan_1.cbf, frame 1");
}

TEST(Picture, ATitleThatIsTooLongKeepsItsBeginning) {
  const Folder folder;
  const PatternFile scan(write_scan(folder / "a.nxs", 2));
  const auto draw = [&](const std::string& title) {
    PlotOptions options;
    options.title = title;
    return pattern_picture(scan, options, folder / "p.png");
  };
  const std::string filler(200, 'x');
  EXPECT_TRUE(draw("begin" + filler + "end") == draw("begin" + filler + "END"));
  EXPECT_FALSE(draw("begin" + filler + "end") == draw("BEGIN" + filler + "end"));
}

TEST(Picture, LegendsOfManyLinesNameTheFirstAndTheLast) {
  const Folder folder;
  const PatternFile scan(write_scan(folder / "a.nxs", 50));
  const auto legend_lines = [&](std::size_t curves, std::uint32_t height) {
    PlotOptions options;
    options.height = height;
    for (std::uint64_t row = 0; options.frames.size() < curves; ++row) {
      if (!samples::is_bad(row)) options.frames.push_back(row);
    }
    return count_of("stroke-width:2.5;", pattern_picture(scan, options, folder / "p.svg"));
  };
  EXPECT_EQ(legend_lines(1, 640), 0u);
  EXPECT_EQ(legend_lines(2, 640), 2u);
  EXPECT_EQ(legend_lines(12, 640), 12u);
  EXPECT_EQ(legend_lines(13, 640), 2u);
  EXPECT_EQ(legend_lines(40, 640), 2u);
  // 160 pixels have 11 lines of text, and a line of the legend takes one and a half.
  EXPECT_EQ(legend_lines(6, 160), 6u);
  EXPECT_EQ(legend_lines(8, 160), 2u);
}

}  // namespace
}  // namespace annulus
