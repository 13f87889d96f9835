// Cakes in files and in pictures.
#include <annulus/core/error.hpp>
#include <annulus/outputs/nexus_layout.hpp>
#include <annulus/outputs/verify_output.hpp>

#include <gmock/gmock.h>
#include <tools/plot/canvas.hpp>
#include <tools/plot/plot.hpp>
#include <tools/plot/stack_grid.hpp>

#include <numeric>

#include "message_of.hpp"
#include "samples.hpp"

namespace annulus {
namespace {

using samples::Folder;
using samples::make_cake;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

void write_cakes(const std::filesystem::path& path, const std::shared_ptr<Plan>& plan, std::uint64_t first,
                 std::uint64_t count, IfExists if_exists = IfExists::kRefuse) {
  const auto sink = open_nexus(path, samples::job_of(plan), samples::make_run(), if_exists);
  sink->append(samples::make_frames(*plan, first, count));
  sink->close();
}

std::vector<hsize_t> shape_of(const std::filesystem::path& path, const char* name) {
  const samples::PlainFile file(path);
  const hid_t dataset = H5Dopen2(file.id(), name, H5P_DEFAULT);
  const hid_t space = H5Dget_space(dataset);
  std::vector<hsize_t> shape(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)));
  H5Sget_simple_extent_dims(space, shape.data(), nullptr);
  H5Sclose(space);
  H5Dclose(dataset);
  return shape;
}

TEST(CakeFile, HasFramesOfAzimuthTimesRadius) {
  const Folder folder;
  const auto plan = make_cake(4, 3, true);
  write_cakes(folder / "a.nxs", plan, 0, 7);
  for (const char* name : {"data/I", "data/I_errors", "reduction/accumulators/signal",
                           "reduction/accumulators/variance", "reduction/accumulators/missing_count"}) {
    EXPECT_THAT(shape_of(folder / "a.nxs", (std::string("/entry/") + name).c_str()), ElementsAre(7, 4, 3))
        << name;
  }
  for (const char* name : {"data/norm", "reduction/accumulators/count", "reduction/accumulators/dark"}) {
    EXPECT_THAT(shape_of(folder / "a.nxs", (std::string("/entry/") + name).c_str()), ElementsAre(4, 3))
        << name;
  }
  EXPECT_THAT(shape_of(folder / "a.nxs", "/entry/data/azimuthal_axis"), ElementsAre(4));
  EXPECT_THAT(shape_of(folder / "a.nxs", "/entry/data/azimuthal_axis_edges"), ElementsAre(5));
}

TEST(CakeFile, ReadsBackWhatWasWrittenAndVerifies) {
  const Folder folder;
  const auto plan = make_cake(5, 6);
  write_cakes(folder / "a.nxs", plan, 0, 20);
  const PatternFile file(folder / "a.nxs");
  EXPECT_EQ(file.bins(), 30u);
  EXPECT_EQ(file.header().axes, plan->axes);
  const StoredPatterns cakes = file.read(2, 9);
  for (std::uint64_t i = 0; i < 9; ++i) {
    for (std::uint32_t bin = 0; bin < 30; ++bin) {
      const double expected = samples::expected_intensity(2 + i, bin);
      const double found = cakes.intensity(i)[bin];
      EXPECT_TRUE(found == expected || (std::isnan(found) && std::isnan(expected))) << i << ", " << bin;
    }
  }
  const OutputCheck check = verify_output(folder / "a.nxs");
  EXPECT_EQ(check.frames, 20u);
  EXPECT_TRUE(check.faults.empty()) << check.faults.front();
}

struct LargeCake {
  std::uint32_t azimuthal, radial;
};
class LargeCakes : public ::testing::TestWithParam<LargeCake> {};

TEST_P(LargeCakes, RowsThatAreWrittenOneByOneAreRightToo) {
  const Folder folder;
  const auto plan = make_cake(GetParam().azimuthal, GetParam().radial);
  write_cakes(folder / "a.nxs", plan, 2, 5);
  const PatternFile file(folder / "a.nxs");
  std::vector<double> values(plan->bins());
  for (std::uint64_t i = 0; i < 5; ++i) {
    file.read_intensities(i, 1, values);
    for (std::uint32_t bin = 1; bin < plan->bins(); ++bin) {
      const double expected = samples::expected_intensity(2 + i, bin);
      ASSERT_TRUE(values[bin] == expected || (std::isnan(values[bin]) && std::isnan(expected)))
          << i << ", " << bin;
    }
  }
  EXPECT_TRUE(verify_output(folder / "a.nxs").faults.empty());
}

INSTANTIATE_TEST_SUITE_P(
    CakeFile, LargeCakes,
    ::testing::Values(LargeCake{260, 150},     // more than a quarter of a megabyte a frame
                      LargeCake{300, 1000},    // more than a megabyte: straight to the disk
                      LargeCake{601, 1000}));  // two chunks a frame, of which one is not full

