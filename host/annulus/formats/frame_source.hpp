// A file that holds frames, whatever its format. Content decides the format, never the extension.
#pragma once

#include <annulus/core/frame.hpp>
#include <annulus/core/image.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace annulus {

// What a file says of itself. Header values are kept as text, in file order.
struct SourceInfo {
  std::string format;  // "CBF", "EDF", "TIFF", "NPY", "HDF5", "raw"; " (gzip)" or " (bzip2)" appended
  Codec codec = Codec::kRaw;
  PixelType type = PixelType::kI32;
  Shape shape;
  std::uint64_t frames = 1;
  std::optional<std::int64_t> max_count;  // saturation, e.g. Count_cutoff
  std::optional<double> wavelength;       // metre
  std::vector<std::pair<std::string, std::string>> header;

  // Memory: what read() takes for a frame where that is not just its pixels, and what the open file holds.
  std::uint64_t bytes_to_read = 0;
  std::uint64_t bytes_held = 0;  // the content of a gzip or bzip2 archive
};

// Bytes that a frame of this source takes at most until its last copy is gone.
std::uint64_t frame_bytes(const SourceInfo& info);

struct OpenOptions {
  // For headerless files only; a file that nothing else recognises is raw if these are given.
  std::optional<Shape> raw_shape;
  PixelType raw_type = PixelType::kI32;
  std::uint64_t raw_offset = 0;  // bytes to skip at the start of the file

  bool verify_checksum = false;  // CBF Content-MD5; a mismatch throws kInput from read()

  // Payloads may be mapped from their files: the caller asks payload.intact() when it is done with a frame.
  bool map_payloads = false;
};

class FrameSource {
 public:
  virtual ~FrameSource() = default;
  virtual const SourceInfo& info() const = 0;

  // The i-th frame, payload as it is in the file (compressed bytes stay compressed; byte order is made
  // little endian). May be called from several threads at once. Frame::index is left 0. Throws kInput.
  virtual Frame read(std::uint64_t i) const = 0;
};

// `url` is a path, or "file.h5::/path/to/dataset". Throws kInput with the cure in it.
std::unique_ptr<FrameSource> open_source(const std::string& url, const OpenOptions& options = {});

// The first frame of `url` as doubles or as a mask (non-zero = excluded): masks, darks, flats.
Image<double> read_image(const std::string& url, const OpenOptions& options = {});
Mask read_mask(const std::string& url, const OpenOptions& options = {});

}  // namespace annulus
