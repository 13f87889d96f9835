// Finished frames are never lost: whatever write fails, and whenever the program is killed.

#include <annulus/core/error.hpp>
#include <annulus/outputs/nexus_sink.hpp>
#include <annulus/outputs/reader.hpp>

#include <gmock/gmock.h>
#include <grp.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>

#include "samples.hpp"
#include "sanitized.hpp"

namespace annulus {
namespace {

using samples::Folder;
using ::testing::HasSubstr;

constexpr std::uint32_t kBins = 64;
constexpr std::uint64_t kFrames = 80;
constexpr std::uint64_t kBatch = 8;

RunDescription run_with_small_chunks() {
  RunDescription run = samples::make_run();
  run.expected_frames = 16;  // so that the frames take many chunks
  return run;
}

struct Outcome {
  std::uint64_t flushed = 0;  // frames for which flush() returned
  std::string message;        // of the error that ended the run, if one did
};

// Appends frames until the end or the first error, flushing after every second batch.
Outcome run_until_error(const std::filesystem::path& path, const std::shared_ptr<Plan>& plan,
                        const std::shared_ptr<WriteFault>& fault, std::uint64_t frames = kFrames) {
  Outcome outcome;
  try {
    NexusSink sink(path, samples::job_of(plan), run_with_small_chunks(), IfExists::kRefuse, fault);
    for (std::uint64_t first = 0; first < frames; first += kBatch) {
      sink.append(samples::make_frames(*plan, first, kBatch));
      if (first / kBatch % 2 == 0) continue;
      sink.flush();
      outcome.flushed = first + kBatch;
    }
    sink.close();
    outcome.flushed = frames;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kOutput);
    outcome.message = error.what();
  }
  return outcome;
}

std::uint64_t writes_of_an_empty_output(const std::filesystem::path& path,
                                        const std::shared_ptr<Plan>& plan) {
  const auto fault = std::make_shared<WriteFault>();
  const NexusSink sink(path, samples::job_of(plan), run_with_small_chunks(), IfExists::kRefuse, fault);
  return fault->writes;
}

TEST(NexusFaults, WhicheverWriteFailsFlushedFramesAreReadable) {
  const Folder folder(Folder::memory());
  const auto plan = samples::make_plan(kBins);
  bool complete = false;
  for (std::uint64_t write = 0; !complete; write += testing::kSanitized ? 3 : 1) {
    ASSERT_LT(write, 2000u) << "the run does not end";
    const std::filesystem::path path = folder / ("w" + std::to_string(write) + ".nxs");
    const auto fault = std::make_shared<WriteFault>();
    fault->fail_at_write = write;
    const Outcome outcome = run_until_error(path, plan, fault);
    complete = outcome.message.empty();
    if (!complete) {
      EXPECT_THAT(outcome.message, HasSubstr("No space left on device")) << "write " << write;
    }
    if (!std::filesystem::exists(path)) {  // failed while the file was being created
      EXPECT_EQ(outcome.flushed, 0u) << "write " << write;
      continue;
    }
    const std::uint64_t stored = samples::check_frames(path, *plan);
    EXPECT_GE(stored, outcome.flushed) << "write " << write;
    if (!complete && outcome.message.find("stored and readable") != std::string::npos) {
      EXPECT_THAT(outcome.message, HasSubstr("; " + std::to_string(stored) + " frames are stored"));
    }
    if (::testing::Test::HasFailure()) return;
    std::filesystem::remove(path);
  }
}

TEST(NexusFaults, AFailedSinkRepeatsItsErrorAndClosesInPeace) {
  const Folder folder;
  const auto plan = samples::make_plan(kBins);
  const auto fault = std::make_shared<WriteFault>();
  NexusSink sink(folder / "a.nxs", samples::job_of(plan), run_with_small_chunks(), IfExists::kRefuse, fault);
  fault->fail_at_write = fault->writes;
  sink.append(samples::make_frames(*plan, 0, 8));
  EXPECT_THROW(sink.flush(), Error);
  EXPECT_THROW(sink.append(samples::make_frames(*plan, 8, 8)), Error);
  EXPECT_THROW(sink.flush(), Error);
  EXPECT_NO_THROW(sink.close());
}

TEST(NexusFaults, AfterAFailureTheScanGoesOnWithAppend) {
  const Folder folder;
  const auto plan = samples::make_plan(kBins);
  const auto fault = std::make_shared<WriteFault>();
  fault->fail_at_write = writes_of_an_empty_output(folder / "b.nxs", plan) + 120;
  run_until_error(folder / "a.nxs", plan, fault);
  const std::uint64_t stored = samples::check_frames(folder / "a.nxs", *plan);
  ASSERT_GT(stored, 0u);
  ASSERT_LT(stored, kFrames);
  NexusSink sink(folder / "a.nxs", samples::job_of(plan), run_with_small_chunks(), IfExists::kAppend);
  sink.append(samples::make_frames(*plan, stored, kFrames - stored));
  sink.close();
  EXPECT_EQ(samples::check_frames(folder / "a.nxs", *plan), kFrames);
}

// What a child process tells its parent before it ends.
struct Report {
  std::uint64_t flushed;
  bool reason_given;
};

template <typename Act>
Report in_child(Act act, int* status) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    act([&](const Report& report) { (void)!write(ends[1], &report, sizeof report); });
    exit(0);  // with all the handlers that HDF5 has registered
  }
  close(ends[1]);
  Report last{};
  for (Report report{}; read(ends[0], &report, sizeof report) == static_cast<ssize_t>(sizeof report);)
    last = report;
  close(ends[0]);
  waitpid(child, status, 0);
  return last;
}