// Lacks a pixel at each of these azimuths, and no other.
ReducedFrame with_missing_pixels_at(const Plan& plan, const std::vector<std::size_t>& azimuths) {
  ReducedFrame frame = samples::make_frame(plan, 4);
  const std::size_t radial = plan.radial().bins();
  for (const Quantity quantity : {Quantity::kMissingCount, Quantity::kMissingNormalization}) {
    const auto missing = frame.sums.make(quantity, plan.bins());
    for (const std::size_t azimuth : azimuths) missing[azimuth * radial + azimuth % radial] = 16;
  }
  return frame;
}

TEST(CakeFile, MissingPixelsOfLargeCakesTakeLittleRoom) {
  const Folder folder;
  const std::size_t azimuthal = 300, radial = 1000;
  const auto plan = make_cake(azimuthal, radial);
  std::vector<std::size_t> all(azimuthal);
  std::iota(all.begin(), all.end(), 0);
  const std::vector<std::vector<std::size_t>> azimuths{{0, 7, 8, 9, 299}, {150}, {}, all};
  std::vector<ReducedFrame> frames;
  for (const auto& some : azimuths) frames.push_back(with_missing_pixels_at(*plan, some));
  frames.push_back(samples::make_frame(*plan, 0));  // lacks none
  for (std::size_t i = 0; i < frames.size(); ++i) frames[i].id.index = i;
  const auto sink =
      open_nexus(folder / "a.nxs", samples::job_of(plan), samples::make_run(), IfExists::kRefuse);
  sink->append(frames);
  sink->close();
  for (const char* name : {"missing_count", "missing_normalization"}) {
    samples::Extent extent;
    const auto stored = samples::read_all<std::int64_t>(
        folder / "a.nxs", (std::string("/entry/reduction/accumulators/") + name).c_str(), &extent);
    ASSERT_EQ(stored.size(), frames.size() * plan->bins());
    for (std::size_t i = 0; i < frames.size(); ++i) {
      std::vector<std::int64_t> expected(plan->bins(), 0);
      if (i < azimuths.size()) {
        for (const std::size_t azimuth : azimuths[i]) expected[azimuth * radial + azimuth % radial] = 16;
      }
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), stored.data() + i * plan->bins())) << i;
    }
    EXPECT_EQ(extent.stored_bytes, (5 + 1 + azimuthal) * radial * 8) << name;
  }
}

TEST(CakeFile, GoesOnWhereItEndedButOnlyWithTheSameBins) {
  const Folder folder;
  const auto plan = make_cake(5, 6);
  write_cakes(folder / "a.nxs", plan, 0, 4);
  write_cakes(folder / "a.nxs", plan, 0, 3, IfExists::kAppend);
  EXPECT_EQ(PatternFile(folder / "a.nxs").frames(), 7u);
  const auto append = [&](const std::shared_ptr<Plan>& other) {
    return message_of(ErrorKind::kOutput,
                      [&] { write_cakes(folder / "a.nxs", other, 0, 1, IfExists::kAppend); });
  };
  EXPECT_THAT(append(samples::make_plan(30)), HasSubstr("has cakes, this run makes patterns"));
  EXPECT_THAT(append(make_cake(6, 5)), HasSubstr("has cakes of 6 radial bins, this run makes 5"));
  EXPECT_THAT(append(make_cake(4, 6)), HasSubstr("has cakes of 5 azimuthal bins, this run makes 4"));
  write_cakes(folder / "b.nxs", samples::make_plan(6), 0, 1);
  EXPECT_THAT(
      message_of(ErrorKind::kOutput, [&] { write_cakes(folder / "b.nxs", plan, 0, 1, IfExists::kAppend); }),
      HasSubstr("has patterns, this run makes cakes"));
}

TEST(CakeFile, ChunksOfHugeCakesAreDividedByAzimuth) {
  EXPECT_EQ(layout::chunk_of({1000, 36}, 0).rows, 1u);
  EXPECT_EQ(layout::chunk_of({10, 36}, 0).rows, 182u);  // half a megabyte
  EXPECT_EQ(layout::chunk_of({10, 36}, 5).rows, 5u);
  EXPECT_EQ(layout::chunk_of({1000, 360}, 0).lines, 360u);
  const RowChunk huge = layout::chunk_of({4096, 4096}, 0);
  EXPECT_EQ(huge.rows, 1u);
  EXPECT_EQ(huge.lines, 128u);  // 4 MiB
  EXPECT_EQ(layout::sparse_chunk_of({100, 36}, 0).rows, layout::chunk_of({100, 36}, 0).rows);
  EXPECT_EQ(layout::sparse_chunk_of({100, 360}, 0).lines, 10u);  // 8 KiB
  EXPECT_EQ(layout::sparse_chunk_of({4096, 4096}, 0).lines, 1u);
}

