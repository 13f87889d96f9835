// Testbench of reduce_byte_offset: frames with codes of every length, and one that is cut, in one launch.
#include "testbench.hpp"

using testbench::Frame;

namespace {

void append(std::vector<uint8_t>& bytes, int64_t value, int count) {
  for (int i = 0; i < count; ++i) bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

// CBF's byte offset: differences, with the lowest value of a size as the mark of the next one.
std::vector<uint8_t> encode(const std::vector<int64_t>& pixels) {
  std::vector<uint8_t> bytes;
  int64_t before = 0;
  for (const int64_t pixel : pixels) {
    const int64_t delta = pixel - before;
    before = pixel;
    const int size = delta > INT8_MIN && delta <= INT8_MAX     ? 1
                     : delta > INT16_MIN && delta <= INT16_MAX ? 2
                     : delta > INT32_MIN && delta <= INT32_MAX ? 4
                                                               : 8;
    if (size > 1) append(bytes, INT8_MIN, 1);
    if (size > 2) append(bytes, INT16_MIN, 2);
    if (size > 4) append(bytes, INT32_MIN, 4);
    append(bytes, delta, size);
  }
  return bytes;
}

Frame make_frame(testbench::Random& random, int64_t spread) {
  Frame frame;
  for (uint32_t p = 0; p < testbench::kPixels; ++p) {
    const bool extreme = random.below(16) == 0;
    frame.raw.push_back(extreme ? spread * (random.below(2) == 0 ? -1 : 1) : random.below(60));
  }
  frame.one_count = 1 + random.below(3);
  return frame;
}

}  // namespace

int main() {
  testbench::Random random;
  // Negative values are invalid, and 42 is the dummy.
  testbench::Launch launch({0, INT32_MAX, 42, 42});
  for (const int64_t spread : {int64_t{50}, int64_t{20000}, int64_t{INT32_MAX}}) {
    const Frame frame = make_frame(random, spread);
    launch.add(frame, encode(frame.raw));
  }
  // Ends inside the code of the last pixel, of which one byte is left.
  Frame cut = make_frame(random, 50);
  cut.raw.back() = cut.raw[testbench::kPixels - 2] + 1000;
  std::vector<uint8_t> payload = encode(cut.raw);
  payload.resize(payload.size() - 2);
  cut.status = kernels::kTruncated;
  cut.byte = static_cast<uint32_t>(payload.size()) - 1;
  cut.pixel = testbench::kPixels - 1;
  launch.add(cut, payload);
  const Frame after = make_frame(random, 1000000);
  launch.add(after, encode(after.raw));

  reduce_byte_offset(launch.descriptors.data(), launch.frames.data(), launch.table[0].data(),
                     launch.table[1].data(), launch.table[2].data(), launch.table[3].data(),
                     launch.corrections.data(), launch.results.data(), launch.missing.data(),
                     launch.frame_count(), testbench::kPixels, testbench::kBins, launch.beats(),
                     testbench::kWeightBits, testbench::kVarianceBits, 0, INT32_MAX, 42, 42);
  return launch.agrees("reduce_byte_offset") ? 0 : 1;
}
