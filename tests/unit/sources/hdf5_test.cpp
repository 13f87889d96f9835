#include <annulus/sources/hdf5_chunk_check.hpp>

#include <gmock/gmock.h>
#include <zlib.h>

#include <numeric>
#include <thread>

#include "hdf5_fixture.hpp"

namespace annulus {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

TEST_F(Hdf5Test, ReadsAnImageAndAStackByPath) {
  group("/g");
  ints("/g/image", {2, 3});
  ints("/g/stack", {4, 2, 3}, {1, 2, 3}, 6);
  const auto& name = close();
  const auto image = open_source(name + "::/g/image");
  EXPECT_EQ(image->info().format, "HDF5");
  EXPECT_EQ(image->info().frames, 1u);
  EXPECT_THAT(pixels_of<std::int32_t>(image->read(0)), ElementsAre(0, 1, 2, 3, 4, 5));
  const auto stack = open_source(name + "::g/stack");
  EXPECT_EQ(stack->info().frames, 4u);
  EXPECT_EQ(stack->info().shape, (Shape{2, 3}));
  const Frame frame = stack->read(3);
  EXPECT_THAT(pixels_of<std::int32_t>(frame), ElementsAre(18, 19, 20, 21, 22, 23));
  EXPECT_EQ(frame.id.source, name + "::/g/stack");
  EXPECT_EQ(frame.id.in_source, 3u);
  EXPECT_THAT(input_fault([&] { stack->read(4); }), HasSubstr("frame 4 was asked for; the file has 4"));
}

TEST_F(Hdf5Test, ReadsEveryTypeInBothByteOrders) {
  const std::vector<double> values = {0, 1, 100};
  const std::vector<std::tuple<const char*, hid_t, PixelType>> types = {
      {"u1", H5T_STD_U8BE, PixelType::kU8},    {"u2", H5T_STD_U16BE, PixelType::kU16},
      {"u4", H5T_STD_U32LE, PixelType::kU32},  {"u8", H5T_STD_U64BE, PixelType::kU64},
      {"i1", H5T_STD_I8LE, PixelType::kI8},    {"i2", H5T_STD_I16BE, PixelType::kI16},
      {"i4", H5T_STD_I32BE, PixelType::kI32},  {"i8", H5T_STD_I64LE, PixelType::kI64},
      {"f4", H5T_IEEE_F32BE, PixelType::kF32}, {"f8", H5T_IEEE_F64BE, PixelType::kF64}};
  for (const auto& [name, stored, type] : types)
    dataset(std::string("/") + name, {1, 3}, values, H5T_NATIVE_DOUBLE, stored);
  const auto& file = close();
  for (const auto& [name, stored, type] : types) {
    const std::string url = file + "::/" + name;
    EXPECT_EQ(open_source(url)->info().type, type) << name;
    EXPECT_THAT(read_image(url).pixels, ElementsAreArray(values)) << name;
  }
}

TEST_F(Hdf5Test, FindsTheDefaultByTheNexusChain) {
  group("/other");
  ints("/other/image", {2, 2});
  group("/entry");
  group("/entry/data");
  ints("/entry/data/data", {2, 2}, {}, 0, 50);
  group("/scan");
  group("/scan/plot");
  ints("/scan/plot/frames", {1, 1, 2}, {}, 0, 70);
  attribute("/", "default", "scan");
  attribute("/scan", "default", "plot");
  attribute("/scan/plot", "signal", "frames");
  EXPECT_THAT(read_image(close()).pixels, ElementsAre(70, 71));
}

TEST_F(Hdf5Test, RefusesADefaultPlotThatHoldsNoImages) {
  group("/entry");
  group("/entry/data");
  ints("/entry/data/data", {1, 2}, {}, 0, 50);
  group("/entry/curve");
  ints("/entry/curve/y", {7});
  attribute("/", "default", "entry");
  attribute("/entry", "default", "curve");
  attribute("/entry/curve", "signal", "y");
  const auto& name = close();
  EXPECT_THAT(open_fault(name),
              AllOf(HasSubstr("its default plot, /entry/curve/y, has the shape (7): no images"),
                    HasSubstr("/entry/data/data (1 x 2)"), HasSubstr(name + "::/path")));
  EXPECT_THAT(read_image(name + "::/entry/data/data").pixels, ElementsAre(50, 51));
}

TEST_F(Hdf5Test, AGridIsAStackThatKnowsItsSides) {
  // Chunks that are no divisors of the grid, nor of the image.
  ints("/contiguous", {2, 3, 2, 2});
  ints("/chunked", {2, 3, 2, 2}, {2, 2, 1, 2});
  ints("/packed", {2, 3, 2, 2}, {1, 2, 2, 2}, 4);
  ints("/deep", {1, 2, 1, 3, 2, 2}, {1, 1, 1, 1, 2, 2});
  const auto& name = close();
  for (const char* dataset : {"/contiguous", "/chunked", "/packed", "/deep"}) {
    const auto source = open_source(name + "::" + dataset);
    ASSERT_EQ(source->info().frames, 6u) << dataset;
    if (std::string(dataset) == "/deep") {
      EXPECT_THAT(source->info().grid, ElementsAre(1, 2, 1, 3));
    } else {
      EXPECT_THAT(source->info().grid, ElementsAre(2, 3));
    }
    for (std::int32_t i = 0; i < 6; ++i) {
      EXPECT_THAT(pixels_of<std::int32_t>(source->read(static_cast<std::uint64_t>(i))),
                  ElementsAre(4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3))
          << dataset;
    }
  }
}

TEST_F(Hdf5Test, JoinsTheNumberedDatasetsOfAMasterFile) {
  ints("/frames", {3, 1, 2}, {1, 1, 2}, 0, 100);
  close();
  open("master.h5");
  group("/entry");
  group("/entry/data");
  ints("/entry/data/data_000001", {2, 1, 2});
  H5Lcreate_external("a.h5", "/frames", file_, "/entry/data/data_000002", H5P_DEFAULT, H5P_DEFAULT);
  const auto& name = close();
  const auto source = open_source(name);
  EXPECT_EQ(source->info().frames, 5u);
  const Frame own = source->read(1);
  EXPECT_THAT(pixels_of<std::int32_t>(own), ElementsAre(2, 3));
  EXPECT_EQ(own.id.source, name + "::/entry/data/data_000001");
  EXPECT_EQ(own.id.in_source, 1u);
  const Frame linked = source->read(4);
  EXPECT_THAT(pixels_of<std::int32_t>(linked), ElementsAre(104, 105));
  EXPECT_EQ(linked.id.source, path("a.h5") + "::/frames");  // the file that holds it
  EXPECT_EQ(linked.id.in_source, 2u);
}

TEST_F(Hdf5Test, TakesTheOnlyImageOrListsWhatThereIs) {
  group("/deep");
  ints("/deep/image", {2, 2});
  ints("/curve", {5});
  EXPECT_THAT(read_image(close()).pixels, ElementsAre(0, 1, 2, 3));
  open("two.h5");
  ints("/a", {2, 2});
  ints("/b", {1, 2, 3});
  const auto& two = close();
  EXPECT_THAT(open_fault(two), AllOf(HasSubstr("/a (2 x 2), /b (1 x 2 x 3)"), HasSubstr(two + "::/path")));
  open("none.h5");
  ints("/curve", {5});
  EXPECT_THAT(open_fault(close()), HasSubstr("no dataset of 2 dimensions or more; the file has /curve (5)"));
}

TEST_F(Hdf5Test, ReadsSaturationAndWavelength) {
  for (const char* name :
       {"/entry", "/entry/data", "/entry/instrument", "/entry/instrument/detector", "/entry/instrument/beam"})
    group(name);
  ints("/entry/data/data", {2, 2});
  dataset<double>("/entry/instrument/detector/saturation_value", {1}, {65533}, H5T_NATIVE_DOUBLE,
                  H5T_STD_I32LE);
  dataset<double>("/entry/instrument/beam/incident_wavelength", {1}, {0.1}, H5T_NATIVE_DOUBLE,
                  H5T_IEEE_F64LE);
  attribute("/entry/instrument/beam/incident_wavelength", "units", "nm");
  const auto source = open_source(close());
  EXPECT_EQ(source->info().max_count, 65533);
  EXPECT_DOUBLE_EQ(source->info().wavelength.value(), 1e-10);
}

TEST_F(Hdf5Test, RefusesOtherShapesAndTypes) {
  ints("/curve", {2});
  ints("/none", {0, 2, 2}, {1, 2, 2});
  const hid_t text = H5Tcopy(H5T_C_S1);
  H5Tset_size(text, 4);
  dataset<char>("/text", {1, 2}, std::vector<char>(8, 'x'), text, text);
  H5Tclose(text);
  const auto& name = close();
  EXPECT_THAT(open_fault(name + "::/curve"), HasSubstr("1 dimensions: neither an image nor a stack"));
  EXPECT_THAT(open_fault(name + "::/none"), HasSubstr("holds no frames"));
  EXPECT_THAT(open_fault(name + "::/text"), HasSubstr("no integers or floats"));
  EXPECT_THAT(open_fault(name + "::/absent"),
              AllOf(HasSubstr("cannot be opened as a dataset"), HasSubstr("HDF5 says")));
}

TEST_F(Hdf5Test, RefusesFramesThatWereNeverWritten) {
  dataset<std::int32_t>("/contiguous", {2, 2}, {}, H5T_NATIVE_INT32, H5T_STD_I32LE);
  dataset<std::int32_t>("/chunked", {3, 2, 2}, {}, H5T_NATIVE_INT32, H5T_STD_I32LE, {1, 2, 2});
  const hid_t id = H5Dopen2(file_, "/chunked", H5P_DEFAULT);
  const std::int32_t pixels[] = {1, 2, 3, 4};
  const hsize_t offset[] = {1, 0, 0};
  ASSERT_GE(H5Dwrite_chunk(id, H5P_DEFAULT, 0, offset, sizeof pixels, pixels), 0);
  H5Dclose(id);
  const auto& name = close();
  EXPECT_THAT(open_fault(name + "::/contiguous"), HasSubstr("no pixel was ever written"));
  const auto source = open_source(name + "::/chunked");
  EXPECT_THAT(pixels_of<std::int32_t>(source->read(1)), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(input_fault([&] { source->read(0); }), HasSubstr("frame 0 was not, or not wholly, written"));
  EXPECT_THAT(input_fault([&] { source->read(2); }), HasSubstr("frame 2"));
}

TEST_F(Hdf5Test, ReadsChunksThatDoNotFitTheFrame) {
  std::vector<std::int32_t> values(3 * 5 * 7);
  std::iota(values.begin(), values.end(), 0);
  ints("/a", {3, 5, 7}, {2, 2, 4}, 1);
  const auto source = open_source(close() + "::/a");
  for (std::uint64_t i = 0; i < 3; ++i) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(35 * i);
    EXPECT_THAT(pixels_of<std::int32_t>(source->read(i)), ElementsAreArray(first, first + 35));
  }
}

TEST_F(Hdf5Test, RefusesAVirtualDatasetWithAMissingSource) {
  ints("/a", {2, 2});
  close();
  open("virtual.h5");
  const hsize_t shape[] = {2, 2};
  const hid_t space = H5Screate_simple(2, shape, nullptr);
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_virtual(properties, space, "a.h5", "/a", space);
  H5Dclose(H5Dcreate2(file_, "/v", H5T_STD_I32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT));
  H5Pclose(properties);
  H5Sclose(space);
  const auto& name = close();
  EXPECT_THAT(read_image(name).pixels, ElementsAre(0, 1, 2, 3));
  std::filesystem::remove(path("a.h5"));
  EXPECT_THAT(open_fault(name), HasSubstr("refers to a.h5, which is missing"));
}

TEST_F(Hdf5Test, NamesTheFilterThatIsMissingAndItsPackage) {
  const hsize_t shape[] = {2, 2};
  const hid_t space = H5Screate_simple(2, shape, nullptr);
  for (const auto& [name, filter] : {std::pair{"/zfp", 32013}, {"/own", 31999}}) {
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(properties, 2, shape);
    // Optional: the library lets a dataset be made with a filter it does not have.
    if (H5Zfilter_avail(filter) > 0) GTEST_SKIP() << "filter " << filter << " is installed";
    H5Pset_filter(properties, filter, H5Z_FLAG_OPTIONAL, 0, nullptr);
    const hid_t id = H5Dcreate2(file_, name, H5T_STD_I32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    ASSERT_GE(id, 0);
    H5Dclose(id);
    H5Pclose(properties);
  }
  H5Sclose(space);
  const auto& name = close();
  EXPECT_THAT(open_fault(name + "::/zfp"), AllOf(HasSubstr("HDF5 filter 32013 (ZFP) is not installed"),
                                                 HasSubstr("hdf5-filter-plugin-zfp-serial")));
  EXPECT_THAT(open_fault(name + "::/own"),
              AllOf(HasSubstr("HDF5 filter 31999"), HasSubstr("HDF5_PLUGIN_PATH")));
}

TEST_F(Hdf5Test, RefusesDamagedFilesWithoutPrinting) {
  ints("/a", {20, 20}, {20, 20}, 6);
  const std::string good = slurp(close());
  ::testing::internal::CaptureStderr();
  for (const std::size_t size : {good.size() - 1, good.size() / 2, std::size_t{700}, std::size_t{60}}) {
    EXPECT_THAT(open_fault(write("cut.h5", good.substr(0, size))), HasSubstr("HDF5 says"));
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

// The library would take what lies behind a short chunk for pixels.
TEST_F(Hdf5Test, RefusesChunksThatUnpackToAnotherSize) {
  const hsize_t start[] = {0, 0};
  const auto put = [&](const std::string& name, std::size_t size) {
    dataset<std::int32_t>(name, {10, 10}, {}, H5T_NATIVE_INT32, H5T_STD_I32LE, {10, 10}, 6);
    const std::string pixels(size, '\x01');
    std::string packed(compressBound(size), '\0');
    uLongf length = packed.size();
    ASSERT_EQ(compress(reinterpret_cast<Bytef*>(packed.data()), &length,
                       reinterpret_cast<const Bytef*>(pixels.data()), size),
              Z_OK);
    const hid_t id = H5Dopen2(file_, name.c_str(), H5P_DEFAULT);
    ASSERT_GE(H5Dwrite_chunk(id, H5P_DEFAULT, 0, start, length, packed.data()), 0);
    H5Dclose(id);
  };
  put("/right", 400);
  put("/short", 396);
  put("/long", 404);
  const auto& name = close();
  EXPECT_THAT(read_image(name + "::/right").pixels, ::testing::Each(0x01010101));
  EXPECT_THAT(open_fault(name + "::/short"),
              HasSubstr("frame 0 is damaged: a chunk unpacks to 396 bytes, not 400"));
  EXPECT_THAT(open_fault(name + "::/long"), HasSubstr("unpacks to 404 bytes, not 400"));
}

TEST_F(Hdf5Test, RefusesDamagedBitshuffleAndLz4Chunks) {
  const auto fault = [](H5Z_filter_t filter, const std::string& stored, std::uint64_t size) {
    const std::vector<Hdf5Filter> pipeline = {{filter, {0, 2, 4, 0, 2}}};
    return chunk_fault(pipeline, 0, std::as_bytes(std::span(stored)), size, 4);
  };
  // By hand, 20 elements of 4 bytes in blocks of 8: a block of one literal, 26 times the same and 5 literals;
  // a block of 32 literals; 4 elements as they are.
  const std::string matches(
      "\0\0\0\x0b\x1f"
      "a\x01\0\x07\x50"
      "abcde",
      15);
  const std::string literals = std::string("\0\0\0\x22\xf0\x11", 6) + std::string(32, 'l');
  const std::string tail(16, 'r');
  const std::string header("\0\0\0\0\0\0\0\x50\0\0\0\x20", 12);
  const std::string good = header + matches + literals + tail;
  EXPECT_EQ(fault(32008, good, 80), "");
  EXPECT_THAT(fault(32008, good, 84), HasSubstr("unpacks to 80 bytes, not 84"));
  EXPECT_THAT(fault(32008, good.substr(0, good.size() - 1), 80), HasSubstr("the last pixels"));
  EXPECT_THAT(fault(32008, good.substr(0, 40), 80), HasSubstr("block 1 of 2 of a chunk is cut off"));
  EXPECT_THAT(fault(32008, good.substr(0, 29), 80), HasSubstr("block 1 of 2 of a chunk is missing"));
  EXPECT_THAT(fault(32008, good.substr(0, 11), 80), HasSubstr("no header"));
  const auto changed = [&](std::size_t at, char value) {
    std::string bad = good;
    bad[at] = value;
    return fault(32008, bad, 80);
  };
  EXPECT_THAT(changed(15, '\x7f'), HasSubstr("block 0 of 2 of a chunk is cut off"));
  EXPECT_THAT(changed(16, '\x2f'), HasSubstr("block 0 of 2 of a chunk is corrupt"));  // one literal more
  EXPECT_THAT(changed(18, '\x02'), HasSubstr("corrupt"));                             // from before the start
  EXPECT_THAT(changed(18, '\x00'), HasSubstr("corrupt"));                             // from nowhere
  EXPECT_THAT(changed(20, '\x08'), HasSubstr("corrupt"));                             // a longer match
  EXPECT_THAT(changed(21, '\xf0'), HasSubstr("corrupt"));  // literals beyond the end

  // Debian's plugin has no Zstd and would take the packed bytes for pixels.
  const auto with = [&](std::vector<unsigned> values) {
    return chunk_fault({{32008, std::move(values)}}, 0, std::as_bytes(std::span(good)), 80, 4);
  };
  EXPECT_THAT(with({0, 3, 4, 0, 3}), HasSubstr("compression 3 is not supported, only LZ4"));
  EXPECT_THAT(with({0, 3, 2, 0, 2}), HasSubstr("for another type"));
  EXPECT_THAT(with({0, 3}), HasSubstr("for another type"));
  EXPECT_THAT(with({0, 3, 4, 0, 0}), HasSubstr("unpacks to"));

  // LZ4: the same blocks, and a last one of 16 bytes that is not compressed.
  const std::string lz4 = header + matches + literals + std::string("\0\0\0\x10", 4) + tail;
  EXPECT_EQ(fault(32004, lz4, 80), "");
  EXPECT_THAT(fault(32004, lz4.substr(0, lz4.size() - 1), 80),
              HasSubstr("block 2 of 3 of a chunk is cut off"));
  std::string bad = lz4;
  bad[11] = '\0';
  EXPECT_THAT(fault(32004, bad, 80), HasSubstr("blocks without bytes"));
}

TEST_F(Hdf5Test, ReadsFromSeveralThreads) {
  ints("/a", {16, 2, 2}, {1, 2, 2}, 1);
  const auto source = open_source(close());
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 16; ++i) {
        EXPECT_EQ(pixels_of<std::int32_t>(source->read(static_cast<std::uint64_t>(i)))[3], 4 * i + 3);
      }
    });
  }
}

}  // namespace
}  // namespace annulus
