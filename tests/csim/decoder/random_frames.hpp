// Random frames of all kinds around a number of pixels: good ones, and one for every way to be bad.
#pragma once

#include <random>

#include "payload.hpp"

namespace decoder_test {

class RandomFrames {
 public:
  RandomFrames(uint32_t seed, uint32_t pixels) : random_(seed), pixels_(pixels) {}

  Bytes next() {
    switch (below(16)) {
      case 0:
        return codes(below(pixels_ + 1));
      case 1:
        return codes(pixels_ + 1 + below(20));
      case 2:
        return cut(codes(pixels_ + below(2)));
      case 3:
        return escapes();
      case 4:
        return noise();
      case 5:
        return with_any_delta();
      default:
        return codes(pixels_);
    }
  }

 private:
  uint32_t below(uint32_t end) { return static_cast<uint32_t>(random_()) % end; }

  int32_t value_near(int32_t last) {
    const auto any = static_cast<int32_t>(random_());
    switch (below(24)) {
      case 0:
        return any;
      case 1:
        return any < 0 ? INT32_MIN : INT32_MAX;
      case 2:
        return any >> 8;
      case 3:
        return any >> 16;
      default: {
        const int64_t near = int64_t{last} + static_cast<int8_t>(any);
        return near < INT32_MIN || near > INT32_MAX ? last : static_cast<int32_t>(near);
      }
    }
  }

  Payload payload(uint32_t pixels) {
    const bool generous = below(4) == 0;  // longer codes than necessary
    Payload made;
    for (uint32_t i = 0; i < pixels; ++i) {
      const int32_t last = made.pixels.empty() ? 0 : made.pixels.back();
      const int32_t value = value_near(last);
      int length = shortest_length(int64_t{value} - last);
      if (generous && below(3) == 0) length = std::max(length, kLengths[below(4)]);
      made.add_pixel(value, length);
    }
    return made;
  }

  Bytes codes(uint32_t pixels) { return payload(pixels).bytes; }

  Bytes cut(Bytes bytes) {
    append_code(bytes, static_cast<int8_t>(random_()) / 2, kLengths[1 + below(3)]);
    bytes.resize(bytes.size() - 1 - below(2));
    return bytes;
  }

  Bytes with_any_delta() {
    Payload made = payload(below(pixels_ + 1));
    made.add_delta(static_cast<int64_t>(random_() << 32 ^ random_()) >> below(40), 15);
    while (made.starts.size() < pixels_) made.add_delta(static_cast<int>(below(200)) - 100, 1);
    return made.bytes;
  }

  // Bytes of which escapes are made, in any order.
  Bytes escapes() {
    Bytes bytes(below(2 * pixels_ + 1));
    for (uint8_t& byte : bytes) byte = below(2) == 0 ? 0x80 : 0x00;
    return bytes;
  }

  Bytes noise() {
    Bytes bytes(pixels_ + below(5));
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random_());
    return bytes;
  }

  std::mt19937_64 random_;
  uint32_t pixels_;
};

}  // namespace decoder_test
