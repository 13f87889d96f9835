#include <annulus/codecs/block_decoder.hpp>
#include <annulus/codecs/lz4_offsets.hpp>
#include <annulus/core/buffer_pool.hpp>

#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <limits>
#include <new>

namespace annulus {
namespace {

static_assert(kLargestBlock == LZ4_MAX_INPUT_SIZE);

// Bitshuffle's rule, which must never change: about 8 KiB, a multiple of 8 elements, at least 128.
constexpr std::size_t kDefaultBytes = 8192;
constexpr std::size_t kFewestElements = 128;

// Larger blocks of LZ4 are decoded in pieces.
constexpr std::size_t kLargestWhole = std::size_t{256} << 10;

// No byte of LZ4 or Zstd stands for more: what claims to takes no memory before it is found out.
constexpr std::size_t kLz4Expansion = 255;
constexpr std::size_t kZstdExpansion = 1 << 16;

std::uint64_t read_big_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (const std::byte byte : bytes) value = value << 8 | std::to_integer<std::uint64_t>(byte);
  return value;
}

// One for each thread: it takes long to make.
ZSTD_DCtx* zstd_decompressor() {
  thread_local const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                                  &ZSTD_freeDCtx);
  if (!context) throw std::bad_alloc();
  return context.get();
}

}  // namespace

bool is_bitshuffled(Codec codec) { return codec == Codec::kBitshuffleLz4 || codec == Codec::kBitshuffleZstd; }

bool has_blocks(Codec codec) { return is_bitshuffled(codec) || codec == Codec::kLz4; }

std::size_t default_block_bytes(std::size_t element_size) {
  const std::size_t elements = kDefaultBytes / element_size / kPlaneElements * kPlaneElements;
  return std::max(elements, kFewestElements) * element_size;
}

std::size_t read_block_header(Codec codec, std::span<const std::byte> payload, std::size_t element_size,
                              std::size_t elements, BlockFault& fault) {
  if (payload.size() < kBlockHeader) {
    fault = {BlockStatus::kShortHeader, 0, payload.size(), payload.size(), kBlockHeader};
    return 0;
  }
  const std::uint64_t bytes = read_big_endian(payload.first(8));
  if (bytes % element_size != 0 || bytes / element_size != elements) {
    fault = {BlockStatus::kOtherSize, 0, 0, bytes, std::uint64_t{elements} * element_size};
    return 0;
  }
  std::uint64_t block = read_big_endian(payload.subspan(8, 4));
  const std::uint64_t unit = is_bitshuffled(codec) ? kPlaneElements * element_size : 1;
  if (is_bitshuffled(codec) && block == 0) block = default_block_bytes(element_size);
  if (block == 0 || block % unit != 0) {
    fault = {BlockStatus::kBadBlockSize, 0, 8, block, unit};
    return 0;
  }
  if (std::min(block, bytes) > kLargestBlock) {
    fault = {BlockStatus::kBlockTooLarge, 0, 8, block, kLargestBlock};
    return 0;
  }
  return std::min(block, bytes);
}

BlockDecoder::BlockDecoder(Codec codec, std::span<const std::byte> payload, std::size_t element_size,
                           std::size_t elements)
    : codec_(codec), payload_(payload), element_size_(element_size) {
  block_bytes_ = read_block_header(codec, payload, element_size, elements, fault_);
  if (fault_.status == BlockStatus::kOk) left_ = elements * element_size;
}

bool BlockDecoder::next() {
  if (fault_.status != BlockStatus::kOk || left_ == 0) return false;
  if (pieces_ && !pieces_->complete()) return next_piece();
  std::size_t size = std::min(left_, block_bytes_);
  if (is_bitshuffled(codec_)) {
    size -= size % (kPlaneElements * element_size_);
    if (size == 0) return next_stored(left_);
  }
  const std::size_t room = payload_.size() - position_;
  if (room < kBlockLength) return fail(BlockStatus::kTruncated, room, kBlockLength);
  const std::size_t length = read_big_endian(payload_.subspan(position_, kBlockLength));
  if (length > room - kBlockLength) return fail(BlockStatus::kBlockPastEnd, length, room - kBlockLength);
  if (codec_ == Codec::kLz4 && length == size) {
    position_ += kBlockLength;
    return next_stored(size);
  }
  const auto packed = payload_.subspan(position_ + kBlockLength, length);
  if (codec_ == Codec::kLz4 && size > kLargestWhole) {
    pieces_.emplace(packed, size);
    pieces_end_ = position_ + kBlockLength + length;
    return next_piece();
  }
  if (!decode(packed, size)) return false;
  position_ += kBlockLength + length;
  left_ -= size;
  ++next_block_;
  return true;
}

void BlockDecoder::finish() {
  if (fault_.status != BlockStatus::kOk || left_ != 0 || position_ == payload_.size()) return;
  fail(BlockStatus::kTrailingBytes, payload_.size() - position_, 0);
}

bool BlockDecoder::fail(BlockStatus status, std::uint64_t found, std::uint64_t expected) {
  fault_ = {status, next_block_, position_, found, expected};
  return false;
}

bool BlockDecoder::next_stored(std::size_t size) {
  const std::size_t room = payload_.size() - position_;
  if (room < size) return fail(BlockStatus::kTruncated, room, size);
  block_ = {payload_.data() + position_, size, false};
  position_ += size;
  left_ -= size;
  ++next_block_;
  return true;
}

bool BlockDecoder::next_piece() {
  const auto piece = pieces_->next();
  if (piece.empty()) {
    if (pieces_->corrupt()) return fail(BlockStatus::kCorruptBlock, 0, pieces_->size());
    return fail(BlockStatus::kOtherLength, pieces_->made(), pieces_->size());
  }
  block_ = {piece.data(), piece.size(), false};
  left_ -= piece.size();
  if (pieces_->complete()) {
    position_ = pieces_end_;
    ++next_block_;
  }
  return true;
}

bool BlockDecoder::decode(std::span<const std::byte> packed, std::size_t size) {
  const std::size_t expansion = codec_ == Codec::kBitshuffleZstd ? kZstdExpansion : kLz4Expansion;
  if (packed.size() < size / expansion || packed.size() > std::numeric_limits<int>::max()) {
    return fail(BlockStatus::kCorruptBlock, 0, size);
  }
  if (!memory_) memory_ = frame_memory().take(block_bytes_ + kBlockPadding);
  std::size_t made = 0;
  if (codec_ == Codec::kBitshuffleZstd) {
    made = ZSTD_decompressDCtx(zstd_decompressor(), memory_.get(), size, packed.data(), packed.size());
    if (ZSTD_isError(made)) return fail(BlockStatus::kCorruptBlock, 0, size);
  } else {
    const int count = LZ4_decompress_safe(reinterpret_cast<const char*>(packed.data()),
                                          reinterpret_cast<char*>(memory_.get()),
                                          static_cast<int>(packed.size()), static_cast<int>(size));
    if (count < 0 || has_offset_zero(packed)) return fail(BlockStatus::kCorruptBlock, 0, size);
    made = static_cast<std::size_t>(count);
  }
  if (made != size) return fail(BlockStatus::kOtherLength, made, size);
  block_ = {memory_.get(), size, is_bitshuffled(codec_)};
  return true;
}

}  // namespace annulus
