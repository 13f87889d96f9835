// The file is read while it grows.

#include <annulus/outputs/reader.hpp>
#include <annulus/outputs/sink.hpp>

#include <sys/wait.h>

#include "samples.hpp"

namespace annulus {
namespace {

using samples::Folder;

// A process of its own, because HDF5 would share the open file within one.
bool child_sees_only_whole_frames(const std::filesystem::path& path, std::uint32_t bins, std::uint64_t last) {
  const pid_t child = fork();
  if (child == 0) {
    std::uint64_t seen = 0;
    for (int turn = 0; turn < 100'000 && seen < last; ++turn) {
      const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, H5P_DEFAULT);
      if (file < 0) _exit(2);
      const hid_t status = H5Dopen2(file, "/entry/frames/status", H5P_DEFAULT);
      const hid_t status_space = H5Dget_space(status);
      const hssize_t frames = H5Sget_simple_extent_npoints(status_space);
      const hid_t intensity = H5Dopen2(file, "/entry/data/I", H5P_DEFAULT);
      const hid_t space = H5Dget_space(intensity);
      hsize_t size[2];
      H5Sget_simple_extent_dims(space, size, nullptr);
      if (static_cast<hssize_t>(size[0]) < frames) _exit(3);
      std::vector<double> values(size[0] * size[1]);
      if (H5Dread(intensity, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0) _exit(4);
      for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(frames); ++i) {
        for (std::uint32_t bin = 0; bin < bins; ++bin) {
          if (!samples::same(values[i * bins + bin], samples::expected_intensity(i, bin))) _exit(5);
        }
      }
      seen = static_cast<std::uint64_t>(frames);
      H5Sclose(space);
      H5Dclose(intensity);
      H5Sclose(status_space);
      H5Dclose(status);
      H5Fclose(file);
      usleep(500);
    }
    _exit(seen == last ? 0 : 6);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(NexusSwmr, AReaderSeesOnlyWholeFramesWhileTheFileGrows) {
  const Folder folder;
  constexpr std::uint32_t kBins = 500;
  constexpr std::uint64_t kFrames = 600;
  const auto plan = samples::make_plan(kBins);
  open_nexus(folder / "a.nxs", samples::job_of(plan), samples::make_run(), IfExists::kRefuse)->close();
  const pid_t writer = fork();
  if (writer == 0) {
    {
      const auto sink =
          open_nexus(folder / "a.nxs", samples::job_of(plan), samples::make_run(), IfExists::kAppend);
      for (std::uint64_t first = 0; first < kFrames; first += 6) {
        sink->append(samples::make_frames(*plan, first, 6));
        sink->flush();
        usleep(300);
      }
      usleep(200'000);  // the last frames are seen while the file is still open
      sink->close();
    }
    _exit(0);
  }
  usleep(30'000);
  child_sees_only_whole_frames(folder / "a.nxs", kBins, kFrames);
  int status = -1;
  waitpid(writer, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(NexusSwmr, OurReaderFollowsAGrowingFile) {
  const Folder folder;
  const auto plan = samples::make_plan();
  const auto sink =
      open_nexus(folder / "a.nxs", samples::job_of(plan), samples::make_run(), IfExists::kRefuse);
  EXPECT_TRUE(is_annulus_output(folder / "a.nxs"));
  EXPECT_EQ(PatternFile(folder / "a.nxs").frames(), 0u);
  sink->append(samples::make_frames(*plan, 0, 12));
  EXPECT_EQ(PatternFile(folder / "a.nxs").frames(), 0u);
  sink->flush();
  const StoredPatterns patterns = read_patterns(folder / "a.nxs");
  ASSERT_EQ(patterns.frames.size(), 12u);
  EXPECT_EQ(patterns.intensity(9)[5], samples::expected_intensity(9, 5));
  EXPECT_TRUE(patterns.frames[5].bad);
  sink->close();
}

}  // namespace
}  // namespace annulus
