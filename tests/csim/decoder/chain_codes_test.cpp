// Good frames through all stages of the byte-offset decoder.
#include <iterator>

#include "chain.hpp"

namespace decoder_test {
namespace {

template <typename S>
class ChainCodes : public ::testing::Test {
 protected:
  static void expect_good(const Payload& payload, const Filler& filler = fill_with(0x80)) {
    expect_between_good_frames<S>(payload.bytes, Frame{{}, payload.pixels}, payload.count(), filler);
  }
};
TYPED_TEST_SUITE(ChainCodes, Shapes, ShapeNames);

TYPED_TEST(ChainCodes, EmptyFrame) { this->expect_good(Payload{}); }

TYPED_TEST(ChainCodes, OnePixelOfEveryLength) {
  for (const auto& [name, filler] : fillers()) {
    for (const int length : kLengths) {
      for (const int32_t value : {0, 1, -1, 127, -127, 128, -128, 32767, -32768, INT32_MAX, INT32_MIN}) {
        if (!fits(value, length)) continue;
        SCOPED_TRACE(std::to_string(value) + " in " + std::to_string(length) + " bytes, then " + name);
        Payload payload;
        payload.add_pixel(value, length);
        this->expect_good(payload, filler);
      }
    }
  }
}

TYPED_TEST(ChainCodes, EveryNumberOfOneBytePixelsWhateverFollowsThem) {
  for (const auto& [name, filler] : fillers()) {
    for (int pixels = 0; pixels <= 5 * TypeParam::kLanes + 1; ++pixels) {
      SCOPED_TRACE(std::to_string(pixels) + " pixels, then " + name);
      Payload payload;
      for (int i = 0; i < pixels; ++i) payload.add_pixel(i % 2 == 0 ? i % 60 : -(i % 60), 1);
      this->expect_good(payload, filler);
    }
  }
}

TYPED_TEST(ChainCodes, EveryLengthStraddlesEveryByteOfAWord) {
  for (const int length : kLengths) {
    for (int offset = 0; offset < 2 * TypeParam::kBytes; ++offset) {
      SCOPED_TRACE(std::to_string(length) + " bytes at " + std::to_string(offset));
      Payload payload;
      for (int i = 0; i < offset; ++i) payload.add_pixel(3 * (i % 20), 1);
      payload.add_pixel(length == 1   ? 60
                        : length == 3 ? 30'000
                        : length == 7 ? 2'000'000'000
                                      : INT32_MIN,
                        length);
      for (int i = 0; i < TypeParam::kBytes + 3; ++i) payload.add_pixel(payload.pixels.back() + i, 1);
      this->expect_good(payload);
    }
  }
}

TYPED_TEST(ChainCodes, StreamsOfEscapesOnly) {
  for (const int length : {3, 7, 15}) {
    for (int pixels = 1; pixels <= 3 * TypeParam::kLanes; ++pixels) {
      SCOPED_TRACE(std::to_string(pixels) + " codes of " + std::to_string(length) + " bytes");
      Payload payload;
      const int32_t high = length == 3 ? 16'000 : length == 7 ? 1'000'000'000 : INT32_MAX;
      const int32_t low = length == 15 ? INT32_MIN : -high;
      for (int i = 0; i < pixels; ++i) payload.add_pixel(i % 2 == 0 ? high - i : low + i, length);
      this->expect_good(payload);
    }
  }
}

TYPED_TEST(ChainCodes, AnyCodeThatHoldsADifferenceWillDo) {
  Payload payload;
  for (const int length : kLengths) {
    for (const int other : kLengths) {
      for (const int32_t step : {0, 1, -1, 2, -2, 126, 127, -126, -127}) {
        payload.add_pixel(payload.pixels.empty() ? step : payload.pixels.back() + step, length);
        payload.add_pixel(payload.pixels.back() - step, other);
      }
      // What a shorter code cannot say because it announces the next length.
      for (const int64_t step : {int64_t{INT8_MIN}, int64_t{INT16_MIN}, int64_t{INT32_MIN}}) {
        if (!fits(step, length)) continue;
        payload.add_pixel(static_cast<int32_t>(step), std::max(length, shortest_length(step)));
        payload.add_pixel(0);
      }
    }
  }
  this->expect_good(payload);
}

TYPED_TEST(ChainCodes, PixelsAtBothEndsOfInt32) {
  Payload payload;
  const int32_t values[] = {INT32_MAX, INT32_MIN, INT32_MAX,     0,        INT32_MIN, INT32_MIN + 1,
                            INT32_MIN, -1,        INT32_MAX - 1, INT32_MAX};
  for (int round = 0; round < 4 * TypeParam::kLanes; ++round) {
    payload.add_pixel(values[round * 7 % std::size(values)]);
    payload.add_pixel(values[round % std::size(values)], 15);
  }
  this->expect_good(payload);
}

TYPED_TEST(ChainCodes, DifferencesOf64BitsEitherFitOrAreOutOfRange) {
  std::vector<int64_t> deltas = {0, INT64_MIN, INT64_MIN + 1, INT64_MAX, INT64_MAX - 1};
  for (int bit = 30; bit < 63; ++bit) {
    const int64_t power = int64_t{1} << bit;
    for (const int64_t delta : {power - 1, power, power + 1, power + 5, power - 5}) {
      deltas.push_back(delta);
      deltas.push_back(-delta);
    }
  }
  for (const int32_t from : {0, 1, -1, INT32_MIN, INT32_MAX}) {
    for (const int64_t delta : deltas) {
      SCOPED_TRACE(std::to_string(from) + " + " + std::to_string(delta));
      Payload payload;
      payload.add_pixel(from);
      payload.add_delta(delta, 15);
      Frame expected{{kernels::kValueOutOfRange, payload.starts.back(), 1}, {from}};
      int64_t sum = 0;
      const bool overflows = __builtin_add_overflow(int64_t{from}, delta, &sum);
      if (!overflows && sum >= INT32_MIN && sum <= INT32_MAX) {
        expected = {{}, {from, static_cast<int32_t>(sum)}};
      }
      expect_between_good_frames<TypeParam>(payload.bytes, expected, 2, fill_with(0x80));
    }
  }
}

}  // namespace
}  // namespace decoder_test
