#include <annulus/outputs/nexus_layout.hpp>
#include <annulus/outputs/open_output.hpp>
#include <annulus/outputs/outliers.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <utility>

namespace annulus {
namespace {

constexpr hsize_t kChunkRows = 256;
constexpr hsize_t kChunkColumns = 1024;
constexpr hsize_t kListChunk = 16384;
constexpr unsigned kDeflate = 1;
constexpr std::uint64_t kBlock = std::uint64_t{1} << 22;   // numbers that are read at once
constexpr std::size_t kMostPixels = std::size_t{1} << 27;  // of an image that is believed

constexpr std::string_view kDescription =
    "Pixels that a clip left out of one of their bins at least. counts: in how many frames, over the first "
    "`frames` "
    "frames. pixels[first[i]:first[i + 1]]: those of frame i, as row * columns + column.";

Hdf5Handle open_dataset(hid_t file, const char* path) {
  Hdf5Handle dataset(has_object(file, path) ? H5Dopen2(file, path, H5P_DEFAULT) : H5I_INVALID_HID, H5Dclose);
  return dataset;
}

std::uint64_t length_of(hid_t file, const char* path) {
  const Hdf5Handle dataset = open_dataset(file, path);
  const Hdf5Handle space(H5Dget_space(dataset.get()), H5Sclose);
  hsize_t size = 0;
  if (!dataset || H5Sget_simple_extent_ndims(space.get()) != 1) return 0;
  H5Sget_simple_extent_dims(space.get(), &size, nullptr);
  return size;
}

Hdf5Handle packed(int rank, const hsize_t* chunk) {
  Hdf5Handle list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_chunk(list.get(), rank, chunk);
  H5Pset_shuffle(list.get());
  H5Pset_deflate(list.get(), kDeflate);
  return list;
}

void create_list(hid_t file, const char* path, hid_t type, hsize_t length) {
  const hsize_t most = H5S_UNLIMITED;
  const Hdf5Handle space(H5Screate_simple(1, &length, &most), H5Sclose);
  const Hdf5Handle list = packed(1, &kListChunk);
  const Hdf5Handle made(H5Dcreate2(file, path, type, space.get(), H5P_DEFAULT, list.get(), H5P_DEFAULT),
                        H5Dclose);
  if (!made) throw_hdf5(ErrorKind::kOutput, file, fmt::format("cannot create the dataset {}", path));
}

void read_part(hid_t file, const char* path, hsize_t first, hsize_t count, hid_t type, void* values) {
  if (count == 0) return;
  if (read_rows(file, path, {}, first, count, type, values) != ReadRows::kGood)
    throw_hdf5(ErrorKind::kInput, file, fmt::format("is corrupt: {} cannot be read", path));
}

// Behind what is there up to `place`; what was behind that is written over.
void write_at(hid_t file, const char* path, std::uint64_t place, std::size_t count, hid_t type,
              const void* values) {
  const Hdf5Handle dataset = open_dataset(file, path);
  const hsize_t start = place, size = count, length = std::max<hsize_t>(length_of(file, path), place + count);
  bool good = dataset && H5Dset_extent(dataset.get(), &length) >= 0;
  if (good && count > 0) {
    const Hdf5Handle space(H5Dget_space(dataset.get()), H5Sclose);
    const Hdf5Handle memory(H5Screate_simple(1, &size, nullptr), H5Sclose);
    H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &start, nullptr, &size, nullptr);
    good = H5Dwrite(dataset.get(), type, memory.get(), space.get(), H5P_DEFAULT, values) >= 0;
  }
  if (!good) throw_hdf5(ErrorKind::kOutput, file, fmt::format("cannot write to {}", path));
}

void cut(hid_t file, const char* path, hsize_t length) {
  const Hdf5Handle dataset = open_dataset(file, path);
  if (length_of(file, path) > length && H5Dset_extent(dataset.get(), &length) < 0)
    throw_hdf5(ErrorKind::kOutput, file, fmt::format("cannot resize {}", path));
}

std::uint64_t offset_at(hid_t file, std::uint64_t row) {
  std::uint64_t offset = 0;
  read_part(file, layout::kOutlierFirst, row, 1, H5T_NATIVE_UINT64, &offset);
  return offset;
}

// How often each pixel is in the lists; false if a list names one that there is not.
bool count_lists(hid_t file, std::uint64_t pixels, std::vector<std::uint32_t>& counts) {
  std::vector<std::uint32_t> block;
  for (std::uint64_t done = 0; done < pixels; done += block.size()) {
    block.resize(std::min(kBlock, pixels - done));
    read_part(file, layout::kOutlierPixels, done, block.size(), H5T_NATIVE_UINT32, block.data());
    for (const std::uint32_t pixel : block) {
      if (pixel >= counts.size()) return false;
      ++counts[pixel];
    }
  }
  return true;
}

std::string check_lists(hid_t file, std::uint64_t frames, const std::vector<std::uint32_t>& counts) {
  const std::uint64_t pixels = length_of(file, layout::kOutlierPixels);
  if (length_of(file, layout::kOutlierFirst) != frames + 1)
    return fmt::format("lists of outliers have {} offsets for {} frames",
                       length_of(file, layout::kOutlierFirst), frames);
  std::uint64_t last = 0;
  std::vector<std::uint64_t> block;
  for (std::uint64_t row = 0; row <= frames; row += block.size()) {
    block.resize(std::min(kBlock, frames + 1 - row));
    read_part(file, layout::kOutlierFirst, row, block.size(), H5T_NATIVE_UINT64, block.data());
    for (const std::uint64_t offset : block) {
      if (offset < last || offset > pixels) return "offsets of lists of outliers do not ascend";
      last = offset;
    }
  }
  std::vector<std::uint32_t> listed(counts.size());
  if (last != pixels || !count_lists(file, pixels, listed))
    return "lists of outliers name pixels that there are not";
  if (listed != counts) return "counts of outliers are not those of their lists";
  return {};
}

}  // namespace

