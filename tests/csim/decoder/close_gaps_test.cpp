#include <gtest/gtest.h>
#include <hls/close_gaps.hpp>

#include <bit>
#include <random>
#include <vector>

namespace decoder_test {
namespace {

// The values are marked with their places, so that a value taken from the wrong one shows.
template <int kWidth>
void expect_closed(uint32_t chosen) {
  int32_t value[kWidth];
  std::vector<int32_t> expected;
  for (int k = 0; k < kWidth; ++k) {
    value[k] = -1000 + k;
    if ((chosen >> k & 1) != 0) expected.push_back(value[k]);
  }
  kernels::close_gaps(value, chosen);
  ASSERT_EQ(std::vector<int32_t>(value, value + expected.size()), expected) << "mask " << std::hex << chosen;
}

template <int kWidth>
void expect_all_closed() {
  for (uint32_t chosen = 0; chosen < uint32_t{1} << kWidth; ++chosen) {
    expect_closed<kWidth>(chosen);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(CloseGaps, EveryMaskOf8) { expect_all_closed<8>(); }
TEST(CloseGaps, EveryMaskOf16) { expect_all_closed<16>(); }

TEST(CloseGaps, MasksOf32) {
  std::mt19937 random(32);
  for (int i = 0; i < 100'000; ++i) {
    // Thin, half full and dense.
    const auto any = static_cast<uint32_t>(random());
    const auto other = static_cast<uint32_t>(random());
    const uint32_t mask = i % 3 == 0 ? any & other : i % 3 == 1 ? any : any | other;
    expect_closed<32>(mask);
    if (HasFatalFailure()) return;
  }
  for (int k = 0; k < 32; ++k) {
    expect_closed<32>(uint32_t{1} << k);
    expect_closed<32>(~(uint32_t{1} << k));
    expect_closed<32>(~uint32_t{0} << k);
    expect_closed<32>(~uint32_t{0} >> k);
  }
}

TEST(CountOnes, CountsOnlyTheBitsOfTheWidth) {
  for (uint32_t mask = 0; mask < 1 << 16; ++mask) {
    ASSERT_EQ(kernels::count_ones<16>(mask), std::popcount(mask));
    ASSERT_EQ(kernels::count_ones<8>(mask), std::popcount(mask & 0xFF));
    ASSERT_EQ(kernels::count_ones<32>(mask << 16 | mask), 2 * std::popcount(mask));
  }
}

}  // namespace
}  // namespace decoder_test
