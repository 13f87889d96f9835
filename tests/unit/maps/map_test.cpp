#include <annulus/maps/map.hpp>
#include <annulus/ranks/together.hpp>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <unistd.h>

#include <mutex>
#include <thread>

#include "../outputs/samples.hpp"
#include "message_of.hpp"
#include "ranks/fake_network.hpp"

namespace annulus {
namespace {

using samples::Folder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsNan;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Frame i at (y, x) = points[i].
using Points = std::vector<std::vector<double>>;

std::vector<ReducedFrame> frames_at(const Plan& plan, const Points& points, std::size_t first = 0) {
  std::vector<ReducedFrame> frames;
  for (std::size_t i = first; i < points.size(); ++i) {
    frames.push_back(samples::make_frame(plan, i));
    if (frames.back().fault.empty()) frames.back().point = points[i];
  }
  return frames;
}

std::unique_ptr<Sink> begin_scan(const std::filesystem::path& path, const std::shared_ptr<Plan>& plan) {
  RunDescription run = samples::make_run();
  run.columns = {{"y", "mm"}, {"x", "um"}};
  return open_nexus(path, samples::job_of(plan), run, IfExists::kRefuse);
}

MapOptions over_x_and_y(const std::vector<std::string>& windows = {}) {
  MapOptions options;
  options.grid.slow = "y";
  options.grid.fast = "x";
  options.windows = all_windows(windows, {});
  return options;
}

// What the sums of samples::make_frame() say of bins [first, end), without the library.
double expected_window(const std::vector<std::uint64_t>& frames, std::uint32_t first, std::uint32_t end) {
  double signal = 0, norm = 0;
  for (const std::uint64_t i : frames) {
    for (std::uint32_t bin = first; bin < end; ++bin) {
      signal += 4.0 * static_cast<double>(i + bin);
      norm += 2 * (bin == 0 ? 0 : bin - (samples::lacks_pixels(i) ? 0.5 : 0.0));
    }
  }
  return signal / norm;
}

TEST(Map, HasAValuePerCell) {
  const Folder folder;
  const auto plan = samples::make_plan();
  // A zigzag of 3 x 2 points; frame 5 is bad, and the last point was taken twice.
  const auto sink = begin_scan(folder / "a.nxs", plan);
  sink->append(frames_at(*plan, {{0, 1}, {0, 2}, {0.5, 2}, {0.5, 1}, {1, 1}, {}, {1, 1}, {1, 2}}));
  sink->close();
  const PatternFile file(folder / "a.nxs");
  const ScanMap map = make_map(file, over_x_and_y({"low=2:4", "high=5:6.5"}));
  EXPECT_EQ(map.rows, 3);
  EXPECT_EQ(map.columns, 2);
  EXPECT_EQ(map.frames, 7);
  EXPECT_EQ(map.left_out, 1);
  EXPECT_EQ(map.empty_cells, 0);
  EXPECT_EQ(map.crowded_cells, 1);
  ASSERT_EQ(map.images.size(), 3);
  const GridImage& low = map.images[0];
  EXPECT_EQ(low.name, "low_intensity");
  EXPECT_THAT(low.rows.positions, ElementsAre(0, 0.5, 1));
  EXPECT_EQ(low.rows.name, "y");
  EXPECT_EQ(low.columns.unit, "um");
  EXPECT_THAT(low.values, ElementsAre(expected_window({0}, 1, 3), expected_window({1}, 1, 3),
                                      expected_window({3}, 1, 3), expected_window({2}, 1, 3),
                                      expected_window({4, 6}, 1, 3), expected_window({7}, 1, 3)));
  EXPECT_EQ(map.images[1].values[3], expected_window({2}, 4, 6));
  EXPECT_EQ(map.images[2].name, kFramesImage);
  EXPECT_THAT(map.images[2].values, ElementsAre(1, 1, 1, 1, 2, 1));
}

TEST(Map, WithoutWindowsShowsThePattern) {
  const Folder folder;
  const auto plan = samples::make_plan();
  const auto sink = begin_scan(folder / "a.nxs", plan);
  sink->append(frames_at(*plan, {{0, 0}, {0, 1}, {1, 0}}));
  sink->close();
  const PatternFile file(folder / "a.nxs");
  const ScanMap map = make_map(file, over_x_and_y());
  EXPECT_THAT(map.images[0].values, ElementsAre(expected_window({0}, 0, 6), expected_window({1}, 0, 6),
                                                expected_window({2}, 0, 6), IsNan()));
  EXPECT_EQ(map.empty_cells, 1);
}

// Frame i is a peak on a slope: its background, centre, width and maximum are known.
TEST(Map, PeaksHaveTheirBackgroundSubtracted) {
  const Folder folder;
  const auto plan = samples::make_plan(12);
  const auto sink = begin_scan(folder / "a.nxs", plan);
  const std::vector<std::int64_t> peak = {0, 0, 0, 0, 1, 4, 2, 0, 0, 0, 0, 0};
  for (std::uint64_t i = 0; i < 4; ++i) {
    ReducedFrame frame = samples::make_frame(*plan, i);
    frame.point = {static_cast<double>(i / 2), static_cast<double>(i % 2)};
    frame.normalization = 1;
    const auto signal = frame.sums[Quantity::kSignal];
    const auto height = static_cast<std::int64_t>(i);
    // Intensity 100 + 10 b + i x peak, of normalisation b.
    for (std::int64_t b = 0; b < 12; ++b) signal[b] = (b * (100 + 10 * b + height * peak[b])) << 4;
    frame.pattern = normalise(*plan, frame.sums);
    sink->append({frame});
  }
  sink->close();
  MapOptions options = over_x_and_y({"peak=4.5:9.5,1:4,10:13", "flat=10:12"});
  options.values = {MapValue::kIntensity, MapValue::kError,   MapValue::kCentre,
                    MapValue::kWidth,     MapValue::kMaximum, MapValue::kMaximumAt};
  const PatternFile file(folder / "a.nxs");
  const ScanMap map = make_map(file, options);
  ASSERT_EQ(map.images.size(), 13);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto h = static_cast<double>(i);
    // Bins 3 to 8 have centres 4.5 to 9.5, normalisations 3 to 8.
    EXPECT_NEAR(map.images[0].values[i], h * (4 * 1 + 5 * 4 + 6 * 2) / (3 + 4 + 5 + 6 + 7 + 8), 1e-12);
    EXPECT_GT(map.images[1].values[i], 0);
    if (i == 0) continue;
    const double centre = (5.5 * 1 + 6.5 * 4 + 7.5 * 2) / 7;
    EXPECT_NEAR(map.images[2].values[i], centre, 1e-9);
    const double square = (5.5 * 5.5 + 6.5 * 6.5 * 4 + 7.5 * 7.5 * 2) / 7;
    EXPECT_NEAR(map.images[3].values[i], std::sqrt(square - centre * centre), 1e-9);
    EXPECT_NEAR(map.images[4].values[i], 4 * h, 1e-10);
    EXPECT_EQ(map.images[5].values[i], 6.5);
    EXPECT_EQ(map.images[2].unit, "deg");
  }
  // Without sides nothing is subtracted.
  EXPECT_DOUBLE_EQ(map.images[6].values[0], (9 * 190 + 10 * 200) / 19.0);
}

TEST(Map, FollowsTheShapeOfAScanWithoutMotors) {
  const Folder folder;
  const auto plan = samples::make_plan();
  const auto sink = begin_scan(folder / "a.nxs", plan);
  sink->append(frames_at(*plan, Points(4, std::vector<double>(2, kNan))));
  sink->close();
  MapOptions options;
  options.grid.shape = GridOptions::GridShape{2, 3};
  options.grid.zigzag = Zigzag::kOddReversed;
  const PatternFile file(folder / "a.nxs");
  const ScanMap map = make_map(file, options);
  EXPECT_THAT(map.images[0].values,
              ElementsAre(expected_window({0}, 0, 6), expected_window({1}, 0, 6), expected_window({2}, 0, 6),
                          IsNan(), IsNan(), expected_window({3}, 0, 6)));
  EXPECT_EQ(map.images[0].rows.name, "line");
  EXPECT_THAT(map.images[0].columns.positions, ElementsAre(0, 1, 2));
}

TEST(Map, WhatMakesNoneIsNamed) {
  const Folder folder;
  const auto plan = samples::make_plan(6, false);
  {
    const auto sink = begin_scan(folder / "a.nxs", plan);
    sink->append(frames_at(*plan, {{0, 1}, {0, 2}, {0, 3}}));
    sink->close();
    begin_scan(folder / "none.nxs", plan)->close();
    const auto cake = samples::make_cake(2, 3);
    const auto cakes = begin_scan(folder / "cake.nxs", cake);
    cakes->append(frames_at(*cake, {{0, 1}, {1, 1}, {1, 0}}));
    cakes->close();
  }
  const auto refusal = [&](ErrorKind kind, const char* name, const MapOptions& options) {
    const PatternFile file(folder / name);
    return message_of(kind, [&] { make_map(file, options); });
  };
  EXPECT_THAT(refusal(ErrorKind::kInput, "a.nxs", over_x_and_y()), HasSubstr("column y: it never moves"));
  EXPECT_THAT(refusal(ErrorKind::kInput, "none.nxs", over_x_and_y()), HasSubstr("holds no frames"));
  EXPECT_THAT(refusal(ErrorKind::kUsage, "cake.nxs", over_x_and_y()), HasSubstr("holds cakes"));
  MapOptions options = over_x_and_y();
  options.grid.fast = "z";
  EXPECT_THAT(refusal(ErrorKind::kUsage, "a.nxs", options),
              AllOf(HasSubstr("has no column 'z'"), HasSubstr("it has x, y")));
  options.grid.fast.clear();
  EXPECT_THAT(refusal(ErrorKind::kUsage, "a.nxs", options), HasSubstr("two motors, and one is given"));
  options = over_x_and_y();
  options.grid.shape = GridOptions::GridShape{1, 3};
  EXPECT_THAT(refusal(ErrorKind::kUsage, "a.nxs", options), HasSubstr("`shape`"));
  options = over_x_and_y();
  options.values = {MapValue::kError};
  EXPECT_THAT(refusal(ErrorKind::kUsage, "a.nxs", options), HasSubstr("has no errors"));
  EXPECT_THAT(refusal(ErrorKind::kUsage, "a.nxs", MapOptions()), HasSubstr("which shape the scan is"));
}

TEST(Map, GrowsWithItsScan) {
  const Folder folder;
  const auto plan = samples::make_plan();
  const Points points = {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 0}, {}, {2, 1}};
  std::vector<std::uint64_t> seen;
  std::vector<double> last;
  std::jthread writer([&] {
    const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(300)); };
    pause();
    const auto sink = begin_scan(folder / "a.nxs", plan);
    for (std::size_t i = 0; i < points.size(); ++i) {
      sink->append({frames_at(*plan, points)[i]});
      sink->flush();
      pause();
    }
    sink->close();
  });
  FollowedOutput output(folder / "a.nxs", std::chrono::seconds(60));
  bool complete = false;
  follow_map(output, over_x_and_y({"low=2:4"}),
             [&](const ScanMap& map, const PatternFile&, bool now_complete) {
               seen.push_back(map.frames);
               last = map.images[0].values;
               complete = now_complete;
             },
             {});
  EXPECT_TRUE(complete);
  EXPECT_TRUE(std::ranges::is_sorted(seen));
  EXPECT_GT(seen.size(), 2);
  // With two frames a motor has not moved yet.
  EXPECT_GE(seen.front(), 3);
  EXPECT_EQ(seen.back(), 6);
  const PatternFile file(folder / "a.nxs");
  EXPECT_EQ(last, make_map(file, over_x_and_y({"low=2:4"})).images[0].values);
}

