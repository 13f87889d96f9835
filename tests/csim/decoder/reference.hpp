// What decoding a frame must give: byte offset from its definition, one byte after the other.
#pragma once

#include <hls/layout.hpp>
#include <hls/streams.hpp>

#include <ostream>

#include "payload.hpp"

namespace decoder_test {

struct Frame {
  kernels::Report report = {kernels::kGood, 0, 0};
  std::vector<int32_t> pixels;  // the good ones; of a decoded frame also the zeros after them

  // As vectors of `width` lanes carry it.
  Frame padded(uint32_t pixel_count, uint32_t width) const {
    Frame frame = *this;
    frame.pixels.resize((pixel_count + width - 1) / width * width, 0);
    return frame;
  }
};

inline bool operator==(const Frame& a, const Frame& b) {
  return a.report.status == b.report.status && a.report.byte == b.report.byte &&
         a.report.pixel == b.report.pixel && a.pixels == b.pixels;
}

inline void PrintTo(const Frame& frame, std::ostream* out) {
  *out << "status " << frame.report.status << " at byte " << frame.report.byte << ", pixel "
       << frame.report.pixel << ":";
  for (const int32_t pixel : frame.pixels) *out << ' ' << pixel;
}

inline Frame decode_serially(const Bytes& bytes, uint32_t pixel_count) {
  using kernels::Report;
  Frame frame;
  uint64_t number = 0;
  uint32_t width = 1;  // of the number that is being read
  uint32_t have = 0;   // bytes of it
  uint32_t start = 0;  // of its code
  for (uint32_t at = 0; at < bytes.size(); ++at) {
    if (width == 1) start = at;
    number |= uint64_t{bytes[at]} << (8 * have);
    if (++have < width) continue;
    const uint64_t sign = uint64_t{1} << (8 * width - 1);
    const bool announces = number == sign && width < 8;
    const auto delta = static_cast<int64_t>((number ^ sign) - sign);
    number = have = 0;
    width = announces ? 2 * width : 1;
    if (announces) continue;
    if (frame.pixels.size() == pixel_count) {
      frame.report = {kernels::kTooManyPixels, start, pixel_count};
      return frame;
    }
    const __int128 value = static_cast<__int128>(frame.pixels.empty() ? 0 : frame.pixels.back()) + delta;
    const auto good = static_cast<uint32_t>(frame.pixels.size());
    if (value < INT32_MIN || value > INT32_MAX) {
      frame.report = {kernels::kValueOutOfRange, start, good};
      return frame;
    }
    frame.pixels.push_back(static_cast<int32_t>(value));
  }
  const auto good = static_cast<uint32_t>(frame.pixels.size());
  if (width > 1) {
    frame.report = {good == pixel_count ? kernels::kTrailingBytes : kernels::kTruncated, start, good};
  } else if (good < pixel_count) {
    frame.report = {kernels::kTooFewPixels, static_cast<uint32_t>(bytes.size()), good};
  }
  return frame;
}

}  // namespace decoder_test