TEST(CakeFile, TextHoldsNoCake) {
  const Folder folder;
  EXPECT_THAT(message_of(ErrorKind::kUsage,
                         [&] {
                           open_xy(folder / "a.xy", samples::job_of(make_cake(2, 3)), samples::make_run(),
                                   IfExists::kRefuse, true);
                         }),
              HasSubstr("no cake"));
}

TEST(CakePlot, DrawsOneFrameOrTheMeanInEveryScaleAndFormat) {
  const Folder folder;
  write_cakes(folder / "a.nxs", make_cake(12, 30), 0, 4);
  const PatternFile file(folder / "a.nxs");
  PlotOptions options;
  options.width = 500;
  options.height = 400;
  for (const PlotScale scale : {PlotScale::kLinear, PlotScale::kSqrt, PlotScale::kLog}) {
    options.scale = scale;
    options.frames.clear();
    plot_cake(file, options, folder / "mean.png");
    options.frames = {2};
    plot_cake(file, options, folder / "one.svg");
    EXPECT_EQ(samples::read_file(folder / "mean.png").substr(1, 3), "PNG");
    const std::string drawing = samples::read_file(folder / "one.svg");
    EXPECT_THAT(drawing, HasSubstr("</svg>"));
    EXPECT_THAT(drawing, HasSubstr("81.568627%,81.568627%,81.568627%"))
        << "the bin without pixels is grey: 208 of 255";
  }
}

TEST(CakePlot, RefusesWhatItCannotDraw) {
  const Folder folder;
  write_cakes(folder / "a.nxs", make_cake(12, 30), 0, 8);
  const PatternFile file(folder / "a.nxs");
  const auto draw = [&](auto change, ErrorKind kind = ErrorKind::kUsage) {
    PlotOptions options;
    change(options);
    return message_of(kind, [&] { plot_cake(file, options, folder / "a.png"); });
  };
  EXPECT_THAT(draw([](auto& o) { o.frames = {1, 2}; }), HasSubstr("do not fit one picture"));
  EXPECT_THAT(draw([](auto& o) { o.frames = {8}; }), HasSubstr("there is no frame 8"));
  EXPECT_THAT(draw([](auto& o) { o.frames = {5}; }, ErrorKind::kInput), HasSubstr("frame 5 is bad"));
  EXPECT_THAT(draw([](auto& o) { o.radial_range = Range{1000, 2000}; }), HasSubstr("no bin of the file"));
  EXPECT_THAT(draw([](auto& o) { o.radial_range = Range{5, 2}; }), HasSubstr("5 to 2 is no range"));
  EXPECT_THAT(draw([](auto& o) { o.radial_range = Range{2, std::nan("")}; }), HasSubstr("no range"));
}

TEST(CakeGrid, CellsAreMeansOfTheirBinsAndEmptyOnesStayEmpty) {
  OutputHeader header;
  header.axes = {{AxisKind::kRadial, "2theta", "deg", {0.5, 1.5, 2.5, 3.5}, {0, 1, 2, 3, 4}},
                 {AxisKind::kAzimuth, "chi", "degrees", {-90, 90}, {-180, 0, 180}}};
  const double nothing = std::nan("");
  const std::vector<double> cake = {1, 3, nothing, nothing, 5, nothing, 7, 9};
  const StackGrid grid = make_cake_grid(header, cake, {0, 4}, 10, 2);
  ASSERT_EQ(grid.rows, 2u);
  ASSERT_EQ(grid.columns, 2u);
  EXPECT_EQ(grid.at(0, 0), 2);
  EXPECT_TRUE(std::isnan(grid.at(0, 1)));
  EXPECT_EQ(grid.at(1, 0), 5);
  EXPECT_EQ(grid.at(1, 1), 8);
  EXPECT_THAT(grid.x_edges, ElementsAre(0, 2, 4));
  EXPECT_THAT(grid.y_edges, ElementsAre(-180, 0, 180));
  const StackGrid part = make_cake_grid(header, cake, {1.2, 2.8}, 10, 10);
  EXPECT_THAT(part.x_edges, ElementsAre(1, 2, 3));
  EXPECT_EQ(part.at(1, 1), 7);
}

TEST(DegreeTicks, AreAnglesThatPeopleKnow) {
  const auto labels = [](double low, double high, int wanted) {
    std::vector<std::string> found;
    for (const Tick& tick : degree_ticks(low, high, wanted)) {
      if (!tick.label.empty()) found.push_back(tick.label);
    }
    return found;
  };
  EXPECT_THAT(labels(-180, 180.00002, 4), ElementsAre("-180", "-90", "0", "90", "180"));
  EXPECT_THAT(labels(0, 360, 12), ElementsAre("0", "30", "60", "90", "120", "150", "180", "210", "240", "270",
                                              "300", "330", "360"));
  EXPECT_THAT(labels(-0.5, 0.5, 2), ElementsAre("-0.5", "0", "0.5"));
}

}  // namespace
}  // namespace annulus
