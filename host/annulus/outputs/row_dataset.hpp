// A dataset that grows by one row a frame.
#pragma once

#include <annulus/outputs/hdf5_fields.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace annulus {

// Of a dataset of an output; the writer stays below.
inline constexpr int kMostDimensions = 8;

// What one frame has in a dataset: a single value, a line of `width` values, or `lines` of them.
struct RowExtent {
  std::size_t width = 0;  // 0: a single value
  std::size_t lines = 0;  // 0: a single line, and a dataset of two dimensions

  std::size_t values() const { return (width == 0 ? 1 : width) * (lines == 0 ? 1 : lines); }
  int rank() const { return 1 + (width == 0 ? 0 : 1) + (lines == 0 ? 0 : 1); }
  bool operator==(const RowExtent&) const = default;
};

struct RowChunk {
  std::uint64_t rows = 1;
  std::size_t lines = 0;  // of a row; 0: all
};

// Creates an empty one. `fill`: the value, of type `type`, of rows that were never written.
Hdf5Handle create_rows(hid_t file, const char* path, hid_t type, RowExtent extent, RowChunk chunk,
                       const void* fill);

// UTF-8 of `length` bytes, padded with zeros.
Hdf5Handle fixed_text_type(std::size_t length);

// Reads rows [first, first + count). `values` are of the type `type`.
enum class ReadRows { kGood, kOtherShape, kFailed };
ReadRows read_rows(hid_t file, const char* path, RowExtent extent, std::uint64_t first, std::uint64_t count,
                   hid_t type, void* values);

// The same of a part of each row: `part` of them, from the value `offset` on. Rows are single lines.
ReadRows read_row_parts(hid_t file, const char* path, RowExtent extent, std::uint64_t first,
                        std::uint64_t count, std::size_t offset, std::size_t part, hid_t type, void* values);

// The bytes of rows [first, first + count) as they are stored, whatever the shape of a row. None if there are
// fewer rows, they cannot be read, or a row has more than `most_bytes`.
std::optional<std::vector<std::byte>> read_raw_rows(hid_t file, const std::string& path, std::uint64_t first,
                                                    std::uint64_t count, std::size_t most_bytes);

class RowDataset {
 public:
  using Sizes =
      std::array<hsize_t, 3>;  // of rows, lines and values; as many of these as there are dimensions

  // Throws kOutput if the dataset is absent or has another extent.
  RowDataset(hid_t file, const char* path, RowExtent extent);

  std::uint64_t rows() const { return rows_; }
  std::size_t value_bytes() const;
  std::size_t row_bytes() const { return extent_.values() * value_bytes(); }
  hid_t id() const { return dataset_.get(); }

  // Makes it exactly `rows` long.
  void resize(std::uint64_t rows);

  // Writes rows [first, first + count), which must exist; `values` are of the file's type.
  void write(std::uint64_t first, std::uint64_t count, const void* values);

  // Writes a row that was never written, except chunks of lines that are all 0, which must be the fill value:
  // these take no room in the file.
  void write_nonzero(std::uint64_t row, const std::int64_t* values);

  // What a row of these values, and one that was never written, adds to the checksum of its frame.
  std::uint64_t checksum(const void* row) const;
  std::uint64_t checksum_of_unwritten() const { return unwritten_; }

 private:
  void write_chunks(std::uint64_t row, const std::byte* values);
  void write_part(const Sizes& start, const Sizes& size, const void* values);

  std::string path_;
  RowExtent extent_;
  std::size_t chunk_lines_ = 1;
  bool stores_rows_as_they_are_ = false;  // a row is whole chunks, and chunks are not packed
  std::uint64_t rows_ = 0;
  Hdf5Handle dataset_;
  Hdf5Handle type_;
  std::uint64_t seed_ = 0;
  std::uint64_t unwritten_ = 0;
};

}  // namespace annulus
