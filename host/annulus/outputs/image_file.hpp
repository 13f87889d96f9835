// Files of images over two axes: maps, sinograms, slices of tomograms (docs/output_format.md).
#pragma once

#include <annulus/hdf5/derived_file.hpp>
#include <annulus/scan/grid_image.hpp>

#include <hdf5.h>

#include <filesystem>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace annulus {

struct ImageFileInfo {
  // A setting, the input, the hash of its plan: what the images were made of, and how.
  using Fact = std::pair<std::string, std::variant<std::string, double>>;

  std::string program = "annulus";
  std::string version;
  std::string date;   // iso_time(); empty: the file does not say
  std::string title;  // of all images, for people
  std::string kind;   // "map", "tomogram"
  std::vector<Fact> facts;
};

struct StoredImages {
  std::filesystem::path file;
  ImageFileInfo info;
  std::vector<GridImage> images;
};

// A NeXus file with a group per image, the first of which is the default plot. It appears complete or not at
// all, so that it can be opened at any time while it is written again and again. The same images and info
// give the same bytes. An existing file is replaced only if `overwrite` is set and this function wrote it.
// Throws kOutput, also for images that are not as GridImage says and for names that are there twice.
void write_images(const ImageFileInfo& info, const std::vector<GridImage>& images,
                  const std::filesystem::path& path, bool overwrite);

// What it would refuse for their number and the lengths of their names, before there are images. Throws
// kUsage.
void check_number_of_images(std::size_t images, std::size_t longest_name);

// What it would refuse for its place, before there are images.
void check_image_place(const std::filesystem::path& path, bool overwrite);

// In the order in which they were written. Throws kInput.
StoredImages read_images(const std::filesystem::path& path);

// Whether it is a file that was made of patterns. kNone for what is not there or is no HDF5 file, too. Throws
// kInput as probe_output() does.
DerivedFile derived_file(const std::filesystem::path& path);

// The following expect an Hdf5Session to be alive. To files that hold more than images they are added in the
// group of the entry, which is called "entry".
void add_images(hid_t entry, const ImageFileInfo& info, const std::vector<GridImage>& images);

// What a probe does: reads everything but the values.
void touch_images(const std::filesystem::path& path);

}  // namespace annulus
