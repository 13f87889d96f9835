// How pixels lie in HDF5 files: allocated early, in raw files beside, many frames in a chunk.
#include <annulus/codecs/encode_blocks.hpp>
#include <annulus/sources/hdf5_chunk_rows.hpp>

#include <gmock/gmock.h>

#include <filesystem>
#include <thread>

#include "hdf5_fixture.hpp"

namespace annulus {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

class StorageTest : public Hdf5Test {};

// Four frames of 1 x 3 pixels in chunks of 4 x 1 x 2, packed with LZ4: two chunks. Pixels are numbered.
std::shared_ptr<ChunkRow> four_frames(bool damaged = false) {
  const auto layout = std::make_shared<const TileLayout>(
      TileLayout{"a.h5::/a", {1, 3}, PixelType::kI32, {4, 1, 2}, {{4}, {4}}});
  std::vector<StoredTile> tiles;
  for (const hsize_t col : {0u, 2u}) {
    std::vector<std::int32_t> chunk;
    for (std::int32_t frame = 0; frame < 4; ++frame) {
      for (std::int32_t k = 0; k < 2; ++k) chunk.push_back(3 * frame + static_cast<std::int32_t>(col) + k);
    }
    auto stored = encode_blocks(Codec::kLz4, std::as_bytes(std::span(chunk)), 4);
    if (damaged && col > 0) stored.resize(stored.size() - 3);
    tiles.push_back({{0, 0, col}, {ChunkPacking::Kind::kCodec, Codec::kLz4, 0}, Bytes(std::move(stored))});
  }
  return std::make_shared<ChunkRow>(layout, std::move(tiles));
}

std::vector<std::int32_t> as_ints(const Bytes& bytes) {
  std::vector<std::int32_t> values(bytes.size() / 4);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(ChunkRow, UnpacksEachChunkOnceForAllFramesAndThreads) {
  const auto row = four_frames();
  std::vector<std::vector<std::int32_t>> found(8);
  {
    std::vector<std::jthread> readers;
    for (std::size_t i = 0; i < found.size(); ++i)
      readers.emplace_back([&, i] { found[i] = as_ints(row->frame(i % 4)); });
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto first = static_cast<std::int32_t>(3 * (i % 4));
    EXPECT_THAT(found[i], ElementsAre(first, first + 1, first + 2)) << "reader " << i;
  }
  EXPECT_EQ(row->chunks_unpacked(), 2u);
}

TEST(ChunkRow, ADamagedChunkIsAFaultOfEveryFrameInIt) {
  const auto row = four_frames(true);
  for (const std::uint64_t frame : {1u, 3u})
    EXPECT_THAT(input_fault([&] { row->frame(frame); }),
                HasSubstr("a.h5::/a, frame " + std::to_string(frame)));
  EXPECT_EQ(row->chunks_unpacked(), 1u) << "the other is whole";
}

TEST(ChunkRows, KeepsTheLastAndWhatIsStillRead) {
  ChunkRows rows;
  int loaded = 0;
  const auto load = [&] {
    ++loaded;
    return four_frames();
  };
  auto first = rows.row(0, load);
  EXPECT_EQ(rows.row(0, load), first);
  EXPECT_EQ(loaded, 1);
  const auto second = rows.row(1, load);
  EXPECT_EQ(loaded, 2);
  EXPECT_EQ(rows.row(0, load), first) << "a late reader";
  EXPECT_EQ(rows.row(1, load), second);
  EXPECT_EQ(loaded, 2);
  const std::weak_ptr<ChunkRow> forgotten = first;
  first.reset();
  EXPECT_TRUE(forgotten.expired()) << "rows must not pile up";
  rows.row(0, load);
  EXPECT_EQ(loaded, 3);
}

TEST(ChunkRows, ARowThatCannotBeReadIsAskedForAgain) {
  ChunkRows rows;
  EXPECT_THROW(rows.row(0, []() -> std::shared_ptr<ChunkRow> { throw std::runtime_error("gone"); }),
               std::runtime_error);
  EXPECT_TRUE(rows.row(0, [] { return four_frames(); }));
}

TEST_F(StorageTest, ChunksOfManyFramesAreReadFromSeveralThreadsAndReckonedWith) {
  // 20 frames of 3 x 5 in chunks of 8 x 2 x 5: two chunks of 320 bytes a frame.
  ints("/plain", {20, 3, 5}, {8, 2, 5});
  ints("/packed", {20, 3, 5}, {8, 2, 5}, 4);
  ints("/single", {20, 3, 5}, {1, 3, 5}, 4);
  const auto& file = close();
  EXPECT_EQ(open_source(file + "::/single")->info().bytes_held, 0u);
  for (const char* name : {"::/plain", "::/packed"}) {
    const auto source = open_source(file + name);
    EXPECT_EQ(source->info().bytes_held, 640u) << name;
    std::vector<std::vector<std::int32_t>> found(40);
    {
      std::vector<std::jthread> readers;
      for (std::size_t reader = 0; reader < 4; ++reader) {
        readers.emplace_back([&, reader] {
          for (std::size_t i = reader; i < found.size(); i += 4)
            found[i] = pixels_of<std::int32_t>(source->read(i % 20));
        });
      }
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      std::vector<std::int32_t> expected(15);
      std::iota(expected.begin(), expected.end(), static_cast<std::int32_t>(15 * (i % 20)));
      EXPECT_THAT(found[i], ElementsAreArray(expected)) << name << " " << i;
    }
  }
}

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
              AllOf(HasSubstr("which were written"), HasSubstr("`follow`")));
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
