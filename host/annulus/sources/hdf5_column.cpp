#include <annulus/core/text.hpp>
#include <annulus/hdf5/probe.hpp>
#include <annulus/sources/hdf5_file.hpp>
#include <annulus/sources/hdf5_find.hpp>
#include <annulus/sources/header_checks.hpp>
#include <annulus/sources/table_column.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>

namespace annulus {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kLongestUnit = 64;

std::string unit_of(hid_t dataset) {
  if (H5Aexists(dataset, "units") <= 0) return {};
  const Hdf5Handle attribute(H5Aopen(dataset, "units", H5P_DEFAULT), H5Aclose);
  const Hdf5Handle type(H5Aget_type(attribute.get()), H5Tclose);
  const Hdf5Handle space(H5Aget_space(attribute.get()), H5Sclose);
  if (H5Tget_class(type.get()) != H5T_STRING || H5Sget_simple_extent_npoints(space.get()) != 1) return {};
  std::string unit;
  if (H5Tis_variable_str(type.get()) > 0) {
    char* text = nullptr;
    if (H5Aread(attribute.get(), type.get(), &text) < 0 || text == nullptr) return {};
    unit = text;
    H5free_memory(text);
  } else {
    unit.resize(H5Tget_size(type.get()));
    if (unit.size() > kLongestUnit || H5Aread(attribute.get(), type.get(), unit.data()) < 0) return {};
    unit.resize(std::min(unit.size(), unit.find('\0')));  // what follows is padding
  }
  return unit.size() <= kLongestUnit ? to_utf8(unit) : std::string();
}

class Hdf5Column final : public TableColumn {
 public:
  Hdf5Column(const ColumnSpec& spec, bool growing, std::string allow_links)
      : TableColumn(spec.column),
        path_(spec.file),
        dataset_(spec.key),
        allow_links_(std::move(allow_links)),
        growing_(growing) {
    read();
  }

  std::vector<std::uint64_t> shape() const override { return shape_; }

  bool grow() override {
    const std::uint64_t before = rows();
    try {
      read();
    } catch (const Error&) {
      // Its writer has it: seen again at the next look, or missed at the end.
    }
    return rows() > before;
  }

  void finish() override {
    growing_ = false;
    grow();
  }

 private:
  void read() {
    const Hdf5Session session;
    // A fence of its own each time: the file as it is now, whoever else has it open.
    const Fence fence = std::make_shared<const LinkFence>(path_, allow_links_);
    const Hdf5Handle named = open_hdf5_file(path_, fence);
    const DatasetPlace place = locate_dataset(named.get(), path_, dataset_, fence);
    const Hdf5Handle file = open_hdf5_file(place.file, fence);
    const Hdf5Handle dataset(H5Dopen2(file.get(), place.path.c_str(), H5P_DEFAULT), H5Dclose);
    url_ = place.url();
    if (!dataset) throw hdf5_error(url_, "cannot be opened as a dataset", "check its path");
    check_type(dataset.get());
    check_layout(dataset.get());
    const std::vector<std::uint64_t> shape = read_shape(dataset.get());
    std::vector<double> values = read_values(dataset.get(), shape);
    // Datasets may be laid out in advance, with NaN where nothing was measured yet.
    if (growing_) {
      while (!values.empty() && std::isnan(values.back())) values.pop_back();
    }
    if (values.size() < values_.size()) return;  // what was there is not taken back
    info_.unit = unit_of(dataset.get());
    shape_ = shape;
    values_ = std::move(values);
  }

  void check_type(hid_t dataset) const {
    const Hdf5Handle type(H5Dget_type(dataset), H5Tclose);
    const H5T_class_t kind = H5Tget_class(type.get());
    if (kind == H5T_INTEGER || kind == H5T_FLOAT) return;
    throw input_error(url_, "its values are no numbers", "name a dataset of integers or floats");
  }

  void check_layout(hid_t dataset) const {
    const Hdf5Handle creation(H5Dget_create_plist(dataset), H5Pclose);
    const bool is_virtual = H5Pget_layout(creation.get()) == H5D_VIRTUAL;
    if (!is_virtual && !is_in_raw_files(dataset)) return;
    throw input_error(url_, "its values are in other files, where they may be missing unnoticed",
                      "name the dataset that holds them");
  }

  std::vector<std::uint64_t> read_shape(hid_t dataset) const {
    const Hdf5Handle space(H5Dget_space(dataset), H5Sclose);
    const int rank = H5Sget_simple_extent_ndims(space.get());
    if (rank < 1) {
      throw input_error(url_, "it is a single number, and a column has one per frame",
                        "a number for all frames can be given with `normalization_factor`");
    }
    std::array<hsize_t, H5S_MAX_RANK> sides{};
    H5Sget_simple_extent_dims(space.get(), sides.data(), nullptr);
    std::uint64_t rows = 1;
    for (int i = 0; i < rank; ++i) {
      if (sides[i] > kMostRows || rows * sides[i] > kMostRows)
        throw input_error(url_, "it has more values than any scan has frames", "name a column of the scan");
      rows *= sides[i];
    }
    return {sides.begin(), sides.begin() + rank};
  }

