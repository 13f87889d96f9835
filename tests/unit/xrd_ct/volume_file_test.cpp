#include <annulus/core/error.hpp>
#include <annulus/xrd_ct/volume_file.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "message_of.hpp"
#include "scratch_folder.hpp"

namespace annulus {
namespace {

using ::testing::HasSubstr;

// Sides that are no multiples of those of chunks.
constexpr std::size_t kSize = 21, kBins = 150, kAngles = 18, kPositions = 33;

VolumeDescription description() {
  VolumeDescription made;
  made.input = "patterns.nxs";
  made.plan_hash = "hash";
  made.radial.centres.resize(kBins);
  for (ImageAxis* axis : {&made.y, &made.x}) axis->positions.resize(kSize);
  made.sinogram.emplace();
  made.sinogram->first.positions.resize(kAngles);
  made.sinogram->second.positions.resize(kPositions);
  return made;
}

float value_at(std::size_t cell, std::size_t bin) { return static_cast<float>(cell * kBins + bin); }

// Writes blocks of bins, and returns what the file holds.
std::vector<float> written_in_blocks(const std::filesystem::path& path, std::size_t block,
                                     const char* dataset, std::size_t cells) {
  const Hdf5Session session;
  write_volume(path, true, [&](hid_t file) {
    VolumeWriter writer(file, description(), 2);
    for (std::size_t first = 0; first < kBins; first += block) {
      const std::size_t bins = std::min(block, kBins - first);
      Tomogram tomogram(kSize, bins);
      Sinogram sinogram(kAngles, kPositions, bins);
      const auto fill = [&](auto& values) {
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = value_at(i / bins, first + i % bins);
      };
      fill(tomogram.values);
      fill(sinogram.values);
      writer.write_tomogram(first, tomogram);
      writer.write_sinogram(first, sinogram);
    }
    writer.write_facts({{"angles", 18U}});
  });
  const Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  const Hdf5Handle data(H5Dopen2(file.get(), dataset, H5P_DEFAULT), H5Dclose);
  std::vector<float> values(cells * kBins);
  EXPECT_GE(H5Dread(data.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
  return values;
}

class VolumeBlocks : public ::testing::TestWithParam<std::size_t> {};

// In whole chunks, in parts of them, all at once.
INSTANTIATE_TEST_SUITE_P(Sizes, VolumeBlocks, ::testing::Values(1, 50, 64, 128, 150));

TEST_P(VolumeBlocks, AreFoundWhereTheyBelong) {
  const testing::ScratchFolder folder;
  for (const auto& [dataset, cells] : {std::pair{"/entry/data/data", kSize * kSize},
                                       std::pair{"/entry/sinogram/data", kAngles * kPositions}}) {
    const std::vector<float> values =
        written_in_blocks(folder.path() / "volume.nxs", GetParam(), dataset, cells);
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(values[i], value_at(i / kBins, i % kBins)) << dataset << " " << i;
  }
}

TEST(VolumeFile, FailuresOfOthersPassAndLeaveNothing) {
  const testing::ScratchFolder folder;
  const std::filesystem::path path = folder.path() / "volume.nxs";
  const auto fail = [&](auto failure) {
    return [&path, failure] { write_volume(path, false, [&](hid_t) { throw failure; }); };
  };
  try {
    fail(Error(ErrorKind::kInterrupted, "scan", "interrupted"))();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInterrupted);
  }
  EXPECT_THROW(fail(std::bad_alloc())(), std::bad_alloc);
  EXPECT_TRUE(std::filesystem::is_empty(path.parent_path()));
}

TEST(VolumeFile, OtherFilesAreNotReplaced) {
  const testing::ScratchFolder folder;
  const std::filesystem::path path = folder.path() / "volume.nxs";
  std::ofstream(path) << "mine";
  const auto nothing = [](hid_t) {};
  EXPECT_THAT(message_of(ErrorKind::kOutput, [&] { write_volume(path, false, nothing); }),
              HasSubstr("exists already"));
  EXPECT_THAT(message_of(ErrorKind::kOutput, [&] { write_volume(path, true, nothing); }),
              HasSubstr("it is not touched"));
}

}  // namespace
}  // namespace annulus
