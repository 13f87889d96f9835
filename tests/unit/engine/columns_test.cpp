#include <annulus/backends/registry.hpp>
#include <annulus/engine/columns.hpp>
#include <annulus/engine/reduce.hpp>
#include <annulus/sources/streams.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>

#include "message_of.hpp"
#include "naive_reduction.hpp"
#include "scan_files.hpp"

namespace annulus::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<std::string> names_of(const WantedColumns& wanted) {
  std::vector<std::string> names;
  for (const ColumnSpec& spec : wanted.columns) names.push_back(spec.column.name);
  return names;
}

TEST(WantedColumns, AMonitorIsAColumnASourceWithANameOrASource) {
  EXPECT_THAT(names_of(parse_columns({"x=a.csv#x", "I0=a.csv#I0"}, "I0")), ElementsAre("x", "I0"));
  EXPECT_EQ(parse_columns({"I0=a.csv#I0"}, "I0").monitor, "I0");
  EXPECT_THAT(names_of(parse_columns({"x=a.csv#x"}, "I0=header:Mon")), ElementsAre("x", "I0"));
  EXPECT_EQ(parse_columns({}, "I0=header:Mon").monitor, "I0");
  for (const char* source : {"a.csv#I0", "header:Mon", "s.h5::/I0", "/data/k=v/a.csv#I0"}) {
    EXPECT_THAT(names_of(parse_columns({}, source)), ElementsAre("monitor")) << source;
    EXPECT_EQ(parse_columns({}, source).monitor, "monitor") << source;
  }
  EXPECT_THAT(parse_columns({"x=a.csv#x"}, "").monitor, IsEmpty());
}

TEST(WantedColumns, NamesAreUnique) {
  const auto refuse = [](const std::vector<std::string>& columns, const std::string& monitor) {
    return message_of(ErrorKind::kUsage, [&] { parse_columns(columns, monitor); });
  };
  EXPECT_THAT(refuse({"x=a.csv#x", "x=b.csv#x"}, ""), HasSubstr("`column`: two columns are called x"));
  EXPECT_THAT(refuse({"I0=a.csv#x"}, "I0=b.csv#x"), HasSubstr("`monitor`: two columns are called I0"));
}

TEST(Monitor, IsCalledAsWhereItComesFrom) {
  const auto name = [](const std::vector<std::string>& columns, const std::string& monitor) {
    IntegrateConfig config;
    config.columns = columns;
    config.monitor = monitor;
    return monitor_of(config);
  };
  EXPECT_EQ(name({"I0=monday.csv#ionc"}, "I0"), "ionc");
  EXPECT_EQ(name({}, "tuesday.csv#ionc"), "ionc");
  EXPECT_EQ(name({}, "I0=header:Mon"), "Mon");
  EXPECT_EQ(name({}, "I0=scan.h5::/1.1/measurement/I0"), "measurement/I0");
  EXPECT_EQ(name({}, "I0=scan.h5::/2.1/measurement/I0"), "measurement/I0");
  EXPECT_EQ(name({}, "scan.h5::/entry/I1/data"), "I1/data");
  EXPECT_EQ(name({}, "scan.h5::/I0"), "/I0");
  EXPECT_EQ(name({}, "of_the_stream"), "of_the_stream");
  EXPECT_EQ(name({"x=a.csv#x"}, ""), "");
}

TEST(Monitor, SaysWhichRunsDoNotGoTogether) {
  const auto stored = [](const std::string& monitor, double factor, const std::string& part) {
    IntegrateConfig config;
    config.monitor = monitor;
    config.normalization_factor = factor;
    config.part = part;
    return to_json(config).dump();
  };
  const std::string one = stored("a.csv#I0", 1, "1/2");
  EXPECT_EQ(difference_of_division(one, stored("b.csv#I0", 1, "2/2")), "");
  EXPECT_EQ(difference_of_division(one, stored("a.csv#I1", 1, "2/2")), "their monitors: I0 and I1");
  EXPECT_EQ(difference_of_division(one, stored("", 1, "")), "their monitors: I0 and none");
  EXPECT_EQ(difference_of_division(one, stored("a.csv#I0", 2, "2/2")),
            "their `normalization_factor`: 1 and 2");
  EXPECT_EQ(difference_of_division(one, stored("a.csv#I0", 2, "")), "");
  EXPECT_EQ(difference_of_division(one, R"({"of_a_later_version": 1})"), "");
  EXPECT_EQ(difference_of_division("no JSON", one), "");
}