// The maps of two ranks that opened these files, or the one error that both have.
struct MapOfRanks {
  ScanMap map;  // of the first
  std::vector<std::string> errors;
};
MapOfRanks map_of_ranks(std::vector<std::unique_ptr<PatternFile>> files, std::vector<MapOptions> options) {
  MapOfRanks made;
  std::mutex making;
  run_as_ranks(static_cast<unsigned>(files.size()), [&](Ranks& ranks) {
    try {
      ScanMap map = make_map(*files[ranks.rank()], options[ranks.rank()], ranks);
      if (ranks.is_first()) made.map = std::move(map);
    } catch (const FailedTogether& error) {
      const std::lock_guard lock(making);
      made.errors.emplace_back(error.what());
    }
  });
  return made;
}

TEST(Map, RanksThatOpenAGrowingOutputOneAfterTheOtherMapWhatTheFirstFound) {
  const Folder folder;
  const auto plan = samples::make_plan();
  const Points points = {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 0}, {}, {2, 1}, {3, 0}, {3, 1}, {1, 1}};
  const auto frames = frames_at(*plan, points);
  const auto sink = begin_scan(folder / "a.nxs", plan);
  sink->append({frames.begin(), frames.begin() + 4});
  sink->flush();
  // HDF5 would show one process the same of one file, whenever it opens it.
  std::filesystem::copy_file(folder / "a.nxs", folder / "early.nxs");
  sink->append({frames.begin() + 4, frames.end()});
  sink->close();
  std::vector<std::unique_ptr<PatternFile>> files;
  for (const char* name : {"early.nxs", "a.nxs"})
    files.push_back(std::make_unique<PatternFile>(folder / name));
  ASSERT_EQ(files[0]->frames(), 4);
  ASSERT_EQ(files[1]->frames(), 10);
  const MapOptions options = over_x_and_y({"low=2:4"});
  const ScanMap alone = make_map(*files[0], options);
  const MapOfRanks made = map_of_ranks(std::move(files), {options, options});
  EXPECT_THAT(made.errors, ElementsAre());
  EXPECT_EQ(made.map.rows, 2);
  EXPECT_EQ(made.map.frames, 4);
  ASSERT_EQ(made.map.images.size(), 2);
  EXPECT_EQ(made.map.images[0].values, alone.images[0].values);
  EXPECT_EQ(made.map.images[1].values, alone.images[1].values);
}

