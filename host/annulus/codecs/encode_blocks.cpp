#include <annulus/codecs/bit_planes.hpp>
#include <annulus/codecs/block_decoder.hpp>
#include <annulus/codecs/encode_blocks.hpp>
#include <annulus/core/error.hpp>

#include <fmt/core.h>
#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

namespace annulus {
namespace {

void append_big_endian(std::vector<std::byte>& bytes, std::uint64_t value, int size) {
  for (int i = size - 1; i >= 0; --i) bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
}

// One for each thread: it takes long to make.
ZSTD_CCtx* zstd_compressor() {
  thread_local const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(),
                                                                                  &ZSTD_freeCCtx);
  if (!context) throw std::bad_alloc();
  return context.get();
}

// Appends the compressed block and says how long it is.
std::size_t compress(Codec codec, std::span<const std::byte> block, std::vector<std::byte>& bytes) {
  const std::size_t before = bytes.size();
  std::size_t made = 0;
  if (codec == Codec::kBitshuffleZstd) {
    bytes.resize(before + ZSTD_compressBound(block.size()));
    made = ZSTD_compressCCtx(zstd_compressor(), bytes.data() + before, bytes.size() - before, block.data(),
                             block.size(), ZSTD_CLEVEL_DEFAULT);
    if (ZSTD_isError(made)) throw Error(ErrorKind::kOutput, "Zstd", ZSTD_getErrorName(made));
  } else {
    const auto size = static_cast<int>(block.size());
    const int bound = LZ4_compressBound(size);
    bytes.resize(before + static_cast<std::size_t>(bound));
    made = static_cast<std::size_t>(LZ4_compress_default(reinterpret_cast<const char*>(block.data()),
                                                         reinterpret_cast<char*>(bytes.data() + before), size,
                                                         bound));
  }
  bytes.resize(before + made);
  return made;
}

void append_block(Codec codec, std::span<const std::byte> block, std::vector<std::byte>& bytes) {
  const std::size_t at = bytes.size();
  append_big_endian(bytes, 0, kBlockLength);
  std::size_t length = compress(codec, block, bytes);
  if (codec == Codec::kLz4 && length >= block.size()) {  // then it is stored as it is
    length = block.size();
    bytes.resize(at + kBlockLength + length);
    std::memcpy(bytes.data() + at + kBlockLength, block.data(), length);
  }
  for (std::size_t i = 0; i < kBlockLength; ++i)
    bytes[at + i] = static_cast<std::byte>(length >> (8 * (kBlockLength - 1 - i)));
}

std::size_t choose_block_bytes(Codec codec, std::size_t size, std::size_t element_size, std::size_t wanted) {
  if (wanted == 0 && is_bitshuffled(codec)) return default_block_bytes(element_size);
  if (wanted == 0) return std::max<std::size_t>(1, std::min(size, kLargestBlock));
  const std::size_t unit = is_bitshuffled(codec) ? kPlaneElements * element_size : 1;
  if (wanted % unit != 0 || wanted > kLargestBlock) {
    throw Error(ErrorKind::kUsage, "block size",
                fmt::format("{} bytes are not a multiple of {} up to {}", wanted, unit, kLargestBlock));
  }
  return wanted;
}

}  // namespace

std::vector<std::byte> encode_blocks(Codec codec, std::span<const std::byte> pixels, std::size_t element_size,
                                     std::size_t block_bytes) {
  if (!has_blocks(codec) || element_size == 0 || pixels.size() % element_size != 0) {
    throw Error(ErrorKind::kUsage, "encode_blocks",
                fmt::format("{} bytes are not elements of {}", pixels.size(), element_size));
  }
  block_bytes = choose_block_bytes(codec, pixels.size(), element_size, block_bytes);
  std::vector<std::byte> bytes;
  append_big_endian(bytes, pixels.size(), 8);
  append_big_endian(bytes, block_bytes, 4);
  std::vector<std::byte> planes;
  while (!pixels.empty()) {
    std::size_t size = std::min(block_bytes, pixels.size());
    if (codec == Codec::kLz4) {
      append_block(codec, pixels.first(size), bytes);
    } else {
      size -= size % (kPlaneElements * element_size);
      if (size == 0) break;
      planes.resize(size);
      scatter_elements(pixels.data(), element_size, size / element_size, planes.data());
      append_block(codec, planes, bytes);
    }
    pixels = pixels.subspan(size);
  }
  bytes.insert(bytes.end(), pixels.begin(), pixels.end());
  return bytes;
}

}  // namespace annulus