TEST(NexusFaults, AFileSizeLimitLosesNothingThatWasFlushed) {
  const Folder folder;
  const auto plan = samples::make_plan(kBins);
  for (const std::uint64_t limit : {30'000, 150'000, 300'000, 450'000, 700'000}) {
    const std::filesystem::path path = folder / ("l" + std::to_string(limit) + ".nxs");
    int status = -1;
    const Report report = in_child(
        [&](auto tell) {
          std::signal(SIGXFSZ, SIG_IGN);
          const rlimit size{limit, limit};
          setrlimit(RLIMIT_FSIZE, &size);
          const Outcome outcome = run_until_error(path, plan, std::make_shared<WriteFault>(), 400);
          tell({outcome.flushed, outcome.message.find("File too large") != std::string::npos});
        },
        &status);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "limit " << limit << ": status " << status;
    EXPECT_TRUE(report.reason_given) << "limit " << limit;
    if (!std::filesystem::exists(path)) {
      EXPECT_EQ(report.flushed, 0u);
      continue;
    }
    EXPECT_GE(samples::check_frames(path, *plan), report.flushed) << "limit " << limit;
    EXPECT_LE(std::filesystem::file_size(path), limit);
  }
}

TEST(NexusFaults, AKilledWriterLosesNothingThatWasFlushedAndCanBeContinued) {
  const Folder folder;
  const auto plan = samples::make_plan(kBins);
  for (const std::uint64_t last : {16, 48, 80}) {
    const std::filesystem::path path = folder / ("k" + std::to_string(last) + ".nxs");
    int status = -1;
    in_child(
        [&](auto) {
          NexusSink sink(path, samples::job_of(plan), run_with_small_chunks(), IfExists::kRefuse);
          for (std::uint64_t first = 0; first < last; first += kBatch) {
            sink.append(samples::make_frames(*plan, first, kBatch));
            sink.flush();
          }
          sink.append(samples::make_frames(*plan, last, kBatch));  // not flushed
          std::raise(SIGKILL);
        },
        &status);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    NexusSink sink(path, samples::job_of(plan), run_with_small_chunks(), IfExists::kAppend);
    sink.append(samples::make_frames(*plan, last, 10));
    sink.close();
    EXPECT_EQ(samples::check_frames(path, *plan), last + 10);
  }
}

TEST(NexusFaults, ARepairThatIsItselfInterruptedCanBeRepeated) {
  const Folder folder;
  const auto plan = samples::make_plan(kBins);
  const std::filesystem::path left = folder / "left.nxs";
  int status = -1;
  in_child(
      [&](auto) {
        const auto fault = std::make_shared<WriteFault>();
        NexusSink sink(left, samples::job_of(plan), run_with_small_chunks(), IfExists::kRefuse, fault);
        sink.append(samples::make_frames(*plan, 0, 40));
        sink.flush();
        // More rows reach the disk, but not their status: what a kill in the midst of flush() leaves.
        sink.append(samples::make_frames(*plan, 40, 40));
        const Hdf5Session scope;
        hid_t file = -1;
        H5Fget_obj_ids(static_cast<hid_t>(H5F_OBJ_ALL), H5F_OBJ_FILE, 1, &file);
        H5Fflush(file, H5F_SCOPE_LOCAL);
        commit(*fault);
        std::raise(SIGKILL);
      },
      &status);
  ASSERT_TRUE(WIFSIGNALED(status));
  const std::filesystem::path copy = folder / "copy.nxs";
  bool complete = false;
  for (std::uint64_t write = 0; !complete; ++write) {
    ASSERT_LT(write, 200u);
    std::filesystem::copy_file(left, copy, std::filesystem::copy_options::overwrite_existing);
    const Hdf5Session scope;
    const auto fault = std::make_shared<WriteFault>();
    fault->fail_at_write = write;
    try {
      EXPECT_EQ(repair_nexus(copy, fault), 40u);
      complete = true;
      EXPECT_GT(write, 5u) << "the repair wrote nothing";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kOutput);
    }
    EXPECT_EQ(repair_nexus(copy, std::make_shared<WriteFault>()), 40u) << "write " << write;
    EXPECT_EQ(samples::check_frames(copy, *plan), 40u) << "write " << write;
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(NexusFaults, AStatusThatNeverReachedTheDiskDoesNotCount) {
  const Folder folder;
  const auto plan = samples::make_plan(kBins);
  {
    NexusSink sink(folder / "a.nxs", samples::job_of(plan), run_with_small_chunks(), IfExists::kRefuse);
    sink.append(samples::make_frames(*plan, 0, 20));
    sink.close();
  }
  const hid_t file = H5Fopen((folder / "a.nxs").c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  const hid_t status = H5Dopen2(file, "/entry/frames/status", H5P_DEFAULT);
  const hsize_t longer = 30;
  ASSERT_GE(H5Dset_extent(status, &longer), 0);
  H5Dclose(status);
  H5Fclose(file);
  EXPECT_EQ(PatternFile(folder / "a.nxs").frames(), 20u);
  NexusSink sink(folder / "a.nxs", samples::job_of(plan), run_with_small_chunks(), IfExists::kAppend);
  sink.append(samples::make_frames(*plan, 20, 3));
  sink.close();
  EXPECT_EQ(samples::check_frames(folder / "a.nxs", *plan), 23u);
}

TEST(NexusFaults, ASecondWriterIsKeptOut) {
  const Folder folder;
  const auto plan = samples::make_plan();
  NexusSink first(folder / "a.nxs", samples::job_of(plan), run_with_small_chunks(), IfExists::kRefuse);
  first.append(samples::make_frames(*plan, 0, 4));
  first.flush();
  for (const IfExists how : {IfExists::kAppend, IfExists::kOverwrite}) {
    int status = -1;
    const Report report = in_child(
        [&](auto tell) {
          try {
            NexusSink second(folder / "a.nxs", samples::job_of(plan), run_with_small_chunks(), how);
          } catch (const Error& error) {
            tell({1, std::string(error.what()).find("another program is writing") != std::string::npos});
          }
          _exit(0);  // the parent's file must not be closed from here
        },
        &status);
    EXPECT_EQ(report.flushed, 1u);
    EXPECT_TRUE(report.reason_given);
    EXPECT_THROW(NexusSink(folder / "a.nxs", samples::job_of(plan), run_with_small_chunks(), how), Error);
  }
  first.append(samples::make_frames(*plan, 4, 4));
  first.close();
  EXPECT_EQ(samples::check_frames(folder / "a.nxs", *plan), 8u);
}

TEST(NexusFaults, WhileTheNewFileIsNotCompleteTheOldOneStays) {
  const Folder folder(Folder::memory());
  const std::filesystem::path path = folder / "a.nxs";
  const auto plan = samples::make_plan(kBins);
  run_until_error(path, plan, std::make_shared<WriteFault>());
  const std::uint64_t writes = writes_of_an_empty_output(folder / "b.nxs", plan);
  std::filesystem::remove(folder / "b.nxs");
  ASSERT_GT(writes, 50u);
  for (std::uint64_t write = 0; write < writes; write += 7) {
    const auto fault = std::make_shared<WriteFault>();
    fault->fail_at_write = write;
    EXPECT_THROW(NexusSink(path, samples::job_of(plan), run_with_small_chunks(), IfExists::kOverwrite, fault),
                 Error);
    ASSERT_EQ(samples::check_frames(path, *plan), kFrames) << "write " << write;
  }
  // Nothing is left beside it either.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(NexusFaults, AReplacedFileKeepsItsPermissionsAndLinksToItStayLinks) {
  const Folder folder;
  const auto plan = samples::make_plan();
  const auto open = [&](const std::filesystem::path& path, IfExists how) {
    NexusSink(path, samples::job_of(plan), run_with_small_chunks(), how).close();
  };
  open(folder / "a.nxs", IfExists::kRefuse);
  std::filesystem::permissions(folder / "a.nxs", std::filesystem::perms(0640));
  std::filesystem::create_symlink("a.nxs", folder / "link.nxs");
  open(folder / "link.nxs", IfExists::kOverwrite);
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.nxs"));
  EXPECT_EQ(std::filesystem::status(folder / "a.nxs").permissions(), std::filesystem::perms(0640));
  std::filesystem::permissions(folder / "a.nxs", std::filesystem::perms(0440));
  if (access((folder / "a.nxs").c_str(), W_OK) == 0) return;  // whom nothing is forbidden
  EXPECT_THROW(open(folder / "a.nxs", IfExists::kOverwrite), Error);
}

// Writes 8 frames, lets `act` change the file, and writes 8 more; what the error says.
template <typename Act>
std::string message_after(const std::filesystem::path& path, Act act) {
  const auto plan = samples::make_plan(kBins);
  try {
    NexusSink sink(path, samples::job_of(plan), run_with_small_chunks(), IfExists::kRefuse);
    sink.append(samples::make_frames(*plan, 0, 8));
    sink.flush();
    act();
    sink.append(samples::make_frames(*plan, 8, 8));
    sink.close();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kOutput);
    return error.what();
  }
  return "no error";
}

TEST(NexusFaults, AnOutputThatIsGoneWhenTheRunEndsIsAnError) {
  const Folder folder;
  const std::filesystem::path path = folder / "a.nxs";
  EXPECT_THAT(message_after(path, [&] { std::filesystem::remove(path); }),
              HasSubstr("was deleted while it was being written"));
  EXPECT_THAT(message_after(path, [&] { std::filesystem::resize_file(path, 0); }),
              HasSubstr("was made shorter by another program"));
  std::filesystem::remove(path);
  EXPECT_THAT(message_after(path, [&] { std::filesystem::resize_file(path, 20'000); }),
              HasSubstr("was made shorter by another program"));
  std::filesystem::remove(path);
  EXPECT_THAT(message_after(path, [&] { std::filesystem::rename(path, folder / "b.nxs"); }),
              HasSubstr("16 frames are in the file that was moved"));
  EXPECT_EQ(samples::check_frames(folder / "b.nxs", *samples::make_plan(kBins)), 16u);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(NexusFaults, AfterAFailureWhatHasTheNameNowIsNotRepairedIfItIsAnotherFile) {
  const Folder folder;
  const auto plan = samples::make_plan(kBins);
  // A second output, as a killed writer leaves it: a repair would change it.
  int status = -1;
  in_child(
      [&](auto) {
        NexusSink other(folder / "other.nxs", samples::job_of(plan), run_with_small_chunks(),
                        IfExists::kRefuse);
        other.append(samples::make_frames(*plan, 0, 8));
        other.flush();
        std::raise(SIGKILL);
      },
      &status);
  const auto content = [](const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string before = content(folder / "other.nxs");
  const auto fault = std::make_shared<WriteFault>();
  NexusSink sink(folder / "a.nxs", samples::job_of(plan), run_with_small_chunks(), IfExists::kRefuse, fault);
  sink.append(samples::make_frames(*plan, 0, 8));
  sink.flush();
  std::filesystem::rename(folder / "a.nxs", folder / "moved.nxs");
  std::filesystem::rename(folder / "other.nxs", folder / "a.nxs");
  fault->fail_at_write = fault->writes;
  sink.append(samples::make_frames(*plan, 8, 8));
  try {
    sink.flush();
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                ::testing::AllOf(HasSubstr("No space left"), HasSubstr("moved away or replaced"),
                                 HasSubstr("8 frames had been stored")));
  }
  EXPECT_EQ(content(folder / "a.nxs"), before);
}

TEST(NexusFaults, AGroupThatCannotBePassedOnGetsNoMoreThanOthers) {
  if (geteuid() != 0) GTEST_SKIP() << "takes another user";
  const Folder folder;
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(chown(folder.path().c_str(), kNobody, kNobody), 0);
  int status = -1;
  for (const auto& [mode, expected] :
       {std::pair{0660, 0600}, {0664, 0644}, {0640, 0600}, {0666, 0666}, {02770, 0700}}) {
    const std::filesystem::path old = folder / "old", made = folder / "new";
    std::ofstream(old) << "old";
    std::ofstream(made) << "new";
    ASSERT_EQ(chown(old.c_str(), kNobody, 0), 0);  // of a group in which that user is not
    ASSERT_EQ(chown(made.c_str(), kNobody, kNobody), 0);
    ASSERT_EQ(chmod(old.c_str(), static_cast<mode_t>(mode)), 0);
    in_child(
        [&](auto) {
          if (setgroups(0, nullptr) != 0 || setgid(kNobody) != 0 || setuid(kNobody) != 0) _exit(1);
          WriteFault fault;
          const WriterLock lock(old, fault);
          if (!lock) _exit(2);
          lock.pass_on_permissions(made);
          _exit(0);
        },
        &status);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << WEXITSTATUS(status);
    struct stat found {};
    ASSERT_EQ(stat(made.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 07777, static_cast<mode_t>(expected)) << std::oct << mode;
    std::filesystem::remove(old);
    std::filesystem::remove(made);
  }
}

TEST(NexusFaults, WhenThereIsNoRoomForTheFileItselfNoneIsLeft) {
  const Folder folder;
  const auto fault = std::make_shared<WriteFault>();
  fault->fail_at_write = 3;
  EXPECT_THROW(NexusSink(folder / "a.nxs", samples::job_of(samples::make_plan()), run_with_small_chunks(),
                         IfExists::kRefuse, fault),
               Error);
  EXPECT_FALSE(std::filesystem::exists(folder / "a.nxs"));
  EXPECT_TRUE(std::filesystem::is_empty(folder / ".")) << "something else is left";
}

}  // namespace
}  // namespace annulus
