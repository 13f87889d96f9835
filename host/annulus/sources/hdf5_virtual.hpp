// What virtual datasets are made of. Used with the HDF5 lock held.
#pragma once

#include <annulus/sources/hdf5_file.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace annulus {

// The smallest box around a selection, first to last; the last of an unlimited one is H5S_UNLIMITED.
struct SelectionBox {
  std::vector<hsize_t> first;
  std::vector<hsize_t> last;
  bool filled = false;  // all of it is selected
};

// One piece of a virtual dataset, and where it comes from.
struct VirtualPiece {
  std::string file;  // as the dataset names it: "." is its own
  std::string dataset;
  SelectionBox here;
  SelectionBox there;

  // A pattern of names is the library's to resolve.
  bool is_pattern() const;
  // Or of arrays with fewer dimensions.
  bool is_of_images() const { return there.first.size() >= 2; }
};

bool is_virtual(hid_t properties);

// Pieces of nothing are left out. Throws kInput, naming `where`.
std::vector<VirtualPiece> virtual_pieces(const std::string& where, hid_t properties);

// Consecutive whole frames that come, in order and from the first on, from one dataset.
struct VirtualRun {
  std::string file;
  std::string dataset;
  std::uint64_t frames = 0;
};

// A virtual stack as the datasets that it sets one behind the other; empty if it is anything else.
std::vector<VirtualRun> virtual_runs(std::vector<VirtualPiece> pieces, const std::vector<hsize_t>& shape);

}  // namespace annulus
