// LZ4 blocks made by hand, and decoded byte by byte as the format is described.
#pragma once

#include <hls/layout.hpp>
#include <lz4.h>
#include <lz4hc.h>

#include <random>
#include <stdexcept>

#include "../decoder/payload.hpp"

namespace blocks_test {

using decoder_test::Bytes;

// Writes sequences as they are asked for, and remembers what they decode to.
struct Lz4Writer {
  Bytes bytes;
  Bytes decoded;

  void add_sequence(const Bytes& literals, uint32_t offset, uint32_t match) {
    add_literals(literals, match - 4 < 15 ? match - 4 : 15);
    bytes.push_back(static_cast<uint8_t>(offset));
    bytes.push_back(static_cast<uint8_t>(offset >> 8));
    if (match >= 19) add_length(match - 19);
    for (uint32_t i = 0; i < match; ++i) decoded.push_back(decoded.at(decoded.size() - offset));
  }
  void finish(const Bytes& literals) { add_literals(literals, 0); }

 private:
  void add_length(size_t rest) {
    for (; rest >= 255; rest -= 255) bytes.push_back(255);
    bytes.push_back(static_cast<uint8_t>(rest));
  }
  void add_literals(const Bytes& literals, uint32_t match_code) {
    const size_t count = literals.size();
    bytes.push_back(static_cast<uint8_t>((count < 15 ? count : 15) << 4 | match_code));
    if (count >= 15) add_length(count - 15);
    bytes.insert(bytes.end(), literals.begin(), literals.end());
    decoded.insert(decoded.end(), literals.begin(), literals.end());
  }
};

inline Bytes random_bytes(size_t count, std::mt19937& random) {
  Bytes bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

// Sequences of every kind that fill `size` bytes.
inline Lz4Writer random_block(uint32_t size, std::mt19937& random) {
  Lz4Writer writer;
  const uint32_t longest = 1u << random() % 12;
  while (true) {
    const auto at = static_cast<uint32_t>(writer.decoded.size());
    const uint32_t run = random() % 3 == 0 ? 0 : static_cast<uint32_t>(random()) % (longest + 20);
    const uint32_t start = at + run;
    if (start == 0) continue;
    if (start + 12 > size) break;
    const uint32_t room = size - 5 - start;
    const uint32_t match = 4 + static_cast<uint32_t>(random()) % (random() % 2 == 0 ? 16 : longest + 300);
    const uint32_t near = 1 + static_cast<uint32_t>(random()) % 80;
    const uint32_t offset =
        random() % 2 == 0 && near <= start ? near : 1 + static_cast<uint32_t>(random()) % start;
    writer.add_sequence(random_bytes(run, random), offset, match < room ? match : room);
  }
  writer.finish(random_bytes(size - writer.decoded.size(), random));
  return writer;
}

struct SerialBlock {
  uint32_t status = kernels::kGood;
  Bytes decoded;
};

// The rules of the format's end of block included: the last match starts 12 bytes before it, or earlier, and
// the last 5 bytes are literals.
inline SerialBlock decode_block_serially(const Bytes& bytes, uint32_t size) {
  SerialBlock block;
  Bytes& out = block.decoded;
  size_t at = 0;
  const auto fail = [&](uint32_t status) {
    block.status = status;
    return block;
  };
  while (true) {
    if (at == bytes.size()) return fail(kernels::kBlockCutShort);
    const uint8_t token = bytes[at++];
    uint32_t run = token >> 4;
    if (out.size() + run > size) return fail(kernels::kLiteralsPastEnd);
    for (bool more = run == 15; more;) {
      if (at == bytes.size()) return fail(kernels::kBlockCutShort);
      more = bytes[at] == 255;
      run += bytes[at++];
      if (out.size() + run > size) return fail(kernels::kLiteralsPastEnd);
    }
    for (; run > 0; --run) {
      if (at == bytes.size()) return fail(kernels::kBlockCutShort);
      out.push_back(bytes[at++]);
    }
    if (at == bytes.size()) return fail(out.size() == size ? kernels::kGood : kernels::kBlockCutShort);
    if (out.size() == size) return fail(kernels::kBlockSurplus);
    if (bytes.size() - at < 2) return fail(kernels::kBlockCutShort);
    const uint32_t offset = bytes[at] | bytes[at + 1] << 8;
    at += 2;
    if (offset == 0 || offset > out.size()) return fail(kernels::kWrongOffset);
    uint32_t match = (token & 15) + 4;
    if (out.size() + 12 > size || out.size() + match + 5 > size) return fail(kernels::kMatchPastEnd);
    for (bool more = match == 19; more;) {
      if (at == bytes.size()) return fail(kernels::kBlockCutShort);
      more = bytes[at] == 255;
      match += bytes[at++];
      if (out.size() + match + 5 > size) return fail(kernels::kMatchPastEnd);
    }
    for (; match > 0; --match) out.push_back(out[out.size() - offset]);
  }
}

// What liblz4 makes of it; empty if it refuses.
inline Bytes decode_by_library(const Bytes& bytes, uint32_t size) {
  Bytes decoded(size + 1);
  const int made = LZ4_decompress_safe(reinterpret_cast<const char*>(bytes.data()),
                                       reinterpret_cast<char*>(decoded.data()),
                                       static_cast<int>(bytes.size()), static_cast<int>(size));
  decoded.resize(made < 0 || static_cast<uint32_t>(made) != size ? 0 : size);
  return decoded;
}

enum class Compressor { kDefault, kFast, kThorough };

inline Bytes compress(const Bytes& block, Compressor compressor) {
  Bytes bytes(static_cast<size_t>(LZ4_compressBound(static_cast<int>(block.size()))));
  const auto* const from = reinterpret_cast<const char*>(block.data());
  auto* const to = reinterpret_cast<char*>(bytes.data());
  const int size = static_cast<int>(block.size());
  const int room = static_cast<int>(bytes.size());
  const int made = compressor == Compressor::kThorough ? LZ4_compress_HC(from, to, size, room, 9)
                   : compressor == Compressor::kFast   ? LZ4_compress_fast(from, to, size, room, 20)
                                                       : LZ4_compress_default(from, to, size, room);
  if (made <= 0) throw std::logic_error("liblz4 does not compress");
  bytes.resize(static_cast<size_t>(made));
  return bytes;
}

}  // namespace blocks_test
