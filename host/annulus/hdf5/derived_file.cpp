#include <annulus/hdf5/derived_file.hpp>

#include <initializer_list>

namespace annulus {
namespace {

// Without following links to other files: all but the last of these are groups of this one.
bool has_all(hid_t file, std::initializer_list<const char*> paths) {
  for (const char* path : paths) {
    if (H5Lexists(file, path, H5P_DEFAULT) <= 0) return false;
  }
  return true;
}

}  // namespace

DerivedFile derived_file(hid_t file) {
  if (has_all(file, {"/entry", "/entry/process"}) &&
      H5Aexists_by_name(file, "/entry", "images", H5P_DEFAULT) > 0)
    return DerivedFile::kImages;
  if (has_all(file, {"/entry", "/entry/reconstruction", "/entry/reconstruction/program", "/entry/data",
                     "/entry/data/radial_axis", "/entry/data/z"}))
    return DerivedFile::kVolume;
  if (has_all(file, {"/entry", "/entry/process", "/entry/correlation", "/entry/correlation/signal",
                     "/entry/correlation/mask", "/entry/snapshots"}))
    return DerivedFile::kCorrelation;
  return DerivedFile::kNone;
}

const char* noun_of(DerivedFile kind) {
  switch (kind) {
    case DerivedFile::kImages:
      return "a file of images";
    case DerivedFile::kVolume:
      return "a tomogram of all bins";
    case DerivedFile::kCorrelation:
      return "a correlation of snapshots";
    case DerivedFile::kNone:
      break;
  }
  return "another file";
}

}  // namespace annulus
