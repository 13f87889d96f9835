#include <annulus/core/error.hpp>
#include <annulus/ranks/ranks.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "message_of.hpp"

namespace annulus {
namespace {

constexpr const char* kVariables[] = {
    "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK",     "PMI_SIZE",   "PMIX_RANK",
    "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS",         "SLURM_PROCID", "ANNULUS_MPI"};

// The environment of a process, and nothing of it afterwards.
class LaunchOf : public testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }

  static Launch launch_with(const std::map<const char*, const char*>& variables) {
    clear();
    for (const auto& [name, value] : variables) ::setenv(name, value, 1);
    return launch_of_environment();
  }

 private:
  static void clear() {
    for (const char* const name : kVariables) ::unsetenv(name);
  }
};

TEST_F(LaunchOf, NobodyIsOneProcess) {
  const Launch launch = launch_with({});
  EXPECT_EQ(launch.size, 1u);
  EXPECT_EQ(launch.starter, "");
}

TEST_F(LaunchOf, OpenMpiIsKnown) {
  const Launch launch =
      launch_with({{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "8"}, {"PMIX_RANK", "3"}});
  EXPECT_EQ(launch.size, 8u);
  EXPECT_EQ(launch.rank, 3u);
  EXPECT_EQ(launch.starter, "OMPI_COMM_WORLD_RANK");
}

TEST_F(LaunchOf, MpichAndPmi2AreKnown) {
  const Launch launch = launch_with({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}});
  EXPECT_EQ(launch.size, 2u);
  EXPECT_EQ(launch.rank, 1u);
}

TEST_F(LaunchOf, SrunWithPmixIsKnown) {
  EXPECT_EQ(launch_with({{"PMIX_RANK", "5"}, {"SLURM_STEP_NUM_TASKS", "16"}}).size, 16u);
  EXPECT_EQ(launch_with({{"PMIX_RANK", "5"}}).size, 0u);  // MPI knows
}

TEST_F(LaunchOf, ABatchScriptIsOneProcess) {
  EXPECT_EQ(launch_with({{"SLURM_NTASKS", "16"}, {"SLURM_PROCID", "0"}}).starter, "");
}

TEST_F(LaunchOf, AProgramOfSomebodyElsesRankMayBeNoRank) {
  EXPECT_EQ(launch_with({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"ANNULUS_MPI", "off"}}).starter, "");
}

TEST_F(LaunchOf, WhatIsNoNumberIsRefused) {
  EXPECT_THAT(message_of(ErrorKind::kUsage,
                         [] {
                           launch_with({{"PMI_RANK", "one"}, {"PMI_SIZE", "2"}});
                         }),
              testing::HasSubstr("PMI_RANK: 'one' in the environment is not a number"));
}

TEST_F(LaunchOf, OneRankIsAlone) {
  launch_with({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}});
  EXPECT_EQ(join_ranks("/nowhere/annulus_mpi.so")->size(), 1u);
}

TEST_F(LaunchOf, SeveralWithoutTheModuleAreRefused) {
  launch_with({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}});
  EXPECT_THAT(message_of(ErrorKind::kBackend, [] { join_ranks("/nowhere/annulus_mpi.so"); }),
              testing::HasSubstr("started as 2 ranks (PMI_RANK), but this build speaks no MPI"));
}

TEST_F(LaunchOf, AFileThatIsNoModuleIsRefused) {
  launch_with({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}});
  EXPECT_THAT(message_of(ErrorKind::kBackend, [] { join_ranks("/proc/self/status"); }),
              testing::HasSubstr("/proc/self/status cannot be loaded"));
}

}  // namespace
}  // namespace annulus
