#include <annulus/sources/table_column.hpp>

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>

#include "hdf5_fixture.hpp"
#include "message_of.hpp"

namespace annulus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsNan;

class Hdf5ColumnTest : public Hdf5Test {
 protected:
  std::unique_ptr<TableColumn> column(const std::string& path, bool growing = false) {
    const std::string file = close();
    return open_hdf5_column({{"x", {}, file + "::" + path}, ColumnPlace::kDataset, file, path}, growing, {});
  }
  std::vector<double> read(const std::string& path) {
    const auto opened = column(path);
    std::vector<double> values;
    for (std::uint64_t i = 0; i < opened->rows(); ++i) values.push_back(opened->at(i));
    return values;
  }
  std::string refuse(const std::string& path) {
    return message_of(ErrorKind::kInput, [&] { column(path); });
  }
  void doubles(const std::string& path, const std::vector<double>& values, const Sides& chunk = {}) {
    dataset(path, {values.size()}, values, H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE, chunk);
  }
  void empty(const std::string& path) {
    const hsize_t none = 0, unlimited = H5S_UNLIMITED, chunk = 2;
    const hid_t space = H5Screate_simple(1, &none, &unlimited), list = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(list, 1, &chunk);
    H5Dclose(H5Dcreate2(file_, path.c_str(), H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, list, H5P_DEFAULT));
    H5Pclose(list);
    H5Sclose(space);
  }
  // Writes to /x of a file that is closed.
  void extend(const std::string& name, const std::vector<double>& values) const {
    const hid_t file = H5Fopen(path(name).c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t id = H5Dopen2(file, "/x", H5P_DEFAULT);
    const hsize_t size = values.size();
    H5Dset_extent(id, &size);
    H5Dwrite(id, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    H5Dclose(id);
    H5Fclose(file);
  }
};

TEST_F(Hdf5ColumnTest, ReadsIntegersAndFloatsWithTheirUnit) {
  dataset<std::uint16_t>("/i", {3}, {1, 2, 60000}, H5T_NATIVE_UINT16, H5T_STD_U16BE);
  dataset<float>("/f", {2}, {0.5f, -1.25f}, H5T_NATIVE_FLOAT, H5T_IEEE_F32LE);
  doubles("/d", {1.5, NAN});
  attribute("/d", "units", "mm");
  EXPECT_THAT(read("/i"), ElementsAre(1, 2, 60000));
  EXPECT_THAT(read("/f"), ElementsAre(0.5, -1.25));
  EXPECT_THAT(read("/d"), ElementsAre(1.5, IsNan()));
  EXPECT_EQ(column("/d")->info().unit, "mm");
  EXPECT_EQ(column("/f")->info().unit, "");
}

TEST_F(Hdf5ColumnTest, ADatasetOfSeveralDimensionsHasItsShape) {
  ints("/grid", {2, 3}, {1, 3}, 4);
  EXPECT_THAT(read("/grid"), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(column("/grid")->shape(), ElementsAre(2, 3));
}

// As Bliss links its counters.
TEST_F(Hdf5ColumnTest, FollowsSoftLinks) {
  group("/1.1");
  group("/1.1/measurement");
  doubles("/1.1/value", {7});
  H5Lcreate_soft("/1.1/value", file_, "/1.1/measurement/I0", H5P_DEFAULT, H5P_DEFAULT);
  EXPECT_THAT(read("/1.1/measurement/I0"), ElementsAre(7));
}

TEST_F(Hdf5ColumnTest, WhatIsNoColumnIsNamed) {
  number("/one", 1);
  const hid_t space = H5Screate(H5S_SCALAR);
  H5Dclose(H5Dcreate2(file_, "/scalar", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Sclose(space);
  dataset<char>("/text", {4}, {'a', 'b', 'c', 'd'}, H5T_C_S1, H5T_C_S1);
  dataset<double>("/unwritten", {5}, {}, H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE, {2});
  group("/group");
  EXPECT_THAT(refuse("/scalar"), HasSubstr("it is a single number"));
  EXPECT_THAT(refuse("/text"), HasSubstr("its values are no numbers"));
  EXPECT_THAT(refuse("/unwritten"), HasSubstr("no value was ever written"));
  EXPECT_THAT(refuse("/group"), HasSubstr("cannot be opened as a dataset"));
  EXPECT_THAT(refuse("/absent"), HasSubstr("cannot be opened as a dataset"));
}

TEST_F(Hdf5ColumnTest, ADatasetThatClaimsTooMuchIsRefused) {
  const Sides size{hsize_t{1} << 40};
  dataset<double>("/huge", size, {}, H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE, {1024});
  EXPECT_THAT(refuse("/huge"), HasSubstr("more values than any scan has frames"));
}

TEST_F(Hdf5ColumnTest, VirtualDatasetsAreRefusedSinceTheyHideWhatIsMissing) {
  doubles("/real", {1, 2});
  const hsize_t size = 2;
  const hid_t space = H5Screate_simple(1, &size, nullptr), list = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_virtual(list, space, "elsewhere.h5", "/x", space);
  H5Dclose(H5Dcreate2(file_, "/virtual", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, list, H5P_DEFAULT));
  H5Pclose(list);
  H5Sclose(space);
  EXPECT_THAT(refuse("/virtual"), HasSubstr("in other files"));
}

// A chunk that was never written reads as 0, which would be a wrong number in silence.
TEST_F(Hdf5ColumnTest, WhatWasNeverWrittenIsMissing) {
  const hid_t id = packed("/x", {6}, {2}, H5T_NATIVE_DOUBLE, 0, {});
  const std::vector<double> values = {5, 6};
  const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
  put_chunk(id, {2}, {bytes, bytes + 16});
  H5Dclose(id);
  EXPECT_THAT(read("/x"), ElementsAre(IsNan(), IsNan(), 5, 6, IsNan(), IsNan()));
}

TEST_F(Hdf5ColumnTest, LinksDoNotLeaveTheFolderOfTheFile) {
  std::string outside = (std::filesystem::temp_directory_path() / "annulus_outside_XXXXXX").string();
  ASSERT_NE(::mkdtemp(outside.data()), nullptr);
  const std::string other = outside + "/b.h5";
  H5Fclose(H5Fcreate(other.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
  H5Lcreate_external(other.c_str(), "/x", file_, "/x", H5P_DEFAULT, H5P_DEFAULT);
  EXPECT_THAT(refuse("/x"), HasSubstr("`allow_links`"));
  std::filesystem::remove_all(outside);
}

TEST_F(Hdf5ColumnTest, AGrowingOneHasWhatIsThereAndThenMore) {
  empty("/x");
  const auto growing = column("/x", true);
  EXPECT_EQ(growing->rows(), 0u);
  extend("a.h5", {1, 2, 3});
  EXPECT_TRUE(growing->grow());
  EXPECT_EQ(growing->rows(), 3u);
  EXPECT_EQ(growing->at(2), 3);
  extend("a.h5", {1, 2, 3, NAN, 5, NAN, NAN});  // laid out in advance
  EXPECT_TRUE(growing->grow());
  EXPECT_EQ(growing->rows(), 5u);
  EXPECT_FALSE(growing->grow());
  growing->finish();
  EXPECT_EQ(growing->rows(), 7u);
}

// The library shares what is open, and who has it open sees it as it was then.
TEST_F(Hdf5ColumnTest, AGrowingOneSeesTheFileAsItIsWhoeverElseHasItOpen) {
  ints("/images", {1, 2, 2}, {1, 2, 2});
  empty("/x");
  const auto growing = column("/x", true);
  const auto frames = open_source(path("a.h5") + "::/images");
  frames->read(0);
  std::filesystem::copy_file(path("a.h5"), path("b.h5"));
  extend("b.h5", {1, 2});
  write("a.h5", slurp(path("b.h5")));  // the same file, with other bytes
  EXPECT_TRUE(growing->grow());
  EXPECT_EQ(growing->rows(), 2u);
}

}  // namespace
}  // namespace annulus
