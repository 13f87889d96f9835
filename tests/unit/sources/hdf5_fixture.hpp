// HDF5 files for the tests of their reader, written with the library.
#pragma once

#include <annulus/hdf5/without_plugin.hpp>

#include <hdf5.h>

#include <numeric>
#include <string>
#include <vector>

#include "test_files.hpp"

namespace annulus {

using Sides = std::vector<hsize_t>;

class Hdf5Test : public FormatsTest {
 protected:
  void SetUp() override { open("a.h5"); }
  void TearDown() override { close(); }

  void open(const std::string& name) {
    name_ = path(name);
    file_ = H5Fcreate(name_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    ASSERT_GE(file_, 0);
  }

  // The finished file, to be read.
  const std::string& close() {
    if (file_ >= 0) H5Fclose(file_);
    file_ = -1;
    return name_;
  }

  void group(const std::string& name) {
    H5Gclose(H5Gcreate2(file_, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  }

  void attribute(const std::string& object, const std::string& name, const std::string& text) {
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, text.size());
    const hid_t space = H5Screate(H5S_SCALAR);
    const hid_t id = H5Acreate_by_name(file_, object.c_str(), name.c_str(), type, space, H5P_DEFAULT,
                                       H5P_DEFAULT, H5P_DEFAULT);
    ASSERT_GE(H5Awrite(id, type, text.data()), 0);
    H5Aclose(id);
    H5Sclose(space);
    H5Tclose(type);
  }

  template <typename T>
  void dataset(const std::string& path, const Sides& shape, const std::vector<T>& values, hid_t memory,
               hid_t stored, const Sides& chunk = {}, int deflate = 0) {
    const hid_t space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    if (!chunk.empty()) H5Pset_chunk(properties, static_cast<int>(chunk.size()), chunk.data());
    if (deflate > 0) H5Pset_deflate(properties, static_cast<unsigned>(deflate));
    const hid_t id = H5Dcreate2(file_, path.c_str(), stored, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    ASSERT_GE(id, 0);
    if (!values.empty()) {
      ASSERT_GE(H5Dwrite(id, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
    }
    H5Dclose(id);
    H5Pclose(properties);
    H5Sclose(space);
  }

  // A stack whose chunks are given as they are to be stored, for a filter that nobody needs to have.
  hid_t packed(const std::string& path, const Sides& shape, const Sides& chunk, hid_t stored,
               H5Z_filter_t filter, const std::vector<unsigned>& values) {
    const hid_t space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(properties, static_cast<int>(chunk.size()), chunk.data());
    const WithoutPlugin without(filter);
    EXPECT_TRUE(without);
    if (filter != 0) H5Pset_filter(properties, filter, H5Z_FLAG_OPTIONAL, values.size(), values.data());
    const hid_t id = H5Dcreate2(file_, path.c_str(), stored, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    EXPECT_GE(id, 0);
    H5Pclose(properties);
    H5Sclose(space);
    return id;
  }

  static void put_chunk(hid_t dataset, const Sides& offset, const std::vector<std::byte>& stored,
                        std::uint32_t filter_mask = 0) {
    ASSERT_GE(H5Dwrite_chunk(dataset, H5P_DEFAULT, filter_mask, offset.data(), stored.size(), stored.data()),
              0);
  }

  void number(const std::string& path, double value, const std::string& units = {}) {
    dataset<double>(path, {1}, {value}, H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE);
    if (!units.empty()) attribute(path, "units", units);
  }

  void ints(const std::string& path, const Sides& shape, const Sides& chunk = {}, int deflate = 0,
            std::int32_t first = 0) {
    hsize_t size = 1;
    for (const hsize_t side : shape) size *= side;
    std::vector<std::int32_t> values(size);
    std::iota(values.begin(), values.end(), first);
    dataset(path, shape, values, H5T_NATIVE_INT32, H5T_STD_I32LE, chunk, deflate);
  }

  hid_t file_ = -1;

 private:
  std::string name_;
};

}  // namespace annulus
