#include <annulus/core/error.hpp>
#include <annulus/outputs/sink.hpp>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <set>
#include <utility>

#include "message_of.hpp"
#include "samples.hpp"

// What is done about the disk, in order, while a test listens.
static std::optional<std::vector<std::string>> disk_events;

static void note_sync(int descriptor) {
  if (!disk_events) return;
  const std::filesystem::path link = "/proc/self/fd/" + std::to_string(descriptor);
  disk_events->push_back("sync " + std::filesystem::read_symlink(link).string());
}

// In place of those of the C library.
extern "C" int fdatasync(int descriptor) {
  note_sync(descriptor);
  return static_cast<int>(syscall(SYS_fdatasync, descriptor));
}
extern "C" int fsync(int descriptor) {
  note_sync(descriptor);
  return static_cast<int>(syscall(SYS_fsync, descriptor));
}
extern "C" int rename(const char* from, const char* to) noexcept {
  if (disk_events) disk_events->push_back(std::string("name ") + from);
  return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

namespace annulus {
namespace {

using samples::Folder;
using ::testing::HasSubstr;

void write_single(const std::filesystem::path& path, std::uint64_t index,
                  IfExists if_exists = IfExists::kRefuse, std::shared_ptr<Plan> plan = samples::make_plan()) {
  const auto sink = open_xy(path, samples::job_of(plan), samples::make_run(), if_exists, true);
  sink->append(samples::make_frames(*plan, index, 1));
  sink->close();
}

// The numbers of a file, row by row, as strtod reads them.
std::vector<std::vector<double>> rows_of(const std::filesystem::path& path) {
  std::vector<std::vector<double>> rows;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<double> row;
    const char* at = line.c_str();
    for (char* end = nullptr;; at = end) {
      const double value = std::strtod(at, &end);
      if (end == at) break;
      row.push_back(value);
    }
    rows.push_back(row);
  }
  return rows;
}

std::set<std::string> names_in(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.insert(entry.path().filename().string());
  return names;
}

TEST(XySink, NumbersReadBackExactly) {
  const Folder folder;
  const auto plan = samples::make_plan();
  write_single(folder / "a.xy", 3);
  const auto rows = rows_of(folder / "a.xy");
  ASSERT_EQ(rows.size(), 6u);
  for (std::uint32_t bin = 0; bin < 6; ++bin) {
    ASSERT_EQ(rows[bin].size(), 3u);
    EXPECT_EQ(rows[bin][0], plan->radial().centres[bin]);
    EXPECT_TRUE(samples::same(rows[bin][1], samples::expected_intensity(3, bin))) << rows[bin][1];
    EXPECT_TRUE(samples::same(rows[bin][2], samples::expected_error(3, bin)));
  }
  EXPECT_THAT(samples::read_file(folder / "a.xy"), ::testing::Not(HasSubstr("-nan")));
}

TEST(XySink, LeavesTheErrorColumnOutWithoutErrorModel) {
  const Folder folder;
  write_single(folder / "a.xy", 3, IfExists::kRefuse, samples::make_plan(6, false));
  for (const auto& row : rows_of(folder / "a.xy")) EXPECT_EQ(row.size(), 2u);
}

TEST(XySink, TheHeaderTellsWhereTheNumbersComeFrom) {
  const Folder folder;
  write_single(folder / "a.xy", 3);
  const std::string text = samples::read_file(folder / "a.xy");
  for (const char* line : {"# annulus 1.2.3\n", "# unit: 2th_deg\n", "# option error-model: poisson\n",
                           "# poni | Distance: 0.25\n", "# source: /data/scan_3.cbf\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, HasSubstr("# plan: " + samples::make_plan()->hash));
}

TEST(XySink, NothingInTheHeaderCanPassForData) {
  const Folder folder;
  const auto plan = samples::make_plan();
  auto frames = samples::make_frames(*plan, 3, 1);
  frames[0].id.source = "evil\n1 2 3\r4 5 6";
  const auto sink =
      open_xy(folder / "a.xy", samples::job_of(plan), samples::make_run(), IfExists::kRefuse, true);
  sink->append(frames);
  EXPECT_EQ(rows_of(folder / "a.xy").size(), 6u);
}

TEST(XySink, ABadFrameIsAllNanAndSaysWhy) {
  const Folder folder;
  write_single(folder / "a.xy", 5);
  EXPECT_THAT(samples::read_file(folder / "a.xy"), HasSubstr("# bad frame: the file is truncated\n"));
  const auto rows = rows_of(folder / "a.xy");
  ASSERT_EQ(rows.size(), 6u);
  for (const auto& row : rows) EXPECT_TRUE(std::isnan(row[1]) && std::isnan(row[2]));
}

TEST(XySink, AFolderGetsOneFileAFrameAndNoTwoOfOneName) {
  const Folder folder;
  const auto plan = samples::make_plan();
  auto frames = samples::make_frames(*plan, 0, 6);
  frames[0].id.source = "/a/img.cbf", frames[0].id.in_source = 0;
  frames[1].id.source = "/b/img.cbf", frames[1].id.in_source = 0;
  frames[2].id.source = "/b/scan.h5::/entry/data", frames[2].id.in_source = 0;
  frames[3].id.source = "/b/scan.h5::/entry/data", frames[3].id.in_source = 12;
  frames[4].id.source = "/b/.hidden", frames[4].id.in_source = 0;
  frames[5].id.source = "/b/scan.h5::/entry/data/data_000002", frames[5].id.in_source = 0;
  const auto sink =
      open_xy(folder / "out", samples::job_of(plan), samples::make_run(), IfExists::kRefuse, false);
  sink->append(frames);
  sink->close();
  EXPECT_EQ(names_in(folder / "out"),
            (std::set<std::string>{"img.xy", "img-2.xy", "scan_00000.xy", "scan_00012.xy", "frame.hidden.xy",
                                   "scan_data_000002_00000.xy"}));
  EXPECT_THAT(samples::read_file(folder / "out" / "img-2.xy"), HasSubstr("# source: /b/img.cbf\n"));
}

TEST(XySink, RefuseOverwriteAndAppendMeanWhatTheySayForFolders) {
  const Folder folder;
  const auto plan = samples::make_plan();
  const auto write = [&](std::uint64_t index, IfExists how) {
    auto frames = samples::make_frames(*plan, index, 1);
    frames[0].id.source = "img.cbf";
    frames[0].id.in_source = 0;
    open_xy(folder / "out", samples::job_of(plan), samples::make_run(), how, false)->append(frames);
  };
  write(1, IfExists::kRefuse);
  EXPECT_THAT(message_of(ErrorKind::kOutput, [&] { write(2, IfExists::kRefuse); }),
              HasSubstr("`overwrite` or `append`"));
  write(2, IfExists::kAppend);
  EXPECT_EQ(names_in(folder / "out"), (std::set<std::string>{"img.xy", "img-2.xy"}));
  EXPECT_EQ(rows_of(folder / "out" / "img.xy")[1][1], samples::expected_intensity(1, 1));
  write(3, IfExists::kOverwrite);
  EXPECT_EQ(names_in(folder / "out"), (std::set<std::string>{"img.xy", "img-2.xy"}));
  EXPECT_EQ(rows_of(folder / "out" / "img.xy")[1][1], samples::expected_intensity(3, 1));
}

TEST(XySink, OverwriteReplacesFilesOfEarlierRunsButNotOfThisOne) {
  const Folder folder;
  const auto plan = samples::make_plan();
  auto frames = samples::make_frames(*plan, 1, 2);
  frames[0].id.source = "/a/img.cbf", frames[0].id.in_source = 0;
  frames[1].id.source = "/b/img.cbf", frames[1].id.in_source = 0;
  for (int run = 0; run < 2; ++run) {
    open_xy(folder / "out", samples::job_of(plan), samples::make_run(), IfExists::kOverwrite, false)
        ->append(frames);
    EXPECT_EQ(names_in(folder / "out"), (std::set<std::string>{"img.xy", "img-2.xy"}));
  }
}

TEST(XySink, NeverReplacesAFileOfSomebodyElse) {
  const Folder folder;
  std::ofstream(folder / "img.xy") << "1 2\n3 4\n";
  EXPECT_THAT(
      message_of(ErrorKind::kOutput, [&] { write_single(folder / "img.xy", 1, IfExists::kOverwrite); }),
      HasSubstr("not written by annulus"));
  EXPECT_THAT(message_of(ErrorKind::kOutput, [&] { write_single(folder / "img.xy", 1); }),
              HasSubstr("exists already"));
  const auto plan = samples::make_plan();
  auto frames = samples::make_frames(*plan, 0, 1);
  frames[0].id.source = "img.cbf";
  const auto sink =
      open_xy(folder.path(), samples::job_of(plan), samples::make_run(), IfExists::kOverwrite, false);
  EXPECT_THAT(message_of(ErrorKind::kOutput, [&] { sink->append(frames); }),
              HasSubstr("not written by annulus"));
  EXPECT_EQ(samples::read_file(folder / "img.xy"), "1 2\n3 4\n");
}

TEST(XySink, ASingleFileTakesOneFrameAndNoMore) {
  const Folder folder;
  const auto plan = samples::make_plan();
  write_single(folder / "a.xy", 1);
  write_single(folder / "a.xy", 2, IfExists::kOverwrite);
  EXPECT_THAT(message_of(ErrorKind::kOutput, [&] { write_single(folder / "a.xy", 3, IfExists::kAppend); }),
              HasSubstr("holds one frame"));
  EXPECT_EQ(rows_of(folder / "a.xy")[1][1], samples::expected_intensity(2, 1));
  const auto sink =
      open_xy(folder / "b.xy", samples::job_of(plan), samples::make_run(), IfExists::kRefuse, true);
  EXPECT_THAT(message_of(ErrorKind::kOutput, [&] { sink->append(samples::make_frames(*plan, 0, 2)); }),
              HasSubstr("holds one frame"));
  EXPECT_THAT(message_of(ErrorKind::kOutput, [&] { write_single(folder / "no/a.xy", 1); }),
              HasSubstr("does not exist"));
}

TEST(XySink, AFullDiskLeavesNoHalfFile) {
  const Folder folder;
  const auto plan = samples::make_plan(2000);
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit size{50'000, 50'000};
    setrlimit(RLIMIT_FSIZE, &size);
    try {
      open_xy(folder / "out", samples::job_of(plan), samples::make_run(), IfExists::kRefuse, false)
          ->append(samples::make_frames(*plan, 0, 1));
    } catch (const Error& error) {
      _exit(std::string(error.what()).find("File too large") != std::string::npos ? 0 : 2);
    }
    _exit(1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(names_in(folder / "out"), std::set<std::string>{});
}

TEST(XySink, EveryFileIsOnTheDiskBeforeItHasItsName) {
  const Folder folder;
  const auto plan = samples::make_plan();
  const auto sink =
      open_xy(folder / "out", samples::job_of(plan), samples::make_run(), IfExists::kRefuse, false);
  disk_events.emplace();
  sink->append(samples::make_frames(*plan, 0, 5));
  const std::vector<std::string> events = *std::exchange(disk_events, std::nullopt);
  std::set<std::string> synced;
  std::size_t named = 0;
  for (const std::string& event : events) {
    if (event.starts_with("sync ")) synced.insert(event.substr(5));
    if (!event.starts_with("name ")) continue;
    ++named;
    EXPECT_TRUE(synced.contains(event.substr(5))) << event;
  }
  EXPECT_EQ(named, 5u);
  EXPECT_EQ(events.back(), "sync " + (folder / "out").string()) << "and then their names";
}

}  // namespace
}  // namespace annulus
