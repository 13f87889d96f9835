#include <annulus/outputs/checksums.hpp>
#include <annulus/outputs/row_dataset.hpp>

#include <fmt/core.h>

#include <algorithm>

namespace annulus {
namespace {

using Sizes = RowDataset::Sizes;

// Rows are appended, so at most two chunks of a dataset are being filled at once; a third keeps one that
// straddles a batch. A chunk then reaches the disk once when it is full, and once a flush while it is not.
constexpr std::size_t kCachedChunks = 3;
constexpr std::size_t kCacheSlots = 521;

// Of `rows` rows, in the order of the dataset's dimensions.
Sizes sizes_of(RowExtent extent, hsize_t rows) {
  if (extent.lines == 0) return {rows, extent.width, 0};
  return {rows, extent.lines, extent.width};
}

Sizes chunk_sizes(hid_t dataset) {
  const Hdf5Handle creation(H5Dget_create_plist(dataset), H5Pclose);
  Sizes chunk{1, 1, 1};
  H5Pget_chunk(creation.get(), static_cast<int>(chunk.size()), chunk.data());
  return chunk;
}

int filter_count(hid_t dataset) {
  const Hdf5Handle creation(H5Dget_create_plist(dataset), H5Pclose);
  return H5Pget_nfilters(creation.get());
}

Hdf5Handle access_list(hid_t dataset, const Sizes& chunk) {
  const Hdf5Handle type(H5Dget_type(dataset), H5Tclose);
  const std::size_t bytes = chunk[0] * chunk[1] * chunk[2] * H5Tget_size(type.get());
  Hdf5Handle list(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
  H5Pset_chunk_cache(list.get(), kCacheSlots, kCachedChunks * bytes, 1.0);
  return list;
}

// The number of rows if the dataset has this extent.
std::optional<std::uint64_t> rows_of(hid_t dataset, RowExtent extent) {
  const Hdf5Handle space(H5Dget_space(dataset), H5Sclose);
  if (H5Sget_simple_extent_ndims(space.get()) != extent.rank()) return {};
  Sizes size{};
  H5Sget_simple_extent_dims(space.get(), size.data(), nullptr);
  if (size != sizes_of(extent, size[0])) return {};
  return size[0];
}

// What rows hold that were never written.
std::vector<std::byte> fill_row(hid_t dataset, hid_t type, std::size_t values) {
  const Hdf5Handle creation(H5Dget_create_plist(dataset), H5Pclose);
  const std::size_t size = H5Tget_size(type);
  std::vector<std::byte> row(values * size);
  H5Pget_fill_value(creation.get(), type, row.data());
  for (std::size_t i = 1; i < values; ++i) std::copy_n(row.data(), size, row.data() + i * size);
  return row;
}

// A part of a dataset, there and in memory.
struct Selection {
  Hdf5Handle memory;
  Hdf5Handle file;
};
Selection select(hid_t dataset, int rank, const Sizes& start, const Sizes& size) {
  Selection selection{Hdf5Handle(H5Screate_simple(rank, size.data(), nullptr), H5Sclose),
                      Hdf5Handle(H5Dget_space(dataset), H5Sclose)};
  H5Sselect_hyperslab(selection.file.get(), H5S_SELECT_SET, start.data(), nullptr, size.data(), nullptr);
  return selection;
}
// Of rows that are all there.
ReadRows read_selection(hid_t file, const char* path, RowExtent extent, const Sizes& start, const Sizes& size,
                        hid_t type, void* values) {
  if (size[0] == 0) return ReadRows::kGood;
  const Hdf5Handle dataset(H5Dopen2(file, path, H5P_DEFAULT), H5Dclose);
  if (!dataset) return ReadRows::kOtherShape;
  const auto rows = rows_of(dataset.get(), extent);
  if (!rows || *rows < start[0] + size[0]) return ReadRows::kOtherShape;
  const Selection selection = select(dataset.get(), extent.rank(), start, size);
  const bool good =
      H5Dread(dataset.get(), type, selection.memory.get(), selection.file.get(), H5P_DEFAULT, values) >= 0;
  return good ? ReadRows::kGood : ReadRows::kFailed;
}

}  // namespace

Hdf5Handle fixed_text_type(std::size_t length) {
  Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), length);
  H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  return type;
}

