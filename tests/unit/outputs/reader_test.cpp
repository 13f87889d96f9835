#include <annulus/core/error.hpp>
#include <annulus/hdf5/probe.hpp>
#include <annulus/outputs/output_json.hpp>
#include <annulus/outputs/reader.hpp>
#include <annulus/outputs/sink.hpp>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "message_of.hpp"
#include "samples.hpp"

namespace annulus {
namespace {

using samples::Folder;
using ::testing::HasSubstr;

std::filesystem::path write_sample(const Folder& folder, std::uint64_t frames = 20) {
  const auto plan = samples::make_plan();
  const auto sink =
      open_nexus(folder / "a.nxs", samples::job_of(plan), samples::make_run(), IfExists::kRefuse);
  sink->append(samples::make_frames(*plan, 0, frames));
  sink->close();
  return folder / "a.nxs";
}

TEST(Reader, ReadsWhatTheSinkWrote) {
  const Folder folder;
  const StoredPatterns patterns = read_patterns(write_sample(folder));
  EXPECT_EQ(patterns.header.radial().name, "2theta");
  EXPECT_EQ(patterns.header.radial().units, "deg");
  EXPECT_EQ(patterns.header.axes, samples::make_plan()->axes);
  EXPECT_EQ(patterns.header.plan_hash, samples::make_plan()->hash);
  EXPECT_EQ(patterns.header.poni_text, samples::make_run().poni_text);
  const std::vector<std::pair<std::string, std::string>> options{
      {"unit_option", "2th_deg"}, {"bins", "6"}, {"poni_option", "a.poni"}, {"error-model", "poisson"}};
  EXPECT_EQ(patterns.header.options, options);
  ASSERT_EQ(patterns.frames.size(), 20u);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(patterns.frames[i].index, i);
    EXPECT_EQ(patterns.frames[i].source, samples::source_of(i));
    EXPECT_EQ(patterns.frames[i].frame_in_source, i % 3);
    EXPECT_EQ(patterns.frames[i].fault, samples::is_bad(i) ? "the file is truncated" : "");
    for (std::uint32_t bin = 0; bin < 6; ++bin) {
      EXPECT_TRUE(samples::same(patterns.intensity(i)[bin], samples::expected_intensity(i, bin)))
          << i << " " << bin;
      EXPECT_TRUE(samples::same(patterns.error(i)[bin], samples::expected_error(i, bin))) << i << " " << bin;
    }
  }
}

TEST(Reader, ReadsAPartOfTheFrames) {
  const Folder folder;
  const PatternFile file(write_sample(folder));
  const StoredPatterns part = file.read(17, 2);
  ASSERT_EQ(part.frames.size(), 2u);
  EXPECT_EQ(part.frames[0].source, samples::source_of(17));
  EXPECT_TRUE(samples::same(part.intensity(1)[3], samples::expected_intensity(18, 3)));
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { file.read(19, 2); }), HasSubstr("has 20 frames"));
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { file.read(1, ~std::uint64_t{0}); }),
              HasSubstr("has 20 frames"));
}

TEST(Reader, SpeaksOfOneFrameInTheSingular) {
  EXPECT_EQ(frame_count(0), "0 frames");
  EXPECT_EQ(frame_count(1), "1 frame");
  EXPECT_EQ(frame_count(20), "20 frames");
}

TEST(Reader, NamesAFrameByItsSourceAndItsNumberThereIfTheSourceCanHoldSeveral) {
  const auto name = [](const std::string& source, std::uint64_t frame) {
    FrameRecord record;
    record.source = source;
    record.frame_in_source = frame;
    return frame_name(record);
  };
  EXPECT_EQ(name("scan_00001.cbf", 0), "scan_00001.cbf");
  EXPECT_EQ(name("scan.h5::/entry/data/data", 0), "scan.h5::/entry/data/data, frame 0");
  EXPECT_EQ(name("pages.tif", 3), "pages.tif, frame 3");
}

