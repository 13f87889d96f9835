#include <annulus/sources/hdf5_virtual.hpp>
#include <annulus/sources/header_checks.hpp>

#include <sys/types.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace annulus {
namespace {

using ReadName = ssize_t (*)(hid_t, size_t, char*, size_t);

std::string source_name(const std::string& where, hid_t properties, std::size_t i, ReadName read) {
  const ssize_t length = read(properties, i, nullptr, 0);
  if (length <= 0) throw hdf5_error(where, "the names of its source files cannot be read", kCopyAgain);
  std::string name(static_cast<std::size_t>(length) + 1, '\0');
  read(properties, i, name.data(), name.size());
  name.pop_back();
  return name;
}

// None if nothing is selected.
std::optional<SelectionBox> box_of(const Hdf5Handle& space) {
  const int rank = space ? H5Sget_simple_extent_ndims(space.get()) : -1;
  if (rank < 1) return std::nullopt;
  SelectionBox box;
  box.first.resize(static_cast<std::size_t>(rank));
  box.last = box.first;
  const bool any = H5Sget_select_bounds(space.get(), box.first.data(), box.last.data()) >= 0;
  H5Eclear2(H5E_DEFAULT);
  if (!any) return std::nullopt;
  if (std::ranges::count(box.last, H5S_UNLIMITED) > 0) return box;
  hsize_t elements = 1;
  for (std::size_t d = 0; d < box.first.size(); ++d) elements *= box.last[d] - box.first[d] + 1;
  box.filled = H5Sget_select_npoints(space.get()) == static_cast<hssize_t>(elements);
  return box;
}

// "All of it" is stored without a shape: it must be as much as it is mapped to.
std::optional<SelectionBox> source_box(const Hdf5Handle& space, const SelectionBox& here) {
  const bool all = space && H5Sget_select_type(space.get()) == H5S_SEL_ALL;
  if (!all || H5Sget_simple_extent_ndims(space.get()) > 0) return box_of(space);
  SelectionBox box = here;
  for (std::size_t d = 0; d < box.first.size(); ++d) {
    if (box.last[d] != H5S_UNLIMITED) box.last[d] -= box.first[d];
    box.first[d] = 0;
  }
  return box;
}

bool holds_whole_frames(const SelectionBox& box, const std::vector<hsize_t>& shape) {
  return box.filled && box.first.size() == 3 && box.first[1] == 0 && box.first[2] == 0 &&
         box.last[1] + 1 == shape[1] && box.last[2] + 1 == shape[2];
}

}  // namespace

bool VirtualPiece::is_pattern() const {
  return file.find('%') != std::string::npos || dataset.find('%') != std::string::npos;
}

bool is_virtual(hid_t properties) { return H5Pget_layout(properties) == H5D_VIRTUAL; }

std::vector<VirtualPiece> virtual_pieces(const std::string& where, hid_t properties) {
  std::size_t count = 0;
  if (H5Pget_virtual_count(properties, &count) < 0)
    throw hdf5_error(where, "the layout cannot be read", kCopyAgain);
  std::vector<VirtualPiece> pieces;
  for (std::size_t i = 0; i < count; ++i) {
    auto here = box_of(Hdf5Handle(H5Pget_virtual_vspace(properties, i), H5Sclose));
    if (!here) continue;
    auto there = source_box(Hdf5Handle(H5Pget_virtual_srcspace(properties, i), H5Sclose), *here);
    if (!there) continue;
    pieces.push_back({source_name(where, properties, i, H5Pget_virtual_filename),
                      source_name(where, properties, i, H5Pget_virtual_dsetname), std::move(*here),
                      std::move(*there)});
  }
  return pieces;
}

std::vector<VirtualRun> virtual_runs(std::vector<VirtualPiece> pieces, const std::vector<hsize_t>& shape) {
  if (shape.size() != 3) return {};
  std::ranges::sort(pieces, {}, [](const VirtualPiece& piece) { return piece.here.first; });
  std::vector<VirtualRun> runs;
  hsize_t next = 0;
  for (const VirtualPiece& piece : pieces) {
    if (piece.is_pattern() || !holds_whole_frames(piece.here, shape) ||
        !holds_whole_frames(piece.there, shape) || piece.here.first[0] != next) {
      return {};
    }
    next = piece.here.last[0] + 1;
    if (runs.empty() || runs.back().file != piece.file || runs.back().dataset != piece.dataset)
      runs.push_back({piece.file, piece.dataset});
    if (piece.there.first[0] != runs.back().frames) return {};
    runs.back().frames += piece.there.last[0] - piece.there.first[0] + 1;
  }
  if (next != shape[0]) return {};
  return runs;
}

}  // namespace annulus
