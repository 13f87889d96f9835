#include <annulus/ranks/guided_blocks.hpp>

#include <gtest/gtest.h>

namespace annulus {
namespace {

std::uint64_t size_of(FrameRange block) { return block.end - block.first; }

TEST(GuidedBlocks, FollowEachOtherAndBecomeSmaller) {
  GuidedBlocks blocks(100'000, 4);
  std::uint64_t behind = 0, size = 1000, count = 0;
  while (behind < 100'000) {
    const FrameRange block = blocks.next();
    ASSERT_EQ(block.first, behind);
    ASSERT_LE(size_of(block), size);
    ASSERT_GE(size_of(block), 8u);
    behind = block.end;
    size = size_of(block);
    ++count;
  }
  EXPECT_EQ(size, 8u);
  EXPECT_LT(count, 1000u);  // ranks seldom ask
}

TEST(GuidedBlocks, BeginWithASixteenthOfAShare) { EXPECT_EQ(size_of(GuidedBlocks(6400, 4).next()), 100u); }

TEST(GuidedBlocks, AreNeverLargerThanAThousand) {
  EXPECT_EQ(size_of(GuidedBlocks(std::uint64_t{1} << 40, 2).next()), 1000u);
}

TEST(GuidedBlocks, OfAScanOfUnknownLengthAreAllTheSame) {
  GuidedBlocks blocks(0, 3);
  for (std::uint64_t i = 0; i < 5; ++i) EXPECT_EQ(blocks.next(), (FrameRange{32 * i, 32 * (i + 1)}));
}

TEST(GuidedBlocks, GoOnBehindTheExpectedEnd) {
  GuidedBlocks blocks(10, 2);
  EXPECT_EQ(blocks.next(), (FrameRange{0, 8}));
  EXPECT_EQ(blocks.next(), (FrameRange{8, 16}));
  EXPECT_EQ(blocks.next(), (FrameRange{16, 24}));
}

}  // namespace
}  // namespace annulus