TEST(Map, RanksThatSeeOtherFilesRefuseTogether) {
  const Folder folder;
  const auto plan = samples::make_plan();
  const Points points = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  const auto write = [&](const char* name, const Points& at) {
    const auto sink = begin_scan(folder / name, plan);
    sink->append(frames_at(*plan, at));
    sink->close();
  };
  write("whole.nxs", points);
  write("short.nxs", {{0, 0}, {0, 1}, {1, 0}});
  write("wide.nxs", {{0, 0}, {0, 1}, {1, 0}, {1, 2}});
  const auto errors = [&](const char* second, const MapOptions& of_second) {
    std::vector<std::unique_ptr<PatternFile>> files;
    for (const char* name : {"whole.nxs", second})
      files.push_back(std::make_unique<PatternFile>(folder / name));
    return map_of_ranks(std::move(files), {over_x_and_y({"low=2:4"}), of_second}).errors;
  };
  const auto both = [](const auto& text) { return ElementsAre(text, text); };
  EXPECT_THAT(errors("short.nxs", over_x_and_y({"low=2:4"})),
              both(HasSubstr("has 3 frames for rank 1, and 4 frames for rank 0")));
  EXPECT_THAT(errors("wide.nxs", over_x_and_y({"low=2:4"})),
              both(HasSubstr("rank 1 sees another output or other windows than rank 0")));
  EXPECT_THAT(errors("whole.nxs", over_x_and_y({"low=4:6"})), both(HasSubstr("other windows")));
  EXPECT_THAT(errors("whole.nxs", over_x_and_y({"low=2:4"})), ElementsAre());
}

