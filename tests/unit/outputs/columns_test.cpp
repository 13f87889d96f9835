#include <annulus/outputs/reader.hpp>
#include <annulus/outputs/verify_output.hpp>

#include <gmock/gmock.h>

#include "message_of.hpp"
#include "samples.hpp"

namespace annulus {
namespace {

using samples::Folder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsNan;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

RunDescription run_with(const std::vector<ColumnInfo>& columns) {
  RunDescription run = samples::make_run();
  run.columns = columns;
  return run;
}

// Of frame i: i + 0.5 and -i, of bad ones nothing.
std::vector<ReducedFrame> frames_with_points(const Plan& plan, std::uint64_t first, std::uint64_t count) {
  std::vector<ReducedFrame> frames = samples::make_frames(plan, first, count);
  for (ReducedFrame& frame : frames) {
    const auto i = static_cast<double>(frame.id.index);
    if (frame.fault.empty()) frame.point = {i + 0.5, -i};
  }
  return frames;
}

TEST(OutputColumns, AreReadBackWithTheirUnitsByName) {
  const Folder folder;
  const auto plan = samples::make_plan();
  const auto sink = open_nexus(folder / "a.nxs", samples::job_of(plan),
                               run_with({{"y", "mm", "m.csv#y"}, {"I0"}}), IfExists::kRefuse);
  sink->append(frames_with_points(*plan, 0, 8));
  sink->close();
  const PatternFile file(folder / "a.nxs");
  EXPECT_THAT(file.header().columns, ElementsAre(ColumnInfo{"I0"}, ColumnInfo{"y", "mm", "m.csv#y"}));
  std::vector<double> values(4);
  file.read_column(1, 3, 4, values);
  EXPECT_THAT(values, ElementsAre(3.5, 4.5, IsNan(), 6.5));
  file.read_column(0, 3, 4, values);
  EXPECT_THAT(values, ElementsAre(-3, -4, IsNan(), -6));
  EXPECT_THAT(verify_output(folder / "a.nxs").faults, IsEmpty());
}

TEST(OutputColumns, AFrameWithAnotherNumberOfValuesIsRefused) {
  const Folder folder;
  const auto plan = samples::make_plan();
  const auto sink = open_nexus(folder / "a.nxs", samples::job_of(plan), run_with({{"x"}}), IfExists::kRefuse);
  const auto append = [&](const std::vector<double>& point) {
    ReducedFrame frame = samples::make_frame(*plan, 0);
    frame.point = point;
    sink->append({frame});
  };
  append({1});
  EXPECT_THAT(message_of(ErrorKind::kOutput, [&] { append({}); }), HasSubstr("0 values, and the scan has 1"));
  EXPECT_THAT(message_of(ErrorKind::kOutput,
                         [&] {
                           append({1, 2});
                         }),
              HasSubstr("2 values, and the scan has 1"));
}

TEST(OutputColumns, NamesThatCannotBeFieldsAreRefused) {
  const Folder folder;
  const auto plan = samples::make_plan();
  const auto refuse = [&](const std::vector<ColumnInfo>& columns) {
    return message_of(ErrorKind::kOutput, [&] {
      open_nexus(folder / "a.nxs", samples::job_of(plan), run_with(columns), IfExists::kRefuse);
    });
  };
  EXPECT_THAT(refuse({{""}}), HasSubstr("cannot be called ''"));
  EXPECT_THAT(refuse({{"a/b"}}), HasSubstr("cannot be called 'a/b'"));
  EXPECT_THAT(refuse({{"."}}), HasSubstr("cannot be called '.'"));
  EXPECT_THAT(refuse({{"x"}, {"x"}}), HasSubstr("another is"));
  EXPECT_FALSE(std::filesystem::exists(folder / "a.nxs"));
}

TEST(OutputColumns, AppendingNeedsTheSameOnesInAnyOrder) {
  const Folder folder;
  const auto plan = samples::make_plan();
  const auto write = [&](const std::vector<ColumnInfo>& columns, std::uint64_t first) {
    const auto sink =
        open_nexus(folder / "a.nxs", samples::job_of(plan), run_with(columns), IfExists::kAppend);
    std::vector<ReducedFrame> frames = samples::make_frames(*plan, first, 3);
    for (ReducedFrame& frame : frames) {
      for (const ColumnInfo& column : columns) frame.point.push_back(column.name == "a" ? 1 : 2);
    }
    sink->append(frames);
    sink->close();
  };
  write({{"a"}, {"b"}}, 0);
  write({{"b"}, {"a"}}, 0);
  EXPECT_THAT(samples::read_all<double>(folder / "a.nxs", "/entry/frames/columns/a"),
              ElementsAre(1, 1, 1, 1, 1, 1));
  EXPECT_THAT(samples::read_all<double>(folder / "a.nxs", "/entry/frames/columns/b"),
              ElementsAre(2, 2, 2, 2, 2, 2));
  EXPECT_THAT(message_of(ErrorKind::kOutput, [&] { write({{"a"}}, 0); }), HasSubstr("has a column b"));
  EXPECT_THAT(message_of(ErrorKind::kOutput,
                         [&] {
                           write({{"a"}, {"b"}, {"c"}}, 0);
                         }),
              HasSubstr("has no column c"));
}

TEST(OutputColumns, AFrameThatOnlyLacksItsFactorKeepsItsSums) {
  const Folder folder;
  const auto plan = samples::make_plan();
  ReducedFrame frame = samples::make_frame(*plan, 1);
  const Sums sums = frame.sums;
  frame.fault = "the monitor is 0";
  frame.pattern = {};
  const auto write = [&] {
    const auto sink =
        open_nexus(folder / "a.nxs", samples::job_of(plan), samples::make_run(), IfExists::kOverwrite);
    sink->append({frame});
    sink->close();
  };
  EXPECT_THAT(message_of(ErrorKind::kOutput, write), HasSubstr("does not have the 6 bins"));
  frame.normalization = kNan;
  write();
  const auto stored =
      samples::read_all<std::int64_t>(folder / "a.nxs", "/entry/reduction/accumulators/signal");
  EXPECT_TRUE(std::ranges::equal(stored, sums[Quantity::kSignal]));
  const OutputCheck check = verify_output(folder / "a.nxs");
  EXPECT_THAT(check.faults, IsEmpty());
  EXPECT_EQ(check.recorded_bad, 1u);
  frame.sums = {};
  EXPECT_THAT(message_of(ErrorKind::kOutput, write), HasSubstr("does not have the 6 bins"));
}

}  // namespace
}  // namespace annulus
