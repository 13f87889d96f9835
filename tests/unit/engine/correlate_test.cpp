#include <annulus/engine/correlate.hpp>
#include <annulus/fxs/correlation_file.hpp>
#include <annulus/fxs/correlation_reader.hpp>
#include <annulus/sources/frame_source.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "message_of.hpp"
#include "scratch_folder.hpp"

namespace annulus {
namespace {

using ::testing::HasSubstr;
using testing::ScratchFolder;

// Two images of 1 ring x 4 angles, of 1 byte each.
std::string write_images(const ScratchFolder& folder) {
  const std::string header =
      "{'descr': '|i1', 'fortran_order': False, 'shape': (2, 1, 4), }                                      "
      "\n";
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size());
  text += '\0';
  return folder.write("images.npy", text + header + std::string("\x01\x02\x03\x04\x04\x03\x02\x01", 8));
}

CorrelateConfig config_of(const ScratchFolder& folder) {
  CorrelateConfig config;
  config.reduction.inputs = {write_images(folder)};
  config.reduction.output = folder.file("c2.nxs");
  config.reduction.append = true;
  config.polar = true;
  config.keep_mean = true;
  config.scale = 0;
  return config;
}

TEST(Correlate, EndsBeforeSumsAreFull) {
  const ScratchFolder folder;
  CorrelateConfig config = config_of(folder);
  correlate(config);
  // The same of another file, with room for one more image: its squares add up to 30.
  Correlation full = read_correlation_sums(config.reduction.output);
  SnapshotTable another;
  for (Snapshot row : full.record.snapshots.rows()) {
    row.source_id = {1, 2};
    another.add(row, "another.npy", "");
  }
  full.record.snapshots = another;
  full.sums.signal[0] = std::numeric_limits<std::int64_t>::max() - 45;
  write_correlation(config.reduction.output, full.record, full.sums, true);
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { correlate(config); }),
              ::testing::AllOf(HasSubstr("images.npy, image 1"), HasSubstr("could leave 64 bits")));
  const Correlation kept = read_correlation_sums(config.reduction.output);
  EXPECT_EQ(kept.record.snapshots.rows().size(), 3U);
  EXPECT_EQ(kept.sums.signal[0], std::numeric_limits<std::int64_t>::max() - 15);
  EXPECT_FALSE(kept.record.finished);
}

TEST(Correlate, FindsTheScaleOfARun) {
  const ScratchFolder folder;
  CorrelateConfig config = config_of(folder);
  config.scale.reset();
  EXPECT_EQ(find_scale(config), correlate(config).correlation.record.setup.scale);
  EXPECT_EQ(find_scale(config), 8);  // 4 becomes 1024; 9 would make it 2048
}

TEST(Correlate, RefusesOptionsThatDoNothing) {
  const ScratchFolder folder;
  CorrelateConfig config = config_of(folder);
  config.reduction.integration.azimuth_range = Range{0, 90};
  EXPECT_THAT(message_of(ErrorKind::kUsage, [&] { correlate(config); }), HasSubstr("`azimuth_range`"));
  config = config_of(folder);
  config.reduction.recipe.error_model = ErrorModel::kPoisson;
  EXPECT_THAT(message_of(ErrorKind::kUsage, [&] { correlate(config); }), HasSubstr("`error_model`"));
}

}  // namespace
}  // namespace annulus
