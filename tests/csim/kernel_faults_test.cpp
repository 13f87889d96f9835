// Damaged frames in whole kernels: each is named with its place, and its neighbours are right.
#include <annulus/core/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "backends/naive_reduction.hpp"
#include "backends/test_frames.hpp"
#include "kernel_fixture.hpp"

namespace annulus::testing {
namespace {

using ::testing::HasSubstr;

Frame with_bytes(const Frame& frame, std::vector<std::byte> bytes) {
  Frame other = frame;
  other.payload = Bytes(std::move(bytes));
  return other;
}

std::vector<std::byte> bytes_of(const Frame& frame) {
  return {frame.payload.view().begin(), frame.payload.view().end()};
}

struct Damage {
  const char* name;
  std::vector<std::byte> (*apply)(std::vector<std::byte> bytes);
  const char* fault;
};

// The payload ends with the one-byte code of its last pixel.
const Damage kByteOffsetDamages[] = {
    {"a code cut short",
     [](auto bytes) {
       bytes.back() = std::byte{0x80};
       return bytes;
     },
     "truncated"},
    {"a pixel too few",
     [](auto bytes) {
       bytes.pop_back();
       return bytes;
     },
     "truncated"},
    {"nothing at all", [](auto) { return std::vector<std::byte>(); }, "truncated at byte 0 of 0: pixel 0"},
    {"half of it",
     [](auto bytes) {
       bytes.resize(bytes.size() / 2);
       return bytes;
     },
     "truncated"},
    {"a pixel too many",
     [](auto bytes) {
       bytes.push_back(std::byte{0});
       return bytes;
     },
     "1 bytes are left"},
    {"bytes that are no code",
     [](auto bytes) {
       bytes.push_back(std::byte{0x80});
       return bytes;
     },
     "1 bytes are left"},
    {"far too long",
     [](auto bytes) {
       bytes.resize(bytes.size() + 5000);
       return bytes;
     },
     "5000 bytes are left"},
    {"a value beyond int32",
     [](auto bytes) {
       // The 64-bit code of 2^31, one more than int32 holds.
       const std::uint8_t code[] = {0x80, 0, 0x80, 0, 0, 0, 0x80, 0, 0, 0, 0x80, 0, 0, 0, 0};
       bytes.insert(bytes.begin(), std::size(code), std::byte{0});
       std::memcpy(bytes.data(), code, std::size(code));
       return bytes;
     },
     "leaves the 32-bit integers"},
};

TEST(KernelFaults, DamagedByteOffsetIsNamedAndTheNextFrameIsRight) {
  std::mt19937_64 random(1);
  for (const PlanShape& shape : {PlanShape{}, PlanShape{{1, 1}, 3, 2, 0}, PlanShape{{50, 64}, 500, 5}}) {
    const Plan plan = random_plan(shape, random);
    std::vector<std::int64_t> pixels = random_pixels(random, PixelType::kI32, plan.pixels());
    if (pixels.size() > 1) pixels[pixels.size() - 2] = 3;
    pixels.back() = 5;
    const Frame good = byte_offset_frame(plan.shape, pixels);
    const Sums expected = reduce_naively(plan, pixels, 0, kRecipe);
    std::vector<Frame> frames = {good};
    for (const Damage& damage : kByteOffsetDamages) {
      frames.push_back(with_bytes(good, damage.apply(bytes_of(good))));
      frames.push_back(good);
    }
    const auto results = launch_frames(plan, frames);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (i % 2 == 1) {
        EXPECT_THAT(results[i].fault(), HasSubstr(kByteOffsetDamages[i / 2].fault))
            << kByteOffsetDamages[i / 2].name;
        continue;
      }
      EXPECT_EQ(results[i].fault(), "");
      EXPECT_EQ(results[i].sums(), expected)
          << "after " << (i > 0 ? kByteOffsetDamages[i / 2 - 1].name : "nothing");
    }
  }
}

TEST(KernelFaults, RawFramesOfTheWrongSizeAreNamedAndTheNextFrameIsRight) {
  std::mt19937_64 random(2);
  for (const PixelType type : {PixelType::kU8, PixelType::kU16, PixelType::kI32}) {
    PlanShape shape;
    shape.type = type;
    const Plan plan = random_plan(shape, random);
    const auto pixels = random_pixels(random, type, plan.pixels());
    const Frame good = raw_frame(plan.shape, type, pixels);
    const Sums expected = reduce_naively(plan, pixels, 0, kRecipe);
    std::vector<Frame> frames = {good};
    const auto size = static_cast<std::ptrdiff_t>(good.payload.size());
    for (const std::ptrdiff_t wrong :
         {std::ptrdiff_t{0}, std::ptrdiff_t{1}, size / 2, size - 1, size + 1, size + 64, 9 * size}) {
      std::vector<std::byte> bytes = bytes_of(good);
      bytes.resize(static_cast<std::size_t>(wrong), std::byte{7});
      frames.push_back(with_bytes(good, bytes));
      frames.push_back(good);
    }
    const auto results = launch_frames(plan, frames);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (i % 2 == 1) {
        EXPECT_EQ(results[i].fault(), std::to_string(frames[i].payload.size()) + " bytes of pixels, " +
                                          std::to_string(size) + " expected");
        continue;
      }
      EXPECT_EQ(results[i].fault(), "");
      EXPECT_EQ(results[i].sums(), expected) << i;
    }
  }
}

