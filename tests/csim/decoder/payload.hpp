// Writes byte offset with any code for a difference, also longer than necessary, and remembers what it wrote.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace decoder_test {

using Bytes = std::vector<uint8_t>;

constexpr int kLengths[] = {1, 3, 7, 15};

// The lowest number of each width announces the next length, so no code of that length can say it.
inline bool fits(int64_t delta, int length) {
  if (length == 15) return true;
  const int64_t limit = length == 1 ? INT8_MAX : length == 3 ? INT16_MAX : INT32_MAX;
  return delta >= -limit && delta <= limit;
}

inline int shortest_length(int64_t delta) {
  for (const int length : kLengths) {
    if (fits(delta, length)) return length;
  }
  throw std::logic_error("15 bytes hold every difference");
}

inline void append_little_endian(Bytes& bytes, int64_t number, int width) {
  for (int i = 0; i < width; ++i)
    bytes.push_back(static_cast<uint8_t>(static_cast<uint64_t>(number) >> 8 * i));
}

inline void append_code(Bytes& bytes, int64_t delta, int length) {
  if (!fits(delta, length)) {
    throw std::invalid_argument("no code of " + std::to_string(length) + " bytes holds the difference " +
                                std::to_string(delta));
  }
  if (length > 1) append_little_endian(bytes, INT8_MIN, 1);
  if (length > 3) append_little_endian(bytes, INT16_MIN, 2);
  if (length > 7) append_little_endian(bytes, INT32_MIN, 4);
  append_little_endian(bytes, delta, (length + 1) / 2);
}

// A frame's bytes, with what stands where.
struct Payload {
  Bytes bytes;
  std::vector<uint32_t> starts;  // of each code
  std::vector<int64_t> deltas;
  std::vector<int32_t> pixels;  // as long as the differences stay within int32

  void add_delta(int64_t delta, int length) {
    starts.push_back(static_cast<uint32_t>(bytes.size()));
    deltas.push_back(delta);
    append_code(bytes, delta, length);
  }
  void add_pixel(int32_t value, int length) {
    add_delta(int64_t{value} - (pixels.empty() ? 0 : pixels.back()), length);
    pixels.push_back(value);
  }
  void add_pixel(int32_t value) {
    add_pixel(value, shortest_length(int64_t{value} - (pixels.empty() ? 0 : pixels.back())));
  }

  uint32_t size() const { return static_cast<uint32_t>(bytes.size()); }
  uint32_t count() const { return static_cast<uint32_t>(pixels.size()); }
};

}  // namespace decoder_test