TEST(Map, ShapesOfPeaksAreLeftOutIfNobodyAsksForThem) {
  const Folder folder;
  const auto plan = samples::make_plan();
  const auto sink = begin_scan(folder / "a.nxs", plan);
  sink->append(frames_at(*plan, {{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
  sink->close();
  const PatternFile file(folder / "a.nxs");
  const ScanGrid grid = find_grid(file, over_x_and_y().grid);
  const CellReader reader(file, grid);
  const std::vector<WindowBins> windows{{{2, 6}}};
  std::vector<WindowValues> with(grid.cells()), without(grid.cells());
  const auto take_into = [](std::vector<WindowValues>& to) {
    return [&to](std::size_t cell, std::span<const WindowValues> values) { to[cell] = values.front(); };
  };
  reader.read_windows(windows, WindowDetail::kShape, take_into(with));
  reader.read_windows(windows, WindowDetail::kIntensity, take_into(without));
  for (std::size_t cell = 0; cell < grid.cells(); ++cell) {
    EXPECT_EQ(without[cell].intensity, with[cell].intensity);
    EXPECT_FALSE(std::isnan(with[cell].maximum));
    EXPECT_THAT(without[cell].maximum, IsNan());
    EXPECT_THAT(without[cell].centre_of_mass, IsNan());
  }
}

// As a writer that repairs its output does.
TEST(Map, AnOutputThatCannotBeOpenedForAMomentIsWaitedFor) {
  const Folder folder;
  const auto plan = samples::make_plan();
  const auto sink = begin_scan(folder / "a.nxs", plan);
  sink->append(frames_at(*plan, {{0, 0}, {0, 1}, {1, 0}}));
  sink->close();
  const int file = open((folder / "a.nxs").c_str(), O_RDWR);
  ASSERT_GE(file, 0);
  ASSERT_EQ(flock(file, LOCK_EX), 0);
  FollowedOutput impatient(folder / "a.nxs", std::chrono::milliseconds(250));
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { impatient.next({}); }), HasSubstr("a.nxs"));
  const std::jthread owner([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(350));
    close(file);
  });
  FollowedOutput output(folder / "a.nxs", std::chrono::seconds(30));
  EXPECT_EQ(output.next({}).file->frames(), 3);
}

TEST(Map, ATimeoutIsATime) {
  for (const double seconds : {-1.0, kNan, std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(message_of(ErrorKind::kUsage,
                           [&] { FollowedOutput("a.nxs", std::chrono::duration<double>(seconds)); }),
                HasSubstr("`follow_timeout`"));
  }
}

TEST(Map, AnOutputThatNeverComesIsNamed) {
  const Folder folder;
  std::ofstream(folder / "a.nxs");  // has just been created
  FollowedOutput output(folder / "a.nxs", std::chrono::milliseconds(200));
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { output.next({}); }),
              HasSubstr("did not appear within 0.2"));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(message_of(ErrorKind::kInterrupted, [&] { output.next(stop.get_token()); }).empty(), false);
}

}  // namespace
}  // namespace annulus
