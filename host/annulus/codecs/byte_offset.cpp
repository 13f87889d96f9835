#include <annulus/codecs/byte_offset.hpp>
#include <annulus/codecs/load.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace annulus {
namespace {

static_assert(std::endian::native == std::endian::little, "codes are read as they lie in memory");

constexpr std::int64_t kLowest = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int32_t>::max();

// The code at `at`; its length, or 0 if the bytes end inside it.
std::size_t read_code(const std::byte* at, const std::byte* end, std::int64_t& delta) {
  const std::ptrdiff_t left = end - at;
  if (left < 1) return 0;
  delta = load<std::int8_t>(at);
  if (delta != std::numeric_limits<std::int8_t>::min()) return 1;
  if (left < 3) return 0;
  delta = load<std::int16_t>(at + 1);
  if (delta != std::numeric_limits<std::int16_t>::min()) return 3;
  if (left < 7) return 0;
  delta = load<std::int32_t>(at + 3);
  if (delta != kLowest) return 7;
  if (left < 15) return 0;
  delta = load<std::int64_t>(at + 7);
  return 15;
}

template <typename T>
void append(std::vector<std::byte>& bytes, T value) {
  const auto* first = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), first, first + sizeof(T));
}

}  // namespace

DecodeStatus ByteOffsetDecoder::decode(std::span<std::int32_t> pixels) {
  const std::byte* at = bytes_.data() + position_;
  const std::byte* const end = bytes_.data() + bytes_.size();
  std::int32_t* out = pixels.data();
  std::int32_t* const out_end = out + pixels.size();
  std::int64_t value = value_;
  DecodeStatus status = DecodeStatus::kOk;

  while (out != out_end) {
    if (value >= -kShortCodesValue && value <= kShortCodesValue) {
      std::int32_t* const stop = out + std::min<std::ptrdiff_t>(out_end - out, kShortCodesPixels);
      const ShortCodes run = short_codes_(at, end, out, stop, static_cast<std::int32_t>(value));
      at = run.at;
      out = run.out;
      value = run.value;
      if (out == stop) continue;
    }
    std::int64_t delta = 0;
    const std::size_t length = read_code(at, end, delta);
    if (length == 0) {
      status = DecodeStatus::kTruncated;
      break;
    }
    std::int64_t next = 0;
    if (__builtin_add_overflow(value, delta, &next) || next < kLowest || next > kHighest) {
      status = DecodeStatus::kValueOutOfRange;
      break;
    }
    value = next;
    at += length;
    *out++ = static_cast<std::int32_t>(value);
  }

  value_ = value;
  position_ = static_cast<std::size_t>(at - bytes_.data());
  decoded_ += static_cast<std::size_t>(out - pixels.data());
  return status;
}

DecodeStatus ByteOffsetDecoder::finish() const {
  return position_ == bytes_.size() ? DecodeStatus::kOk : DecodeStatus::kTrailingBytes;
}

std::vector<std::byte> encode_byte_offset(std::span<const std::int32_t> pixels) {
  std::vector<std::byte> bytes;
  bytes.reserve(pixels.size() + pixels.size() / 16);
  std::int64_t previous = 0;
  for (const std::int64_t pixel : pixels) {
    const std::int64_t delta = pixel - previous;
    const std::int64_t size = delta < 0 ? -delta : delta;
    previous = pixel;
    if (size <= std::numeric_limits<std::int8_t>::max()) {
      append(bytes, static_cast<std::int8_t>(delta));
      continue;
    }
    append(bytes, std::numeric_limits<std::int8_t>::min());
    if (size <= std::numeric_limits<std::int16_t>::max()) {
      append(bytes, static_cast<std::int16_t>(delta));
      continue;
    }
    append(bytes, std::numeric_limits<std::int16_t>::min());
    if (size <= kHighest) {
      append(bytes, static_cast<std::int32_t>(delta));
      continue;
    }
    append(bytes, std::numeric_limits<std::int32_t>::min());
    append(bytes, delta);
  }
  return bytes;
}

WideDecodeResult decode_byte_offset_wide(std::span<const std::byte> bytes, std::int64_t low,
                                         std::int64_t high, std::span<std::int64_t> pixels) {
  const std::byte* const end = bytes.data() + bytes.size();
  std::size_t position = 0;
  std::int64_t value = 0;
  for (std::size_t pixel = 0; pixel < pixels.size(); ++pixel) {
    std::int64_t delta = 0;
    const std::size_t length = read_code(bytes.data() + position, end, delta);
    if (length == 0) return {DecodeStatus::kTruncated, position, pixel};
    if (__builtin_add_overflow(value, delta, &value) || value < low || value > high) {
      return {DecodeStatus::kValueOutOfRange, position, pixel};
    }
    pixels[pixel] = value;
    position += length;
  }
  return {position == bytes.size() ? DecodeStatus::kOk : DecodeStatus::kTrailingBytes, position,
          pixels.size()};
}

}  // namespace annulus