Hdf5Handle create_rows(hid_t file, const char* path, hid_t type, RowExtent extent, RowChunk chunk,
                       const void* fill) {
  const Sizes size = sizes_of(extent, 0);
  const Sizes most = sizes_of(extent, H5S_UNLIMITED);
  Sizes chunk_size = sizes_of(extent, chunk.rows);
  if (chunk.lines > 0 && extent.lines > 0) chunk_size[1] = chunk.lines;
  const Hdf5Handle space(H5Screate_simple(extent.rank(), size.data(), most.data()), H5Sclose);
  const Hdf5Handle list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_chunk(list.get(), extent.rank(), chunk_size.data());
  H5Pset_fill_value(list.get(), type, fill);
  H5Pset_alloc_time(list.get(), H5D_ALLOC_TIME_INCR);
  H5Pset_fill_time(list.get(), H5D_FILL_TIME_ALLOC);
  Hdf5Handle dataset(H5Dcreate2(file, path, type, space.get(), H5P_DEFAULT, list.get(), H5P_DEFAULT),
                     H5Dclose);
  if (!dataset) throw_hdf5(ErrorKind::kOutput, file, fmt::format("cannot create the dataset {}", path));
  return dataset;
}

ReadRows read_rows(hid_t file, const char* path, RowExtent extent, std::uint64_t first, std::uint64_t count,
                   hid_t type, void* values) {
  return read_selection(file, path, extent, {first, 0, 0}, sizes_of(extent, count), type, values);
}

ReadRows read_row_parts(hid_t file, const char* path, RowExtent extent, std::uint64_t first,
                        std::uint64_t count, std::size_t offset, std::size_t part, hid_t type, void* values) {
  if (extent.lines > 0 || part > extent.width || offset > extent.width - part) return ReadRows::kOtherShape;
  return read_selection(file, path, extent, {first, offset, 0}, {count, part, 0}, type, values);
}

std::optional<std::vector<std::byte>> read_raw_rows(hid_t file, const std::string& path, std::uint64_t first,
                                                    std::uint64_t count, std::size_t most_bytes) {
  const Hdf5Handle dataset(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset) return {};
  const Hdf5Handle type(H5Dget_type(dataset.get()), H5Tclose);
  const Hdf5Handle space(H5Dget_space(dataset.get()), H5Sclose);
  const int rank = H5Sget_simple_extent_ndims(space.get());
  if (rank < 1 || rank > kMostDimensions || H5Tis_variable_str(type.get()) > 0) return {};
  std::array<hsize_t, kMostDimensions> size{}, start{};
  H5Sget_simple_extent_dims(space.get(), size.data(), nullptr);
  std::size_t row_bytes = H5Tget_size(type.get());
  for (int i = 1; i < rank; ++i) {
    if (size[i] == 0 || row_bytes > most_bytes / size[i]) return {};
    row_bytes *= size[i];
  }
  if (first > size[0] || count > size[0] - first) return {};
  start[0] = first;
  size[0] = count;
  const Hdf5Handle memory(H5Screate_simple(rank, size.data(), nullptr), H5Sclose);
  H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, size.data(), nullptr);
  std::vector<std::byte> rows(count * row_bytes);
  if (H5Dread(dataset.get(), type.get(), memory.get(), space.get(), H5P_DEFAULT, rows.data()) < 0) return {};
  return rows;
}

