// Outputs of clips and of errors by the spread of pixels, and their outliers.

#include <annulus/core/error.hpp>
#include <annulus/hdf5/handle.hpp>
#include <annulus/outputs/outliers.hpp>
#include <annulus/outputs/reader.hpp>
#include <annulus/outputs/stored_sums.hpp>
#include <annulus/outputs/verify_output.hpp>
#include <annulus/plan/spread_table.hpp>

#include <gmock/gmock.h>

#include "message_of.hpp"
#include "samples.hpp"

namespace annulus {
namespace {

using samples::Folder;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kCounts = "/entry/outliers/counts";
constexpr const char* kPixels = "/entry/outliers/pixels";
constexpr const char* kFirst = "/entry/outliers/first";

Job make_robust_job() {
  const auto plan = samples::make_plan(6, false, true);
  plan->shape = {4, 5};
  auto table = std::make_shared<SpreadTable>();
  table->divisor_bits = 3;
  table->square_bits = 2;
  table->dark_shift = 1;
  for (std::int64_t bin = 0; bin < 6; ++bin) {
    table->squares.push_back(bin << 8);
    table->squares_word1.push_back(bin == 5 ? 3 : 0);
  }
  plan->spread = table;
  Recipe recipe{ErrorModel::kAzimuthal, {ClipMethod::kSigma, 3.5, 7}};
  return {plan, recipe};
}

// Of every third frame the clip left out a pixel of bin 1, which is number `index` of 20; of others nothing.
ReducedFrame make_robust_frame(const Job& job, std::uint64_t index) {
  ReducedFrame frame = samples::make_frame(*job.plan, index);
  if (!frame.fault.empty()) return frame;
  Sums& sums = frame.sums;
  const auto squares = sums.make(Quantity::kSquares, 6, 2), products = sums.make(Quantity::kProducts, 6, 2);
  for (std::size_t bin = 0; bin < 6; ++bin) {
    squares[bin] = static_cast<std::int64_t>(1 + bin * index) << 20;
    squares[6 + bin] = bin == 5 ? 40 : 0;
    products[bin] = static_cast<std::int64_t>(bin + index) << 9;
    products[6 + bin] = bin == 5 ? -2 : 0;
  }
  if (index % 3 == 0 && !sums.has(Quantity::kMissingCount)) {
    sums.make(Quantity::kMissingCount, 6)[1] = 8;
    sums.make(Quantity::kMissingNormalization, 6)[1] = 64;
    sums.make(Quantity::kMissingDark, 6)[1] = 32;
  }
  if (sums.has(Quantity::kMissingCount)) {
    sums.make(Quantity::kMissingSquares, 6, 2)[1] = 5;
    sums.make(Quantity::kClipped, 6)[1] = index % 3 == 0 ? 1 : 0;
    sums.make(Quantity::kEmptied, 6)[1] = index % 2 == 0 ? 1 : 0;
    if (index % 3 == 0) sums.outliers = {static_cast<std::uint32_t>(index), 19};
  }
  frame.pattern = normalise(*job.plan, job.recipe, sums, frame.normalization);
  return frame;
}

std::vector<ReducedFrame> make_robust_frames(const Job& job, std::uint64_t first, std::uint64_t count) {
  std::vector<ReducedFrame> frames;
  for (std::uint64_t i = first; i < first + count; ++i) frames.push_back(make_robust_frame(job, i));
  return frames;
}

RunDescription run_with(Outliers outliers) {
  RunDescription run = samples::make_run();
  run.outliers = outliers;
  return run;
}

void write(const std::filesystem::path& path, const Job& job, const std::vector<ReducedFrame>& frames,
           Outliers outliers, IfExists if_exists = IfExists::kRefuse) {
  const auto sink = open_nexus(path, job, run_with(outliers), if_exists);
  sink->append(frames);
  sink->close();
}

std::vector<std::uint32_t> counts_in(const std::filesystem::path& path) {
  const auto counts = samples::read_all<std::int64_t>(path, kCounts);
  return {counts.begin(), counts.end()};
}

TEST(RobustOutput, HoldsTheJobAndItsIntegers) {
  const Folder folder;
  const Job job = make_robust_job();
  const auto frames = make_robust_frames(job, 0, 12);
  write(folder / "a.nxs", job, frames, Outliers::kNone);
  EXPECT_THAT(verify_output(folder / "a.nxs").faults, IsEmpty());
  const PatternFile file(folder / "a.nxs");
  const Hdf5Session session;
  const StoredSums stored(folder / "a.nxs", file.header());
  EXPECT_TRUE(stored.job().recipe == job.recipe);
  const SpreadTable& table = *stored.job().plan->spread;
  EXPECT_EQ(table.divisor_bits, 3);
  EXPECT_EQ(table.square_bits, 2);
  EXPECT_EQ(table.dark_shift, 1);
  EXPECT_EQ(table.squares, job.plan->spread->squares);
  EXPECT_EQ(table.squares_word1, job.plan->spread->squares_word1);
  const std::vector<Sums> sums = stored.frames(0, 12);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (!frames[i].fault.empty()) continue;
    for (const Quantity quantity : job.quantities()) {
      for (std::size_t bin = 0; bin < 6; ++bin) {
        const double expected = frames[i].sums.has(quantity) ? frames[i].sums.number(quantity, bin) : 0;
        EXPECT_EQ(sums[i].number(quantity, bin), expected) << static_cast<int>(quantity) << " of " << i;
      }
    }
  }
}

TEST(RobustOutput, IsContinuedOnlyByTheSameRecipe) {
  const Folder folder;
  const Job job = make_robust_job();
  write(folder / "a.nxs", job, make_robust_frames(job, 0, 2), Outliers::kNone);
  const auto refusal = [&](const Recipe& recipe) {
    return message_of(ErrorKind::kOutput, [&] {
      open_nexus(folder / "a.nxs", {job.plan, recipe}, samples::make_run(), IfExists::kAppend);
    });
  };
  Recipe other = job.recipe;
  other.clip.threshold = 3;
  EXPECT_THAT(refusal(other),
              HasSubstr("azimuthal errors, clip sigma (threshold 3.5, 7 cycles), this run makes"));
  EXPECT_THAT(refusal({ErrorModel::kAzimuthal}), HasSubstr("this run makes them with azimuthal errors"));
  EXPECT_THAT(refusal({}), HasSubstr("this run makes them without"));
  other = job.recipe;
  other.clip.cycles = 6;
  EXPECT_THAT(refusal(other), HasSubstr("6 cycles"));
}

TEST(Outliers, AreCountedAndListedOverRunsThatContinueEachOther) {
  const Folder folder;
  const Job job = make_robust_job();
  write(folder / "a.nxs", job, make_robust_frames(job, 0, 5), Outliers::kLists);
  const auto rest = [&] {
    std::vector<ReducedFrame> frames = make_robust_frames(job, 5, 5);
    for (ReducedFrame& frame : frames) frame.id.index -= 5;
    return frames;
  }();
  write(folder / "a.nxs", job, rest, Outliers::kLists, IfExists::kAppend);
  EXPECT_THAT(samples::read_all<std::int64_t>(folder / "a.nxs", kPixels),
              ElementsAre(0, 19, 3, 19, 6, 19, 9, 19));
  EXPECT_THAT(samples::read_all<std::int64_t>(folder / "a.nxs", kFirst),
              ElementsAre(0, 2, 2, 2, 4, 4, 4, 6, 6, 6, 8));
  std::vector<std::uint32_t> counts(20);
  counts[0] = counts[3] = counts[6] = counts[9] = 1;
  counts[19] = 4;
  EXPECT_THAT(counts_in(folder / "a.nxs"), ElementsAreArray(counts));
  EXPECT_THAT(verify_output(folder / "a.nxs").faults, IsEmpty());
  EXPECT_THAT(verify_output(folder / "a.nxs").notes, IsEmpty());
  EXPECT_THAT(message_of(ErrorKind::kOutput,
                         [&] { write(folder / "a.nxs", job, {}, Outliers::kCounts, IfExists::kAppend); }),
              HasSubstr("has lists of outliers, this run makes counts of outliers"));
}

TEST(Outliers, AreCountedWithoutLists) {
  const Folder folder;
  const Job job = make_robust_job();
  write(folder / "a.nxs", job, make_robust_frames(job, 0, 5), Outliers::kCounts);
  std::vector<ReducedFrame> frames = make_robust_frames(job, 6, 1);
  frames[0].id.index = 0;
  write(folder / "a.nxs", job, frames, Outliers::kCounts, IfExists::kAppend);
  EXPECT_EQ(counts_in(folder / "a.nxs")[19], 3u);
  EXPECT_EQ(counts_in(folder / "a.nxs")[6], 1u);
  EXPECT_THAT(verify_output(folder / "a.nxs").faults, IsEmpty());
}

TEST(Outliers, ThatWereChangedAreNoticed) {
  const Folder folder;
  const Job job = make_robust_job();
  write(folder / "a.nxs", job, make_robust_frames(job, 0, 5), Outliers::kLists);
  {
    const hid_t file = H5Fopen((folder / "a.nxs").c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t dataset = H5Dopen2(file, kCounts, H5P_DEFAULT);
    std::vector<std::int64_t> counts(20, 1);
    H5Dwrite(dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, counts.data());
    H5Dclose(dataset);
    H5Fclose(file);
  }
  EXPECT_THAT(
      verify_output(folder / "a.nxs").faults,
      ElementsAre(HasSubstr("the checksum of its end is wrong"), HasSubstr("are not those of their lists")));
}

}  // namespace
}  // namespace annulus
