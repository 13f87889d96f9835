// One detector image on its way from a source to a backend, still as the detector packed it.
#pragma once

#include <annulus/core/bytes.hpp>
#include <annulus/core/image.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace annulus {

enum class Codec : std::uint8_t {
  kRaw,             // pixels of `type`, little endian, rows in order
  kByteOffset,      // CBF byte offset; `type` is what the running value must fit (kI32)
  kBitshuffleLz4,   // a chunk of HDF5 filter 32008 with LZ4: header of 12 bytes, blocks, left-over elements
  kBitshuffleZstd,  // the same with Zstd
  kLz4              // a chunk of HDF5 filter 32004
};

// Which frame of a scan it is, and where it came from.
struct FrameId {
  std::uint64_t index = 0;      // position in the scan
  std::string source = {};      // the file that holds it, with "::/path" for a dataset
  std::uint64_t in_source = 0;  // position in that file
  bool of_several = false;      // its file holds, or will hold, more than this frame

  // Frames of the scan before it that were left out, so have no index; none if nobody knows how many.
  std::optional<std::uint64_t> left_out = 0;
};

// Its position among all frames of the scan, which is its row in a table of values per frame.
std::optional<std::uint64_t> place_in_scan(const FrameId& id);

// A value that every frame of a scan has: a motor's position, a monitor's count, the time.
struct ColumnInfo {
  std::string name;
  std::string unit = {};    // empty: nobody says
  std::string origin = {};  // where its values come from, in the user's words
  bool operator==(const ColumnInfo&) const = default;
};

struct Frame {
  FrameId id;
  Codec codec = Codec::kRaw;
  PixelType type = PixelType::kI32;
  Shape shape;
  Bytes payload;

  std::vector<double> point;  // where in the scan it was taken: values of ScanInfo::columns, NaN if missing

  std::optional<std::int64_t> max_count;  // saturation that its file states

  // Pixels count in units of 2^-fraction_bits: not 0 only for images that were floating point (quantise.hpp).
  int fraction_bits = 0;
};

// One count in the frame's units, the least variance; 0 in layers that do not hold it (quantise.hpp).
std::uint32_t one_count(const Frame& frame);

// How messages name a frame: "scan.h5::/entry/data/data, frame 12".
std::string describe(const FrameId& id);
inline std::string describe(const Frame& frame) { return describe(frame.id); }

}  // namespace annulus