RowDataset::RowDataset(hid_t file, const char* path, RowExtent extent) : path_(path), extent_(extent) {
  if (has_object(file, path_)) {
    // Opened twice, because the size of the cache follows from the size of the chunks.
    const Hdf5Handle probe(H5Dopen2(file, path, H5P_DEFAULT), H5Dclose);
    const Sizes chunk = chunk_sizes(probe.get());
    if (extent.lines > 0) chunk_lines_ = chunk[1];
    // Others may have packed the file, or divided it otherwise.
    stores_rows_as_they_are_ =
        extent.lines > 0 && chunk[0] == 1 && chunk[2] == extent.width && filter_count(probe.get()) == 0;
    const Hdf5Handle list = access_list(probe.get(), chunk);
    dataset_ = Hdf5Handle(H5Dopen2(file, path, list.get()), H5Dclose);
  }
  if (!dataset_) throw_hdf5(ErrorKind::kOutput, file, fmt::format("has no dataset {}", path));
  type_ = Hdf5Handle(H5Dget_type(dataset_.get()), H5Tclose);
  const auto rows = rows_of(dataset_.get(), extent);
  if (!rows) throw_hdf5(ErrorKind::kOutput, file, fmt::format("the dataset {} has another shape", path));
  rows_ = *rows;
  seed_ = checksum_seed(path_);
  unwritten_ = checksum(fill_row(dataset_.get(), type_.get(), extent.values()).data());
}

std::uint64_t RowDataset::checksum(const void* row) const {
  return row_checksum(seed_, {static_cast<const std::byte*>(row), row_bytes()});
}

std::size_t RowDataset::value_bytes() const { return H5Tget_size(type_.get()); }

void RowDataset::resize(std::uint64_t rows) {
  if (rows == rows_) return;
  const Sizes size = sizes_of(extent_, rows);
  if (H5Dset_extent(dataset_.get(), size.data()) < 0) {
    throw_hdf5(ErrorKind::kOutput, dataset_.get(), fmt::format("cannot resize {}", path_));
  }
  rows_ = rows;
}

void RowDataset::write(std::uint64_t first, std::uint64_t count, const void* values) {
  if (count == 1 && stores_rows_as_they_are_) {
    write_chunks(first, static_cast<const std::byte*>(values));
  } else {
    write_part({first, 0, 0}, sizes_of(extent_, count), values);
  }
}

// From where they are in memory: HDF5 would copy them into its cache first.
void RowDataset::write_chunks(std::uint64_t row, const std::byte* values) {
  const std::size_t line_bytes = row_bytes() / extent_.lines;
  std::size_t line = 0;
  for (; line + chunk_lines_ <= extent_.lines; line += chunk_lines_) {
    const Sizes start{row, line, 0};
    if (H5Dwrite_chunk(dataset_.get(), H5P_DEFAULT, 0, start.data(), chunk_lines_ * line_bytes,
                       values + line * line_bytes) < 0) {
      throw_hdf5(ErrorKind::kOutput, dataset_.get(), fmt::format("cannot write to {}", path_));
    }
  }
  if (line == extent_.lines) return;
  write_part({row, line, 0}, {1, extent_.lines - line, extent_.width}, values + line * line_bytes);
}

void RowDataset::write_nonzero(std::uint64_t row, const std::int64_t* values) {
  if (extent_.lines == 0) return write(row, 1, values);
  const auto is_zero = [](std::int64_t value) { return value == 0; };
  // The end of the chunk of lines that begins with `line`, and whether there is anything in it.
  const auto end_of = [&](std::size_t line) { return std::min(line + chunk_lines_, extent_.lines); };
  const auto holds_any = [&](std::size_t line) {
    return !std::all_of(values + line * extent_.width, values + end_of(line) * extent_.width, is_zero);
  };
  for (std::size_t line = 0; line < extent_.lines; line = end_of(line)) {
    const std::size_t first = line;
    while (line < extent_.lines && holds_any(line)) line = end_of(line);
    if (line == first) continue;
    write_part({row, first, 0}, {1, line - first, extent_.width}, values + first * extent_.width);
  }
}

void RowDataset::write_part(const Sizes& start, const Sizes& size, const void* values) {
  const Selection selection = select(dataset_.get(), extent_.rank(), start, size);
  if (H5Dwrite(dataset_.get(), type_.get(), selection.memory.get(), selection.file.get(), H5P_DEFAULT,
               values) < 0) {
    throw_hdf5(ErrorKind::kOutput, dataset_.get(), fmt::format("cannot write to {}", path_));
  }
}

}  // namespace annulus
