#include <annulus/outputs/row_dataset.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace annulus {
namespace {

// Rows are appended, so at most two chunks of a dataset are being filled at once; a third keeps one that
// straddles a batch. A chunk then reaches the disk once when it is full, and once a flush while it is not.
constexpr std::size_t kCachedChunks = 3;
constexpr std::size_t kCacheSlots = 521;

int rank_of(std::size_t width) { return width == 0 ? 1 : 2; }

Hdf5Handle access_list(hid_t dataset) {
  const Hdf5Handle creation(H5Dget_create_plist(dataset), H5Pclose);
  std::array<hsize_t, 2> chunk{1, 1};
  H5Pget_chunk(creation.get(), 2, chunk.data());
  const Hdf5Handle type(H5Dget_type(dataset), H5Tclose);
  const std::size_t bytes = chunk[0] * chunk[1] * H5Tget_size(type.get());
  Hdf5Handle list(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
  H5Pset_chunk_cache(list.get(), kCacheSlots, kCachedChunks * bytes, 1.0);
  return list;
}

}  // namespace

Hdf5Handle fixed_text_type(std::size_t length) {
  Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), length);
  H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  return type;
}

Hdf5Handle create_rows(hid_t file, const char* path, hid_t type, RowShape shape, const void* fill) {
  const std::array<hsize_t, 2> size{0, shape.width};
  const std::array<hsize_t, 2> most{H5S_UNLIMITED, shape.width};
  const std::array<hsize_t, 2> chunk{shape.chunk_rows, shape.width};
  const int rank = rank_of(shape.width);
  const Hdf5Handle space(H5Screate_simple(rank, size.data(), most.data()), H5Sclose);
  const Hdf5Handle list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_chunk(list.get(), rank, chunk.data());
  H5Pset_fill_value(list.get(), type, fill);
  H5Pset_alloc_time(list.get(), H5D_ALLOC_TIME_INCR);
  H5Pset_fill_time(list.get(), H5D_FILL_TIME_ALLOC);
  Hdf5Handle dataset(H5Dcreate2(file, path, type, space.get(), H5P_DEFAULT, list.get(), H5P_DEFAULT),
                     H5Dclose);
  if (!dataset) throw_hdf5(ErrorKind::kOutput, file, fmt::format("cannot create the dataset {}", path));
  return dataset;
}

RowDataset::RowDataset(hid_t file, const char* path, std::size_t width) : path_(path), width_(width) {
  if (has_object(file, path_)) {
    // Opened twice, because the size of the cache follows from the size of the chunks.
    const Hdf5Handle probe(H5Dopen2(file, path, H5P_DEFAULT), H5Dclose);
    const Hdf5Handle list = access_list(probe.get());
    dataset_ = Hdf5Handle(H5Dopen2(file, path, list.get()), H5Dclose);
  }
  if (!dataset_) throw_hdf5(ErrorKind::kOutput, file, fmt::format("has no dataset {}", path));
  type_ = Hdf5Handle(H5Dget_type(dataset_.get()), H5Tclose);
  const Hdf5Handle space(H5Dget_space(dataset_.get()), H5Sclose);
  std::array<hsize_t, 2> size{0, 0};
  const int rank = H5Sget_simple_extent_ndims(space.get());
  if (rank == rank_of(width)) H5Sget_simple_extent_dims(space.get(), size.data(), nullptr);
  if (rank != rank_of(width) || size[1] != width) {
    throw_hdf5(ErrorKind::kOutput, file, fmt::format("the dataset {} has another shape", path));
  }
  rows_ = size[0];
}

std::size_t RowDataset::value_bytes() const { return H5Tget_size(type_.get()); }

void RowDataset::resize(std::uint64_t rows) {
  if (rows == rows_) return;
  const std::array<hsize_t, 2> size{rows, width_};
  if (H5Dset_extent(dataset_.get(), size.data()) < 0) {
    throw_hdf5(ErrorKind::kOutput, dataset_.get(), fmt::format("cannot resize {}", path_));
  }
  rows_ = rows;
}

void RowDataset::write(std::uint64_t first, std::uint64_t count, const void* values) {
  const std::array<hsize_t, 2> start{first, 0};
  const std::array<hsize_t, 2> size{count, width_};
  const int rank = rank_of(width_);
  const Hdf5Handle file_space(H5Dget_space(dataset_.get()), H5Sclose);
  const Hdf5Handle memory_space(H5Screate_simple(rank, size.data(), nullptr), H5Sclose);
  H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, start.data(), nullptr, size.data(), nullptr);
  if (H5Dwrite(dataset_.get(), type_.get(), memory_space.get(), file_space.get(), H5P_DEFAULT, values) < 0) {
    throw_hdf5(ErrorKind::kOutput, dataset_.get(), fmt::format("cannot write to {}", path_));
  }
}

}  // namespace annulus
