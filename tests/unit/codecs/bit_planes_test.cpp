#include <annulus/codecs/bit_planes.hpp>

#include <gtest/gtest.h>

#include <cstring>

#include "naive_blocks.hpp"

namespace annulus::testing {
namespace {

TEST(BitPlanes, ElementsGoToPlanesAndBackAsTheFormatSays) {
  std::mt19937_64 random(61);
  for (const std::size_t size : {1, 2, 3, 4, 8}) {
    for (std::size_t elements = 8; elements <= 400; elements += 8) {
      const auto pixels = random_elements(random, size, elements);
      const auto expected = naive_shuffle(pixels, size);
      std::vector<std::byte> planes(pixels.size());
      scatter_elements(pixels.data(), size, elements, planes.data());
      ASSERT_EQ(planes, expected) << elements << " elements of " << size;
      std::vector<std::byte> back(pixels.size());
      gather_elements(planes.data(), size, elements, back.data());
      ASSERT_EQ(back, pixels) << elements << " elements of " << size;
    }
  }
}

TEST(BitPlanes, EveryInstructionSetGathersAnyPartOfABlock) {
  std::mt19937_64 random(62);
  for (const InstructionSet set : available_instruction_sets()) {
    for (const std::size_t size : {1, 2, 4}) {
      const GatherPixels gather = pixel_gatherer(size, set);
      for (int round = 0; round < 300; ++round) {
        const std::size_t groups = 1 + random() % 300;
        const auto pixels = random_elements(random, size, 8 * groups);
        auto planes = naive_shuffle(pixels, size);
        planes.resize(planes.size() + 31, std::byte{0xa5});
        const std::size_t first = random() % groups;
        const std::size_t count = 1 + random() % (groups - first);
        std::vector<std::uint32_t> found(8 * count + 1, 0xdeadbeef);
        gather(planes.data() + first, groups, count, found.data());
        for (std::size_t i = 0; i < 8 * count; ++i) {
          std::uint32_t expected = 0;
          std::memcpy(&expected, pixels.data() + (8 * first + i) * size, size);
          ASSERT_EQ(found[i], expected) << name_of(set) << ", " << size << " bytes, group " << first << " of "
                                        << groups << ", pixel " << i;
        }
        ASSERT_EQ(found.back(), 0xdeadbeef) << "written beyond the end";
      }
    }
  }
}

TEST(BitPlanes, EveryByteOfAPixelIsFoundThoughTheOthersAreZero) {
  for (const InstructionSet set : available_instruction_sets()) {
    for (const std::size_t size : {1, 2, 4}) {
      for (unsigned used = 0; used < 1u << size; ++used) {  // one bit a byte
        constexpr std::size_t kPixels = 512 + 64 + 8;
        std::vector<std::byte> pixels(size * kPixels);
        for (std::size_t i = 0; i < pixels.size(); ++i) {
          if (used >> i % size & 1) pixels[i] = static_cast<std::byte>(1 + i / size % 255);
        }
        auto planes = naive_shuffle(pixels, size);
        planes.resize(planes.size() + 31);
        std::vector<std::uint32_t> found(kPixels);
        pixel_gatherer(size, set)(planes.data(), kPixels / 8, kPixels / 8, found.data());
        for (std::size_t i = 0; i < kPixels; ++i) {
          std::uint32_t expected = 0;
          std::memcpy(&expected, pixels.data() + i * size, size);
          ASSERT_EQ(found[i], expected)
              << name_of(set) << ", " << size << " bytes, used " << used << ", pixel " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace annulus::testing
