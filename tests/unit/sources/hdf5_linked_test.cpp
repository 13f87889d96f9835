// HDF5 files whose images are elsewhere: behind links, in virtual datasets, in raw files beside them.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <string>

#include "hdf5_fixture.hpp"

namespace annulus {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kMaskOfMaster = "/entry/instrument/detector/detectorSpecific/pixel_mask";

class LinkedTest : public Hdf5Test {
 protected:
  // A block of frames of a virtual dataset, and where it comes from.
  struct Block {
    std::string file;
    std::string dataset;
    Sides source_shape;
    Sides start;  // in the virtual dataset
    Sides count;
    Sides stride = {1, 1, 1};
    Sides source_start = {0, 0, 0};
  };

  void master() {
    for (const char* name : {"/entry", "/entry/data", "/entry/instrument", "/entry/instrument/detector",
                             "/entry/instrument/detector/detectorSpecific"}) {
      group(name);
    }
  }

  void external_link(const std::string& path, const std::string& file, const std::string& object) {
    ASSERT_GE(H5Lcreate_external(file.c_str(), object.c_str(), file_, path.c_str(), H5P_DEFAULT, H5P_DEFAULT),
              0);
  }

  void virtual_stack(const std::string& path, const Sides& shape, const std::vector<Block>& blocks) {
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    const hid_t space = H5Screate_simple(3, shape.data(), nullptr);
    for (const Block& block : blocks) {
      const hid_t source = H5Screate_simple(3, block.source_shape.data(), nullptr);
      H5Sselect_hyperslab(source, H5S_SELECT_SET, block.source_start.data(), nullptr, block.count.data(),
                          nullptr);
      H5Sselect_hyperslab(space, H5S_SELECT_SET, block.start.data(), block.stride.data(), block.count.data(),
                          nullptr);
      ASSERT_GE(H5Pset_virtual(properties, space, block.file.c_str(), block.dataset.c_str(), source), 0);
      H5Sclose(source);
    }
    H5Sselect_all(space);
    const hid_t id =
        H5Dcreate2(file_, path.c_str(), H5T_STD_I32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    ASSERT_GE(id, 0);
    H5Dclose(id);
    H5Sclose(space);
    H5Pclose(properties);
  }

  // A file that was closed, to write on.
  void reopen(const std::string& name) { file_ = H5Fopen(name.c_str(), H5F_ACC_RDWR, H5P_DEFAULT); }

  static OpenOptions waiting(double seconds) {
    OpenOptions options;
    options.follow = seconds;
    return options;
  }

  static std::vector<std::int32_t> pixels(const std::unique_ptr<FrameSource>& source, std::uint64_t i) {
    return pixels_of<std::int32_t>(source->read(i));
  }
};

TEST_F(LinkedTest, AMissingDataFileIsNamedAndThePixelMaskNotTakenForTheScan) {
  master();
  ints(kMaskOfMaster, {2, 2});
  external_link("/entry/data/data", "gone.h5", "/frames");
  EXPECT_THAT(open_fault(close()),
              AllOf(HasSubstr("/entry/data/data"), HasSubstr("gone.h5, which is missing")));

  open("chain.h5");
  master();
  ints(kMaskOfMaster, {2, 2});
  external_link("/entry/data/counts", "gone.h5", "/frames");
  attribute("/", "default", "entry");
  attribute("/entry", "default", "data");
  attribute("/entry/data", "signal", "counts");
  EXPECT_THAT(open_fault(close()),
              AllOf(HasSubstr("/entry/data/counts"), HasSubstr("gone.h5, which is missing")));

  open("group.h5");
  group("/entry");
  group("/other");
  ints("/other/image", {2, 2});
  external_link("/entry/data", "gone.h5", "/entry/data");
  EXPECT_THAT(open_fault(close()), HasSubstr("gone.h5, which is missing"));

  open("numbered.h5");
  master();
  ints(kMaskOfMaster, {2, 2});
  external_link("/entry/data/data_000001", "gone.h5", "/frames");
  attribute("/", "default", "/entry/data/data_000001");
  EXPECT_THAT(open_fault(close()), HasSubstr("gone.h5, which is missing"));
}

TEST_F(LinkedTest, MaskAndFlatFieldAreNeverTheScan) {
  master();
  ints(kMaskOfMaster, {2, 2});
  const std::string only_mask = close();
  EXPECT_THAT(open_fault(only_mask),
              AllOf(HasSubstr("no dataset of 2 dimensions or more"), HasSubstr("pixel_mask")));
  EXPECT_THAT(read_image(only_mask + "::" + kMaskOfMaster).pixels, ElementsAre(0, 1, 2, 3))
      << "if it is named";
  open("b.h5");
  ints("/image", {1, 2}, {}, 0, 7);
  ints("/flatfield", {1, 2});
  ints("/pixel_mask_applied", {1, 2, 1});
  EXPECT_THAT(open_fault(close()), HasSubstr("more than one dataset"));
  open("c.h5");
  ints("/image", {1, 2}, {}, 0, 7);
  ints("/flatfield", {1, 2});
  EXPECT_THAT(read_image(close()).pixels, ElementsAre(7, 8));
}

TEST_F(LinkedTest, WhileFollowingOnlyWhatTheMasterCallsItsImagesCounts) {
  master();
  ints("/entry/instrument/some_image", {1, 1, 2}, {1, 1, 2});
  const std::string name = close();
  EXPECT_THAT(open_fault(name, waiting(60)), HasSubstr("images"));
  open("frames.h5");
  ints("/frames", {2, 1, 2}, {1, 1, 2}, 0, 40);
  close();
  reopen(name);
  external_link("/entry/data/data", "frames.h5", "/frames");
  close();
  const auto source = open_source(name, waiting(60));
  EXPECT_EQ(source->info().frames, 2u);
  EXPECT_THAT(pixels(source, 1), ElementsAre(42, 43));
}

TEST_F(LinkedTest, ImagesThatMoveBeforeTheFirstFrameAreFollowedWhereTheyAre) {
  master();
  ints("/entry/data/data", {0, 1, 2}, {1, 1, 2});
  const std::string name = close();
  const auto source = open_source(name, waiting(60));
  EXPECT_EQ(source->info().frames, 0u);
  reopen(name);
  ints("/entry/data/counts", {2, 1, 2}, {1, 1, 2}, 0, 40);
  attribute("/", "default", "/entry/data/counts");
  close();
  EXPECT_EQ(source->grow().frames, 2u);
  EXPECT_THAT(pixels(source, 1), ElementsAre(42, 43));
}

TEST_F(LinkedTest, ImagesThatMoveInTheMiddleOfAScanAreAFault) {
  master();
  ints("/entry/data/data", {1, 1, 2}, {1, 1, 2});
  const std::string name = close();
  const auto source = open_source(name, waiting(1e-9));
  EXPECT_EQ(source->info().frames, 1u);
  reopen(name);
  ints("/entry/data/counts", {3, 1, 2}, {1, 1, 2}, 0, 40);
  attribute("/", "default", "/entry/data/counts");
  close();
  const Growth growth = source->grow();
  EXPECT_EQ(growth.frames, 1u);
  EXPECT_TRUE(growth.ended);
  ASSERT_TRUE(growth.fault);
  EXPECT_THAT(growth.fault->what(), AllOf(HasSubstr("/entry/data/counts"), HasSubstr("/entry/data/data")));
  EXPECT_THAT(pixels(source, 0), ElementsAre(0, 1));
}

TEST_F(LinkedTest, AVirtualDatasetOfTheNumberedOnesInOrderIsReadFromThem) {
  master();
  ints("/entry/data/data_000001", {2, 1, 2}, {1, 1, 2});
  ints("/entry/data/data_000002", {1, 1, 2}, {1, 1, 2}, 0, 40);
  virtual_stack("/entry/data/data", {3, 1, 2},
                {{".", "/entry/data/data_000001", {2, 1, 2}, {0, 0, 0}, {2, 1, 2}},
                 {".", "/entry/data/data_000002", {1, 1, 2}, {2, 0, 0}, {1, 1, 2}}});
  const auto source = open_source(close());
  ASSERT_EQ(source->info().frames, 3u);
  EXPECT_THAT(source->read(2).id.source, EndsWith("/entry/data/data_000002"));
  EXPECT_THAT(pixels(source, 2), ElementsAre(40, 41));
}

TEST_F(LinkedTest, AVirtualDatasetOfMissingFilesIsReadFromTheNumberedOnesThatAreThere) {
  ints("/frames", {2, 1, 2}, {1, 1, 2});
  close();
  open("master.h5");
  master();
  external_link("/entry/data/data_000001", "a.h5", "/frames");
  external_link("/entry/data/data_000002", "gone.h5", "/frames");
  virtual_stack("/entry/data/data", {4, 1, 2},
                {{"a.h5", "/frames", {2, 1, 2}, {0, 0, 0}, {2, 1, 2}},
                 {"gone.h5", "/frames", {2, 1, 2}, {2, 0, 0}, {2, 1, 2}}});
  const auto source = open_source(close());
  ASSERT_EQ(source->info().frames, 3u);
  EXPECT_THAT(pixels(source, 1), ElementsAre(2, 3));
  EXPECT_THAT(input_fault([&] { source->read(2); }), HasSubstr("gone.h5, which is missing"));
}

TEST_F(LinkedTest, AVirtualDatasetThatSetsModulesSideBySideIsReadItself) {
  master();
  ints("/entry/data/data_000001", {3, 1, 2}, {1, 1, 2});
  ints("/entry/data/data_000002", {3, 1, 2}, {1, 1, 2}, 0, 40);
  virtual_stack("/entry/data/data", {3, 2, 2},
                {{".", "/entry/data/data_000001", {3, 1, 2}, {0, 0, 0}, {3, 1, 2}},
                 {".", "/entry/data/data_000002", {3, 1, 2}, {0, 1, 0}, {3, 1, 2}}});
  attribute("/", "default", "entry");
  attribute("/entry", "default", "data");
  attribute("/entry/data", "signal", "data");
  const auto source = open_source(close());
  ASSERT_EQ(source->info().frames, 3u);
  EXPECT_EQ(source->info().shape, (Shape{2, 2}));
  EXPECT_THAT(pixels(source, 1), ElementsAre(2, 3, 42, 43));
}

TEST_F(LinkedTest, AVirtualDatasetThatOrdersFramesOtherwiseIsReadItself) {
  for (const bool interleaved : {false, true}) {
    open(interleaved ? "interleaved.h5" : "reversed.h5");
    master();
    ints("/entry/data/data_000001", {2, 1, 2}, {1, 1, 2});
    ints("/entry/data/data_000002", {2, 1, 2}, {1, 1, 2}, 0, 40);
    const hsize_t step = interleaved ? 2 : 1;
    virtual_stack(
        "/entry/data/data", {4, 1, 2},
        {{".", "/entry/data/data_000001", {2, 1, 2}, {interleaved ? 0u : 2u, 0, 0}, {2, 1, 2}, {step, 1, 1}},
         {".",
          "/entry/data/data_000002",
          {2, 1, 2},
          {interleaved ? 1u : 0u, 0, 0},
          {2, 1, 2},
          {step, 1, 1}}});
    const auto source = open_source(close());
    ASSERT_EQ(source->info().frames, 4u);
    EXPECT_THAT(pixels(source, 1), interleaved ? ElementsAre(40, 41) : ElementsAre(42, 43));
    EXPECT_THAT(pixels(source, 2), interleaved ? ElementsAre(2, 3) : ElementsAre(0, 1));
  }
}

TEST_F(LinkedTest, AVirtualDatasetWhoseSourceDatasetIsAbsentNamesIt) {
  ints("/frames", {2, 1, 2});
  close();
  open("virtual.h5");
  virtual_stack("/v", {2, 1, 2}, {{"a.h5", "/other", {2, 1, 2}, {0, 0, 0}, {2, 1, 2}}});
  EXPECT_THAT(open_fault(close()), AllOf(HasSubstr("virtual.h5::/v"), HasSubstr("a.h5::/other")));
}

TEST_F(LinkedTest, VirtualFramesThatTheirSourceDoesNotHaveAreFaults) {
  ints("/frames", {2, 1, 2}, {1, 1, 2}, 0, 5);
  close();
  open("virtual.h5");
  virtual_stack("/v", {5, 1, 2}, {{"a.h5", "/frames", {4, 1, 2}, {0, 0, 0}, {4, 1, 2}}});
  const auto source = open_source(close());
  EXPECT_THAT(pixels(source, 1), ElementsAre(7, 8));
  EXPECT_THAT(input_fault([&] { source->read(2); }), AllOf(HasSubstr("frame 2"), HasSubstr("a.h5::/frames")));
  EXPECT_THAT(input_fault([&] { source->read(4); }), HasSubstr("frame 4 is in none of its source files"));
}

TEST_F(LinkedTest, VirtualFramesThatWereNotWrittenInTheirSourceAreFaults) {
  const hid_t id = packed("/frames", {3, 1, 2}, {1, 1, 2}, H5T_STD_I32LE, 0, {});
  const std::int32_t pair[] = {3, 4};
  const auto bytes = std::as_bytes(std::span(pair));
  for (const hsize_t i : {0u, 2u}) put_chunk(id, {i, 0, 0}, {bytes.begin(), bytes.end()});
  H5Dclose(id);
  ints("/modules", {3, 1, 2}, {1, 1, 2});
  dataset<std::int32_t>("/never", {3, 1, 2}, {}, H5T_NATIVE_INT32, H5T_STD_I32LE);
  close();
  open("virtual.h5");
  // Frame i of the virtual dataset is frame i + 1 of its source.
  virtual_stack("/v", {2, 2, 2},
                {{"a.h5", "/frames", {3, 1, 2}, {0, 0, 0}, {2, 1, 2}, {1, 1, 1}, {1, 0, 0}},
                 {"a.h5", "/modules", {3, 1, 2}, {0, 1, 0}, {2, 1, 2}, {1, 1, 1}, {1, 0, 0}}});
  virtual_stack("/w", {3, 1, 2}, {{"a.h5", "/never", {3, 1, 2}, {0, 0, 0}, {3, 1, 2}}});
  virtual_stack("/of_virtual", {2, 2, 2}, {{".", "/v", {2, 2, 2}, {0, 0, 0}, {2, 2, 2}}});
  const auto& file = close();
  for (const char* name : {"::/v", "::/of_virtual"}) {
    const auto source = open_source(file + name);
    EXPECT_THAT(input_fault([&] { source->read(0); }),
                AllOf(HasSubstr("a.h5::/frames"), HasSubstr("frame 1 was not")));
    EXPECT_THAT(pixels(source, 1), ElementsAre(3, 4, 4, 5));
  }
  EXPECT_THAT(open_fault(file + "::/w"), HasSubstr("a.h5::/never"));
}

TEST_F(LinkedTest, ChunksOfManyFramesInTheSourcesOfAVirtualDatasetAreReckonedWith) {
  ints("/one", {4, 1, 2}, {4, 1, 2}, 4);
  ints("/two", {4, 1, 2}, {4, 1, 2}, 4, 40);
  close();
  open("virtual.h5");
  virtual_stack(
      "/v", {4, 2, 2},
      {{"a.h5", "/one", {4, 1, 2}, {0, 0, 0}, {4, 1, 2}}, {"a.h5", "/two", {4, 1, 2}, {0, 1, 0}, {4, 1, 2}}});
  const auto source = open_source(close());
  EXPECT_EQ(source->info().bytes_held, 64u) << "two chunks of 32 bytes";
  EXPECT_THAT(pixels(source, 3), ElementsAre(6, 7, 46, 47));
}

TEST_F(LinkedTest, ASymbolicLinkToAMasterFindsItsDataFiles) {
  namespace fs = std::filesystem;
  close();
  fs::create_directory(path("real"));
  fs::create_directory(path("links"));
  open("real/frames.h5");
  ints("/frames", {2, 1, 2}, {1, 1, 2});
  close();
  open("real/master.h5");
  master();
  external_link("/entry/data/data_000001", "frames.h5", "/frames");
  virtual_stack("/v", {2, 1, 2}, {{"frames.h5", "/frames", {2, 1, 2}, {0, 0, 0}, {2, 1, 2}}});
  close();
  fs::create_symlink("../real/master.h5", path("links/master.h5"));
  EXPECT_THAT(pixels(open_source(path("links/master.h5")), 1), ElementsAre(2, 3));
  EXPECT_THAT(pixels(open_source(path("links/master.h5") + "::/v"), 1), ElementsAre(2, 3));
}

TEST_F(LinkedTest, LinksAreResolvedFromTheFileThatHoldsThem) {
  namespace fs = std::filesystem;
  close();
  fs::create_directory(path("scan"));
  open("scan/frames.h5");
  ints("/frames", {2, 1, 2}, {1, 1, 2});
  close();
  open("scan/master.h5");
  master();
  external_link("/entry/data/data_000001", "frames.h5", "/frames");
  close();
  open("top.h5");
  external_link("/entry", "scan/master.h5", "/entry");
  ASSERT_GE(H5Lcreate_soft("/entry/data/data_000001", file_, "/soft", H5P_DEFAULT, H5P_DEFAULT), 0);
  const auto& top = close();
  EXPECT_THAT(pixels(open_source(top), 1), ElementsAre(2, 3));
  EXPECT_THAT(pixels(open_source(top + "::/soft"), 1), ElementsAre(2, 3));
  fs::remove(path("scan/frames.h5"));
  EXPECT_THAT(open_fault(top), HasSubstr("frames.h5, which is missing"));
}

TEST_F(LinkedTest, LinksInACircleEnd) {
  external_link("/a", "b.h5", "/b");
  close();
  open("b.h5");
  external_link("/b", "a.h5", "/a");
  ASSERT_GE(H5Lcreate_soft("/soft", file_, "/soft", H5P_DEFAULT, H5P_DEFAULT), 0);
  const auto& file = close();
  EXPECT_THAT(open_fault(file + "::/b"), Not(HasSubstr("no error")));
  EXPECT_THAT(open_fault(file + "::/soft"), Not(HasSubstr("no error")));
}

}  // namespace
}  // namespace annulus
