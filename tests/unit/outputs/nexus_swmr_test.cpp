// The file is read while it grows.

#include <annulus/core/error.hpp>
#include <annulus/outputs/reader.hpp>
#include <annulus/outputs/sink.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>

#include <csignal>

#include "samples.hpp"

namespace annulus {
namespace {

using samples::Folder;

// A process of its own, because HDF5 would share the open file within one. Before the writer lets readers in,
// the file may be locked or not there.
bool child_sees_only_whole_frames(const std::filesystem::path& path, std::uint32_t bins, std::uint64_t last) {
  const pid_t child = fork();
  if (child == 0) {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    std::uint64_t seen = 0;
    for (int turn = 0; turn < 100'000 && seen < last; ++turn) {
      const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, H5P_DEFAULT);
      if (file < 0 && seen > 0) _exit(2);
      if (file < 0) {
        usleep(500);
        continue;
      }
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

class NexusSwmrReaders : public ::testing::TestWithParam<IfExists> {};

// The reader is there before the writer is, and looks at the file about every millisecond.
TEST_P(NexusSwmrReaders, SeeOnlyWholeFramesWhileTheFileGrows) {
  const Folder folder;
  constexpr std::uint32_t kBins = 500;
  constexpr std::uint64_t kFrames = 600;
  const auto plan = samples::make_plan(kBins);
  if (GetParam() != IfExists::kRefuse) {
    open_nexus(folder / "a.nxs", samples::job_of(plan), samples::make_run(), IfExists::kRefuse)->close();
  }
  const pid_t writer = fork();
  if (writer == 0) {
    usleep(20'000);
    try {
      const auto sink = open_nexus(folder / "a.nxs", samples::job_of(plan), samples::make_run(), GetParam());
      for (std::uint64_t first = 0; first < kFrames; first += 6) {
        sink->append(samples::make_frames(*plan, first, 6));
        sink->flush();
        usleep(300);
      }
      usleep(200'000);  // the last frames are seen while the file is still open
      sink->close();
    } catch (const Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
      _exit(1);
    }
    _exit(0);
  }
  child_sees_only_whole_frames(folder / "a.nxs", kBins, kFrames);
  int status = -1;
  waitpid(writer, &status, 0);
  EXPECT_EQ(status, 0);
}

// Takes a reader's lock the very moment there is a file and nobody is in the way, and keeps it.
TEST_P(NexusSwmrReaders, DoNotKeepAWriterFromTheFileThatItHasInHand) {
  const auto plan = samples::make_plan();
  for (int round = 0; round < 5; ++round) {
    const Folder folder;
    const std::filesystem::path path = folder / "a.nxs";
    if (GetParam() != IfExists::kRefuse) {
      const auto sink = open_nexus(path, samples::job_of(plan), samples::make_run(), IfExists::kRefuse);
      sink->append(samples::make_frames(*plan, 0, 4));
      sink->close();
    }
    const pid_t reader = fork();
    if (reader == 0) {
      // Where there is a file already, the reader waits for the writer's lock and comes right behind it.
      int file = -1;
      while ((file = open(path.c_str(), O_RDONLY)) < 0) continue;
      if (GetParam() != IfExists::kRefuse) {
        while (flock(file, LOCK_SH | LOCK_NB) == 0) {
          flock(file, LOCK_UN);
          usleep(50);
        }
      }
      flock(file, LOCK_SH);
      pause();
      _exit(0);
    }
    usleep(5'000);
    try {
      const auto sink = open_nexus(path, samples::job_of(plan), samples::make_run(), GetParam());
      const std::uint64_t first = GetParam() == IfExists::kAppend ? 4 : 0;
      sink->append(samples::make_frames(*plan, first, 4));
      sink->close();
      EXPECT_EQ(samples::check_frames(path, *plan), first + 4);
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
    kill(reader, SIGKILL);
    waitpid(reader, nullptr, 0);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(NexusSwmr, NexusSwmrReaders,
                         ::testing::Values(IfExists::kRefuse, IfExists::kAppend, IfExists::kOverwrite),
                         [](const auto& info) {
                           return info.param == IfExists::kRefuse   ? "OfANewFile"
                                  : info.param == IfExists::kAppend ? "OfAFileThatIsContinued"
                                                                    : "OfAFileThatIsReplaced";
                         });

// Nothing is under the name of an output, or beside it, but the output.
TEST(NexusSwmr, ANewFileLeavesNothingBesideIt) {
  const Folder folder;
  const std::string long_name(240, 'n');
  open_nexus(folder / (long_name + ".nxs"), samples::job_of(samples::make_plan()), samples::make_run(),
             IfExists::kRefuse)
      ->close();
  open_nexus(folder / "a.nxs", samples::job_of(samples::make_plan()), samples::make_run(), IfExists::kRefuse)
      ->close();
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / ".")) {
    ++files;
    EXPECT_EQ(entry.path().extension(), ".nxs");
  }
  EXPECT_EQ(files, 2u);
  EXPECT_EQ(PatternFile(folder / "a.nxs").frames(), 0u);
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
