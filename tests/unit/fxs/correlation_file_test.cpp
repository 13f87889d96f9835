#include <annulus/correlation/fast_correlator.hpp>
#include <annulus/fxs/correlation_file.hpp>
#include <annulus/fxs/correlation_reader.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "message_of.hpp"
#include "sample_correlation.hpp"
#include "scratch_folder.hpp"

namespace annulus {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ScratchFolder;

void expect_same(const CorrelationRecord& found, const CorrelationRecord& expected) {
  EXPECT_EQ(difference_of(found.setup, expected.setup), "");
  EXPECT_EQ(found.origin.options, expected.origin.options);
  EXPECT_EQ(found.origin.poni_text, expected.origin.poni_text);
  EXPECT_EQ(found.legendre, expected.legendre);
  EXPECT_EQ(found.finished, expected.finished);
  ASSERT_EQ(found.snapshots.rows().size(), expected.snapshots.rows().size());
  for (std::size_t i = 0; i < found.snapshots.rows().size(); ++i) {
    const Snapshot &one = found.snapshots.rows()[i], &other = expected.snapshots.rows()[i];
    EXPECT_EQ(one.index, other.index);
    EXPECT_EQ(one.source_id, other.source_id);
    EXPECT_EQ(one.status, other.status) << i;
    EXPECT_EQ(found.snapshots.source_of(one), expected.snapshots.source_of(other));
    EXPECT_EQ(found.snapshots.reason_of(one), expected.snapshots.reason_of(other));
    EXPECT_TRUE(one.mean == other.mean || (std::isnan(one.mean) && std::isnan(other.mean))) << i;
  }
}

TEST(CorrelationFile, IsReadAsItWasWritten) {
  const ScratchFolder folder;
  const auto path = folder.path() / "c2.nxs";
  Correlation written = sample_correlation(0, 23);
  written.record.setup.polar.least_mean = -3.5;
  written.record.setup.plan_hash = "abc";
  written.record.legendre = LegendreChoice{4, 0.1, {1, 2, 3, 4, 5}};
  EXPECT_FALSE(is_correlation_file(path));
  write_correlation(path, written.record, written.sums, false);
  EXPECT_TRUE(is_correlation_file(path));
  const Correlation found = read_correlation_sums(path);
  expect_same(found.record, written.record);
  EXPECT_EQ(found.sums.signal, written.sums.signal);
  EXPECT_EQ(found.sums.mask, written.sums.mask);
  EXPECT_EQ(found.sums.images, written.sums.images);
  const StoredCorrelation stored = read_correlation(path);
  EXPECT_EQ(stored.counted, written.sums.images);
  EXPECT_EQ(stored.c2, written.sums.normalized());
  EXPECT_EQ(stored.coefficients.orders, (std::vector<std::size_t>{0, 2, 4}));
  EXPECT_EQ(stored.coefficients.values.size(), 15U * 3);
  EXPECT_THAT(verify_correlation(path).faults, IsEmpty());
}

TEST(CorrelationFile, WithoutSnapshotsIsReadToo) {
  const ScratchFolder folder;
  Correlation none = sample_correlation(0, 0);
  none.record.finished = false;
  write_correlation(folder.path() / "c2.nxs", none.record, none.sums, false);
  EXPECT_EQ(read_correlation_sums(folder.path() / "c2.nxs").sums.images, 0U);
  EXPECT_THAT(verify_correlation(folder.path() / "c2.nxs").notes, ::testing::SizeIs(1));
}

TEST(CorrelationFile, AnotherFileIsNotReplaced) {
  const ScratchFolder folder;
  const auto path = folder.path() / "c2.nxs";
  const Correlation sample = sample_correlation(0, 2);
  std::ofstream(path) << "mine";
  EXPECT_THAT(
      message_of(ErrorKind::kOutput, [&] { write_correlation(path, sample.record, sample.sums, true); }),
      HasSubstr("is not a correlation that annulus wrote"));
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { read_correlation(path); }), HasSubstr("not an HDF5 file"));
}

TEST(CorrelationFile, NothingIsAddedToAPreview) {
  const ScratchFolder folder;
  const auto path = folder.path() / "c2.nxs";
  const Correlation sample = sample_correlation(0, 4);
  PreviewSums sums;
  sums.shape = sample.sums.shape;
  sums.scale = sample.sums.scale;
  sums.images = sample.sums.images;
  sums.signal.assign(sample.sums.signal.begin(), sample.sums.signal.end());
  sums.mask = sample.sums.mask;
  write_correlation(path, sample.record, sums, false);
  EXPECT_TRUE(read_correlation(path).preview);
  EXPECT_THAT(verify_correlation(path).faults, IsEmpty());
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { read_correlation_sums(path); }), HasSubstr("preview"));
}

}  // namespace
}  // namespace annulus
