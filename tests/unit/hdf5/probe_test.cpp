// The server of these tests is this program again, as a test that is only run by name.
#include <annulus/core/error.hpp>
#include <annulus/hdf5/probe.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "scratch_folder.hpp"

namespace annulus {
namespace {

using ::testing::HasSubstr;

// What a request says is done to the files that follow: opened, or opened and died of.
void act(const ProbeRequest& request) {
  std::ofstream(request.at(0) + ".probed", std::ios::app) << "x";
  for (std::size_t i = 1; i + 1 < request.size(); i += 2) {
    try {
      note_opening(request[i + 1]);
    } catch (const Error&) {
      continue;  // known from before: what comes after it is used
    }
    if (request[i] == "crash") ::raise(SIGSEGV);
    if (request[i] == "hang") ::pause();
    if (request[i] == "spin") {
      for (volatile bool forever = true; forever;) {
      }
    }
    if (request[i] == "exit") ::_exit(3);
    if (request[i] == "throw") throw Error(ErrorKind::kUsage, request[i + 1], "refused");
  }
}

TEST(ProbeServer, DISABLED_Serves) { EXPECT_EQ(serve_probes(act), 0); }

class ProbeTest : public ::testing::Test {
 protected:
  ProbeTest() {
    set_probe_command(
        {"/proc/self/exe", "--gtest_filter=ProbeServer.DISABLED_Serves", "--gtest_also_run_disabled_tests"});
  }

  std::string file(const std::string& name, const std::string& content = "x") {
    std::ofstream(folder_.path() / name) << content;
    return (folder_.path() / name).string();
  }

  std::size_t probes(const std::string& path) {
    std::error_code none;
    const auto size = std::filesystem::file_size(path + ".probed", none);
    return none ? 0 : size;
  }

  static std::string fault(const std::string& path, const ProbeRequest& request) {
    try {
      probe_hdf5(path, request);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_EQ(error.where(), path);
      return error.what();
    }
    return "no fault";
  }

  testing::ScratchFolder folder_;
};

TEST_F(ProbeTest, AFileThatIsOpenedIsProbedOnceUntilItChanges) {
  const std::string good = file("good");
  for (int i = 0; i < 3; ++i) probe_hdf5(good, {good, "open", good});
  EXPECT_EQ(probes(good), 1u);
  file("good", "changed");
  probe_hdf5(good, {good, "open", good});
  EXPECT_EQ(probes(good), 2u);
}

TEST_F(ProbeTest, AnErrorOfTheProbeIsThrownHere) {
  const std::string bad = file("bad");
  try {
    probe_hdf5(bad, {bad, "throw", bad});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_EQ(error.where(), bad);
    EXPECT_EQ(error.fault(), "refused");
    EXPECT_EQ(error.cure(), "");
  }
  EXPECT_THROW(probe_hdf5(bad, {bad, "throw", bad}), Error);
  EXPECT_EQ(probes(bad), 2u) << "it may be another one next time";
}

TEST_F(ProbeTest, AFileOfWhichTheProbeDiesIsRefusedFromThenOn) {
  for (const char* how : {"crash", "exit"}) {
    const std::string bad = file(how);
    EXPECT_THAT(fault(bad, {bad, how, bad}), HasSubstr("the HDF5 library crashes when it opens this file"));
    EXPECT_THAT(fault(bad, {bad, how, bad}), HasSubstr("crashes"));
    EXPECT_THROW(note_opening(bad), Error);
    EXPECT_EQ(probes(bad), 1u);
    file(how, "mended");
    EXPECT_NO_THROW(probe_hdf5(bad, {bad, "open", bad}));
    EXPECT_NO_THROW(note_opening(bad));
  }
  const std::string good = file("good");
  EXPECT_NO_THROW(probe_hdf5(good, {good, "open", good})) << "the server lives on";
}

TEST_F(ProbeTest, AFileBehindAnotherCostsOnlyItself) {
  const std::string master = file("master"), one = file("one"), two = file("two"), three = file("three");
  EXPECT_NO_THROW(probe_hdf5(master, {master, "open", master, "crash", one, "open", two, "crash", three}));
  EXPECT_EQ(probes(master), 3u);
  EXPECT_THROW(note_opening(one), Error);
  EXPECT_NO_THROW(note_opening(two));
  EXPECT_THROW(note_opening(three), Error);
  EXPECT_NO_THROW(note_opening(master));
}

TEST_F(ProbeTest, AFileThatTakesTooLongIsRefused) {
  const std::string slow = file("slow");
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(fault(slow, {slow, "hang", slow}), HasSubstr("longer than 8 s"));
  const auto took = std::chrono::steady_clock::now() - start;
  EXPECT_GE(took, std::chrono::seconds(kProbeSeconds - 1));
  EXPECT_LT(took, std::chrono::seconds(10));
}

TEST_F(ProbeTest, AFileThatKeepsTheLibraryBusyIsRefusedSooner) {
  const std::string endless = file("endless");
  EXPECT_THAT(fault(endless, {endless, "spin", endless}), HasSubstr("more than 2 s of processor time"));
}

TEST_F(ProbeTest, WithoutACommandNothingIsProbed) {
  set_probe_command({});
  const std::string file_name = file("any");
  EXPECT_NO_THROW(probe_hdf5(file_name, {file_name, "crash", file_name}));
  EXPECT_EQ(probes(file_name), 0u);
}

TEST_F(ProbeTest, AServerThatCannotBeStartedIsAFault) {
  set_probe_command({"/nowhere/at/all"});
  const std::string good = file("good");
  EXPECT_THAT(fault(good, {good, "open", good}), HasSubstr("cannot be started"));
}

}  // namespace
}  // namespace annulus
