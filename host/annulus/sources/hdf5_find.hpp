// Which dataset of an HDF5 file holds the images, where the user names none.
#pragma once

#include <annulus/sources/hdf5_file.hpp>

#include <optional>
#include <string>
#include <vector>

namespace annulus {

// One path; several for the numbered datasets of a DECTRIS master file, which make one scan.
// In order: the NeXus default chain, which is refused if it leads to no images; /entry/data/data;
// /entry/data/data_000001 and those after it; the only dataset of 2 dimensions or more that is no pixel mask
// or flat field; of a file that is growing not that last one. A virtual dataset in /entry/data that sets the
// numbered ones beside it one behind the other stands for them. A link on the way that leads nowhere is
// returned as it is: opening it names the file that is missing. Throws kInput with the datasets there are.
std::vector<std::string> find_image_datasets(const std::string& where, hid_t file, bool growing);

// A number in the file, in the unit its `units` attribute names (empty without one).
struct Hdf5Number {
  double value = 0;
  std::string units;
};
std::optional<Hdf5Number> read_number(hid_t file, const std::string& path);

// The same of an array: the number that is farthest from 0. NaN if there are numbers that cannot be read.
std::optional<Hdf5Number> read_largest_number(hid_t file, const std::string& path);

// Whether the elements of a dataset lie outside of HDF5 files.
bool is_in_raw_files(hid_t dataset);

// A text in the file; empty if there is none.
std::string read_label(hid_t file, const std::string& path);

}  // namespace annulus
