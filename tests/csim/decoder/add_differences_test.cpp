#include <hls/add_differences.hpp>

#include "stages.hpp"

namespace decoder_test {
namespace {

using kernels::Codes;
using kernels::Values;

template <typename S>
class AddDifferences : public ::testing::Test {};
TYPED_TEST_SUITE(AddDifferences, WordShapes, ShapeNames);

// A word whose bytes without a code hold a difference that must not be added.
template <int kBytes>
Codes<kBytes> word_of(uint32_t starts, bool last) {
  Codes<kBytes> word;
  for (int64_t& delta : word.delta) delta = kLimit;
  word.starts = starts;
  word.cut = 0;
  word.count = kBytes;
  word.last = last;
  return word;
}

// One after the other: up to the first pixel out of range values must agree; from there on nothing is
// promised.
template <int kBytes>
void expect_running_sum(const std::vector<Codes<kBytes>>& codes, const std::vector<Values<kBytes>>& values) {
  ASSERT_EQ(values.size(), codes.size());
  int64_t sum = 0;
  bool good = true;
  for (size_t word = 0; word < codes.size(); ++word) {
    ASSERT_EQ(values[word].starts, codes[word].starts);
    ASSERT_EQ(values[word].cut, codes[word].cut);
    ASSERT_EQ(values[word].count, codes[word].count);
    ASSERT_EQ(values[word].last, codes[word].last);
    ASSERT_EQ(values[word].out_of_range & ~codes[word].starts, 0u) << "a fault where no code is";
    for (int k = 0; k < kBytes && good; ++k) {
      if ((codes[word].starts >> k & 1) == 0) continue;
      sum += codes[word].delta[k];
      good = sum >= INT32_MIN && sum <= INT32_MAX;
      ASSERT_EQ((values[word].out_of_range >> k & 1) == 0, good)
          << "word " << word << ", byte " << k << ", " << sum;
      if (!good) break;
      ASSERT_EQ(values[word].value[k], sum) << "word " << word << ", byte " << k;
    }
    if (codes[word].last) {
      sum = 0;
      good = true;
    }
  }
}

template <int kBytes>
std::vector<Values<kBytes>> add_up(const std::vector<Codes<kBytes>>& words, uint32_t frames) {
  hls::stream<Codes<kBytes>> codes("codes");
  hls::stream<Values<kBytes>> values("values");
  feed(codes, words);
  EXPECT_EQ(iterations_of([&] { kernels::add_differences<kBytes>(codes, frames, values); }), words.size());
  EXPECT_TRUE(is_empty(codes));
  return drain(values);
}

TYPED_TEST(AddDifferences, AddsJustWhereCodesStart) {
  constexpr int kBytes = TypeParam::kBytes;
  std::mt19937 random(kBytes);
  std::vector<Codes<kBytes>> words;
  for (uint32_t i = 0; i < 3000; ++i) {
    const auto any = static_cast<uint32_t>(random());
    const uint32_t mask = kBytes == 8 ? i & 0xFF : any & static_cast<uint32_t>((uint64_t{1} << kBytes) - 1);
    auto word = word_of<kBytes>(mask, i + 1 == 3000);
    word.cut = ~mask;  // passed on, as is the count
    word.count = static_cast<uint8_t>(i % (kBytes + 1));
    for (int k = 0; k < kBytes; ++k) {
      if ((mask >> k & 1) != 0) word.delta[k] = static_cast<int>(random() % 20001) - 10000;
    }
    words.push_back(word);
  }
  expect_running_sum(words, add_up(words, 1));
}

TYPED_TEST(AddDifferences, CarriesThePixelFromEveryByteToEveryByteOfTheNextWord) {
  constexpr int kBytes = TypeParam::kBytes;
  for (int from = 0; from < kBytes; ++from) {
    for (int to = 0; to < kBytes; ++to) {
      auto first = word_of<kBytes>(uint32_t{1} << from, false);
      auto second = word_of<kBytes>(uint32_t{1} << to, true);
      first.delta[from] = 1'000'000 + from;
      second.delta[to] = -to - 1;
      const std::vector<Codes<kBytes>> words = {first, word_of<kBytes>(0, false), second};
      expect_running_sum(words, add_up(words, 1));
      ASSERT_FALSE(this->HasFailure()) << "from byte " << from << " to byte " << to;
    }
  }
}

TYPED_TEST(AddDifferences, StartsEachFrameFromZeroAlsoAfterAFaultyOne) {
  constexpr int kBytes = TypeParam::kBytes;
  for (const int64_t first_delta : {int64_t{12345}, kLimit, -kLimit, int64_t{INT32_MAX} + 1}) {
    auto first = word_of<kBytes>(1, true);
    auto second = word_of<kBytes>(1, true);
    first.delta[0] = first_delta;
    second.delta[0] = 1;
    const auto got = add_up<kBytes>({first, second}, 2);
    expect_running_sum({first, second}, got);
    ASSERT_EQ(got.size(), 2u);
    EXPECT_EQ(got[1].value[0], 1);
    EXPECT_EQ(got[1].out_of_range, 0u);
  }
}

TYPED_TEST(AddDifferences, TellsTheLastPixelInRangeFromTheFirstOutside) {
  constexpr int kBytes = TypeParam::kBytes;
  for (const int64_t edge : {int64_t{INT32_MIN}, int64_t{INT32_MAX}}) {
    for (int beyond = -2; beyond <= 2; ++beyond) {
      for (int at = 0; at < kBytes; ++at) {
        for (const bool in_second_word : {false, true}) {
          auto first = word_of<kBytes>(1, !in_second_word);
          first.delta[0] = edge / 2;
          auto second = word_of<kBytes>(0, true);
          auto& word = in_second_word ? second : first;
          const int64_t before = at == 0 && !in_second_word ? 0 : edge / 2;
          word.starts |= uint32_t{1} << at;
          word.delta[at] = edge + beyond - before;
          std::vector<Codes<kBytes>> words = {first};
          if (in_second_word) words.push_back(second);
          const auto got = add_up(words, 1);
          expect_running_sum(words, got);
          ASSERT_FALSE(this->HasFailure()) << edge << " + " << beyond << " at " << at;
          const bool fits = edge + beyond >= INT32_MIN && edge + beyond <= INT32_MAX;
          ASSERT_EQ(got.back().out_of_range, fits ? 0 : uint32_t{1} << at)
              << edge << " + " << beyond << " at " << at;
        }
      }
    }
  }
}

TYPED_TEST(AddDifferences, NothingOverflowsHoweverFarOut) {
  constexpr int kBytes = TypeParam::kBytes;
  constexpr auto kAll = static_cast<uint32_t>((uint64_t{1} << kBytes) - 1);
  for (const int64_t delta : {kLimit, -kLimit}) {
    kernels::AddDifferencesState state;
    auto word = word_of<kBytes>(kAll, false);
    for (int64_t& each : word.delta) each = delta;
    for (int i = 0; i < 10'000; ++i) {
      ASSERT_EQ(kernels::add_differences_step(state, word).out_of_range, kAll) << "word " << i;
    }
  }
}

}  // namespace
}  // namespace decoder_test
