// One dataset that holds an image or a stack of them. Used with the HDF5 lock held.
#pragma once

#include <annulus/core/bytes.hpp>
#include <annulus/core/image.hpp>
#include <annulus/core/pixel_type.hpp>
#include <annulus/formats/hdf5_chunk_check.hpp>
#include <annulus/formats/hdf5_error.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace annulus {

class Hdf5Dataset {
 public:
  // Throws kInput if it is absent, no stack of images, or needs a filter that is not installed.
  Hdf5Dataset(hid_t file, const std::string& file_path, const std::string& path);

  const std::string& url() const { return url_; }  // file.h5::/path
  PixelType type() const { return type_; }
  Shape shape() const { return shape_; }
  std::uint64_t frames() const { return frames_; }

  // Pixels of frame i in native (little endian) order. A frame that was never written throws kInput: the
  // library would give its fill value instead.
  Bytes read(std::uint64_t i) const;

 private:
  void read_type();
  void read_shape();
  void read_filters(hid_t properties);
  void check_virtual_sources(hid_t properties, const std::string& file_path) const;
  void check_chunks(std::uint64_t i) const;
  std::uint64_t chunk_bytes() const;

  std::string url_;
  Hdf5Handle dataset_;
  PixelType type_ = PixelType::kI32;
  Shape shape_;
  std::uint64_t frames_ = 1;
  int rank_ = 0;
  std::size_t stored_element_ = 0;  // bytes of an element in the file
  std::vector<hsize_t> chunk_;      // empty unless chunked
  std::vector<Hdf5Filter> pipeline_;
};

}  // namespace annulus
