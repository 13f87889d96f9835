// How pixels lie in HDF5 files: allocated early, in raw files beside, many frames in a chunk.
#include <gmock/gmock.h>

#include <filesystem>

#include "hdf5_fixture.hpp"

namespace annulus {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class StorageTest : public Hdf5Test {};

TEST_F(StorageTest, ChunksAllocatedBeforeTheyAreWrittenAreNotFollowed) {
  const hsize_t shape[] = {4, 1, 2}, chunk[] = {1, 1, 2};
  const hid_t space = H5Screate_simple(3, shape, nullptr);
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(properties, 3, chunk);
  H5Pset_alloc_time(properties, H5D_ALLOC_TIME_EARLY);
  H5Dclose(H5Dcreate2(file_, "/entry", H5T_STD_I32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT));
  H5Pclose(properties);
  H5Sclose(space);
  OpenOptions following;
  following.follow = 60;
  EXPECT_THAT(open_fault(close() + "::/entry", following),
              AllOf(HasSubstr("which were written"), HasSubstr("--follow")));
}

TEST_F(StorageTest, ARawFileBesideThatIsTooShortOrMissingIsNamedWithItsBytes) {
  const hsize_t shape[] = {3, 1, 2};
  const hid_t space = H5Screate_simple(3, shape, nullptr);
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_external(properties, path("one.raw").c_str(), 4, 8);
  H5Pset_external(properties, path("two.raw").c_str(), 0, H5F_UNLIMITED);
  H5Dclose(H5Dcreate2(file_, "/a", H5T_STD_I32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT));
  H5Pclose(properties);
  H5Sclose(space);
  const auto& file = close();
  write("one.raw", bytes_of(std::vector<std::int32_t>{-1, 1, 2}));
  write("two.raw", bytes_of(std::vector<std::int32_t>{3, 4, 5, 6}));
  EXPECT_THAT(pixels_of<std::int32_t>(open_source(file)->read(2)), ElementsAre(5, 6));
  write("two.raw", bytes_of(std::vector<std::int32_t>{3, 4, 5}));
  EXPECT_THAT(open_fault(file), AllOf(HasSubstr("two.raw"), HasSubstr("12 bytes"), HasSubstr("16")));
  std::filesystem::remove(path("one.raw"));
  EXPECT_THAT(open_fault(file), AllOf(HasSubstr("one.raw"), HasSubstr("missing")));
}

}  // namespace
}  // namespace annulus
