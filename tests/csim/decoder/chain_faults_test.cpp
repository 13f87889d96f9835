// Bad frames through all stages: each status, its exact place, and good frames before and after.
#include "chain.hpp"

namespace decoder_test {
namespace {

using kernels::kTooFewPixels;
using kernels::kTooManyPixels;
using kernels::kTrailingBytes;
using kernels::kTruncated;
using kernels::kValueOutOfRange;

template <typename S>
class ChainFaults : public ::testing::Test {
 protected:
  // Faults are tried at each byte of three words: in the first, at every edge, and in the last.
  static constexpr uint32_t kOffsets = 3 * S::kBytes + 1;

  static Payload ones(uint32_t pixels) {
    Payload payload;
    for (uint32_t i = 0; i < pixels; ++i) payload.add_pixel(static_cast<int32_t>(i % 100), 1);
    return payload;
  }
  // The fault is in the code after the payload's pixels.
  static void expect_fault(const Bytes& bytes, const Payload& good, uint32_t status, uint32_t byte,
                           uint32_t pixel_count, const Filler& filler = fill_with(0x80)) {
    const Frame expected{{status, byte, good.count()}, good.pixels};
    expect_between_good_frames<S>(bytes, expected, pixel_count, filler);
  }
};
TYPED_TEST_SUITE(ChainFaults, Shapes, ShapeNames);

Bytes with_part_of_code(const Payload& payload, int length, int kept) {
  Bytes bytes = payload.bytes;
  append_code(bytes, 1, length);
  bytes.resize(payload.bytes.size() + kept);
  return bytes;
}

Bytes with_code(const Payload& payload, int64_t delta, int length) {
  Bytes bytes = payload.bytes;
  append_code(bytes, delta, length);
  return bytes;
}

TYPED_TEST(ChainFaults, TruncatedInsideEveryCodeAtEveryByteOfAWord) {
  for (uint32_t offset = 0; offset < this->kOffsets; ++offset) {
    const Payload good = this->ones(offset);
    for (const int length : {3, 7, 15}) {
      for (int kept = 1; kept < length; ++kept) {
        SCOPED_TRACE(std::to_string(kept) + " of " + std::to_string(length) + " bytes at " +
                     std::to_string(offset));
        const Bytes bytes = with_part_of_code(good, length, kept);
        const auto& [name, filler] = fillers()[(offset + kept) % fillers().size()];
        this->expect_fault(bytes, good, kTruncated, offset, offset + 1, filler);
        this->expect_fault(bytes, good, kTrailingBytes, offset, offset, filler);
      }
    }
  }
}

TYPED_TEST(ChainFaults, TooFewPixelsOfEveryNumber) {
  for (uint32_t offset = 0; offset < this->kOffsets; ++offset) {
    for (const uint32_t missing : {1u, 2u, 16u, 100u}) {
      SCOPED_TRACE(std::to_string(offset) + " pixels, " + std::to_string(missing) + " missing");
      const Payload good = this->ones(offset);
      this->expect_fault(good.bytes, good, kTooFewPixels, offset, offset + missing);
    }
  }
}

TYPED_TEST(ChainFaults, TooFewPixelsAfterALongCode) {
  for (uint32_t offset = 0; offset < this->kOffsets; ++offset) {
    for (const int length : {3, 7, 15}) {
      SCOPED_TRACE(std::to_string(length) + " bytes at " + std::to_string(offset));
      Payload good = this->ones(offset);
      good.add_pixel(-50, length);
      this->expect_fault(good.bytes, good, kTooFewPixels, good.size(), offset + 2);
    }
  }
}

TYPED_TEST(ChainFaults, TooManyPixelsWithEveryLengthOfTheFirstSurplusCode) {
  for (uint32_t offset = 0; offset < this->kOffsets; ++offset) {
    for (const int length : kLengths) {
      for (const uint32_t more : {0u, 1u, 40u}) {
        SCOPED_TRACE(std::to_string(length) + " bytes at " + std::to_string(offset) + " and " +
                     std::to_string(more) + " codes");
        const Payload good = this->ones(offset);
        Bytes bytes = with_code(good, 5, length);
        bytes.insert(bytes.end(), more, 1);
        this->expect_fault(bytes, good, kTooManyPixels, offset, offset);
      }
    }
  }
}

TYPED_TEST(ChainFaults, ValueOutOfRangeInEveryPixel) {
  for (uint32_t offset = 0; offset < this->kOffsets; ++offset) {
    for (const int sign : {1, -1}) {
      Payload good;
      const int32_t edge = sign > 0 ? INT32_MAX : INT32_MIN;
      for (uint32_t i = 0; i < offset; ++i) good.add_pixel(edge - sign * static_cast<int32_t>(i % 5));
      const int64_t last = offset == 0 ? 0 : good.pixels.back();
      for (const int64_t beyond : {int64_t{1}, int64_t{100}, int64_t{1} << 32}) {
        const int64_t delta = edge + sign * beyond - last;
        SCOPED_TRACE("pixel " + std::to_string(offset) + " at " + std::to_string(edge + sign * beyond));
        const Bytes bytes = with_code(good, delta, shortest_length(delta));
        this->expect_fault(bytes, good, kValueOutOfRange, good.size(), offset + 1);  // in the last pixel
        Bytes longer = bytes;
        append_code(longer, -delta, 15);  // leads back into range
        for (int i = 0; i < 9; ++i) longer.push_back(0);
        this->expect_fault(longer, good, kValueOutOfRange, good.size(), offset + 11);
      }
    }
  }
}

// The first fault of two is the one that is told.
TYPED_TEST(ChainFaults, OutOfRangeComesBeforeWhateverFollowsIt) {
  for (uint32_t offset = 0; offset < this->kOffsets; ++offset) {
    SCOPED_TRACE("at " + std::to_string(offset));
    const Payload good = this->ones(offset);
    for (const int64_t delta : {int64_t{1} << 31, int64_t{INT32_MIN} * 2, INT64_MAX, INT64_MIN}) {
      const Bytes bad = with_code(good, delta, 15);
      Bytes then_cut = bad;
      then_cut.push_back(0x80);
      Bytes then_out_again = bad;
      append_code(then_out_again, delta, 15);
      Bytes then_surplus = bad;
      then_surplus.insert(then_surplus.end(), 2 * TypeParam::kBytes, 0);
      this->expect_fault(then_cut, good, kValueOutOfRange, offset, offset + 1);
      this->expect_fault(then_cut, good, kValueOutOfRange, offset, offset + 2);
      this->expect_fault(then_out_again, good, kValueOutOfRange, offset, offset + 2);
      this->expect_fault(then_surplus, good, kValueOutOfRange, offset, offset + 1);
      this->expect_fault(bad, good, kValueOutOfRange, offset, offset + 50);  // and too few
    }
  }
}

TYPED_TEST(ChainFaults, SurplusComesBeforeWhateverFollowsItOrIsWrongWithIt) {
  for (uint32_t offset = 0; offset < this->kOffsets; ++offset) {
    SCOPED_TRACE("at " + std::to_string(offset));
    const Payload good = this->ones(offset);
    Bytes then_cut = with_code(good, 3, 1);
    then_cut.push_back(0x80);
    Bytes then_out = with_code(good, 3, 3);
    append_code(then_out, INT64_MAX, 15);
    this->expect_fault(then_cut, good, kTooManyPixels, offset, offset);
    this->expect_fault(then_out, good, kTooManyPixels, offset, offset);
    this->expect_fault(with_code(good, INT64_MIN, 15), good, kTooManyPixels, offset, offset);
  }
}

TYPED_TEST(ChainFaults, BytesWithoutPixels) {
  const Payload none;
  for (int size = 1; size <= 3 * TypeParam::kBytes; ++size) {
    SCOPED_TRACE(std::to_string(size) + " bytes");
    this->expect_fault(Bytes(size, 0), none, kTooManyPixels, 0, 0);
  }
  this->expect_fault({0x80}, none, kTrailingBytes, 0, 0);
  this->expect_fault({}, none, kTooFewPixels, 0, 1);
  this->expect_fault({}, none, kTooFewPixels, 0, 1000);
}

TYPED_TEST(ChainFaults, EveryOrderOfGoodAndBadFramesInOneLaunch) {
  constexpr uint32_t kPixels = TypeParam::kLanes + 5;
  Payload good;
  for (uint32_t i = 0; i < kPixels; ++i) good.add_pixel(static_cast<int32_t>(i * 1000), 7);
  const Payload few = this->ones(kPixels - 2);
  const Payload exact = this->ones(kPixels);
  const std::vector<Bytes> kinds = {good.bytes,
                                    few.bytes,
                                    with_part_of_code(few, 15, 14),
                                    with_code(exact, 1, 3),
                                    with_part_of_code(exact, 7, 6),
                                    with_code(few, INT64_MIN, 15),
                                    {}};
  std::vector<Bytes> frames;
  for (const Bytes& first : kinds) {
    for (const Bytes& second : kinds) {
      frames.push_back(first);
      frames.push_back(second);
    }
  }
  const std::vector<Frame> got = decode_in_chain<TypeParam>(frames, kPixels, fill_randomly(3));
  ASSERT_EQ(got.size(), frames.size());
  for (size_t i = 0; i < frames.size(); ++i) {
    EXPECT_EQ(got[i], decode_serially(frames[i], kPixels).padded(kPixels, TypeParam::kLanes))
        << "frame " << i;
  }
}

}  // namespace
}  // namespace decoder_test
