#include <annulus/fxs/correlation_file.hpp>
#include <annulus/fxs/correlation_reader.hpp>
#include <annulus/fxs/merge_correlations.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "message_of.hpp"
#include "sample_correlation.hpp"
#include "scratch_folder.hpp"

namespace annulus {
namespace {

using ::testing::_;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Ne;
using ::testing::Pair;
using testing::ScratchFolder;

class MergeCorrelations : public ::testing::Test {
 protected:
  std::filesystem::path put(const std::string& name, const Correlation& correlation) const {
    const std::filesystem::path path = folder_.path() / name;
    write_correlation(path, correlation.record, correlation.sums, false);
    return path;
  }
  std::filesystem::path merged() const { return folder_.path() / "merged.nxs"; }

  const ScratchFolder folder_;
};

TEST_F(MergeCorrelations, GivesWhatOneRunGives) {
  const Correlation whole = sample_correlation(0, 40);
  const std::vector<std::filesystem::path> parts = {put("c", sample_correlation(25, 15)),
                                                    put("a", sample_correlation(0, 9)),
                                                    put("b", sample_correlation(9, 16))};
  const MergedCorrelations report = merge_correlations(parts, merged(), false);
  EXPECT_EQ(report.files, 3U);
  EXPECT_EQ(report.counted, whole.sums.images);
  const Correlation found = read_correlation_sums(merged());
  EXPECT_EQ(found.sums.signal, whole.sums.signal);
  EXPECT_EQ(found.sums.mask, whole.sums.mask);
  ASSERT_EQ(found.record.snapshots.rows().size(), 40U);
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(found.record.snapshots.rows()[i].index, i);
  EXPECT_EQ(found.record.snapshots.sources(), whole.record.snapshots.sources());
  EXPECT_TRUE(found.record.finished);
}

TEST_F(MergeCorrelations, RefusesWhatDoesNotGoTogether) {
  const auto first = put("first", sample_correlation(0, 4));
  const auto refusal = [&](const std::function<void(CorrelationSetup&)>& change) {
    Correlation other = sample_correlation(4, 4);
    change(other.record.setup);
    const auto path = folder_.path() / "other";
    write_correlation(path, other.record, other.sums, true);
    const std::string text = message_of(ErrorKind::kInput, [&] {
      merge_correlations({first, path}, merged(), false);
    });
    EXPECT_FALSE(std::filesystem::exists(merged()));
    return text;
  };
  EXPECT_THAT(refusal([](CorrelationSetup& setup) { setup.plan_hash = "another"; }), HasSubstr("plan"));
  EXPECT_THAT(refusal([](CorrelationSetup& setup) { setup.radial.centres[2] += 0.1; }), HasSubstr("rings"));
  EXPECT_THAT(refusal([](CorrelationSetup& setup) { setup.scale = 4; }),
              HasSubstr("`scale`: 3 here, 4 there"));
  EXPECT_THAT(refusal([](CorrelationSetup& setup) { setup.polar.subtract_mean = false; }),
              HasSubstr("`keep_mean`"));
  EXPECT_THAT(refusal([](CorrelationSetup& setup) { setup.polar.least_mean = 1; }),
              HasSubstr("`least_mean`"));
  EXPECT_THAT(refusal([](CorrelationSetup& setup) { setup.polar.most_mean = 1; }), HasSubstr("`most_mean`"));
  EXPECT_THAT(refusal([](CorrelationSetup& setup) { setup.normalization_factor = 2; }),
              HasSubstr("`normalization_factor`"));
  EXPECT_THAT(refusal([](CorrelationSetup& setup) { setup.monitor = "ionc"; }), HasSubstr("`monitor`"));
}

TEST_F(MergeCorrelations, AddsUpPartsInSteps) {
  const auto part = [&](unsigned number, bool finished) {
    Correlation correlation = sample_correlation(10 * number, 10);
    correlation.record.finished = finished;
    correlation.record.origin.config_json =
        R"({"inputs": ["a"], "part": ")" + std::to_string(number) + R"(/4"})";
    return put("part" + std::to_string(number) + (finished ? "" : "_ended"), correlation);
  };
  const auto add_up = [&](const std::string& name, const std::vector<std::filesystem::path>& inputs) {
    const MergedCorrelations report = merge_correlations(inputs, folder_.path() / name, false);
    EXPECT_EQ(read_correlation_record(folder_.path() / name).finished, report.finished);
    return report;
  };
  const std::filesystem::path folder = folder_.path(), p3 = part(3, true), p4 = part(4, true);
  const MergedCorrelations half = add_up("12", {part(1, true), part(2, true)});
  EXPECT_THAT(half.missing_parts, ElementsAre(Part{3, 4}, Part{4, 4}));
  EXPECT_FALSE(half.finished);
  EXPECT_THAT(add_up("123", {p3, folder / "12"}).missing_parts, ElementsAre(Part{4, 4}));
  add_up("34", {p3, p4});
  for (const MergedCorrelations& all :
       {add_up("12_34", {folder / "12", folder / "34"}), add_up("4_123", {p4, folder / "123"})}) {
    EXPECT_THAT(all.missing_parts, ElementsAre());
    EXPECT_TRUE(all.finished);
  }
  // What is all there says nothing of parts.
  const auto options = read_correlation_record(folder / "12_34").origin.options;
  EXPECT_THAT(options, Each(Pair(Ne(kMergedPartsOption), _)));
  // A part that was ended is there, and not finished, in whatever step.
  add_up("12_ended", {folder / "part1", part(2, false)});
  const MergedCorrelations ended = add_up("12_ended_34", {folder / "12_ended", folder / "34"});
  EXPECT_THAT(ended.missing_parts, ElementsAre());
  EXPECT_FALSE(ended.finished);
}

TEST_F(MergeCorrelations, RefusesOtherCoefficients) {
  const auto first = put("first", sample_correlation(0, 4));
  Correlation other = sample_correlation(4, 4);
  other.record.legendre = LegendreChoice{4, 0, {}};
  const auto second = put("second", other);
  EXPECT_THAT(message_of(ErrorKind::kInput,
                         [&] {
                           merge_correlations({first, second}, merged(), false);
                         }),
              HasSubstr("`legendre`: not given here, 4 on a flat Ewald sphere there"));
}

TEST_F(MergeCorrelations, RefusesAnImageThatIsInTwo) {
  const auto first = put("first", sample_correlation(0, 5)), second = put("second", sample_correlation(4, 5));
  EXPECT_THAT(message_of(ErrorKind::kInput,
                         [&] {
                           merge_correlations({first, second}, merged(), false);
                         }),
              HasSubstr("twice"));
  EXPECT_THAT(message_of(ErrorKind::kUsage, [&] { merge_correlations({}, merged(), false); }),
              HasSubstr("no files"));
}

}  // namespace
}  // namespace annulus