  std::vector<double> read_values(hid_t dataset, const std::vector<std::uint64_t>& shape) const {
    std::uint64_t rows = 1;
    for (const std::uint64_t side : shape) rows *= side;
    if (rows == 0) return {};
    if (H5Dget_storage_size(dataset) == 0) {
      if (growing_) return {};
      throw input_error(url_, "no value was ever written to it", "wait until the file is written");
    }
    check_stored(dataset, rows);
    std::vector<double> values(rows);
    if (H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0)
      throw hdf5_error(url_, "cannot be read", kCopyAgain);
    forget_unwritten(dataset, shape, values);
    return values;
  }

  // The library reads what the shape claims, whatever is stored.
  void check_stored(hid_t dataset, std::uint64_t rows) const {
    const Hdf5Handle creation(H5Dget_create_plist(dataset), H5Pclose);
    if (H5Pget_layout(creation.get()) == H5D_CHUNKED) return;
    const Hdf5Handle type(H5Dget_type(dataset), H5Tclose);
    const std::uint64_t stored = H5Dget_storage_size(dataset);
    if (stored == rows * H5Tget_size(type.get())) return;
    throw input_error(url_, fmt::format("{} bytes are stored for {} values", stored, rows), kCopyAgain);
  }

  // A chunk that was never written reads as zeros, which nobody measured.
  void forget_unwritten(hid_t dataset, const std::vector<std::uint64_t>& shape,
                        std::vector<double>& values) const {
    const Hdf5Handle creation(H5Dget_create_plist(dataset), H5Pclose);
    if (H5Pget_layout(creation.get()) != H5D_CHUNKED) return;
    const Hdf5Handle space(H5Dget_space(dataset), H5Sclose);
    std::array<hsize_t, H5S_MAX_RANK> chunk{};
    hsize_t written = 0, expected = 1;
    if (H5Pget_chunk(creation.get(), H5S_MAX_RANK, chunk.data()) < 0 ||
        H5Dget_num_chunks(dataset, space.get(), &written) < 0) {
      throw hdf5_error(url_, "the chunks cannot be read", kCopyAgain);
    }
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (chunk[i] == 0) throw input_error(url_, "its chunks have no size", kCopyAgain);
      expected *= (shape[i] + chunk[i] - 1) / chunk[i];
    }
    if (written >= expected) return;
    if (shape.size() > 1) {
      throw input_error(url_,
                        fmt::format("{} of its {} chunks were never written", expected - written, expected),
                        "wait until the file is written");
    }
    std::vector<double> found(values.size(), kMissing);
    for (hsize_t i = 0; i < written; ++i) {
      hsize_t begin = 0;
      if (H5Dget_chunk_info(dataset, space.get(), i, &begin, nullptr, nullptr, nullptr) < 0)
        throw hdf5_error(url_, "the chunks cannot be read", kCopyAgain);
      for (hsize_t row = begin; row < std::min<hsize_t>(begin + chunk[0], values.size()); ++row)
        found[row] = values[row];
    }
    values = std::move(found);
  }

  std::string path_;
  std::string dataset_;
  std::string allow_links_;
  std::string url_;
  bool growing_;
  std::vector<std::uint64_t> shape_;
};

}  // namespace

std::unique_ptr<TableColumn> open_hdf5_column(const ColumnSpec& spec, bool growing,
                                              const std::string& allow_links) {
  std::error_code ignored;
  if (!std::filesystem::exists(spec.file, ignored))
    throw input_error(spec.file, std::strerror(ENOENT), "check the name of the file");
  probe_hdf5(spec.file, {kProbeColumn, spec.file, spec.key, growing ? "growing" : "", allow_links});
  return std::make_unique<Hdf5Column>(spec, growing, allow_links);
}

std::unique_ptr<TableColumn> open_column(const ColumnSpec& spec, bool growing,
                                         const std::string& allow_links) {
  return spec.place == ColumnPlace::kDataset ? open_hdf5_column(spec, growing, allow_links)
                                             : open_csv_column(spec, growing);
}

void touch_column(const std::vector<std::string>& request) {
  ColumnSpec spec;
  spec.file = request.at(1);
  spec.key = request.at(2);
  const Hdf5Column column(spec, !request.at(3).empty(), request.at(4));
}

}  // namespace annulus
