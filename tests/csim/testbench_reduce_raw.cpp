// Testbench of reduce_raw: a launch for each kind of pixel, with a frame that is too short in each.
#include "testbench.hpp"

namespace {

std::vector<uint8_t> encode(const std::vector<int64_t>& pixels, uint32_t shift) {
  std::vector<uint8_t> bytes;
  for (const int64_t pixel : pixels) {
    for (int i = 0; i < 1 << shift; ++i) bytes.push_back(static_cast<uint8_t>(pixel >> (8 * i)));
  }
  return bytes;
}

bool run(uint32_t shift, bool is_signed) {
  const int bits = 8 << shift;
  const int64_t lowest = is_signed ? -(int64_t{1} << (bits - 1)) : 0;
  const int64_t highest = lowest + (int64_t{1} << bits) - 1;
  // The highest value marks a gap, as Eiger detectors have it, and 42 is the dummy.
  const testbench::Screen screen = {lowest / 2, highest - 1, 42, 42};
  testbench::Launch launch(screen);
  testbench::Random random;
  for (int f = 0; f < 4; ++f) {
    testbench::Frame frame;
    for (uint32_t p = 0; p < testbench::kPixels; ++p) {
      const uint32_t kind = random.below(16);
      frame.raw.push_back(kind == 0   ? highest
                          : kind == 1 ? lowest
                          : kind == 2 ? highest - 1
                                      : random.below(60));
    }
    std::vector<uint8_t> payload = encode(frame.raw, shift);
    if (f == 1) {
      frame.status = kernels::kTooFewPixels;
      frame.pixel = testbench::kPixels - 3;
      frame.byte = frame.pixel << shift;
      payload.resize(frame.byte);
    }
    launch.add(frame, payload);
  }
  reduce_raw(launch.descriptors.data(), launch.frames.data(), launch.table[0].data(), launch.table[1].data(),
             launch.table[2].data(), launch.table[3].data(), launch.corrections.data(), launch.results.data(),
             launch.missing.data(), launch.frame_count(), testbench::kPixels, testbench::kBins,
             launch.beats(), testbench::kWeightBits, testbench::kVarianceBits, screen.lowest, screen.highest,
             screen.dummy_lowest, screen.dummy_highest, shift, is_signed ? 1 : 0);
  return launch.agrees("reduce_raw");
}

}  // namespace

int main() {
  bool good = true;
  for (uint32_t shift = 0; shift < 3; ++shift) {
    good = run(shift, false) && good;
    good = run(shift, true) && good;
  }
  return good ? 0 : 1;
}
