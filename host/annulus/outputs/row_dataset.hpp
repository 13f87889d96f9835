// A dataset that grows by one row a frame.
#pragma once

#include <annulus/outputs/hdf5.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace annulus {

struct RowShape {
  std::size_t width = 0;  // values a row; 0: a one-dimensional dataset with one value a frame
  std::uint64_t chunk_rows = 1;
};

// Creates an empty one. `fill`: the value, of type `type`, of rows that were never written.
Hdf5Handle create_rows(hid_t file, const char* path, hid_t type, RowShape shape, const void* fill);

// UTF-8 of `length` bytes, padded with zeros.
Hdf5Handle fixed_text_type(std::size_t length);

class RowDataset {
 public:
  // Throws kOutput if the dataset is absent or has another width.
  RowDataset(hid_t file, const char* path, std::size_t width);

  std::uint64_t rows() const { return rows_; }
  std::size_t value_bytes() const;
  hid_t id() const { return dataset_.get(); }

  // Makes it exactly `rows` long.
  void resize(std::uint64_t rows);

  // Writes rows [first, first + count), which must exist; `values` are of the file's type.
  void write(std::uint64_t first, std::uint64_t count, const void* values);

 private:
  std::string path_;
  std::size_t width_;
  std::uint64_t rows_ = 0;
  Hdf5Handle dataset_;
  Hdf5Handle type_;
};

}  // namespace annulus
