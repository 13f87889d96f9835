// The byte-offset decoder: its stages one after the other, each with all frames in one call.
#pragma once

#include <hls/add_differences.hpp>
#include <hls/compact_pixels.hpp>
#include <hls/find_codes.hpp>
#include <hls/split_windows.hpp>

#include "stages.hpp"

namespace decoder_test {

template <typename S>
std::vector<Frame> decode_in_chain(const std::vector<Bytes>& payloads, uint32_t pixel_count,
                                   const Filler& filler) {
  hls::stream<uint32_t> sizes("sizes");
  hls::stream<kernels::Beat> beats("beats");
  hls::stream<kernels::Window<S::kBytes>> windows("windows");
  hls::stream<kernels::Codes<S::kBytes>> codes("codes");
  hls::stream<kernels::Values<S::kBytes>> values("values");
  hls::stream<kernels::Pixels<S::kLanes>> vectors("vectors");
  hls::stream<kernels::Report> reports("reports");
  const auto frame_count = static_cast<uint32_t>(payloads.size());
  for (const Bytes& payload : payloads) feed_payload(sizes, beats, payload, filler);
  kernels::split_windows<S::kBytes>(sizes, beats, frame_count, windows);
  kernels::find_codes<S::kBytes>(windows, frame_count, codes);
  kernels::add_differences<S::kBytes>(codes, frame_count, values);
  kernels::compact_pixels<S::kBytes, S::kLanes>(values, frame_count, pixel_count, vectors, reports);
  EXPECT_TRUE(is_empty(sizes) && is_empty(beats) && is_empty(windows) && is_empty(codes) && is_empty(values))
      << "a stage left data of the launch behind";
  return collect_frames(drain(vectors), drain(reports), pixel_count);
}

// The frame between two good ones, in one call: it must come out as expected and leave no trace.
template <typename S>
void expect_between_good_frames(const Bytes& payload, const Frame& expected, uint32_t pixel_count,
                                const Filler& filler) {
  if (::testing::Test::HasFailure()) return;  // of a thousand cases the first that fails is the one to read
  std::mt19937 random(pixel_count);
  Payload before;
  Payload after;
  for (uint32_t i = 0; i < pixel_count; ++i) {
    before.add_pixel(static_cast<int32_t>(random()) >> random() % 31);
    after.add_pixel(static_cast<int32_t>(random() % 100), 1 + 2 * static_cast<int>(random() % 2));
  }
  const std::vector<Frame> frames =
      decode_in_chain<S>({before.bytes, payload, after.bytes}, pixel_count, filler);
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(frames[0], (Frame{{}, before.pixels}.padded(pixel_count, S::kLanes)));
  EXPECT_EQ(frames[1], expected.padded(pixel_count, S::kLanes));
  EXPECT_EQ(frames[2], (Frame{{}, after.pixels}.padded(pixel_count, S::kLanes)));
}

}  // namespace decoder_test