TEST(KernelFaults, DamagedBlocksAreNamedAndTheNextFrameIsRight) {
  std::mt19937_64 random(4);
  for (const PixelType type : {PixelType::kU16, PixelType::kU32, PixelType::kI32}) {
    PlanShape shape;
    shape.type = type;
    shape.shape = {60, 101};
    const Plan plan = random_plan(shape, random);
    const auto pixels = random_pixels(random, type, plan.pixels());
    const Frame good = block_frame(raw_frame(plan.shape, type, pixels));
    const Sums expected = reduce_naively(plan, pixels, 0, kRecipe);
    const auto changed = [&](std::size_t at, int value) {
      std::vector<std::byte> bytes = bytes_of(good);
      bytes[at] = static_cast<std::byte>(value);
      return with_bytes(good, bytes);
    };
    const auto resized = [&](std::size_t size) {
      std::vector<std::byte> bytes = bytes_of(good);
      bytes.resize(size);
      return with_bytes(good, bytes);
    };
    const std::size_t size = good.payload.size();
    const std::vector<std::pair<Frame, const char*>> damages = {
        {resized(0), "0 bytes, fewer than the 12 of a header"},
        {resized(11), "11 bytes, fewer"},
        {changed(0, 1), "its header at byte 0 says 72057594037"},
        {changed(11, 3), "its header at byte 8 says blocks of"},
        {resized(12), "block 0 at byte 12 of 12: truncated, 0 of 4 bytes are there"},
        {changed(12, 0x7F), "block 0 at byte 12 of "},
        {resized(size / 2), ": its length is "},
        {changed(16, 0), "corrupt, it does not decode to 8192 bytes"},
        {resized(size - 1), "truncated, "},
        {resized(size + 3), "3 bytes are left at byte "}};
    std::vector<Frame> frames = {good};
    for (const auto& damage : damages) {
      frames.push_back(damage.first);
      frames.push_back(good);
    }
    const auto results = launch_frames(plan, frames);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (i % 2 == 1) {
        EXPECT_THAT(results[i].fault(), HasSubstr(damages[i / 2].second));
        continue;
      }
      EXPECT_EQ(results[i].fault(), "");
      EXPECT_EQ(results[i].sums(), expected) << i;
    }
  }
}

TEST(KernelFaults, AMatchThatPointsToItselfIsRefusedThoughTheLibraryTakesIt) {
  const Shape shape{8, 8};
  const Plan plan = single_bin_plan(shape, 3, std::vector<std::uint32_t>(shape.size(), 1));
  std::vector<std::byte> bytes;
  for (const int byte : {0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 12, 0x1F, 7, 0, 0, 255 - 24}) {
    bytes.push_back(static_cast<std::byte>(byte));
  }
  for (const int byte : {0x50, 0, 0, 0, 0, 0}) bytes.push_back(static_cast<std::byte>(byte));
  bytes[15] = static_cast<std::byte>(bytes.size() - 16);
  const Frame frame =
      with_bytes(block_frame(raw_frame(shape, PixelType::kI32, std::vector<std::int64_t>(64, 1))), bytes);
  EXPECT_EQ(launch_frames(plan, {frame})[0].fault(),
            "block 0 at byte 12 of 27: corrupt, it does not decode to 256 bytes");
}

}  // namespace
}  // namespace annulus::testing
