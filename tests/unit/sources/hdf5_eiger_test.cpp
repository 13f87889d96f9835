// Files as Eiger detectors write them: chunks that go on as they are, masters with links, metadata, growth.
#include <annulus/codecs/decode_frame.hpp>
#include <annulus/codecs/encode_blocks.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <random>

#include "hdf5_fixture.hpp"

namespace annulus {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

constexpr H5Z_filter_t kBitshuffle = 32008;
constexpr H5Z_filter_t kLz4 = 32004;

std::vector<unsigned> bitshuffle_values(unsigned element_size, unsigned compression) {
  return {0, 3, element_size, 0, compression};
}

template <typename T>
std::vector<std::byte> raw_bytes(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

template <typename T>
std::vector<T> counts(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(size);
  for (T& value : values) value = static_cast<T>(random() % 100);
  return values;
}

std::vector<double> as_doubles(const auto& values) { return {values.begin(), values.end()}; }

class EigerTest : public Hdf5Test {
 protected:
  // No plugin must be needed.
  EigerTest() {
    setenv("HDF5_PLUGIN_PATH", path("none").c_str(), 1);
    H5PLset_loading_state(0);
  }
  ~EigerTest() override { H5PLset_loading_state(H5PL_ALL_PLUGIN); }

  void entry() {
    for (const char* name : {"/entry", "/entry/data", "/entry/instrument", "/entry/instrument/beam",
                             "/entry/instrument/detector", "/entry/instrument/detector/detectorSpecific"}) {
      group(name);
    }
  }

  // A stack of frames of 3 x 5 pixels, of which `written` are there.
  void stack(const std::string& path, std::size_t frames, std::size_t written, std::uint64_t seed) {
    const hid_t id =
        packed(path, {frames, 3, 5}, {1, 3, 5}, H5T_STD_U16LE, kBitshuffle, bitshuffle_values(2, 2));
    for (std::size_t i = 0; i < written; ++i) put_chunk(id, {i, 0, 0}, packed_frame(seed, i));
    H5Dclose(id);
  }

  // A file that links to /frames of others and says how many there are in all, unless that is 0.
  std::string master_of(const std::vector<std::string>& files, std::uint64_t promised) {
    open("master.h5");
    entry();
    for (std::size_t i = 0; i < files.size(); ++i) {
      H5Lcreate_external(files[i].c_str(), "/frames", file_,
                         fmt::format("/entry/data/data_{:06}", i + 1).c_str(), H5P_DEFAULT, H5P_DEFAULT);
    }
    const std::string specific = "/entry/instrument/detector/detectorSpecific";
    if (promised > 0) number(specific + "/nimages", static_cast<double>(promised));
    return close();
  }

  static std::vector<std::uint16_t> frame_of(std::uint64_t seed, std::size_t i) {
    return counts<std::uint16_t>(15, 100 * seed + i);
  }

  static std::vector<std::byte> packed_frame(std::uint64_t seed, std::size_t i) {
    const auto pixels = frame_of(seed, i);
    return encode_bitshuffle_lz4(std::as_bytes(std::span(pixels)), 2);
  }

  static void expect_frame(const FrameSource& source, std::uint64_t i, std::uint64_t seed,
                           std::size_t of_seed) {
    EXPECT_THAT(decode_frame(source.read(i)).pixels, ElementsAreArray(as_doubles(frame_of(seed, of_seed))))
        << "frame " << i;
  }
};

TEST_F(EigerTest, ChunksGoOnAsTheyAreStored) {
  const auto pixels = counts<std::uint32_t>(70, 1);
  const auto bytes = std::as_bytes(std::span(pixels));
  const std::vector<std::tuple<const char*, H5Z_filter_t, unsigned, Codec>> cases = {
      {"/lz4", kBitshuffle, 2, Codec::kBitshuffleLz4},
      {"/zstd", kBitshuffle, 3, Codec::kBitshuffleZstd},
      {"/plain_lz4", kLz4, 0, Codec::kLz4}};
  for (const auto& [name, filter, compression, codec] : cases) {
    const hid_t id =
        packed(name, {1, 7, 10}, {1, 7, 10}, H5T_STD_U32LE, filter, bitshuffle_values(4, compression));
    put_chunk(id, {0, 0, 0}, encode_blocks(codec, bytes, 4));
    H5Dclose(id);
  }
  const auto& file = close();
  for (const auto& [name, filter, compression, codec] : cases) {
    const Frame frame = open_source(file + "::" + name)->read(0);
    EXPECT_EQ(frame.codec, codec) << name;
    const auto stored = encode_blocks(codec, bytes, 4);
    EXPECT_TRUE(std::ranges::equal(frame.payload.view(), stored)) << name;
    EXPECT_THAT(decode_frame(frame).pixels, ElementsAreArray(as_doubles(pixels))) << name;
  }
}

TEST_F(EigerTest, AFilterThatWasSkippedLeavesPlainPixels) {
  const auto pixels = counts<std::uint16_t>(15, 2);
  const hid_t id = packed("/a", {3, 3, 5}, {1, 3, 5}, H5T_STD_U16LE, kBitshuffle, bitshuffle_values(2, 2));
  put_chunk(id, {0, 0, 0}, encode_bitshuffle_lz4(std::as_bytes(std::span(pixels)), 2));
  put_chunk(id, {1, 0, 0}, raw_bytes(pixels), 1);
  put_chunk(id, {2, 0, 0}, raw_bytes(counts<std::uint16_t>(14, 2)), 1);
  H5Dclose(id);
  const auto source = open_source(close());
  EXPECT_EQ(source->read(0).codec, Codec::kBitshuffleLz4);
  EXPECT_THAT(pixels_of<std::uint16_t>(source->read(1)), ElementsAreArray(pixels));
  EXPECT_THAT(input_fault([&] { source->read(2); }),
              HasSubstr("frame 2 is damaged: a chunk has 28 bytes, not 30"));
}

TEST_F(EigerTest, WideAndFloatingPixelsAreUnpackedHere) {
  const auto wide = counts<std::uint64_t>(37, 3);
  const auto floats = counts<float>(37, 4);
  for (const unsigned compression : {2u, 3u}) {
    const Codec codec = compression == 2 ? Codec::kBitshuffleLz4 : Codec::kBitshuffleZstd;
    hid_t id = packed(fmt::format("/wide{}", compression), {1, 1, 37}, {1, 1, 37}, H5T_STD_U64LE, kBitshuffle,
                      bitshuffle_values(8, compression));
    put_chunk(id, {0, 0, 0}, encode_blocks(codec, std::as_bytes(std::span(wide)), 8));
    H5Dclose(id);
    id = packed(fmt::format("/float{}", compression), {1, 37}, {1, 37}, H5T_IEEE_F32LE, kBitshuffle,
                bitshuffle_values(4, compression));
    put_chunk(id, {0, 0}, encode_blocks(codec, std::as_bytes(std::span(floats)), 4));
    H5Dclose(id);
  }
  const auto& file = close();
  for (const char* compression : {"2", "3"}) {
    EXPECT_THAT(pixels_of<std::uint64_t>(open_source(file + "::/wide" + compression)->read(0)),
                ElementsAreArray(wide));
    EXPECT_THAT(pixels_of<float>(open_source(file + "::/float" + compression)->read(0)),
                ElementsAreArray(floats));
  }
}

TEST_F(EigerTest, BigEndianPixelsAreUnpackedAndTurnedRound) {
  const auto pixels = counts<std::uint32_t>(2 * 37, 5);
  std::vector<std::uint32_t> swapped;
  for (const std::uint32_t pixel : pixels) swapped.push_back(__builtin_bswap32(pixel));
  const auto bytes = std::as_bytes(std::span(swapped));
  const std::vector<std::tuple<const char*, H5Z_filter_t, unsigned, Codec>> cases = {
      {"lz4", kBitshuffle, 2, Codec::kBitshuffleLz4},
      {"zstd", kBitshuffle, 3, Codec::kBitshuffleZstd},
      {"plain_lz4", kLz4, 0, Codec::kLz4}};
  for (const auto& [name, filter, compression, codec] : cases) {
    const auto values = bitshuffle_values(4, compression);
    // A frame in a chunk, one of them with its filter skipped; both in one chunk.
    const hid_t alone =
        packed(fmt::format("/{}", name), {3, 1, 37}, {1, 1, 37}, H5T_STD_U32BE, filter, values);
    for (const std::size_t i : {0u, 1u})
      put_chunk(alone, {i, 0, 0}, encode_blocks(codec, bytes.subspan(4 * 37 * i, 4 * 37), 4));
    put_chunk(alone, {2, 0, 0}, {bytes.begin(), bytes.begin() + 4 * 37}, 1);
    H5Dclose(alone);
    const hid_t both =
        packed(fmt::format("/{}_both", name), {2, 1, 37}, {2, 1, 37}, H5T_STD_U32BE, filter, values);
    put_chunk(both, {0, 0, 0}, encode_blocks(codec, bytes, 4));
    H5Dclose(both);
  }
  const auto& file = close();
  const auto frame = [&](std::ptrdiff_t i) {
    return std::vector(pixels.begin() + 37 * i, pixels.begin() + 37 * (i + 1));
  };
  for (const auto& [name, filter, compression, codec] : cases) {
    const auto alone = open_source(fmt::format("{}::/{}", file, name));
    EXPECT_THAT(pixels_of<std::uint32_t>(alone->read(0)), ElementsAreArray(frame(0))) << name;
    EXPECT_THAT(pixels_of<std::uint32_t>(alone->read(1)), ElementsAreArray(frame(1))) << name;
    EXPECT_THAT(pixels_of<std::uint32_t>(alone->read(2)), ElementsAreArray(frame(0))) << name;
    const auto both = open_source(fmt::format("{}::/{}_both", file, name));
    EXPECT_THAT(pixels_of<std::uint32_t>(both->read(1)), ElementsAreArray(frame(1))) << name;
    EXPECT_THAT(pixels_of<std::uint32_t>(both->read(0)), ElementsAreArray(frame(0))) << name;
  }
}

// 3 frames of 5 x 7 in chunks of 2 x 2 x 4, each of which knows its place.
TEST_F(EigerTest, TilesAndChunksOfSeveralFramesAreSetInPlace) {
  const hid_t id = packed("/a", {3, 5, 7}, {2, 2, 4}, H5T_STD_I32LE, kLz4, {});
  for (std::uint64_t f = 0; f < 3; f += 2) {
    for (std::uint64_t r = 0; r < 5; r += 2) {
      for (std::uint64_t c = 0; c < 7; c += 4) {
        std::vector<std::int32_t> chunk;
        for (std::uint64_t k = 0; k < 16; ++k)
          chunk.push_back(static_cast<std::int32_t>(100 * (f + k / 8) + 10 * (r + k / 4 % 2) + c + k % 4));
        put_chunk(id, {f, r, c}, encode_blocks(Codec::kLz4, std::as_bytes(std::span(chunk)), 4));
      }
    }
  }
  H5Dclose(id);
  const auto source = open_source(close());
  for (std::uint64_t f = 0; f < 3; ++f) {
    std::vector<std::int32_t> expected;
    for (std::uint64_t k = 0; k < 35; ++k)
      expected.push_back(static_cast<std::int32_t>(100 * f + 10 * (k / 7) + k % 7));
    EXPECT_THAT(pixels_of<std::int32_t>(source->read(f)), ElementsAreArray(expected)) << "frame " << f;
  }
}

TEST_F(EigerTest, ADamagedTileNamesFrameAndBlock) {
  const auto pixels = counts<std::uint16_t>(30, 5);
  const hid_t id = packed("/a", {2, 3, 5}, {2, 3, 5}, H5T_STD_U16LE, kBitshuffle, bitshuffle_values(2, 2));
  auto chunk = encode_bitshuffle_lz4(std::as_bytes(std::span(pixels)), 2, 16);
  chunk.resize(chunk.size() - 15);
  put_chunk(id, {0, 0, 0}, chunk);
  H5Dclose(id);
  const auto source = open_source(close());
  EXPECT_THAT(input_fault([&] { source->read(1); }),
              AllOf(HasSubstr("a.h5::/a, frame 1"), HasSubstr("block 2")));
}

TEST_F(EigerTest, RefusesFiltersSetForAnotherTypeAndUnknownCompression) {
  H5Dclose(packed("/type", {1, 3, 5}, {1, 3, 5}, H5T_STD_U16LE, kBitshuffle, bitshuffle_values(4, 2)));
  H5Dclose(packed("/short", {1, 3, 5}, {1, 3, 5}, H5T_STD_U16LE, kBitshuffle, {0, 3}));
  H5Dclose(packed("/other", {1, 3, 5}, {1, 3, 5}, H5T_STD_U16LE, kBitshuffle, bitshuffle_values(2, 7)));
  H5Dclose(packed("/block", {1, 3, 5}, {1, 3, 5}, H5T_STD_U16LE, kBitshuffle, {0, 3, 2, 12, 0}));
  const auto& file = close();
  EXPECT_THAT(open_fault(file + "::/type"), HasSubstr("set for another type"));
  EXPECT_THAT(open_fault(file + "::/short"), HasSubstr("set for another type"));
  EXPECT_THAT(open_fault(file + "::/other"), HasSubstr("compression 7 is not known"));
  EXPECT_THAT(open_fault(file + "::/block"), HasSubstr("blocks of 12 elements"));
}

TEST_F(EigerTest, FramesThatWereNeverWrittenAreNamed) {
  stack("/a", 4, 2, 1);
  const auto source = open_source(close());
  expect_frame(*source, 1, 1, 1);
  EXPECT_THAT(input_fault([&] { source->read(2); }), HasSubstr("frame 2 was not, or not wholly, written"));
}

TEST_F(EigerTest, AMissingDataFileIsAsManyBadFramesAsItHeldAndTheOthersAreRead) {
  stack("/frames", 3, 3, 1);
  close();
  open("b.h5");
  stack("/frames", 2, 2, 2);
  close();
  const std::string master = master_of({"a.h5", "gone.h5", "b.h5"}, 0);
  const auto source = open_source(master);
  ASSERT_EQ(source->info().frames, 8u);
  expect_frame(*source, 2, 1, 2);
  for (const std::uint64_t i : {3u, 4u, 5u}) {
    EXPECT_THAT(input_fault([&] { source->read(i); }),
                AllOf(HasSubstr("data_000002"), HasSubstr("gone.h5, which is missing")));
  }
  expect_frame(*source, 6, 2, 0);
  expect_frame(*source, 7, 2, 1);
  std::filesystem::remove(path("a.h5"));
  std::filesystem::remove(path("b.h5"));
  EXPECT_THAT(open_fault(master), AllOf(HasSubstr("data_000001"), HasSubstr("a.h5, which is missing")));
}

TEST_F(EigerTest, FramesAreNamedByTheFileThatHoldsThem) {
  stack("/frames", 3, 3, 1);
  close();
  open("b.h5");
  stack("/frames", 2, 1, 2);
  close();
  const auto source = open_source(master_of({"a.h5", "b.h5", "gone.h5"}, 6));
  EXPECT_EQ(describe(source->read(3).id), path("b.h5") + "::/frames, frame 0");
  // Also where there is none to read.
  EXPECT_THAT(input_fault([&] { source->read(4); }), HasSubstr("b.h5"));
  EXPECT_EQ(describe(source->locate(4).value()), path("b.h5") + "::/frames, frame 1");
  EXPECT_EQ(describe(source->locate(5).value()), path("master.h5") + "::/entry/data/data_000003, frame 0");
}

TEST_F(EigerTest, FramesOfMissingDataFilesAreReckonedFromTheOthersAndThePromise) {
  stack("/frames", 3, 3, 1);
  close();
  const auto frames = [&](const std::vector<std::string>& files, std::uint64_t promised) {
    return open_source(master_of(files, promised))->info().frames;
  };
  EXPECT_EQ(frames({"a.h5", "gone.h5"}, 5), 5u);     // the last has the rest
  EXPECT_EQ(frames({"a.h5", "gone.h5"}, 0), 4u);     // nothing tells: one
  EXPECT_EQ(frames({"a.h5", "gone.h5"}, 1000), 6u);  // a series that ended early
  EXPECT_EQ(frames({"a.h5", "gone.h5"}, 2), 4u);     // a promise that is wrong
  EXPECT_EQ(frames({"gone.h5", "a.h5"}, 8), 8u);     // only the last is there
  EXPECT_EQ(frames({"gone.h5", "lost.h5", "a.h5"}, 13), 13u);
  EXPECT_EQ(frames({"gone.h5", "lost.h5", "a.h5"}, 14), 5u);  // not equally long: one each
  EXPECT_EQ(frames({"gone.h5", "a.h5"}, 5), 4u);              // it would be shorter than the last
  EXPECT_EQ(frames({"gone.h5", "a.h5"}, 0), 4u);
  EXPECT_EQ(frames({"gone.h5", "a.h5", "lost.h5"}, 8), 8u);
}

TEST_F(EigerTest, DataFilesComeInTheOrderOfTheirNumbers) {
  group("/entry");
  group("/entry/data");
  stack("/entry/data/data_1000000", 1, 1, 3);
  stack("/entry/data/data_999999", 1, 1, 2);
  stack("/entry/data/data_000007", 1, 1, 1);
  group("/entry/data/data_extra");
  const auto source = open_source(close());
  ASSERT_EQ(source->info().frames, 3u);
  for (std::uint64_t i = 0; i < 3; ++i) expect_frame(*source, i, i + 1, 0);
}

TEST_F(EigerTest, MoreDataFilesThanMayBeOpenAtOnceAreRead) {
  close();
  constexpr std::uint64_t kFiles = 12;
  for (std::uint64_t i = 0; i < kFiles; ++i) {
    open("part" + std::to_string(i) + ".h5");
    stack("/frames", 1, 1, i);
    close();
  }
  open("master.h5");
  group("/entry");
  group("/entry/data");
  for (std::uint64_t i = 0; i < kFiles; ++i) {
    H5Lcreate_external(("part" + std::to_string(i) + ".h5").c_str(), "/frames", file_,
                       fmt::format("/entry/data/data_{:06}", i + 1).c_str(), H5P_DEFAULT, H5P_DEFAULT);
  }
  const auto source = open_source(close());
  for (int round = 0; round < 2; ++round) {
    for (std::uint64_t i = 0; i < kFiles; ++i) expect_frame(*source, i, i, 0);
  }
}

TEST_F(EigerTest, TheMasterSaysWhereTheDetectorStands) {
  entry();
  stack("/entry/data/data", 1, 1, 1);
  const std::string detector = "/entry/instrument/detector";
  number(detector + "/detector_distance", 250, "mm");
  number(detector + "/beam_center_x", 12.5, "pixel");
  number(detector + "/beam_center_y", 0.75, "mm");
  number(detector + "/x_pixel_size", 75e-6, "m");
  number(detector + "/y_pixel_size", 75e-6);
  number("/entry/instrument/beam/incident_wavelength", 1.0332, "angstrom");
  number(detector + "/detectorSpecific/countrate_correction_count_cutoff", 60000);
  number(detector + "/detectorSpecific/nimages", 20);
  number(detector + "/detectorSpecific/ntrigger", 3);
  const auto source = open_source(close());
  const SourceInfo& info = source->info();
  ASSERT_TRUE(info.place);
  EXPECT_DOUBLE_EQ(info.place->distance.value(), 0.25);
  EXPECT_DOUBLE_EQ(info.place->beam_x.value(), 12.5);
  EXPECT_DOUBLE_EQ(info.place->beam_y.value(), 10);
  EXPECT_DOUBLE_EQ(info.place->pixel_x.value(), 75e-6);
  EXPECT_DOUBLE_EQ(info.wavelength.value(), 1.0332e-10);
  EXPECT_EQ(info.max_count, 60000);
  EXPECT_EQ(info.promised, 60u);
}

TEST_F(EigerTest, ThePixelMaskMarksWhatIsNotZero) {
  entry();
  stack("/entry/data/data", 1, 1, 1);
  const std::vector<std::uint32_t> mask = {0, 1, 0, 2, 0, 0, 0, 1u << 31, 0, 0, 0, 0, 0, 0, 8};
  const std::string specific = "/entry/instrument/detector/detectorSpecific";
  const hid_t id =
      packed(specific + "/pixel_mask", {3, 5}, {3, 5}, H5T_STD_U32LE, kBitshuffle, bitshuffle_values(4, 2));
  put_chunk(id, {0, 0}, encode_bitshuffle_lz4(std::as_bytes(std::span(mask)), 4));
  H5Dclose(id);
  const auto source = open_source(close());
  const auto found = source->pixel_mask();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->shape, (Shape{3, 5}));
  EXPECT_THAT(found->pixels, ElementsAre(0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1));
  open("none.h5");
  stack("/a", 1, 1, 1);
  EXPECT_FALSE(open_source(close())->pixel_mask());
}

class GrowthTest : public EigerTest {
 protected:
  static OpenOptions following(double seconds) {
    OpenOptions options;
    options.follow = seconds;
    return options;
  }
  // Writes frames of the stack of `file` on.
  void write_frames(const std::string& file, const std::string& dataset, std::size_t from, std::size_t to,
                    std::uint64_t seed) {
    const hid_t id = H5Fopen(path(file).c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t set = H5Dopen2(id, dataset.c_str(), H5P_DEFAULT);
    for (std::size_t i = from; i < to; ++i) put_chunk(set, {i, 0, 0}, packed_frame(seed, i));
    H5Dclose(set);
    H5Fclose(id);
  }
};

TEST_F(GrowthTest, FramesAreThereWhenTheyAreWritten) {
  entry();
  stack("/entry/data/data", 5, 1, 1);
  number("/entry/instrument/detector/detectorSpecific/nimages", 5);
  const auto& file = close();
  const auto source = open_source(file, following(60));
  EXPECT_EQ(source->info().frames, 1u);
  Growth growth = source->grow();
  EXPECT_EQ(growth.frames, 1u);
  EXPECT_FALSE(growth.ended);
  write_frames("a.h5", "/entry/data/data", 1, 3, 1);
  write_frames("a.h5", "/entry/data/data", 4, 5, 1);  // behind one that is not there
  growth = source->grow();
  EXPECT_EQ(growth.frames, 3u);
  EXPECT_FALSE(growth.ended);
  expect_frame(*source, 2, 1, 2);
  EXPECT_THAT(input_fault([&] { source->read(3); }), HasSubstr("the file has 3"));
  write_frames("a.h5", "/entry/data/data", 3, 4, 1);
  growth = source->grow();
  EXPECT_EQ(growth.frames, 5u);
  EXPECT_TRUE(growth.ended);
  EXPECT_FALSE(growth.fault);
  expect_frame(*source, 4, 1, 4);
}

TEST_F(GrowthTest, DataFilesMayComeLater) {
  entry();
  number("/entry/instrument/detector/detectorSpecific/nimages", 3);
  H5Lcreate_external("one.h5", "/frames", file_, "/entry/data/data_000001", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_external("two.h5", "/frames", file_, "/entry/data/data_000002", H5P_DEFAULT, H5P_DEFAULT);
  const std::string file = close();
  EXPECT_THAT(open_fault(file, following(60)), HasSubstr("one.h5, which is missing"));
  open("one.h5");
  stack("/frames", 2, 1, 1);
  close();
  const auto source = open_source(file, following(60));
  EXPECT_EQ(source->info().frames, 1u);
  open("two.h5");
  stack("/frames", 1, 1, 2);
  close();
  EXPECT_EQ(source->grow().frames, 1u) << "the first file is not complete";
  write_frames("one.h5", "/frames", 1, 2, 1);
  const Growth growth = source->grow();
  EXPECT_EQ(growth.frames, 3u);
  EXPECT_TRUE(growth.ended);
  for (std::uint64_t i = 0; i < 2; ++i) expect_frame(*source, i, 1, i);
  expect_frame(*source, 2, 2, 0);
}

TEST_F(GrowthTest, AfterTheTimeOutTheRestIsMissing) {
  entry();
  stack("/entry/data/data", 6, 2, 1);
  const std::string plain = close();
  write_frames("a.h5", "/entry/data/data", 3, 4, 1);
  const auto source = open_source(plain, following(1e-9));
  const Growth growth = source->grow();
  EXPECT_TRUE(growth.ended);
  EXPECT_EQ(growth.frames, 4u) << "frame 2 is a bad one";
  ASSERT_TRUE(growth.fault);
  EXPECT_THAT(growth.fault->what(), AllOf(HasSubstr(plain), HasSubstr("2 of 6 frames never came")));
  expect_frame(*source, 1, 1, 1);
  EXPECT_THAT(input_fault([&] { source->read(2); }), HasSubstr("frame 2 was not"));
  expect_frame(*source, 3, 1, 3);
}

TEST_F(GrowthTest, ADataFileThatNeverComesLeavesItsPlacesFree) {
  stack("/frames", 3, 3, 1);
  close();
  open("c.h5");
  stack("/frames", 2, 2, 3);
  close();
  const auto source = open_source(master_of({"a.h5", "gone.h5", "c.h5"}, 8), following(1e-9));
  EXPECT_EQ(source->info().frames, 3u);
  const Growth growth = source->grow();
  EXPECT_TRUE(growth.ended);
  EXPECT_EQ(growth.frames, 8u);
  EXPECT_FALSE(growth.fault);
  EXPECT_THAT(input_fault([&] { source->read(5); }), HasSubstr("gone.h5, which is missing"));
  expect_frame(*source, 6, 3, 0);
}

TEST_F(GrowthTest, ADataFileThatIsTakenAwayKeepsTheNumbersOfWhatWasRead) {
  stack("/frames", 5, 2, 1);
  close();
  const auto source = open_source(master_of({"a.h5", "b.h5"}, 0), following(1e-9));
  EXPECT_EQ(source->info().frames, 2u);
  expect_frame(*source, 1, 1, 1);
  std::filesystem::remove(path("a.h5"));
  open("b.h5");
  stack("/frames", 1, 1, 2);
  close();
  EXPECT_EQ(source->grow().frames, 3u);
  expect_frame(*source, 2, 2, 0);
}

TEST_F(GrowthTest, ADatasetThatIsLaidOutForEverEndsAllTheSame) {
  entry();
  stack("/entry/data/data", 2000000000, 2, 1);
  const std::string file = close();
  write_frames("a.h5", "/entry/data/data", 1000000000, 1000000001, 1);
  const Growth growth = open_source(file, following(1e-9))->grow();
  EXPECT_TRUE(growth.ended);
  EXPECT_EQ(growth.frames, 1000000001u);
  ASSERT_TRUE(growth.fault);
  EXPECT_THAT(growth.fault->what(), HasSubstr("999999999 of 2000000000 frames never came"));
}

TEST_F(GrowthTest, WhatDoesNotShowItsGrowthIsNotFollowed) {
  ints("/contiguous", {2, 2, 2});
  EXPECT_THAT(open_fault(close() + "::/contiguous", following(60)),
              AllOf(HasSubstr("no chunks of their own"), HasSubstr("`follow`")));
  try {
    open_source(write("a.npy", "\x93NUMPY"), following(60));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage) << "nobody needs to wait for it";
    EXPECT_THAT(error.what(), HasSubstr("only HDF5 files, and folders of images, can be followed"));
  }
}

}  // namespace
}  // namespace annulus
