// What the library would fill in for pixels that are elsewhere and not there.
#include <annulus/sources/hdf5_dataset.hpp>
#include <annulus/sources/hdf5_find.hpp>
#include <annulus/sources/header_checks.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

namespace annulus {
namespace {

constexpr int kMostNested = 8;  // a virtual dataset may be made of itself
constexpr std::size_t kMostSourcesOpen = 4;
constexpr const char* kWait = "wait until the file is written, or copy it again";

using FrameRange = std::pair<hsize_t, hsize_t>;  // first to last

// The dimensions of a box that are the grid's, and how far it goes there.
struct GridBox {
  GridPoint first;
  GridPoint sides;
  bool filled = false;

  explicit GridBox(const SelectionBox& box)
      : first(box.first.begin(), box.first.end() - 2), sides(first.size()), filled(box.filled) {
    for (std::size_t d = 0; d < first.size(); ++d) {
      // The library allows one unlimited dimension. Numbers do not depend on how far the first one goes.
      const bool unlimited = box.last[d] == H5S_UNLIMITED;
      sides[d] = unlimited ? 1 : box.last[d] - first[d] + 1;
      filled = filled || (unlimited && d == 0);
    }
  }
};

// The same for grids of more dimensions, on either side: both take their frames in the order of their
// numbers.
std::optional<FrameRange> frames_behind_grid(const VirtualPiece& piece, const GridPoint& point,
                                             const GridPoint& source_grid) {
  for (std::size_t d = 0; d < point.size(); ++d)
    if (point[d] < piece.here.first[d] || point[d] > piece.here.last[d]) return std::nullopt;
  const GridBox here(piece.here), there(piece.there);
  GridPoint at = point;
  for (std::size_t d = 0; d < at.size(); ++d) at[d] -= here.first[d];
  const std::uint64_t number = number_of(at, here.sides);
  // All of the source: the file does not say in how many dimensions.
  if (there.first.size() != source_grid.size()) return FrameRange{number, number};
  if (here.filled && there.filled) {
    GridPoint source = point_of(number, there.sides);
    for (std::size_t d = 0; d < source.size(); ++d) source[d] += there.first[d];
    const std::uint64_t frame = number_of(source, source_grid);
    return FrameRange{frame, frame};
  }
  const std::uint64_t start = number_of(there.first, source_grid);
  GridPoint last = there.first;
  for (std::size_t d = 0; d < last.size(); ++d) last[d] += there.sides[d] - 1;
  return FrameRange{start, number_of(last, source_grid)};
}

// The frames of the source that frame i of a virtual stack may come from, first to last; none if it has no
// part in it. Where the two are not in step, all of them.
std::optional<FrameRange> frames_behind(const VirtualPiece& piece, std::uint64_t i) {
  const hsize_t first = piece.here.first[0], last = piece.here.last[0];
  const bool stack = piece.here.first.size() == 3 && piece.there.first.size() == 3;
  if (piece.here.first.size() == 3 && (i < first || i > last)) return std::nullopt;
  if (piece.there.first.size() < 3) return FrameRange{0, 0};
  const hsize_t source = piece.there.first[0], source_last = piece.there.last[0];
  const std::pair all{source, source_last};
  if (!stack) return all;
  if (last == H5S_UNLIMITED || source_last == H5S_UNLIMITED || last - first == source_last - source) {
    return std::pair{source + (i - first), source + (i - first)};
  }
  // Every so many frames are from this source.
  if (source_last == source || (last - first) % (source_last - source) != 0) return all;
  const hsize_t step = (last - first) / (source_last - source);
  if ((i - first) % step != 0) return std::nullopt;
  return std::pair{source + (i - first) / step, source + (i - first) / step};
}

// "%b" in a name stands for a number, "%%" for a percent sign.
std::string with_number(const std::string& pattern, std::uint64_t number) {
  std::string name;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const bool sign = pattern[i] == '%' && i + 1 < pattern.size();
    if (sign && pattern[i + 1] == 'b') {
      name += std::to_string(number);
      ++i;
    } else {
      name += pattern[i];
      if (sign && pattern[i + 1] == '%') ++i;
    }
  }
  return name;
}

}  // namespace

DatasetPlace Hdf5Dataset::source_place(const VirtualPiece& piece) const {
  std::optional<std::string> found = place_.file;
  if (piece.file != ".") found = find_linked_file(place_.file, piece.file, "HDF5_VDS_PREFIX");
  if (!found) {
    throw input_error(url_, fmt::format("it refers to {}, which is missing", piece.file),
                      "copy that file beside it");
  }
  check_fence(url_, *found, *fence_);
  const Hdf5Handle file = open_hdf5_file(*found, fence_);
  return locate_dataset(file.get(), *found, piece.dataset, fence_);
}

const Hdf5Dataset& Hdf5Dataset::source_of(const VirtualPiece& piece) const {
  const std::pair key{piece.file, piece.dataset};
  auto found = std::ranges::find(open_sources_, key, &OpenSource::first);
  if (found == open_sources_.end()) {
    DatasetPlace place = source_place(piece);
    const std::string name = place.url();
    try {
      if (nesting_ >= kMostNested) throw input_error(name, "virtual datasets are made of each other");
      auto source = std::make_unique<const Hdf5Dataset>(std::move(place), fence_, nesting_ + 1);
      source->require_filters();
      if (open_sources_.size() >= kMostSourcesOpen) open_sources_.erase(open_sources_.begin());
      open_sources_.emplace_back(key, std::move(source));
    } catch (const Error& error) {
      throw input_error(url_, fmt::format("it is made of {}, which cannot be read: {}", name, error.what()));
    }
    found = std::prev(open_sources_.end());
  }
  return *found->second;
}

