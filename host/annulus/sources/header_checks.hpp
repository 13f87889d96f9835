// What every reader checks before it believes a header.
#pragma once

#include <annulus/core/bytes.hpp>
#include <annulus/core/error.hpp>
#include <annulus/sources/frame_source.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace annulus {

inline constexpr const char* kCopyAgain = "the file is damaged or incomplete: copy it again";

// A header ends somewhere; what has no pixels within this is no image.
inline constexpr std::size_t kMaxHeader = std::size_t{16} << 20;

// Larger than any detector, small enough that no product of sizes overflows.
inline constexpr std::int64_t kMaxSide = std::int64_t{1} << 20;
inline constexpr std::int64_t kMaxPixels = std::int64_t{1} << 31;

inline Error input_error(std::string where, std::string what, std::string cure = {}) {
  return Error(ErrorKind::kInput, std::move(where), std::move(what), std::move(cure));
}

// Throws kInput unless both sides are positive and within the limits.
Shape checked_shape(const std::string& where, std::int64_t rows, std::int64_t cols);

// For compressed images, whose size is only a claim: refuses what `stored` bytes can hardly unpack to.
void check_plausible(const std::string& where, std::uint64_t claimed, std::uint64_t stored);

void check_frame_index(const std::string& where, const SourceInfo& info, std::uint64_t i);

// Uninitialised memory, from the pool for frames; throws kInput where there is not enough.
struct Buffer {
  std::shared_ptr<std::byte[]> bytes;
  std::size_t size = 0;

  std::span<std::byte> view() const { return {bytes.get(), size}; }
  Bytes freeze() && { return {bytes, std::span<const std::byte>(bytes.get(), size)}; }
};
Buffer allocate(const std::string& where, std::size_t size);

// Elements of `width` bytes with their byte order reversed.
Bytes byte_swapped(const std::string& where, const Bytes& bytes, std::size_t width);

// Frame i of a source, as `info` describes it.
Frame make_frame(const SourceInfo& info, const std::string& source, std::uint64_t i, Bytes payload);

}  // namespace annulus