TEST(FrameFactor, IsTheProductUnlessItCannotDivide) {
  EXPECT_EQ(frame_factor(2, "I0", 1.5).value, 3);
  EXPECT_THAT(frame_factor(2, "I0", 1.5).fault, IsEmpty());
  for (const double measured :
       {0.0, -0.0, -1.0, kNan, std::numeric_limits<double>::infinity(), 1e-310, 1e308}) {
    const FrameFactor factor = frame_factor(1e10, "I0", measured * (measured == 1e-310 ? 1e-10 : 1));
    EXPECT_TRUE(std::isnan(factor.value)) << measured;
    EXPECT_THAT(factor.fault, HasSubstr("the monitor I0")) << measured;
  }
}

class KeepingSink : public Sink {
 public:
  std::vector<ReducedFrame> frames;
  void append(const std::vector<ReducedFrame>& batch) override {
    frames.insert(frames.end(), batch.begin(), batch.end());
  }
  void flush() override {}
  void close() override {}
};

// The columns of a stream of the caller's own serve as monitors, too.
TEST(Monitor, DividesTheFramesOfAStream) {
  const ScratchFolder folder;
  const ScanFiles scan(folder, 1, 6);
  const std::vector<double> monitor = {1, 2, 0, kNan, -4, 0.5};
  std::vector<Frame> frames;
  for (std::size_t i = 0; i < 6; ++i) {
    frames.push_back(raw_frame(scan.shape, PixelType::kI32, scan.pixels[i]));
    frames.back().point = {10.0 * static_cast<double>(i), monitor[i]};
    frames.back().id = {};
  }
  const auto plain = stream_memory(frames, "memory", {"x", "I0"});
  const auto stream = stream_memory(std::move(frames), "memory", {"x", "I0"});
  const auto run = [&](FrameStream& source, const ReductionSettings& settings) {
    auto backend = make_backend("cpu", {2});
    backend->load({scan.plan, scan.recipe});
    KeepingSink sink;
    const ReductionSummary summary = reduce(source, {scan.plan, scan.recipe}, *backend, sink, settings);
    EXPECT_EQ(summary.bad, settings.monitor ? 3u : 0u);
    return sink.frames;
  };
  const auto expected = run(*plain, {});
  ReductionSettings settings;
  settings.keep_going = true;
  settings.monitor = "I0";
  settings.normalization_factor = 4;
  const auto found = run(*stream, settings);
  ASSERT_EQ(found.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(found[i].sums, expected[i].sums) << i;
    const bool bad = i >= 2 && i <= 4;
    EXPECT_EQ(!found[i].fault.empty(), bad) << i;
    EXPECT_EQ(found[i].pattern.intensity.empty(), bad) << i;
    if (bad) {
      EXPECT_TRUE(std::isnan(found[i].normalization)) << i;
      continue;
    }
    EXPECT_EQ(found[i].normalization, 4 * monitor[i]);
    const Pattern divided = normalise(*scan.plan, expected[i].sums, 4 * monitor[i]);
    for (std::size_t bin = 0; bin < scan.plan->bins(); ++bin) {
      const double a = found[i].pattern.intensity[bin], b = divided.intensity[bin];
      EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << i << " " << bin;
    }
  }
  settings.monitor = "absent";
  const auto again = stream_memory({raw_frame(scan.shape, PixelType::kI32, scan.pixels[0])}, "memory");
  EXPECT_THAT(message_of(ErrorKind::kUsage, [&] { run(*again, settings); }),
              HasSubstr("there is no column 'absent'"));
}

}  // namespace
}  // namespace annulus::testing
