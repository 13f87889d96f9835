#include <annulus/core/buffer_pool.hpp>
#include <annulus/sources/header_checks.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <new>
#include <utility>

namespace annulus {

Shape checked_shape(const std::string& where, std::int64_t rows, std::int64_t cols) {
  if (rows < 1 || cols < 1) {
    throw input_error(where, fmt::format("the header claims {} rows and {} columns", rows, cols),
                      "the file is damaged or holds no image");
  }
  if (rows > kMaxSide || cols > kMaxSide || rows * cols > kMaxPixels) {
    throw input_error(
        where,
        fmt::format("the header claims {} rows and {} columns; the limit is {} each and {} pixels", rows,
                    cols, kMaxSide, kMaxPixels),
        "the file is damaged, or no detector image");
  }
  return {static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(cols)};
}

void check_plausible(const std::string& where, std::uint64_t claimed, std::uint64_t stored) {
  // Deflate reaches 1032 : 1 and LZW 1365 : 1; empty images in formats with larger ratios are small.
  constexpr std::uint64_t kRatio = 4096;
  constexpr std::uint64_t kAlwaysFine = std::uint64_t{64} << 20;
  if (claimed > kAlwaysFine && claimed / kRatio > stored) {
    throw input_error(where,
                      fmt::format("the header claims {} bytes of pixels from {} stored", claimed, stored),
                      "the file is damaged or incomplete");
  }
}

void check_frame_index(const std::string& where, const SourceInfo& info, std::uint64_t i) {
  if (i < info.frames) return;
  throw input_error(where,
                    fmt::format("frame {} was asked for; the file has {}, counted from 0", i, info.frames));
}

Buffer allocate(const std::string& where, std::size_t size) {
  try {
    return {frame_memory().take(size), size};
  } catch (const std::bad_alloc&) {
    throw input_error(where, fmt::format("{} bytes of memory are needed and not available", size));
  }
}

Bytes byte_swapped(const std::string& where, const Bytes& bytes, std::size_t width) {
  Buffer buffer = allocate(where, bytes.size());
  const std::byte* from = bytes.data();
  std::byte* to = buffer.bytes.get();
  for (std::size_t i = 0; i + width <= bytes.size(); i += width)
    std::reverse_copy(from + i, from + i + width, to + i);
  return std::move(buffer).freeze();
}

Frame make_frame(const SourceInfo& info, const std::string& source, std::uint64_t i, Bytes payload) {
  Frame frame;
  frame.codec = info.codec;
  frame.type = info.type;
  frame.shape = info.shape;
  frame.payload = std::move(payload);
  frame.id.source = source;
  frame.id.in_source = i;
  frame.id.of_several = info.frames > 1 || info.promised.value_or(1) > 1;
  return frame;
}

}  // namespace annulus
