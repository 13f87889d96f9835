#include <gtest/gtest.h>
#include <hls/unshuffle_pixels.hpp>

#include "chunk.hpp"

namespace blocks_test {
namespace {

uint64_t eight_bytes(const Bytes& bytes, size_t at) {
  uint64_t number = 0;
  for (size_t i = 0; i < 8; ++i) number |= uint64_t{bytes[at + i]} << (8 * i);
  return number;
}

TEST(Unshuffle, ATileOfEveryTypeIsItsPixels) {
  std::mt19937 random(1);
  for (const PixelKind& kind : kKinds) {
    const Bytes elements = random_bytes(size_t{kernels::kTilePixels} << kind.shift, random);
    const Bytes planes = shuffle_bits(elements, kind.shift);
    kernels::Tile tile;
    for (uint64_t& bits : tile.low) bits = random();  // of planes that the type has not
    for (uint64_t& bits : tile.high) bits = random();
    for (uint32_t group = 0; group < 2u << kind.shift; ++group) {
      kernels::PlaneBeat beat = {};
      for (size_t i = 0; i < 4; ++i) {
        beat.low[i] = eight_bytes(planes, 16 * (4 * group + i));
        beat.high[i] = eight_bytes(planes, 16 * (4 * group + i) + 8);
      }
      kernels::put_planes(tile, group, beat);
    }
    tile.pixels = kernels::kTilePixels;
    tile.stored = false;
    for (uint32_t vector = 0; vector < 8; ++vector) {
      int32_t value[16];
      kernels::take_vector(tile, kind.shift, kind.is_signed, value);
      for (uint32_t lane = 0; lane < 16; ++lane) {
        ASSERT_EQ(value[lane], pixel_at(elements, 16 * vector + lane, kind))
            << kind.name << ", vector " << vector << ", lane " << lane;
      }
      EXPECT_EQ(tile.pixels, 128 - 16 * (vector + 1));
    }
  }
}

TEST(Unshuffle, LeftOverPixelsAreTakenAsTheyAre) {
  std::mt19937 random(2);
  for (const PixelKind& kind : kKinds) {
    const Bytes elements = random_bytes(64, random);
    kernels::PlaneBeat beat = {};
    for (size_t i = 0; i < 4; ++i) {
      beat.low[i] = eight_bytes(elements, 16 * i);
      beat.high[i] = eight_bytes(elements, 16 * i + 8);
    }
    kernels::Tile tile = {};
    kernels::put_planes(tile, 0, beat);
    tile.pixels = 7;
    tile.stored = true;
    int32_t value[16];
    kernels::take_vector(tile, kind.shift, kind.is_signed, value);
    for (uint32_t lane = 0; lane < 7; ++lane) {
      ASSERT_EQ(value[lane], pixel_at(elements, lane, kind)) << kind.name << ", lane " << lane;
    }
    EXPECT_EQ(tile.pixels, 0u);
  }
}

}  // namespace
}  // namespace blocks_test
