#include <gmock/gmock.h>

#include "test_files.hpp"

namespace annulus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using RawTest = FormatsTest;

OpenOptions raw(Shape shape, PixelType type, std::uint64_t offset = 0) {
  OpenOptions options;
  options.raw_shape = shape;
  options.raw_type = type;
  options.raw_offset = offset;
  return options;
}

TEST_F(RawTest, ReadsFramesAfterTheOffset) {
  const std::vector<std::uint16_t> words = {9, 9, 9, 1, 2, 3, 4};
  const auto source = open_source(write("a.raw", bytes_of(words)), raw({1, 2}, PixelType::kU16, 6));
  EXPECT_EQ(source->info().format, "raw");
  EXPECT_EQ(source->info().frames, 2u);
  EXPECT_THAT(pixels_of<std::uint16_t>(source->read(1)), ElementsAre(3, 4));
}

TEST_F(RawTest, RefusesAFileThatIsNoWholeNumberOfFrames) {
  const auto name = write("a.raw", "0123456789");
  EXPECT_THAT(open_fault(name, raw({2, 2}, PixelType::kU16)),
              HasSubstr("no whole number of frames of 2 x 2 uint16"));
  EXPECT_THAT(open_fault(name, raw({1, 1}, PixelType::kU8, 10)), HasSubstr("0 bytes after the first 10"));
  EXPECT_THAT(open_fault(name, raw({1, 1}, PixelType::kU8, UINT64_MAX)), HasSubstr("0 bytes after"));
  EXPECT_THAT(open_fault(name, raw({0, 1}, PixelType::kU8)), HasSubstr("0 rows"));
  EXPECT_THAT(open_fault(name, raw({UINT32_MAX, UINT32_MAX}, PixelType::kF64)), HasSubstr("the limit is"));
}

TEST_F(RawTest, IsOnlyTriedWhenAShapeIsGiven) {
  const auto name = write("a.cbf", "0123456789");
  EXPECT_THAT(open_fault(name),
              HasSubstr("the format is not recognised (known are CBF, EDF, TIFF, NPY and HDF5"));
  EXPECT_THAT(open_fault(name + "::/entry"), HasSubstr("is not an HDF5 file"));
}

TEST_F(RawTest, GivesMasksWithEveryValueButZeroExcluded) {
  const std::vector<float> pixels = {0, 1, -2, 0.5, -0.0f, std::numeric_limits<float>::quiet_NaN()};
  const auto mask = read_mask(write("m", bytes_of(pixels)), raw({2, 3}, PixelType::kF32));
  EXPECT_EQ(mask.shape, (Shape{2, 3}));
  EXPECT_THAT(mask.pixels, ElementsAre(0, 1, 1, 1, 0, 1));
}

}  // namespace
}  // namespace annulus