// The library gives fill values for sources that are missing.
void Hdf5Dataset::check_virtual_sources(hid_t properties) {
  pieces_ = virtual_pieces(url_, properties);
  std::set<std::pair<std::string, std::string>> seen;
  std::uint64_t most_held = 0;
  for (const VirtualPiece& piece : pieces_) {
    if (!seen.emplace(piece.file, piece.dataset).second) continue;
    if (piece.is_pattern()) {
      check_pattern(piece);
      continue;
    }
    if (piece.is_of_images()) {
      most_held = std::max(most_held, source_of(piece).held_bytes());
      continue;
    }
    const DatasetPlace place = source_place(piece);
    const Hdf5Handle file = open_hdf5_file(place.file, fence_);
    const Hdf5Handle dataset(H5Dopen2(file.get(), place.path.c_str(), H5P_DEFAULT), H5Dclose);
    if (!dataset)
      throw hdf5_error(url_, fmt::format("it is made of {}, which cannot be opened", place.url()),
                       kCopyAgain);
    if (is_in_raw_files(dataset.get()))
      throw input_error(url_, fmt::format("it is made of {}, which is in other files", place.url()));
  }
  held_by_sources_ = most_held * std::min(seen.size(), kMostSourcesOpen);
}

// The library opens these by itself, and the raw files in which they may be, without asking. They are
// numbered from 0 up to the first that is missing.
void Hdf5Dataset::check_pattern(const VirtualPiece& piece) const {
  for (std::uint64_t block = 0;; ++block) {
    VirtualPiece one = piece;
    one.file = with_number(piece.file, block);
    one.dataset = with_number(piece.dataset, block);
    if (block > 0 && one.file + one.dataset == with_number(piece.file, 0) + with_number(piece.dataset, 0))
      return;  // no number in it
    if (one.file != "." && !find_linked_file(place_.file, one.file, "HDF5_VDS_PREFIX")) return;
    const DatasetPlace place = source_place(one);
    const Hdf5Handle file = open_hdf5_file(place.file, fence_);
    const Hdf5Handle dataset(H5Dopen2(file.get(), place.path.c_str(), H5P_DEFAULT), H5Dclose);
    H5Eclear2(H5E_DEFAULT);
    if (!dataset) return;
    if (is_in_raw_files(dataset.get()))
      throw input_error(url_, fmt::format("it is made of {}, which is in other files", place.url()));
  }
}

// All that frame i is made of must be there.
void Hdf5Dataset::check_frame_in_sources(std::uint64_t i) const {
  bool any = false;
  for (const VirtualPiece& piece : pieces_) {
    if (std::cmp_not_equal(piece.here.first.size(), rank_)) continue;
    const bool grids = piece.here.first.size() > 3 || piece.there.first.size() > 3;
    const bool known = !piece.is_pattern() && piece.is_of_images();
    const auto behind = !grids  ? frames_behind(piece, i)
                        : known ? frames_behind_grid(piece, grid_.point(i), source_of(piece).grid())
                                : std::optional(FrameRange{0, 0});
    if (!behind) continue;
    any = true;
    if (!known) continue;
    const Hdf5Dataset& source = source_of(piece);
    const std::size_t rank = piece.there.last.size();
    const hsize_t row = piece.there.last[rank - 2], col = piece.there.last[rank - 1];
    if (row >= source.shape_.rows || col >= source.shape_.cols) {
      throw input_error(url_,
                        fmt::format("it is made of {}, whose images are {}: too small", source.url_,
                                    to_string(source.shape_)),
                        kCopyAgain);
    }
    for (hsize_t frame = behind->first; frame <= behind->second; ++frame) {
      if (frame >= source.frames_) {
        throw input_error(url_,
                          fmt::format("frame {} would be frame {} of {}, which has {}", i, frame, source.url_,
                                      source.frames_),
                          kWait);
      }
      source.check_chunks(frame);
    }
  }
  if (!any) throw input_error(url_, fmt::format("frame {} is in none of its source files", i), kWait);
}

// The library gives zeros for what a raw file beside the HDF5 file does not have.
void Hdf5Dataset::check_external_files(hid_t properties) const {
  const int files = H5Pget_external_count(properties);
  std::uint64_t left = frames_ * shape_.size() * stored_element_;
  for (int i = 0; i < files && left > 0; ++i) {
    std::vector<char> name(4096);
    off_t offset = 0;
    hsize_t size = 0;
    if (H5Pget_external(properties, static_cast<unsigned>(i), name.size() - 1, name.data(), &offset, &size) <
        0)
      throw hdf5_error(url_, "the names of its raw files cannot be read", kCopyAgain);
    const char* const prefix = std::getenv("HDF5_EXTFILE_PREFIX");
    const auto path =
        std::filesystem::path(with_origin(prefix != nullptr ? prefix : "", place_.file)) / name.data();
    check_fence(url_, path.string(), *fence_);
    const std::uint64_t needed = static_cast<std::uint64_t>(offset) + std::min<std::uint64_t>(size, left);
    std::error_code missing;
    const std::uint64_t there = std::filesystem::file_size(path, missing);
    if (missing) {
      throw input_error(url_, fmt::format("its pixels are in {}, which is missing", path.string()),
                        "copy that file too, and name its folder in HDF5_EXTFILE_PREFIX");
    }
    if (there < needed) {
      throw input_error(url_,
                        fmt::format("its pixels are in {}, which has {} bytes where {} are needed",
                                    path.string(), there, needed),
                        kWait);
    }
    left -= std::min<std::uint64_t>(size, left);
  }
}

}  // namespace annulus