Outliers stored_outliers(hid_t file) {
  if (!has_object(file, layout::kOutlierCounts)) return Outliers::kNone;
  const bool lists = has_object(file, layout::kOutlierPixels) && has_object(file, layout::kOutlierFirst);
  return lists ? Outliers::kLists : Outliers::kCounts;
}

void create_outliers(hid_t file, Shape shape, Outliers kind) {
  if (kind == Outliers::kNone) return;
  const Hdf5Handle group = create_group(file, layout::kOutliers, "NXcollection");
  write_attribute(group.get(), "description", kDescription);
  const std::array<hsize_t, 2> size{shape.rows, shape.cols};
  const std::array<hsize_t, 2> chunk{std::min<hsize_t>(shape.rows, kChunkRows),
                                     std::min<hsize_t>(shape.cols, kChunkColumns)};
  const Hdf5Handle space(H5Screate_simple(2, size.data(), nullptr), H5Sclose);
  const Hdf5Handle list = packed(2, chunk.data());
  const Hdf5Handle counts(H5Dcreate2(file, layout::kOutlierCounts, H5T_NATIVE_UINT32, space.get(),
                                     H5P_DEFAULT, list.get(), H5P_DEFAULT),
                          H5Dclose);
  if (!counts) throw_hdf5(ErrorKind::kOutput, file, "cannot create the image of outliers");
  write_attribute(counts.get(), "interpretation", std::string_view("image"));
  write_number(group.get(), "frames", std::uint64_t{0});
  if (kind != Outliers::kLists) return;
  create_list(file, layout::kOutlierPixels, H5T_NATIVE_UINT32, 0);
  create_list(file, layout::kOutlierFirst, H5T_NATIVE_UINT64, 1);
}

