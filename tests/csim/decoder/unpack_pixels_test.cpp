#include <hls/unpack_pixels.hpp>

#include "stages.hpp"

namespace decoder_test {
namespace {

using kernels::Beat;
using kernels::Pixels;
using kernels::Report;

template <typename L>
class UnpackPixels : public ::testing::Test {};
template <int kLanes>
using Lanes = std::integral_constant<int, kLanes>;
struct LanesNames {
  template <typename L>
  static std::string GetName(int) {
    return std::to_string(L::value) + "Lanes";
  }
};
using LanesToTry = ::testing::Types<Lanes<8>, Lanes<16>>;
TYPED_TEST_SUITE(UnpackPixels, LanesToTry, LanesNames);

struct PixelType {
  const char* name;
  uint32_t shift;
  bool is_signed;
};
constexpr PixelType kTypes[] = {{"uint8", 0, false}, {"int8", 0, true},    {"uint16", 1, false},
                                {"int16", 1, true},  {"uint32", 2, false}, {"int32", 2, true}};

struct RawFrame {
  Bytes bytes;
  std::vector<int32_t> pixels;
};

// Random pixels of the type, every fourth at one end of its range.
RawFrame make_frame(const PixelType& type, uint32_t pixels, std::mt19937& random) {
  const int bits = 8 << type.shift;
  const int64_t lowest = type.is_signed ? -(int64_t{1} << (bits - 1)) : 0;
  const int64_t span = (int64_t{1} << bits) - 1;
  RawFrame frame;
  for (uint32_t i = 0; i < pixels; ++i) {
    const int64_t above = random() % 4 != 0   ? static_cast<int64_t>(random()) & span
                          : random() % 2 == 0 ? 0
                                              : span;
    append_little_endian(frame.bytes, lowest + above, bits / 8);
    frame.pixels.push_back(static_cast<int32_t>(static_cast<uint32_t>(lowest + above)));
  }
  return frame;
}

struct Unpacked {
  std::vector<Frame> frames;
  uint64_t iterations;
};
template <int kLanes>
Unpacked unpack(const std::vector<Bytes>& payloads, uint32_t pixels, const PixelType& type) {
  hls::stream<uint32_t> sizes("sizes");
  hls::stream<Beat> beats("beats");
  hls::stream<Pixels<kLanes>> vectors("vectors");
  hls::stream<Report> reports("reports");
  for (const Bytes& payload : payloads) feed_payload(sizes, beats, payload, fill_with(0xEE));
  const auto frames = static_cast<uint32_t>(payloads.size());
  Unpacked result;
  result.iterations = iterations_of([&] {
    kernels::unpack_pixels<kLanes>(sizes, beats, frames, pixels, type.shift, type.is_signed, vectors,
                                   reports);
  });
  EXPECT_TRUE(is_empty(beats)) << "beats of the launch are left";
  result.frames = collect_frames(drain(vectors), drain(reports), pixels);
  return result;
}

TYPED_TEST(UnpackPixels, EveryTypeAndEveryNumberOfPixelsInOneIterationAVector) {
  constexpr uint32_t kLanes = TypeParam::value;
  std::mt19937 random(8);
  for (const PixelType& type : kTypes) {
    for (uint32_t pixels = 0; pixels <= 200; ++pixels) {
      SCOPED_TRACE(std::to_string(pixels) + " pixels of " + type.name);
      const RawFrame first = make_frame(type, pixels, random);
      const RawFrame second = make_frame(type, pixels, random);
      const Unpacked got = unpack<kLanes>({first.bytes, second.bytes}, pixels, type);
      ASSERT_EQ(got.frames.size(), 2u);
      ASSERT_EQ(got.frames[0], (Frame{{}, first.pixels}.padded(pixels, kLanes)));
      ASSERT_EQ(got.frames[1], (Frame{{}, second.pixels}.padded(pixels, kLanes)));
      ASSERT_EQ(got.iterations, 2 * ((pixels + kLanes - 1) / kLanes));
    }
  }
}

// Byte by byte, as a reader that counts.
Report judge_serially(uint32_t bytes, uint32_t pixels, uint32_t pixel_bytes) {
  uint32_t whole = 0;
  uint32_t left = bytes;
  for (; left >= pixel_bytes; left -= pixel_bytes) {
    if (whole == pixels) return {kernels::kTooManyPixels, whole * pixel_bytes, whole};
    ++whole;
  }
  if (left > 0) return {whole == pixels ? kernels::kTrailingBytes : kernels::kTruncated, bytes - left, whole};
  if (whole < pixels) return {kernels::kTooFewPixels, bytes, whole};
  return {kernels::kGood, 0, 0};
}

TYPED_TEST(UnpackPixels, WrongSizesAreReportedInPlaceAndTheNextFrameIsRight) {
  constexpr uint32_t kLanes = TypeParam::value;
  std::mt19937 random(9);
  for (const PixelType& type : kTypes) {
    for (const uint32_t pixels : {0u, 1u, 15u, 16u, 17u, 33u, 64u, 70u}) {
      const uint32_t pixel_bytes = 1u << type.shift;
      const RawFrame longest = make_frame(type, pixels + 150, random);
      const RawFrame good = make_frame(type, pixels, random);
      for (uint32_t size = 0; size <= longest.bytes.size(); ++size) {
        SCOPED_TRACE(std::to_string(size) + " bytes for " + std::to_string(pixels) + " pixels of " +
                     type.name);
        const Bytes payload(longest.bytes.begin(), longest.bytes.begin() + size);
        Frame expected{judge_serially(size, pixels, pixel_bytes), longest.pixels};
        expected.pixels.resize(std::min(pixels, size / pixel_bytes));
        const Unpacked got = unpack<kLanes>({payload, good.bytes}, pixels, type);
        ASSERT_EQ(got.frames.size(), 2u);
        ASSERT_EQ(got.frames[0], expected.padded(pixels, kLanes));
        ASSERT_EQ(got.frames[1], (Frame{{}, good.pixels}.padded(pixels, kLanes)));
      }
    }
  }
}

void expect_report(const Report& report, uint32_t status, uint32_t byte, uint32_t pixel) {
  EXPECT_EQ(report.status, status);
  EXPECT_EQ(report.byte, byte);
  EXPECT_EQ(report.pixel, pixel);
}

TEST(JudgeSize, NamesTheFaultAndItsPlace) {
  expect_report(kernels::judge_size(20, 10, 1), kernels::kGood, 0, 0);
  expect_report(kernels::judge_size(18, 10, 1), kernels::kTooFewPixels, 18, 9);
  expect_report(kernels::judge_size(19, 10, 1), kernels::kTruncated, 18, 9);
  expect_report(kernels::judge_size(21, 10, 1), kernels::kTrailingBytes, 20, 10);
  expect_report(kernels::judge_size(22, 10, 1), kernels::kTooManyPixels, 20, 10);
}

TEST(JudgeSize, FramesOfFourGigabytesDoNotWrapAround) {
  expect_report(kernels::judge_size(0, 1u << 30, 2), kernels::kTooFewPixels, 0, 0);
  expect_report(kernels::judge_size(UINT32_MAX, 1u << 30, 2), kernels::kTruncated, UINT32_MAX - 3,
                (1u << 30) - 1);
  expect_report(kernels::judge_size(UINT32_MAX, UINT32_MAX, 0), kernels::kGood, 0, 0);
}

}  // namespace
}  // namespace decoder_test