TEST(Reader, DescribesTheFile) {
  const Folder folder;
  const nlohmann::json description = describe_output(write_sample(folder));
  EXPECT_EQ(description["frames"], 20);
  EXPECT_EQ(description["good"], 18);
  EXPECT_EQ(description["bad"], 2);
  EXPECT_EQ(description["bad_frames"][1]["frame"], 16);
  EXPECT_EQ(description["bad_frames"][1]["source"], samples::source_of(16));
  EXPECT_EQ(description["bad_frames"][1]["reason"], "the file is truncated");
  EXPECT_EQ(description["bins"], 6);
  EXPECT_EQ(description["unit"], "deg");
  EXPECT_EQ(description["range"], nlohmann::json({1.0, 7.0}));
  EXPECT_EQ(description["plan_hash"], samples::make_plan()->hash);
  EXPECT_EQ(description["version"], "1.2.3");
  EXPECT_EQ(description["options"]["error-model"], "poisson");
}

TEST(Reader, ANameThatIsNotUtf8CanStillBeDescribed) {
  const Folder folder;
  const auto plan = samples::make_plan();
  auto frames = samples::make_frames(*plan, 5, 1);
  frames[0].id.source = "m\xFCller.cbf";
  const auto sink =
      open_nexus(folder / "a.nxs", samples::job_of(plan), samples::make_run(), IfExists::kRefuse);
  sink->append(frames);
  sink->close();
  EXPECT_NO_THROW(describe_output(folder / "a.nxs").dump());
  EXPECT_EQ(read_patterns(folder / "a.nxs").frames[0].source, "m\xEF\xBF\xBDller.cbf");
}

TEST(Reader, KnowsWhatIsNotAnOutput) {
  const Folder folder;
  EXPECT_FALSE(is_annulus_output(folder / "absent.nxs"));
  EXPECT_FALSE(is_annulus_output(folder.path()));
  std::ofstream(folder / "text.nxs") << "text";
  EXPECT_FALSE(is_annulus_output(folder / "text.nxs"));
  H5Fclose(H5Fcreate((folder / "other.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
  EXPECT_FALSE(is_annulus_output(folder / "other.h5"));
  EXPECT_TRUE(is_annulus_output(write_sample(folder)));
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { PatternFile file(folder / "absent.nxs"); }),
              HasSubstr("does not exist"));
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { PatternFile file(folder / "text.nxs"); }),
              HasSubstr("is not an HDF5 file"));
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { PatternFile file(folder / "other.h5"); }),
              HasSubstr("is not an output of annulus"));
}

TEST(Reader, DoesNotBelieveALengthThatTheFileCannotHold) {
  const Folder folder;
  const std::filesystem::path path = write_sample(folder);
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  const hid_t status = H5Dopen2(file, "/entry/frames/status", H5P_DEFAULT);
  const hsize_t huge = hsize_t{1} << 40;
  ASSERT_GE(H5Dset_extent(status, &huge), 0);
  H5Dclose(status);
  H5Fclose(file);
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { PatternFile reader(path); }), HasSubstr("corrupt"));
}

TEST(Reader, SaysWhenTheDatasetsDoNotFitEachOther) {
  const Folder folder;
  const std::filesystem::path path = write_sample(folder);
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  const hid_t intensity = H5Dopen2(file, "/entry/data/I", H5P_DEFAULT);
  const hsize_t shorter[2] = {3, 6};
  ASSERT_GE(H5Dset_extent(intensity, shorter), 0);
  H5Dclose(intensity);
  H5Fclose(file);
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { read_patterns(path); }),
              HasSubstr("does not have the shape of the rest"));
}

TEST(Reader, ATruncatedFileIsAnErrorAndNotACrash) {
  const Folder folder;
  const std::filesystem::path path = write_sample(folder);
  const auto size = std::filesystem::file_size(path);
  for (std::uintmax_t part = 1; part < 40; ++part) {
    std::filesystem::copy_file(path, folder / "cut.nxs", std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(folder / "cut.nxs", size * part / 40);
    try {
      read_patterns(folder / "cut.nxs");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
    }
  }
}

TEST(Reader, SaysWhyNobodyCanSayWhetherAFileIsAnOutput) {
  const Folder folder;
  const auto path = write_sample(folder);
  set_probe_command({(folder / "no such program").string()});
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { is_annulus_output(path); }),
              HasSubstr("cannot be started"));
  EXPECT_THAT(message_of(ErrorKind::kOutput,
                         [&] {
                           open_nexus(path, samples::job_of(samples::make_plan()), samples::make_run(),
                                      IfExists::kOverwrite);
                         }),
              HasSubstr("cannot be started"));
  set_probe_command({});
  EXPECT_TRUE(is_annulus_output(path));
}

}  // namespace
}  // namespace annulus
