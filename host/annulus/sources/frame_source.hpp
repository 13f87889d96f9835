// A file that holds frames, whatever its format. Content decides the format, never the extension.
#pragma once

#include <annulus/core/error.hpp>
#include <annulus/core/frame.hpp>
#include <annulus/core/image.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace annulus {

// Where the detector stands, as far as a file says: not tilted, beam and pixels along the fast dimension (x)
// and the slow one (y).
struct DetectorPlace {
  std::string detector;            // as the file names it
  std::optional<double> distance;  // metre
  std::optional<double> beam_x;    // pixels, from the outer edge of the first
  std::optional<double> beam_y;
  std::optional<double> pixel_x;  // metre
  std::optional<double> pixel_y;
  double two_theta = 0;  // degrees by which an arm turns it, at most; NaN where that cannot be read
};

// What a file says of itself. Header values are kept as text, in file order.
inline constexpr double kAngstrom = 1e-10;  // in which files state wavelengths

struct SourceInfo {
  std::string format;  // "CBF", "EDF", "TIFF", "NPY", "HDF5", "raw"; " (gzip)" or " (bzip2)" appended
  Codec codec = Codec::kRaw;
  PixelType type = PixelType::kI32;
  Shape shape;
  std::uint64_t frames = 1;
  std::vector<std::uint64_t> grid;        // points of a scan of several dimensions, the last one fastest
  std::optional<std::int64_t> max_count;  // saturation, e.g. Count_cutoff
  std::optional<double> wavelength;       // metre
  std::optional<DetectorPlace> place;     // of DECTRIS and NXmx files
  std::optional<std::uint64_t> promised;  // frames that the series will have, where the file says so
  std::vector<std::pair<std::string, std::string>> header;

  // Memory: what read() takes for a frame where that is not just its pixels, and what the open file holds.
  std::uint64_t bytes_to_read = 0;
  std::uint64_t bytes_held = 0;  // the content of a gzip or bzip2 archive, the last chunk of many frames
  bool payloads_vary = false;    // bytes_to_read is what a frame takes on average
};

// Bytes that a frame of this source takes until its last copy is gone: at most, or as its payload says.
std::uint64_t frame_bytes(const SourceInfo& info);
std::uint64_t frame_bytes(const Frame& frame);

struct OpenOptions {
  // For headerless files only; a file that nothing else recognises is raw if these are given.
  std::optional<Shape> raw_shape;
  PixelType raw_type = PixelType::kI32;
  std::uint64_t raw_offset = 0;  // bytes to skip at the start of the file

  bool verify_checksum = false;  // CBF Content-MD5; a mismatch throws kInput from read()

  // HDF5 files lead to other files only below their own folder, and below this one.
  std::string allow_links = {};

  // An archive that unpacks to more bytes is refused: a small one can claim any size.
  std::uint64_t most_unpacked = std::uint64_t{512} << 20;

  // Payloads may be mapped from their files: the caller asks payload.intact() when it is done with a frame.
  bool map_payloads = false;

  // Files may still be written: what is there can be read, and grow() looks for more. A series ends with the
  // last frame that its file promises, or after so many seconds without a new one. None: files are complete.
  std::optional<double> follow = std::nullopt;
};

// How far a source that is followed has come.
struct Growth {
  std::uint64_t frames = 0;                   // that can be read
  bool ended = true;                          // there will be no more
  std::optional<Error> fault = std::nullopt;  // why there are fewer than promised
};

class FrameSource {
 public:
  virtual ~FrameSource() = default;
  virtual const SourceInfo& info() const = 0;

  // The i-th frame, payload as it is in the file (compressed bytes stay compressed; byte order is made
  // little endian). May be called from several threads at once. Frame::index is left 0. Throws kInput.
  virtual Frame read(std::uint64_t i) const = 0;

  // What the file says of frame i, as in info().header: formats with a header per frame have that of the
  // frame.
  virtual std::vector<std::pair<std::string, std::string>> header_of(std::uint64_t i) const {
    static_cast<void>(i);
    return info().header;
  }

  // Where frame i is, if that is not simply in this file: in the dataset, and the file, that really hold it.
  virtual std::optional<FrameId> locate(std::uint64_t i) const {
    static_cast<void>(i);
    return std::nullopt;
  }

  // Whether all bytes that the file's headers announce are in it. False of one that is still being written,
  // as far as the format tells.
  virtual bool is_whole() const { return true; }

  // Pixels that the file itself excludes. Throws kInput where they cannot be read.
  virtual std::optional<Mask> pixel_mask() const { return std::nullopt; }

  // Looks for frames that were not there before. One thread calls this; others may read meanwhile.
  virtual Growth grow() { return {info().frames, true, std::nullopt}; }
};

// `url` is a path, or "file.h5::/path/to/dataset". Throws kInput with the cure in it.
std::unique_ptr<FrameSource> open_source(const std::string& url, const OpenOptions& options = {});

// The first frame of `url` as doubles or as a mask (non-zero = excluded): masks, darks, flats.
Image<double> read_image(const std::string& url, const OpenOptions& options = {});
Mask read_mask(const std::string& url, const OpenOptions& options = {});
Mask as_mask(const Image<double>& image);

}  // namespace annulus