Shape shape_of_outliers(hid_t file) {
  const Hdf5Handle dataset = open_dataset(file, layout::kOutlierCounts);
  const Hdf5Handle space(H5Dget_space(dataset.get()), H5Sclose);
  std::array<hsize_t, 2> size{};
  if (!dataset || H5Sget_simple_extent_ndims(space.get()) != 2) return {};
  H5Sget_simple_extent_dims(space.get(), size.data(), nullptr);
  if (size[0] == 0 || size[1] == 0 || size[0] > kMostPixels / size[1]) return {};
  return {static_cast<std::uint32_t>(size[0]), static_cast<std::uint32_t>(size[1])};
}

std::vector<std::uint32_t> read_outlier_counts(hid_t file) {
  std::vector<std::uint32_t> counts(shape_of_outliers(file).size());
  const Hdf5Handle dataset = open_dataset(file, layout::kOutlierCounts);
  if (counts.empty() ||
      H5Dread(dataset.get(), H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, counts.data()) < 0) {
    throw_hdf5(ErrorKind::kInput, file, fmt::format("is corrupt: {} cannot be read", layout::kOutlierCounts));
  }
  return counts;
}

void write_outlier_counts(hid_t file, const std::vector<std::uint32_t>& counts, std::uint64_t frames) {
  const Hdf5Handle dataset = open_dataset(file, layout::kOutlierCounts);
  if (counts.size() != shape_of_outliers(file).size() ||
      H5Dwrite(dataset.get(), H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, counts.data()) < 0) {
    throw_hdf5(ErrorKind::kOutput, file, "cannot write the image of outliers");
  }
  overwrite_number(file, layout::kOutlierFrames, frames);
}

std::vector<std::vector<std::uint32_t>> read_outlier_lists(hid_t file, std::uint64_t first,
                                                           std::uint64_t count) {
  std::vector<std::vector<std::uint32_t>> lists(count);
  if (stored_outliers(file) != Outliers::kLists) return lists;
  const std::uint64_t pixels = length_of(file, layout::kOutlierPixels);
  std::vector<std::uint64_t> offsets(count + 1);
  read_part(file, layout::kOutlierFirst, first, count + 1, H5T_NATIVE_UINT64, offsets.data());
  if (!std::ranges::is_sorted(offsets) || offsets.back() > pixels)
    throw_hdf5(ErrorKind::kInput, file, "is corrupt: offsets of lists of outliers do not ascend");
  for (std::size_t i = 0; i < count; ++i) {
    lists[i].resize(offsets[i + 1] - offsets[i]);
    read_part(file, layout::kOutlierPixels, offsets[i], lists[i].size(), H5T_NATIVE_UINT32, lists[i].data());
  }
  return lists;
}

void repair_outliers(hid_t file, std::uint64_t frames) {
  if (stored_outliers(file) != Outliers::kLists) return;
  const std::uint64_t rows = length_of(file, layout::kOutlierFirst);
  if (rows == 0) throw_hdf5(ErrorKind::kOutput, file, "is corrupt: lists of outliers have no offsets");
  const std::uint64_t known = std::min(rows - 1, frames);
  const std::uint64_t pixels = offset_at(file, known);
  if (pixels > length_of(file, layout::kOutlierPixels))
    throw_hdf5(ErrorKind::kOutput, file, "is corrupt: lists of outliers are shorter than their offsets say");
  cut(file, layout::kOutlierFirst, known + 1);
  cut(file, layout::kOutlierPixels, pixels);
  const std::vector<std::uint64_t> ends(frames - known, pixels);
  write_at(file, layout::kOutlierFirst, known + 1, ends.size(), H5T_NATIVE_UINT64, ends.data());
  std::vector<std::uint32_t> counts(shape_of_outliers(file).size());
  if (!count_lists(file, pixels, counts))
    throw_hdf5(ErrorKind::kOutput, file, "is corrupt: lists of outliers name pixels that there are not");
  write_outlier_counts(file, counts, frames);
}

