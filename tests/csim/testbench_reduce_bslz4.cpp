// Testbench of reduce_bslz4: a launch for each kind of pixel and size of blocks, with damaged frames between
// good ones.
#include "testbench.hpp"

namespace {

using Bytes = std::vector<uint8_t>;

void append_big_endian(Bytes& bytes, uint64_t number, int width) {
  for (int i = width - 1; i >= 0; --i) bytes.push_back(static_cast<uint8_t>(number >> (8 * i)));
}

// Bit b of pixel i is bit i of plane b.
Bytes shuffle(const std::vector<int64_t>& pixels, uint32_t first, uint32_t count, uint32_t shift) {
  Bytes planes((8u << shift) * count / 8);
  for (uint32_t bit = 0; bit < 8u << shift; ++bit) {
    for (uint32_t i = 0; i < count; ++i) {
      const int value = static_cast<int>(pixels[first + i] >> bit & 1);
      planes[bit * (count / 8) + i / 8] |= static_cast<uint8_t>(value << i % 8);
    }
  }
  return planes;
}

void append_length(Bytes& bytes, uint32_t rest) {
  for (; rest >= 255; rest -= 255) bytes.push_back(255);
  bytes.push_back(static_cast<uint8_t>(rest));
}

// A match of `length` bytes at `offset` after literals; length 0: none follows.
void append_sequence(Bytes& bytes, const uint8_t* literals, uint32_t count, uint32_t offset,
                     uint32_t length) {
  const uint32_t code = length == 0 ? 0 : length - 4;
  bytes.push_back(static_cast<uint8_t>((count < 15 ? count : 15) << 4 | (code < 15 ? code : 15)));
  if (count >= 15) append_length(bytes, count - 15);
  bytes.insert(bytes.end(), literals, literals + count);
  if (length == 0) return;
  bytes.push_back(static_cast<uint8_t>(offset));
  bytes.push_back(static_cast<uint8_t>(offset >> 8));
  if (code >= 15) append_length(bytes, code - 15);
}

// The longest match at every place, by trying all; the last 12 bytes start none, the last 5 are in none.
Bytes compress(const Bytes& block) {
  Bytes bytes;
  const auto size = static_cast<uint32_t>(block.size());
  uint32_t start = 0;
  uint32_t at = 0;
  while (at + 12 <= size) {
    uint32_t longest = 0, offset = 0;
    for (uint32_t back = 1; back <= at; ++back) {
      uint32_t length = 0;
      while (at + length + 5 < size && block[at + length] == block[at + length - back]) ++length;
      if (length > longest) {
        longest = length;
        offset = back;
      }
    }
    if (longest < 4) {
      ++at;
      continue;
    }
    append_sequence(bytes, block.data() + start, at - start, offset, longest);
    start = at += longest;
  }
  append_sequence(bytes, block.data() + start, size - start, 0, 0);
  return bytes;
}

Bytes encode(const std::vector<int64_t>& pixels, uint32_t shift, uint32_t block_bytes) {
  Bytes chunk;
  const auto count = static_cast<uint32_t>(pixels.size());
  append_big_endian(chunk, uint64_t{count} << shift, 8);
  append_big_endian(chunk, block_bytes, 4);
  const uint32_t block = (block_bytes == 0 ? 8192 : block_bytes) >> shift;
  uint32_t at = 0;
  while (count - at >= 8) {
    const uint32_t whole = count - at < block ? (count - at) / 8 * 8 : block;
    const Bytes bytes = compress(shuffle(pixels, at, whole, shift));
    append_big_endian(chunk, bytes.size(), 4);
    chunk.insert(chunk.end(), bytes.begin(), bytes.end());
    at += whole;
  }
  for (; at < count; ++at) {
    for (int i = 0; i < 1 << shift; ++i) chunk.push_back(static_cast<uint8_t>(pixels[at] >> (8 * i)));
  }
  return chunk;
}

bool run(uint32_t shift, bool is_signed, uint32_t block_bytes) {
  const int bits = 8 << shift;
  const int64_t lowest = is_signed ? -(int64_t{1} << (bits - 1)) : 0;
  const int64_t highest = lowest + (int64_t{1} << bits) - 1;
  const testbench::Screen screen = {lowest / 2, highest - 1, 42, 42};
  testbench::Launch launch(screen);
  testbench::Random random;
  for (int f = 0; f < 6; ++f) {
    testbench::Frame frame;
    for (uint32_t p = 0; p < testbench::kPixels; ++p) {
      const uint32_t kind = random.below(64);
      frame.raw.push_back(kind == 0   ? highest
                          : kind == 1 ? lowest
                          : kind == 2 ? 42
                                      : random.below(f == 4 ? 60 : 3));
    }
    Bytes payload = encode(frame.raw, shift, block_bytes);
    if (f == 1) {
      frame.status = kernels::kWrongChunkSize;
      payload[7] ^= 1;
    } else if (f == 3) {
      frame.status = kernels::kBlockCutShort;
      frame.byte = 12;
      payload.resize(16);
      payload[12] = payload[13] = payload[14] = payload[15] = 0;
    }
    launch.add(frame, payload);
  }
  reduce_bslz4(launch.descriptors.data(), launch.frames.data(), launch.table[0].data(),
               launch.table[1].data(), launch.table[2].data(), launch.table[3].data(),
               launch.corrections.data(), launch.results.data(), launch.missing.data(), launch.frame_count(),
               testbench::kPixels, testbench::kBins, launch.beats(), testbench::kWeightBits,
               testbench::kVarianceBits, screen.lowest, screen.highest, screen.dummy_lowest,
               screen.dummy_highest, shift, is_signed ? 1 : 0);
  return launch.agrees("reduce_bslz4");
}

}  // namespace

int main() {
  bool good = true;
  for (uint32_t shift = 0; shift < 3; ++shift) {
    good = run(shift, false, 0) && good;
    good = run(shift, true, 24u << shift) && good;
  }
  return good ? 0 : 1;
}
