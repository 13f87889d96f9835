#include <annulus/core/error.hpp>
#include <annulus/outputs/hdf5_fields.hpp>
#include <annulus/outputs/reader.hpp>
#include <annulus/outputs/verify_output.hpp>

#include <gmock/gmock.h>

#include "message_of.hpp"
#include "samples.hpp"

namespace annulus {
namespace {

using samples::Extent;
using samples::Folder;
using ::testing::HasSubstr;

constexpr const char* kSums = "/entry/reduction/accumulators/";

void write_frames(const std::filesystem::path& path, const std::shared_ptr<Plan>& plan, std::uint64_t first,
                  std::uint64_t count, IfExists if_exists = IfExists::kRefuse,
                  RunDescription run = samples::make_run()) {
  const auto sink = open_nexus(path, samples::job_of(plan), run, if_exists);
  sink->append(samples::make_frames(*plan, first, count));
  sink->close();
}

TEST(NexusSink, StoresEveryFrameWithItsStatusSourceAndFault) {
  const Folder folder;
  const auto plan = samples::make_plan();
  write_frames(folder / "a.nxs", plan, 0, 40);
  EXPECT_EQ(samples::check_frames(folder / "a.nxs", *plan), 40u);
  const auto frame_in_source =
      samples::read_all<std::uint64_t>(folder / "a.nxs", "/entry/frames/frame_in_source");
  EXPECT_EQ(frame_in_source[7], 1u);
  const auto errors = samples::read_all<double>(folder / "a.nxs", "/entry/data/I_errors");
  EXPECT_EQ(errors[9 * 6 + 5], 2.0);  // 2 * 10 / (2 * 5)
  EXPECT_TRUE(std::isnan(errors[5 * 6 + 5]));
}

TEST(NexusSink, IntensitiesFollowFromTheStoredIntegersAlone) {
  const Folder folder;
  const auto plan = samples::make_plan(6, true, true);
  const std::filesystem::path path = folder / "a.nxs";
  write_frames(path, plan, 0, 20);
  const auto sums = [&](const std::string& name) {
    return samples::read_all<std::int64_t>(path, (kSums + name).c_str());
  };
  const auto signal = sums("signal"), variance = sums("variance"), count = sums("count");
  const auto normalization = sums("normalization"), dark = sums("dark");
  const auto missing_n = sums("missing_normalization"), missing_d = sums("missing_dark"),
             missing_c = sums("missing_count");
  const auto fraction = samples::read_all<std::int32_t>(path, "/entry/reduction/accumulators/fraction_bits");
  const auto intensity = samples::read_all<double>(path, "/entry/data/I");
  const auto errors = samples::read_all<double>(path, "/entry/data/I_errors");
  const auto bits = [&](const char* name) {
    const samples::PlainFile file(path);
    const hid_t attribute = H5Aopen_by_name(file.id(), kSums, name, H5P_DEFAULT, H5P_DEFAULT);
    std::int32_t value = -1;
    EXPECT_GE(H5Aread(attribute, H5T_NATIVE_INT32, &value), 0) << name;
    H5Aclose(attribute);
    return value;
  };
  const int weight_bits = bits("weight_bits"), variance_bits = bits("variance_bits");
  const int normalization_bits = bits("normalization_bits"), dark_bits = bits("dark_bits");
  for (std::size_t i = 0; i < 20; ++i) {
    for (std::size_t b = 0; b < 6; ++b) {
      const std::size_t at = i * 6 + b;
      if (samples::is_bad(i) || count[b] - missing_c[at] == 0) {
        EXPECT_TRUE(std::isnan(intensity[at])) << i << " " << b;
        continue;
      }
      const double norm = std::ldexp(static_cast<double>(normalization[b] - missing_n[at]),
                                     -(weight_bits + normalization_bits)) *
                          2;
      const double s = std::ldexp(static_cast<double>(signal[at]), -(weight_bits + fraction[i]));
      const double d = std::ldexp(static_cast<double>(dark[b] - missing_d[at]), -(weight_bits + dark_bits));
      EXPECT_EQ(intensity[at], (s - d) / norm) << i << " " << b;
      EXPECT_EQ(errors[at], std::sqrt(std::ldexp(static_cast<double>(variance[at]), -variance_bits)) / norm)
          << i << " " << b;
    }
  }
  EXPECT_EQ(samples::read_all<std::uint64_t>(path, "/entry/reduction/accumulators/invalid_pixels")[4], 3u);
}

TEST(NexusSink, MissingPixelsTakeNoRoomWhereThereAreNone) {
  const Folder folder;
  const auto plan = samples::make_plan();
  write_frames(folder / "none.nxs", plan, 0, 4);
  write_frames(folder / "some.nxs", plan, 0, 5);
  Extent none, some;
  samples::read_all<std::int64_t>(folder / "none.nxs", "/entry/reduction/accumulators/missing_count", &none);
  const auto values = samples::read_all<std::int64_t>(folder / "some.nxs",
                                                      "/entry/reduction/accumulators/missing_count", &some);
  EXPECT_EQ(none.size, (std::vector<hsize_t>{4, 6}));
  EXPECT_EQ(none.stored_bytes, 0u);
  EXPECT_GT(some.stored_bytes, 0u);
  EXPECT_EQ(values[4 * 6 + 1], 8);
  EXPECT_EQ(values[3 * 6 + 1], 0);
}

TEST(NexusSink, WritesNoErrorsWithoutAnErrorModel) {
  const Folder folder;
  write_frames(folder / "a.nxs", samples::make_plan(6, false), 0, 3);
  const Hdf5Session scope;
  const Hdf5Handle file(H5Fopen((folder / "a.nxs").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  EXPECT_FALSE(has_object(file.get(), "/entry/data/I_errors"));
  EXPECT_FALSE(has_object(file.get(), "/entry/reduction/accumulators/variance"));
  EXPECT_FALSE(has_object(file.get(), "/entry/reduction/accumulators/dark"));
  EXPECT_TRUE(has_object(file.get(), "/entry/data/I"));
}

TEST(NexusSink, KeepsEveryOptionThePoniAndThePlan) {
  const Folder folder;
  write_frames(folder / "a.nxs", samples::make_plan(), 0, 1);
  const Hdf5Session scope;
  const Hdf5Handle file(H5Fopen((folder / "a.nxs").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  const std::string input = "/entry/reduction/input/";
  EXPECT_EQ(read_text(file.get(), input + "unit_option"), "2th_deg");
  EXPECT_EQ(read_text(file.get(), input + "unit"), "2th");
  EXPECT_EQ(read_text(file.get(), input + "error-model"), "poisson");
  EXPECT_EQ(read_text(file.get(), input + "poni_option"), "a.poni");
  EXPECT_EQ(read_text(file.get(), input + "poni"), samples::make_run().poni_text);
  EXPECT_EQ(read_text(file.get(), input + "configuration"), "{\"bins\": 6}");
  EXPECT_EQ(read_text(file.get(), input + "plan_hash"), samples::make_plan()->hash);
  EXPECT_EQ(read_text(file.get(), "/entry/reduction/version"), "1.2.3");
}

TEST(NexusSink, LeavesTheWavelengthOutWhereItIsUnknown) {
  const Folder folder;
  const auto plan = samples::make_plan();
  plan->geometry.wavelength.reset();
  write_frames(folder / "a.nxs", plan, 0, 1);
  const Hdf5Session scope;
  const Hdf5Handle file(H5Fopen((folder / "a.nxs").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  EXPECT_FALSE(has_object(file.get(), "/entry/instrument/monochromator"));
  EXPECT_TRUE(has_object(file.get(), "/entry/instrument/source"));
}

TEST(NexusSink, AnEmptyScanIsAReadableFile) {
  const Folder folder;
  open_nexus(folder / "a.nxs", samples::job_of(samples::make_plan()), samples::make_run(), IfExists::kRefuse)
      ->close();
  EXPECT_EQ(samples::check_frames(folder / "a.nxs", *samples::make_plan()), 0u);
}

TEST(NexusSink, ASmallScanMakesASmallFile) {
  const Folder folder;
  RunDescription run = samples::make_run();
  run.expected_frames = 1;
  write_frames(folder / "a.nxs", samples::make_plan(1000), 0, 1, IfExists::kRefuse, run);
  EXPECT_LT(std::filesystem::file_size(folder / "a.nxs"), 150'000u);
}

TEST(NexusSink, MoreFramesThanExpectedAreNoProblem) {
  const Folder folder;
  RunDescription run = samples::make_run();
  run.expected_frames = 2;
  write_frames(folder / "a.nxs", samples::make_plan(), 0, 25, IfExists::kRefuse, run);
  EXPECT_EQ(samples::check_frames(folder / "a.nxs", *samples::make_plan()), 25u);
}

TEST(NexusSink, RefusesAnExistingFileAndLeavesIt) {
  const Folder folder;
  const auto plan = samples::make_plan();
  write_frames(folder / "a.nxs", plan, 0, 3);
  const std::string before = samples::read_file(folder / "a.nxs");
  EXPECT_THAT(message_of(ErrorKind::kOutput, [&] { write_frames(folder / "a.nxs", plan, 0, 1); }),
              HasSubstr("use `overwrite` or `append`"));
  EXPECT_EQ(samples::read_file(folder / "a.nxs"), before);
}

TEST(NexusSink, OverwriteReplacesAnOutput) {
  const Folder folder;
  write_frames(folder / "a.nxs", samples::make_plan(6), 0, 30);
  write_frames(folder / "a.nxs", samples::make_plan(9), 0, 3, IfExists::kOverwrite);
  EXPECT_EQ(samples::check_frames(folder / "a.nxs", *samples::make_plan(9)), 3u);
}

TEST(NexusSink, OverwriteAndAppendNeverTouchAFileThatIsNotOurs) {
  const Folder folder;
  std::ofstream(folder / "thesis.nxs") << "not an HDF5 file";
  for (const IfExists how : {IfExists::kOverwrite, IfExists::kAppend}) {
    EXPECT_THAT(message_of(ErrorKind::kOutput,
                           [&] { write_frames(folder / "thesis.nxs", samples::make_plan(), 0, 1, how); }),
                HasSubstr("is not an output of annulus"));
    EXPECT_EQ(samples::read_file(folder / "thesis.nxs"), "not an HDF5 file");
  }
}

TEST(NexusSink, AppendContinuesTheNumbersOfTheFrames) {
  const Folder folder;
  const auto plan = samples::make_plan();
  write_frames(folder / "a.nxs", plan, 0, 7, IfExists::kAppend);
  {
    const auto sink =
        open_nexus(folder / "a.nxs", samples::job_of(plan), samples::make_run(), IfExists::kAppend);
    auto frames = samples::make_frames(*plan, 7, 5);
    for (std::size_t i = 0; i < frames.size(); ++i) frames[i].id.index = i;  // as a new run counts
    sink->append(frames);
    sink->close();
  }
  EXPECT_EQ(samples::check_frames(folder / "a.nxs", *plan), 12u);
  const auto index = samples::read_all<std::uint64_t>(folder / "a.nxs", "/entry/frames/frame_index");
  for (std::size_t i = 0; i < index.size(); ++i) EXPECT_EQ(index[i], i);
}

TEST(NexusSink, AppendSaysWhatDiffers) {
  const Folder folder;
  const auto plan = samples::make_plan();
  write_frames(folder / "a.nxs", plan, 0, 3);
  const std::string before = samples::read_file(folder / "a.nxs");
  const auto other = samples::make_plan();
  other->hash = std::string(64, 'f');
  EXPECT_THAT(
      message_of(ErrorKind::kOutput, [&] { write_frames(folder / "a.nxs", other, 0, 1, IfExists::kAppend); }),
      HasSubstr("was made with another plan"));
  EXPECT_THAT(
      message_of(ErrorKind::kOutput,
                 [&] { write_frames(folder / "a.nxs", samples::make_plan(7), 0, 1, IfExists::kAppend); }),
      HasSubstr("has patterns of 6 bins, this run makes 7"));
  const auto without_errors = samples::make_plan(6, false);
  without_errors->hash = plan->hash;
  EXPECT_THAT(message_of(ErrorKind::kOutput,
                         [&] { write_frames(folder / "a.nxs", without_errors, 0, 1, IfExists::kAppend); }),
              HasSubstr("has patterns with errors, this run makes them without"));
  const hid_t file = H5Fcreate((folder / "foreign.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  H5Fclose(file);
  EXPECT_THAT(message_of(ErrorKind::kOutput,
                         [&] { write_frames(folder / "foreign.h5", plan, 0, 1, IfExists::kAppend); }),
              HasSubstr("is not an output of annulus"));
  EXPECT_EQ(samples::read_file(folder / "a.nxs"), before);
}

TEST(NexusSink, EveryFrameHasItsOwnNormalizationFactor) {
  const Folder folder;
  const auto plan = samples::make_plan();
  const auto job = samples::job_of(plan);
  std::vector<ReducedFrame> frames = samples::make_frames(*plan, 0, 4);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    frames[i].normalization = 1 + static_cast<double>(i);
    frames[i].pattern = normalise(*plan, frames[i].sums, frames[i].normalization);
  }
  open_nexus(folder / "a.nxs", job, samples::make_run(), IfExists::kRefuse)->append({frames[0]});
  EXPECT_FALSE(samples::read_all<std::uint8_t>(folder / "a.nxs", "/entry/monitor_applied")[0]);
  open_nexus(folder / "a.nxs", job, samples::make_run(), IfExists::kAppend)
      ->append({frames.begin() + 1, frames.end()});
  EXPECT_TRUE(samples::read_all<std::uint8_t>(folder / "a.nxs", "/entry/monitor_applied")[0]);
  EXPECT_EQ(samples::read_all<double>(folder / "a.nxs", "/entry/frames/normalization_factor"),
            (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(read_patterns(folder / "a.nxs").frames[2].normalization, 3);
  EXPECT_THAT(verify_output(folder / "a.nxs").faults, ::testing::IsEmpty());
  frames[3].normalization = 5;  // not what divided the pattern
  open_nexus(folder / "a.nxs", job, samples::make_run(), IfExists::kAppend)->append({frames[3]});
  EXPECT_EQ(verify_output(folder / "a.nxs").faults.size(), 1u);
}

// As version 0.1 wrote it: one factor for all frames, as an attribute, and no checksums.
TEST(NexusSink, FilesOfVersion01AreReadAndVerifiedButNotContinued) {
  const Folder folder;
  const auto plan = samples::make_plan();
  write_frames(folder / "a.nxs", plan, 0, 9);
  {
    const Hdf5Handle file(H5Fopen((folder / "a.nxs").c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
    ASSERT_GE(H5Ldelete(file.get(), "/entry/frames/normalization_factor", H5P_DEFAULT), 0);
    ASSERT_GE(H5Ldelete(file.get(), "/entry/checksums", H5P_DEFAULT), 0);
    const Hdf5Handle sums(H5Gopen2(file.get(), "/entry/reduction/accumulators", H5P_DEFAULT), H5Gclose);
    write_attribute(sums.get(), "normalization_factor", 2.0);
  }
  EXPECT_EQ(read_patterns(folder / "a.nxs").frames[3].normalization, 2);
  EXPECT_THAT(verify_output(folder / "a.nxs").faults, ::testing::IsEmpty());
  EXPECT_THAT(verify_output(folder / "a.nxs").notes, ::testing::ElementsAre(HasSubstr("without checksums")));
  EXPECT_THAT(
      message_of(ErrorKind::kOutput, [&] { write_frames(folder / "a.nxs", plan, 9, 1, IfExists::kAppend); }),
      HasSubstr("was written by annulus 0.1"));
}

TEST(NexusSink, NamesTheFolderThatDoesNotExist) {
  const Folder folder;
  EXPECT_THAT(message_of(ErrorKind::kOutput,
                         [&] { write_frames(folder / "no/such/a.nxs", samples::make_plan(), 0, 1); }),
              HasSubstr("no/such does not exist"));
  EXPECT_THAT(
      message_of(ErrorKind::kOutput, [&] { write_frames(folder.path(), samples::make_plan(), 0, 1); }),
      HasSubstr("is a folder"));
}

TEST(NexusSink, SourceNamesGrowWithTheLongestAndLoseTheirHeadBeyond) {
  const Folder folder;
  const auto plan = samples::make_plan();
  RunDescription run = samples::make_run();
  run.longest_source_name = 300;
  auto frames = samples::make_frames(*plan, 0, 2);
  frames[0].id.source = std::string(299, 'x') + "y";
  frames[1].id.source = "START" + std::string(400, 'x') + "END";
  const auto sink = open_nexus(folder / "a.nxs", samples::job_of(plan), run, IfExists::kRefuse);
  sink->append(frames);
  sink->close();
  const auto sources = samples::read_texts(folder / "a.nxs", "/entry/frames/source");
  EXPECT_EQ(sources[0], frames[0].id.source);
  EXPECT_EQ(sources[1].size(), 320u);  // 300, rounded up to 64
  EXPECT_EQ(sources[1].substr(0, 4), "...x");
  EXPECT_EQ(sources[1].substr(316), "xEND");
}

TEST(NexusSink, AFrameOfAnotherPlanIsRefusedAndHarmsNothing) {
  const Folder folder;
  const auto plan = samples::make_plan();
  const auto sink =
      open_nexus(folder / "a.nxs", samples::job_of(plan), samples::make_run(), IfExists::kRefuse);
  sink->append(samples::make_frames(*plan, 0, 2));
  auto wrong = samples::make_frames(*plan, 2, 1);
  wrong[0].pattern.intensity = PooledArray<double>(plan->bins() - 1, 0.0);
  EXPECT_THAT(message_of(ErrorKind::kOutput, [&] { sink->append(wrong); }),
              HasSubstr("does not have the 6 bins"));
  auto torn = samples::make_frames(*plan, 2, 1);
  torn[0].fault = "bad, and yet with numbers";
  EXPECT_THAT(message_of(ErrorKind::kOutput, [&] { sink->append(torn); }),
              HasSubstr("does not have the 6 bins"));
  sink->append(samples::make_frames(*plan, 2, 3));
  sink->close();
  EXPECT_EQ(samples::check_frames(folder / "a.nxs", *plan), 5u);
}

TEST(NexusSink, CloseMayBeCalledTwiceAndNothingFollowsIt) {
  const Folder folder;
  const auto plan = samples::make_plan();
  const auto sink =
      open_nexus(folder / "a.nxs", samples::job_of(plan), samples::make_run(), IfExists::kRefuse);
  sink->close();
  sink->close();
  EXPECT_THAT(message_of(ErrorKind::kOutput, [&] { sink->append(samples::make_frames(*plan, 0, 1)); }),
              HasSubstr("closed already"));
}

TEST(NexusSink, TheDestructorStoresWhatWasAppended) {
  const Folder folder;
  const auto plan = samples::make_plan();
  open_nexus(folder / "a.nxs", samples::job_of(plan), samples::make_run(), IfExists::kRefuse)
      ->append(samples::make_frames(*plan, 0, 9));
  EXPECT_EQ(samples::check_frames(folder / "a.nxs", *plan), 9u);
}

}  // namespace
}  // namespace annulus