std::string check_outliers(hid_t file, std::uint64_t frames, std::string& note) {
  const Outliers kind = stored_outliers(file);
  if (kind == Outliers::kNone) return {};
  const std::uint64_t counted = read_whole_number(file, layout::kOutlierFrames).value_or(0);
  if (counted > frames)
    return fmt::format("outliers of {} frames were counted, and there are {}", counted, frames);
  if (counted < frames)
    note = fmt::format("outliers of {} frames are not counted: the run that wrote them was killed",
                       frames - counted);
  const std::vector<std::uint32_t> counts = read_outlier_counts(file);
  if (std::ranges::any_of(counts, [&](std::uint32_t count) { return count > frames; }))
    return "a pixel was an outlier more often than there are frames";
  return kind == Outliers::kLists ? check_lists(file, frames, counts) : std::string();
}

void take_outliers(const std::vector<MergeInput>& inputs, bool with_lists, RunDescription& run) {
  run.outliers = with_lists ? Outliers::kLists : Outliers::kCounts;
  std::vector<std::uint32_t> counts;
  std::uint64_t uncounted = 0;
  for (const MergeInput& input : inputs) {
    const Hdf5Handle file = open_output(input.path);
    run.outliers = std::min(run.outliers, stored_outliers(file.get()));
    if (run.outliers == Outliers::kNone) return;
    const std::vector<std::uint32_t> more = read_outlier_counts(file.get());
    if (counts.empty()) counts.resize(more.size());
    if (more.size() != counts.size())
      throw Error(ErrorKind::kInput, input.path.string(),
                  "its image of outliers has another shape than that of the others");
    std::ranges::transform(counts, more, counts.begin(), std::plus());
    uncounted += input.frames -
                 std::min(input.frames, read_whole_number(file.get(), layout::kOutlierFrames).value_or(0));
  }
  if (run.outliers == Outliers::kLists) return;  // they are counted again
  run.outliers_before = std::move(counts);
  run.outliers_uncounted = uncounted;
}

OutlierLog::OutlierLog(hid_t file, const RunDescription& run, std::uint64_t frames)
    : file_(file), kind_(stored_outliers(file)) {
  if (kind_ == Outliers::kNone) return;
  counts_ = read_outlier_counts(file);
  frames_ = read_whole_number(file, layout::kOutlierFrames).value_or(0);
  rows_ = frames;
  if (kind_ == Outliers::kLists) pixels_ = offset_at(file, rows_);
  if (run.outliers_before.size() == counts_.size()) counts_ = run.outliers_before;
  frames_ -= run.outliers_uncounted;  // may be below 0 until frames are added
}

void OutlierLog::add(const ReducedFrame& frame) {
  if (kind_ == Outliers::kNone) return;
  ++frames_;
  for (const std::uint32_t pixel : frame.sums.outliers) ++counts_.at(pixel);
  if (kind_ != Outliers::kLists) return;
  new_pixels_.insert(new_pixels_.end(), frame.sums.outliers.begin(), frame.sums.outliers.end());
  new_ends_.push_back(pixels_ + new_pixels_.size());
}

void OutlierLog::write_lists() {
  if (new_ends_.empty()) return;
  write_at(file_, layout::kOutlierPixels, pixels_, new_pixels_.size(), H5T_NATIVE_UINT32, new_pixels_.data());
  write_at(file_, layout::kOutlierFirst, rows_ + 1, new_ends_.size(), H5T_NATIVE_UINT64, new_ends_.data());
  pixels_ += new_pixels_.size();
  rows_ += new_ends_.size();
  new_pixels_.clear();
  new_ends_.clear();
}

void OutlierLog::write_counts() {
  if (kind_ != Outliers::kNone) write_outlier_counts(file_, counts_, frames_);
}

}  // namespace annulus
